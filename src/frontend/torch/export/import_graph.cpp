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

Error ProgramImport::explained(Error error) const {
  const Code code = error.code();
  return std::move(error).file(file_).hint(std::string(usual_hint(code)));
}

void ProgramImport::report(Error error) {
  error = explained(std::move(error));
  if (kept_ != nullptr && kept_->takes_problem(error.code())) {
    error.diagnostic().severity = Severity::Warning;
    return sink_.report(error.diagnostic());
  }
  ++errors_;
  sink_.report(std::move(error));
}

Status ProgramImport::count_node() {
  // Programs have some thousands; loops in loops run each of theirs many times.
  if (++nodes_ <= max_nodes_) return {};
  return Error(Code::TooLarge, "loops of the program become too many operations");
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
  if (kept_ != nullptr) return true;  // each is met in its place
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

Result<TensorType> declared_type(const TensorMeta& meta) {
  EC_TRY(const DType dtype,
         dtype_of_scalar_type(
             scalar_type_of_export(meta.dtype).value_or(unknown_scalar_type(meta.dtype))));
  std::vector<Dim> dims;
  for (const SizeDef& size : meta.sizes)
    dims.push_back(size.value                ? Dim(*size.value)
                   : size.expression.empty() ? Dim::unknown()
                                             : Dim::symbol(size.expression));
  return TensorType(dtype, Shape(std::move(dims)));
}

CallSite GraphImport::site_of(const NodeDef& node) const {
  const std::string op_type = without_overload(operator_name(node.target));
  const std::string plain = op_type.substr(op_type.rfind(':') + 1);
  return {&graph_, Location(node.module_path.empty() ? plain : node.module_path, op_type),
          &program_.sink(), &program_.made()};
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
  def_ = &def;
  for (const NodeDef& node : def.nodes) {
    if (program_.stopped()) return;
    if (Status stop = check_budget(); !stop.ok()) return program_.report(std::move(stop).error());
    if (Status many = program_.count_node(); !many.ok())
      return program_.report(std::move(many).error());
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
      if (!given) {
        const Error error(Code::UndefinedName, "an input of it cannot be read");
        return keep_node(node, site, error) ? void() : fail();
      }
      inputs.push_back(std::move(*given));
    }
    results = call_node(node, site, std::move(inputs));
  }
  if (!results.ok() && keep_node(node, site, results.error())) return;
  if (!results.ok()) {
    program_.report(
        std::move(results).error().node(std::string(site.location.name()), site.location.op_type));
    return fail();
  }
  bind_results(node, *results, first_new);
}

void GraphImport::add_operands(const Argument& argument, Tensors& operands) const {
  if (const auto* list = std::get_if<ArgumentList>(&argument.value))
    for (const Argument& item : list->items) add_operands(item, operands);
  const auto* named = std::get_if<Named>(&argument.value);
  const auto found = named != nullptr ? values_.find(named->name) : values_.end();
  if (found == values_.end()) return;
  if (ec::Tensor* tensor = found->second.tensor()) operands.push_back(tensor);
  if (const auto* open = found->second.get_if<SymScalar>()) operands.push_back(open->tensor);
}

void GraphImport::add_result_types(const Argument& output, std::vector<TensorType>& types) const {
  if (const auto* list = std::get_if<ArgumentList>(&output.value))
    for (const Argument& item : list->items) add_result_types(item, types);
  const auto* named = std::get_if<Named>(&output.value);
  if (named == nullptr) return;
  const auto meta = def_->tensors.find(named->name);
  if (meta == def_->tensors.end())
    return types.emplace_back(DType::I64, Shape{}), void();  // a size
  Result<TensorType> type = declared_type(meta->second);
  types.push_back(type.ok() ? std::move(*type) : TensorType(DType::F32));
}

TorchValue GraphImport::kept_result(const Argument& output, const Operation& op,
                                    size_t& next) const {
  if (const auto* list = std::get_if<ArgumentList>(&output.value)) {
    std::vector<TorchValue> items;
    for (const Argument& item : list->items) items.push_back(kept_result(item, op, next));
    return TorchValue::list(std::move(items));
  }
  const auto* named = std::get_if<Named>(&output.value);
  if (named == nullptr) return {};
  ec::Tensor* tensor = op.output(next++);
  if (!def_->tensors.contains(named->name)) return SymScalar{tensor, SymScalar::Kind::Int};
  return Functionalizer::adopt(TensorRef{tensor, false, {}, {}});
}

bool GraphImport::keep_node(const NodeDef& node, const CallSite& site, const Error& error) {
  KeptOperations* kept = program_.kept();
  if (kept == nullptr || is_stop(error.code())) return false;
  Tensors operands;
  for (const NodeInput& input : node.inputs) add_operands(input.value, operands);
  if (!kept->takes(error.code(), operands)) return false;
  std::vector<TensorType> types;
  for (const Argument& output : node.outputs) add_result_types(output, types);
  const size_t first_new = graph_.tensor_id_bound();
  Result<Operation*> op = kept->add(graph_, std::move(operands), std::move(types), site.location,
                                    program_.explained(Error(error.diagnostic())).diagnostic());
  if (!op.ok()) return false;
  std::vector<TorchValue> results;
  size_t next = 0;
  for (const Argument& output : node.outputs) results.push_back(kept_result(output, **op, next));
  bind_results(node, results, first_new);
  return true;
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
