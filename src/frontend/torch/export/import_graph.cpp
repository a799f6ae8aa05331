#include "frontend/torch/export/import_graph.h"

#include <algorithm>

#include "support/budget.h"
#include "support/strings.h"

namespace ec::torch::exported {
namespace {

// What to do, for problems whose own message leaves it open.
std::string_view usual_hint(Code code) {
  switch (code) {
    case Code::DynamicShape:
      return "give the sizes of the inputs with --input-shape NAME:1x3x224x224";
    case Code::DataDependent:
      return "a size or branch depends on the data: rewrite that part with operators such as "
             "torch.where";
    case Code::UnsupportedOpForm:
      return "call program.run_decompositions() before torch.export.save, or report the form that "
             "you need";
    case Code::CorruptFile:
      return "the file is damaged: export or copy it again";
    case Code::UnsupportedType:
      return "convert the model to float32 before exporting it";
    default:
      return {};
  }
}

std::string without_overload(std::string_view name) {
  const size_t colons = name.find("::");
  return std::string(name.substr(0, name.find('.', colons == std::string_view::npos ? 0 : colons)));
}

// The table has functional forms only.
bool is_supported(const std::string& name) {
  const std::string base = without_overload(name);
  if (is_known_operator(base)) return true;
  return base.ends_with('_') && !base.ends_with("__") &&
         is_known_operator(base.substr(0, base.size() - 1));
}

constexpr std::string_view kHigherOrder[] = {"cond", "while_loop", "scan",
                                             "wrap_with_set_grad_enabled", "wrap_with_autocast"};

}  // namespace

std::string_view higher_order(std::string_view target) {
  constexpr std::string_view kPrefix = "torch.ops.higher_order.";
  return target.starts_with(kPrefix) ? target.substr(kPrefix.size()) : std::string_view{};
}

void ProgramImport::report(Error error) {
  ++errors_;
  const Code code = error.code();
  sink_.report(std::move(error).file(file_).hint(std::string(usual_hint(code))));
}

void ProgramImport::count_unknown(const GraphDef& graph, Unknown& found) {
  for (const NodeDef& node : graph.nodes) {
    const std::string_view higher = higher_order(node.target);
    const std::string name = operator_name(node.target);
    const bool known = higher.empty()
                           ? is_supported(name)
                           : std::ranges::find(kHigherOrder, higher) != std::end(kHigherOrder);
    if (!known) {
      const std::string key = higher.empty() ? without_overload(name) : node.target;
      ++found.emplace(key, std::pair(&node, 0)).first->second.second;
    }
    for (const NodeInput& input : node.inputs)
      if (const auto* nested = std::get_if<std::shared_ptr<const GraphDef>>(&input.value.value))
        count_unknown(**nested, found);
  }
}

bool ProgramImport::check_operators(const GraphDef& graph) {
  Unknown found;
  count_unknown(graph, found);
  for (const auto& [name, use] : found) {
    const auto& [node, count] = use;
    Error error = unknown_operator(name);
    if (count > 1) error = std::move(error).note(std::to_string(count - 1) + " more nodes use it");
    report(std::move(error).node(node->module_path.empty() ? node->name : node->module_path, name));
  }
  return found.empty();
}

CallSite GraphImport::site_of(const NodeDef& node) const {
  const std::string op_type = without_overload(operator_name(node.target));
  const std::string plain = op_type.substr(op_type.rfind(':') + 1);
  return {&graph_, Location(node.module_path.empty() ? plain : node.module_path, op_type),
          &program_.sink()};
}

std::optional<TorchValue> GraphImport::value(const Argument& argument, const CallSite& site) {
  if (const auto* literal = std::get_if<TorchValue>(&argument.value)) return *literal;
  if (const auto* named = std::get_if<Named>(&argument.value)) {
    const auto found = values_.find(named->name);
    if (found != values_.end()) return found->second;
    if (!failed_.contains(named->name)) {
      failed_.insert(named->name);
      program_.report(
          Error(Code::UndefinedName, "'" + printable(named->name) + "' is used but never defined")
              .node(std::string(site.location.name()), site.location.op_type));
    }
    return std::nullopt;
  }
  if (const auto* list = std::get_if<ArgumentList>(&argument.value)) {
    std::vector<TorchValue> items;
    for (const Argument& item : list->items) {
      auto one = value(item, site);
      if (!one) return std::nullopt;
      items.push_back(std::move(*one));
    }
    return TorchValue::list(std::move(items));
  }
  if (const auto* foreign = std::get_if<Foreign>(&argument.value))
    program_.report(Error(Code::UnsupportedType,
                          "an argument of kind '" + printable(foreign->kind) + "' is not supported")
                        .node(std::string(site.location.name()), site.location.op_type));
  return std::nullopt;
}

void GraphImport::run(const GraphDef& def) {
  for (const NodeDef& node : def.nodes) {
    if (program_.stopped()) return;
    if (Status stop = check_budget(); !stop.ok()) return program_.report(std::move(stop).error());
    run_node(node);
  }
}

void GraphImport::run_node(const NodeDef& node) {
  const CallSite site = site_of(node);
  const size_t first_new = graph_.tensor_id_bound();
  const auto fail = [&] {
    for (const Argument& output : node.outputs) bind_result(output, TorchValue(), SIZE_MAX);
  };
  Result<std::vector<TorchValue>> results = std::vector<TorchValue>{};
  if (!higher_order(node.target).empty()) {
    results = call_higher_order(node, site);
  } else {
    std::vector<TorchValue> inputs;
    for (const NodeInput& input : node.inputs) {
      auto given = value(input.value, site);
      if (!given) return fail();
      inputs.push_back(std::move(*given));
    }
    results = call_node(node, site, std::move(inputs));
  }
  if (!results.ok()) {
    program_.report(
        std::move(results).error().node(std::string(site.location.name()), site.location.op_type));
    return fail();
  }
  bind_results(node, *results, first_new);
}

Result<std::vector<TorchValue>> GraphImport::call_node(const NodeDef& node, const CallSite& site,
                                                       std::vector<TorchValue> inputs) {
  std::vector<TorchValue> args;
  NamedValues kwargs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const NodeInput& input = node.inputs[i];
    if (input.keyword && !input.name.empty() && !program_.positional_only())
      kwargs.emplace_back(input.name, std::move(inputs[i]));
    else
      args.push_back(std::move(inputs[i]));
  }
  return functional_.call(site, operator_name(node.target), args, kwargs);
}

void GraphImport::bind_results(const NodeDef& node, const std::vector<TorchValue>& results,
                               size_t first_new) {
  for (size_t i = 0; i < node.outputs.size(); ++i)
    bind_result(node.outputs[i], i < results.size() ? results[i] : TorchValue(), first_new);
}

// first_new SIZE_MAX: the node failed.
void GraphImport::bind_result(const Argument& target, const TorchValue& result, size_t first_new) {
  if (const auto* named = std::get_if<Named>(&target.value)) {
    if (first_new == SIZE_MAX) {
      failed_.insert(named->name);
      return;
    }
    // A tensor that the node made takes the name it has in the file.
    if (ec::Tensor* tensor = result.tensor(); tensor != nullptr && tensor->id() >= first_new &&
                                              tensor->producer() != nullptr &&
                                              graph_.find_tensor(named->name) == nullptr)
      graph_.rename(tensor, named->name);
    values_[named->name] = result;
    return;
  }
  if (const auto* list = std::get_if<ArgumentList>(&target.value)) {
    const auto* items = result.items();
    for (size_t i = 0; i < list->items.size(); ++i)
      bind_result(list->items[i],
                  items != nullptr && i < items->size() ? (*items)[i] : TorchValue(), first_new);
  }
}

}  // namespace ec::torch::exported
