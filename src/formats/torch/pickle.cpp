#include "formats/torch/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "formats/torch/pickle_globals.h"
#include "support/strings.h"

namespace ec::torch {
namespace {

Error corrupt(std::string what) {
  return Error(Code::CorruptFile, "pickle: " + std::move(what))
      .hint("the file is damaged: save or copy it again");
}

Error unsafe(std::string what) {
  return Error(Code::UnsafePickle, "pickle: " + std::move(what))
      .hint(
          "nothing was executed; do not load this file in Python unless you trust who made it, and "
          "ask for a model saved with torch.jit.save or torch.export.save");
}

}  // namespace

class PickleMachine {
 public:
  PickleMachine(std::span<const std::byte> bytes, PickleMode mode)
      : text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()), mode_(mode) {}

  Result<Pickle> run();

 private:
  // Reading.
  bool has(size_t count) const { return count <= text_.size() - at_; }
  template <class T>
  Result<T> get() {
    if (!has(sizeof(T))) return corrupt("cut off");
    T value;
    std::memcpy(&value, text_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  Result<std::string_view> take(size_t count);
  Result<std::string_view> line();

  // The stack.
  void push(PickleRef ref) { stack_.push_back(ref); }
  PickleNode& make(PickleKind kind);  // pushed; valid until the next node is made
  Result<PickleRef> pop();
  Result<PickleRef> top() const;
  Result<std::vector<PickleRef>> pop_to_mark();
  PickleNode& node(PickleRef ref) { return pickle_.nodes_[ref]; }
  bool is(PickleRef ref, PickleKind kind) { return node(ref).kind == kind; }

  // Opcodes.
  Status step(unsigned char opcode);
  Status push_global();
  Status push_text(size_t count);
  Status push_long(size_t count);
  Status make_tuple(size_t count);
  Status put(uint64_t index);
  Status push_memo(uint64_t index);
  Status append(std::vector<PickleRef> values);
  Status set_items(std::vector<PickleRef> values);
  Status persistent_id();
  Status new_object();
  Status reduce();
  Status build();
  Status reduce_known(GlobalKind kind, const std::string& global, PickleRef arguments);
  Status rebuild_tensor(std::vector<PickleRef> arguments, bool quantized);
  Status opaque(const std::string& global, PickleRef arguments);

  std::string_view text_;
  size_t at_ = 0;
  PickleMode mode_;
  Pickle pickle_;
  std::vector<PickleRef> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, PickleRef> memo_;
  std::unordered_set<std::string> seen_classes_;
  bool stopped_ = false;
};

Result<std::string_view> PickleMachine::take(size_t count) {
  if (!has(count)) return corrupt("a text runs past the end");
  const std::string_view part = text_.substr(at_, count);
  at_ += count;
  return part;
}

Result<std::string_view> PickleMachine::line() {
  const size_t end = text_.find('\n', at_);
  if (end == std::string_view::npos || end - at_ > 4096) return corrupt("a name does not end");
  const std::string_view part = text_.substr(at_, end - at_);
  at_ = end + 1;
  return part;
}

PickleNode& PickleMachine::make(PickleKind kind) {
  push(static_cast<PickleRef>(pickle_.nodes_.size()));
  PickleNode& made = pickle_.nodes_.emplace_back();
  made.kind = kind;
  return made;
}

Result<PickleRef> PickleMachine::top() const {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) return corrupt("the stack is empty");
  return stack_.back();
}

Result<PickleRef> PickleMachine::pop() {
  EC_TRY(const PickleRef ref, top());
  stack_.pop_back();
  return ref;
}

Result<std::vector<PickleRef>> PickleMachine::pop_to_mark() {
  if (marks_.empty()) return corrupt("no mark on the stack");
  const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<PickleRef> values(first, stack_.end());
  stack_.erase(first, stack_.end());
  marks_.pop_back();
  return values;
}

Status PickleMachine::push_global() {
  EC_TRY(const std::string_view module, line());
  EC_TRY(const std::string_view name, line());
  const GlobalKind kind = classify_global(module, name);
  if (kind == GlobalKind::Danger || (kind == GlobalKind::Unknown && mode_ == PickleMode::Load))
    return unsafe(fmt::format("asks for '{}.{}', which a model does not need", printable(module),
                              printable(name)));
  PickleNode& made = make(PickleKind::Global);
  made.text = fmt::format("{} {}", module, name);
  if (kind == GlobalKind::Unknown && seen_classes_.insert(made.text).second)
    pickle_.classes_.push_back(dotted_name(made.text));
  return {};
}

Status PickleMachine::push_text(size_t count) {
  EC_TRY(const std::string_view part, take(count));
  make(PickleKind::String).text = part;
  return {};
}

// Little-endian two's complement of any length; larger than 64 bits is no value of a model.
Status PickleMachine::push_long(size_t count) {
  EC_TRY(const std::string_view bytes, take(count));
  if (count > 8) {
    if (mode_ == PickleMode::Load) return corrupt("an integer of more than 64 bits");
    make(PickleKind::Opaque);
    return {};
  }
  uint64_t value =
      count > 0 && (static_cast<unsigned char>(bytes.back()) & 0x80) ? ~uint64_t{0} : 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  make(PickleKind::Int).integer = static_cast<int64_t>(value);
  return {};
}

Status PickleMachine::make_tuple(size_t count) {
  std::vector<PickleRef> items(count);
  for (size_t i = count; i-- > 0;) {
    EC_TRY(items[i], pop());
  }
  make(PickleKind::Tuple).items = std::move(items);
  return {};
}

Status PickleMachine::put(uint64_t index) {
  EC_TRY(const PickleRef ref, top());
  memo_[index] = ref;
  return {};
}

Status PickleMachine::push_memo(uint64_t index) {
  const auto found = memo_.find(index);
  if (found == memo_.end()) return corrupt("reads a value that was never stored");
  push(found->second);
  return {};
}

Status PickleMachine::append(std::vector<PickleRef> values) {
  EC_TRY(const PickleRef list, top());
  if (is(list, PickleKind::Opaque)) return {};
  if (!is(list, PickleKind::List)) return corrupt("appends to what is no list");
  std::vector<PickleRef>& items = node(list).items;
  items.insert(items.end(), values.begin(), values.end());
  return {};
}

Status PickleMachine::set_items(std::vector<PickleRef> values) {
  EC_TRY(const PickleRef dict, top());
  if (values.size() % 2 != 0) return corrupt("a key without a value");
  if (is(dict, PickleKind::Opaque)) return {};
  if (!is(dict, PickleKind::Dict)) return corrupt("stores into what is no dictionary");
  std::vector<PickleRef>& items = node(dict).items;
  items.insert(items.end(), values.begin(), values.end());
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
    if (mode_ == PickleMode::Load) return corrupt("a persistent id that is no storage");
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
    return corrupt("builds an object of what is no class");
  const std::string global = node(callee).text;
  const size_t space = global.find(' ');
  const GlobalKind kind = classify_global(global.substr(0, space), global.substr(space + 1));
  if (kind != GlobalKind::ScriptClass && mode_ == PickleMode::Load)
    return unsafe(fmt::format("builds an object of '{}'", printable(dotted_name(global))));
  make(PickleKind::Object).text = dotted_name(global);
  return {};
}

Status PickleMachine::rebuild_tensor(std::vector<PickleRef> arguments, bool quantized) {
  const size_t needed = quantized ? 5 : 4;
  if (arguments.size() < needed || !is(arguments[0], PickleKind::Storage) ||
      !is(arguments[1], PickleKind::Int) || !is(arguments[2], PickleKind::Tuple) ||
      !is(arguments[3], PickleKind::Tuple) || (quantized && !is(arguments[4], PickleKind::Tuple)))
    return corrupt("a tensor's arguments are not those of PyTorch");
  arguments.resize(needed);
  make(PickleKind::Tensor).items = std::move(arguments);
  return {};
}

Status PickleMachine::reduce_known(GlobalKind kind, const std::string& global,
                                   PickleRef arguments) {
  const std::vector<PickleRef> items = node(arguments).items;
  const auto wants = [&](size_t count) -> Status {
    if (items.size() >= count) return {};
    return corrupt(fmt::format("'{}' lacks arguments", printable(dotted_name(global))));
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
      return unsafe(fmt::format("calls '{}'", printable(dotted_name(global))));
  }
}

Status PickleMachine::reduce() {
  EC_TRY(PickleRef arguments, pop());
  EC_TRY(const PickleRef callee, pop());
  if (!is(callee, PickleKind::Global)) return unsafe("calls what is no known function");
  const std::string global = node(callee).text;
  const size_t space = global.find(' ');
  const GlobalKind kind = classify_global(global.substr(0, space), global.substr(space + 1));
  // An enumerator's value may stand alone.
  if (!is(arguments, PickleKind::Tuple)) {
    if (kind != GlobalKind::ScriptClass) return corrupt("a call without a tuple of arguments");
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
    if (!node(object).items.empty()) return corrupt("an object is built twice");
    node(object).items = {state};
    return {};
  }
  // An OrderedDict of torch.save carries attributes (_metadata); they mean nothing here.
  if (is(object, PickleKind::Dict) || is(object, PickleKind::Opaque) ||
      is(object, PickleKind::Tensor))
    return {};
  return corrupt("gives a state to what is no object");
}

Status PickleMachine::step(unsigned char opcode) {
  switch (opcode) {
    case 0x80: {  // PROTO
      EC_TRY(const auto version, get<uint8_t>());
      if (version > 5) return corrupt(fmt::format("protocol {}", version));
      return {};
    }
    case '.':
      stopped_ = true;
      return {};
    case '(':
      marks_.push_back(stack_.size());
      return {};
    case 'N':
      make(PickleKind::None);
      return {};
    case 0x88:
      make(PickleKind::Bool).flag = true;
      return {};
    case 0x89:
      make(PickleKind::Bool);
      return {};
    case 'K': {
      EC_TRY(const auto value, get<uint8_t>());
      make(PickleKind::Int).integer = value;
      return {};
    }
    case 'M': {
      EC_TRY(const auto value, get<uint16_t>());
      make(PickleKind::Int).integer = value;
      return {};
    }
    case 'J': {
      EC_TRY(const auto value, get<int32_t>());
      make(PickleKind::Int).integer = value;
      return {};
    }
    case 0x8a: {  // LONG1
      EC_TRY(const auto count, get<uint8_t>());
      return push_long(count);
    }
    case 'G': {  // BINFLOAT, big-endian
      EC_TRY(const auto bits, get<uint64_t>());
      make(PickleKind::Float).real = std::bit_cast<double>(__builtin_bswap64(bits));
      return {};
    }
    case 'X': {
      EC_TRY(const auto count, get<uint32_t>());
      return push_text(count);
    }
    case 'c':
      return push_global();
    case 'q': {
      EC_TRY(const auto index, get<uint8_t>());
      return put(index);
    }
    case 'r': {
      EC_TRY(const auto index, get<uint32_t>());
      return put(index);
    }
    case 'h': {
      EC_TRY(const auto index, get<uint8_t>());
      return push_memo(index);
    }
    case 'j': {
      EC_TRY(const auto index, get<uint32_t>());
      return push_memo(index);
    }
    case ')':
      make(PickleKind::Tuple);
      return {};
    case ']':
      make(PickleKind::List);
      return {};
    case '}':
      make(PickleKind::Dict);
      return {};
    case 't': {
      EC_TRY(std::vector<PickleRef> items, pop_to_mark());
      make(PickleKind::Tuple).items = std::move(items);
      return {};
    }
    case 0x85:
      return make_tuple(1);
    case 0x86:
      return make_tuple(2);
    case 0x87:
      return make_tuple(3);
    case 'a': {
      EC_TRY(const PickleRef value, pop());
      return append({value});
    }
    case 'e': {
      EC_TRY(std::vector<PickleRef> values, pop_to_mark());
      return append(std::move(values));
    }
    case 's': {
      EC_TRY(const PickleRef value, pop());
      EC_TRY(const PickleRef key, pop());
      return set_items({key, value});
    }
    case 'u': {
      EC_TRY(std::vector<PickleRef> values, pop_to_mark());
      return set_items(std::move(values));
    }
    case 'Q':
      return persistent_id();
    case 0x81:
      return new_object();
    case 'R':
      return reduce();
    case 'b':
      return build();
    default:
      return unsafe(fmt::format("instruction 0x{:02x} at byte {} is none that PyTorch writes",
                                opcode, at_ - 1));
  }
}

Result<Pickle> PickleMachine::run() {
  while (!stopped_) {
    EC_TRY(const auto opcode, get<uint8_t>());
    EC_CHECK_OK(step(opcode));
  }
  EC_TRY(pickle_.root_, top());
  return std::move(pickle_);
}

Result<Pickle> Pickle::read(std::span<const std::byte> bytes, PickleMode mode) {
  return PickleMachine(bytes, mode).run();
}

const PickleNode* Pickle::find(const PickleNode& dict, std::string_view key) const {
  for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const PickleNode& name = nodes_[dict.items[i]];
    if (name.kind == PickleKind::String && name.text == key) return &nodes_[dict.items[i + 1]];
  }
  return nullptr;
}

std::string dotted_name(std::string_view global) {
  std::string name(global);
  std::replace(name.begin(), name.end(), ' ', '.');
  return name;
}

}  // namespace ec::torch
