// What a pickle asks to look up, to build and to call: the few things that a model needs are
// converted into records, the rest is refused.
#include <fmt/format.h>

#include "formats/torch/pickle_machine.h"
#include "support/strings.h"

namespace ec::torch {

Status PickleMachine::push_global() {
  EC_TRY(const std::string_view module, line());
  EC_TRY(const std::string_view name, line());
  const GlobalKind kind = classify_global(module, name);
  if (kind == GlobalKind::Danger || (kind == GlobalKind::Unknown && mode_ == PickleMode::Load))
    return unsafe_pickle(fmt::format("asks for '{}.{}', which a model does not need",
                                     printable(module), printable(name)));
  PickleNode& made = make(PickleKind::Global);
  made.text = fmt::format("{} {}", module, name);
  if (kind == GlobalKind::Unknown && seen_classes_.insert(made.text).second)
    pickle_.classes_.push_back(dotted_name(made.text));
  return {};
}

// ('storage', type, key, device, count[, view])
Status PickleMachine::persistent_id() {
  EC_TRY(const PickleRef id, pop());
  const std::vector<PickleRef> items = node(id).items;
  const bool good = is(id, PickleKind::Tuple) && (items.size() == 5 || items.size() == 6) &&
                    is(items[0], PickleKind::String) && node(items[0]).text == "storage" &&
                    is(items[1], PickleKind::Global) && is(items[2], PickleKind::String) &&
                    is(items[3], PickleKind::String) && is(items[4], PickleKind::Int);
  if (!good) {
    if (mode_ == PickleMode::Load) return corrupt_pickle("a persistent id that is no storage");
    make(PickleKind::Opaque);
    return {};
  }
  make(PickleKind::Storage).items.assign(items.begin() + 1, items.begin() + 5);
  return {};
}

Status PickleMachine::opaque(const std::string& global, PickleRef arguments) {
  PickleNode& made = make(PickleKind::Opaque);
  made.text = global;
  made.items = {arguments};
  return {};
}

Status PickleMachine::new_object() {
  EC_TRY(const PickleRef arguments, pop());
  EC_TRY(const PickleRef callee, pop());
  if (!is(callee, PickleKind::Global) || !is(arguments, PickleKind::Tuple))
    return corrupt_pickle("builds an object of what is no class");
  const std::string global = node(callee).text;
  const size_t space = global.find(' ');
  const GlobalKind kind = classify_global(global.substr(0, space), global.substr(space + 1));
  if (kind != GlobalKind::ScriptClass && mode_ == PickleMode::Load)
    return unsafe_pickle(fmt::format("builds an object of '{}'", printable(dotted_name(global))));
  make(PickleKind::Object).text = dotted_name(global);
  return {};
}

Status PickleMachine::rebuild_tensor(std::vector<PickleRef> arguments, bool quantized) {
  const size_t needed = quantized ? 5 : 4;
  if (arguments.size() < needed || !is(arguments[0], PickleKind::Storage) ||
      !is(arguments[1], PickleKind::Int) || !is(arguments[2], PickleKind::Tuple) ||
      !is(arguments[3], PickleKind::Tuple) || (quantized && !is(arguments[4], PickleKind::Tuple)))
    return corrupt_pickle("a tensor's arguments are not those of PyTorch");
  arguments.resize(needed);
  make(PickleKind::Tensor).items = std::move(arguments);
  return {};
}

Status PickleMachine::reduce_known(GlobalKind kind, const std::string& global,
                                   PickleRef arguments) {
  const std::vector<PickleRef> items = node(arguments).items;
  const auto wants = [&](size_t count) -> Status {
    if (items.size() >= count) return {};
    return corrupt_pickle(fmt::format("'{}' lacks arguments", printable(dotted_name(global))));
  };
  switch (kind) {
    case GlobalKind::RebuildTensor:
    case GlobalKind::RebuildQuantized:
      return rebuild_tensor(items, kind == GlobalKind::RebuildQuantized);
    case GlobalKind::RebuildParameter:
    case GlobalKind::TypedList:
    case GlobalKind::TypeTag:
      EC_CHECK_OK(wants(1));
      push(items[0]);
      return {};
    case GlobalKind::OrderedDict:
      make(PickleKind::Dict);
      return {};
    case GlobalKind::Device: {
      EC_CHECK_OK(wants(1));
      std::string name = node(items[0]).text;
      make(PickleKind::Device).text = std::move(name);
      return {};
    }
    case GlobalKind::Complex:
      EC_CHECK_OK(wants(2));
      make(PickleKind::Complex).items = items;
      return {};
    case GlobalKind::ScriptClass: {
      EC_CHECK_OK(wants(1));
      PickleNode& made = make(PickleKind::Object);
      made.text = dotted_name(global);
      made.flag = true;
      made.items = {items[0]};
      return {};
    }
    default:
      if (mode_ == PickleMode::Describe) return opaque(global, arguments);
      return unsafe_pickle(fmt::format("calls '{}'", printable(dotted_name(global))));
  }
}

Status PickleMachine::reduce() {
  EC_TRY(PickleRef arguments, pop());
  EC_TRY(const PickleRef callee, pop());
  if (!is(callee, PickleKind::Global)) return unsafe_pickle("calls what is no known function");
  const std::string global = node(callee).text;
  const size_t space = global.find(' ');
  const GlobalKind kind = classify_global(global.substr(0, space), global.substr(space + 1));
  // An enumerator's value may stand alone.
  if (!is(arguments, PickleKind::Tuple)) {
    if (kind != GlobalKind::ScriptClass)
      return corrupt_pickle("a call without a tuple of arguments");
    const PickleRef value = arguments;
    EC_CHECK_OK((push(value), make_tuple(1)));
    EC_TRY(arguments, pop());
  }
  return reduce_known(kind, global, arguments);
}

Status PickleMachine::build() {
  EC_TRY(const PickleRef state, pop());
  EC_TRY(const PickleRef object, top());
  if (is(object, PickleKind::Object)) {
    if (!node(object).items.empty()) return corrupt_pickle("an object is built twice");
    node(object).items = {state};
    return {};
  }
  // An OrderedDict of torch.save carries attributes (_metadata); they mean nothing here.
  if (is(object, PickleKind::Dict) || is(object, PickleKind::Opaque) ||
      is(object, PickleKind::Tensor))
    return {};
  return corrupt_pickle("gives a state to what is no object");
}

}  // namespace ec::torch
