#include "frontend/torch/script/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "frontend/torch/script/parameter_value.h"
#include "frontend/torch/script/shape_hints.h"
#include "support/strings.h"

namespace ec::torch::script {
namespace {

constexpr size_t kMaxInputs = 1000;

// The example that torch.jit.trace keeps: {'forward': [inputs]}, with empty storages.
class Example {
 public:
  static std::optional<Example> read(const Archive& archive, const std::string& method) {
    if (!archive.has("traced_inputs.pkl")) return std::nullopt;
    const Result<Blob> blob = archive.read("traced_inputs.pkl");
    if (!blob.ok()) return std::nullopt;
    Result<Pickle> pickle = Pickle::read(blob->bytes());
    if (!pickle.ok()) return std::nullopt;
    auto kept = std::make_unique<Pickle>(std::move(*pickle));
    const PickleNode& root = (*kept)[kept->root()];
    if (root.kind != PickleKind::Dict) return std::nullopt;
    const PickleNode* list = kept->find(root, method);
    if (list == nullptr || list->kind != PickleKind::List) return std::nullopt;
    return Example(archive, std::move(kept), *list);
  }

  const PickleNode* value(size_t i) const {
    return i < list_->items.size() ? &(*pickle_)[list_->items[i]] : nullptr;
  }
  const Pickle& pickle() const { return *pickle_; }
  Result<TensorData> describe(const PickleNode& tensor) const {
    return TensorReader(*archive_, *pickle_, "traced_inputs").describe(tensor);
  }

 private:
  Example(const Archive& archive, std::unique_ptr<Pickle> pickle, const PickleNode& list)
      : archive_(&archive), pickle_(std::move(pickle)), list_(&list) {}

  const Archive* archive_;
  std::unique_ptr<Pickle> pickle_;
  const PickleNode* list_;
};

class Planner {
 public:
  Planner(const Archive& archive, const ImportOptions& options, Signature& signature,
          DiagnosticSink& sink)
      : example_(Example::read(archive, signature.method)),
        options_(options),
        signature_(signature),
        sink_(sink) {}

  Result<InputPlan> parameter(const Parameter& parameter, size_t index) {
    const PickleNode* example = example_ ? example_->value(index) : nullptr;
    const std::string type = parameter.type ? type_text(*parameter.type) : "Tensor";
    if (const auto given = options_.input_values.find(parameter.name);
        given != options_.input_values.end() && type.find("Tensor") == std::string::npos)
      return from_user(parameter.name, type, given->second);
    if (example != nullptr) return from_example(*example, parameter.name, 0);
    return from_type(parameter);
  }

 private:
  // A value of the user's as the parameter's type takes it.
  Result<InputPlan> from_user(const std::string& name, const std::string& type,
                              const InputValue& given) {
    const auto value = parameter_value(type, given);
    if (!value)
      return Error(Code::BadValue,
                   fmt::format("parameter '{}' of {}() is of type {}, which {} does not fit",
                               printable(name), signature_.method, printable(type),
                               printable(input_value_text(given))))
          .hint(value_option(name, type));
    signature_.given.push_back(name);
    InputPlan plan;
    plan.value = *value;
    return plan;
  }

  InputPlan tensor(const std::string& name, std::optional<TensorType> type) {
    InputPlan plan;
    plan.kind = InputPlan::Kind::Tensor;
    plan.name = name;
    if (!type) signature_.assumed.insert(name);
    signature_.tensors.push_back({name, type.value_or(TensorType(DType::F32))});
    return plan;
  }

  Result<InputPlan> from_example(const PickleNode& node, const std::string& name, int depth) {
    if (depth > 8 || signature_.tensors.size() > kMaxInputs)
      return Error(Code::TooDeep, "the example inputs nest too deep");
    InputPlan plan;
    switch (node.kind) {
      case PickleKind::Tensor: {
        EC_TRY(const TensorData data, example_->describe(node));
        const auto dtype = dtype_from_name(data.type->element);
        if (!dtype || data.type->quantized)
          return Error(Code::UnsupportedType,
                       fmt::format("input '{}' holds elements of no supported type", name));
        return tensor(name, TensorType(*dtype, Shape::of(data.sizes)));
      }
      case PickleKind::Tuple:
      case PickleKind::List:
        plan.kind = node.kind == PickleKind::List ? InputPlan::Kind::List : InputPlan::Kind::Tuple;
        for (size_t i = 0; i < node.items.size(); ++i) {
          EC_TRY(InputPlan item, from_example(example_->pickle()[node.items[i]],
                                              fmt::format("{}.{}", name, i), depth + 1));
          plan.items.push_back(std::move(item));
        }
        return plan;
      case PickleKind::None:
        return plan;
      case PickleKind::Bool:
        return plan.value = TorchValue(node.flag), plan;
      case PickleKind::Int:
        return plan.value = TorchValue(node.integer), plan;
      case PickleKind::Float:
        return plan.value = TorchValue(node.real), plan;
      case PickleKind::String:
        return plan.value = TorchValue(node.text), plan;
      default:
        return Error(Code::UnsupportedType,
                     fmt::format("input '{}' is no tensor, list or tuple", name))
            .hint("trace the model with tensors as inputs");
    }
  }

  bool shape_is_given(const std::string& name) const {
    return options_.input_shapes.contains(name);
  }

  Result<InputPlan> from_type(const Parameter& parameter) {
    const std::string type = parameter.type ? type_text(*parameter.type) : "Tensor";
    const bool optional = type.starts_with("Optional[");
    const std::string inner = optional ? type.substr(9, type.size() - 10) : type;
    const std::string position = std::to_string(signature_.tensors.size());
    if (inner == "Tensor" &&
        (!optional || shape_is_given(parameter.name) || shape_is_given(position)))
      return tensor(parameter.name, std::nullopt);
    if (inner == "List[Tensor]" || inner.starts_with("Tuple[Tensor"))
      return container(parameter, inner);
    InputPlan plan;
    if (optional) return plan;
    if (parameter.default_value) {
      const Expr& value = *parameter.default_value;
      switch (value.kind) {
        case Expr::Kind::None:
          return plan;
        case Expr::Kind::True:
          return plan.value = TorchValue(true), plan;
        case Expr::Kind::False:
          return plan.value = TorchValue(false), plan;
        case Expr::Kind::Int:
          return plan.value = TorchValue(value.integer), plan;
        case Expr::Kind::Float:
          return plan.value = TorchValue(value.real), plan;
        case Expr::Kind::String:
          return plan.value = TorchValue(value.text), plan;
        default:
          break;
      }
    }
    Error missing =
        Error(Code::MissingInput,
              fmt::format("parameter '{}' of {}() is a {}, and the archive has no value for it",
                          printable(parameter.name), signature_.method, printable(type)))
            .hint(value_option(parameter.name, type));
    const std::optional<SymScalar::Kind> kind = scalar_kind(type);
    if (!kind || options_.kept == nullptr || !options_.kept->takes_faults()) return missing;
    missing.diagnostic().severity = Severity::Warning;
    sink_.report(missing.diagnostic());
    return open_number(parameter.name, *kind);
  }

  static std::optional<SymScalar::Kind> scalar_kind(std::string_view type) {
    if (type == "int") return SymScalar::Kind::Int;
    if (type == "float") return SymScalar::Kind::Float;
    if (type == "bool") return SymScalar::Kind::Bool;
    return std::nullopt;
  }

  InputPlan open_number(const std::string& name, SymScalar::Kind kind) {
    InputPlan plan;
    plan.kind = InputPlan::Kind::Scalar;
    plan.name = name;
    plan.scalar = kind;
    const DType dtype = kind == SymScalar::Kind::Int    ? DType::I64
                        : kind == SymScalar::Kind::Bool ? DType::Bool
                                                        : DType::F64;
    signature_.tensors.push_back({name, TensorType(dtype, Shape{})});
    return plan;
  }

  // A list of tensors: as many as the user gives shapes for (x.0, x.1, ...).
  Result<InputPlan> container(const Parameter& parameter, const std::string& type) {
    InputPlan plan;
    plan.kind = type.starts_with("List") ? InputPlan::Kind::List : InputPlan::Kind::Tuple;
    size_t count = 0;
    if (plan.kind == InputPlan::Kind::Tuple)
      count = static_cast<size_t>(std::count(type.begin(), type.end(), ',')) + 1;
    else
      while (shape_is_given(fmt::format("{}.{}", parameter.name, count)) ||
             shape_is_given(std::to_string(signature_.tensors.size() + count)))
        ++count;
    if (count == 0)
      return Error(Code::DynamicShape,
                   fmt::format("input '{}' is a list of tensors of unknown length",
                               printable(parameter.name)))
          .hint(fmt::format("give the shape of each: --input-shape {0}.0:1x3x224x224 --input-shape "
                            "{0}.1:...",
                            printable(parameter.name)));
    for (size_t i = 0; i < count; ++i)
      plan.items.push_back(tensor(fmt::format("{}.{}", parameter.name, i), std::nullopt));
    return plan;
  }

  std::optional<Example> example_;
  const ImportOptions& options_;
  Signature& signature_;
  DiagnosticSink& sink_;
};

// The user's shape replaces the example's: a traced program takes other sizes, too.
void forget_given_shapes(Signature& signature, const ImportOptions& options) {
  for (size_t i = 0; i < signature.tensors.size(); ++i) {
    NamedInput& input = signature.tensors[i];
    const bool by_name = options.input_shapes.contains(input.name);
    const bool by_position = options.input_shapes.contains(std::to_string(i));
    const bool only = signature.tensors.size() == 1 && options.input_shapes.contains("");
    if (!by_name && !by_position && !only) continue;
    const auto given = options.input_shapes.find(by_name       ? input.name
                                                 : by_position ? std::to_string(i)
                                                               : std::string());
    if (!input.type.shape || input.type.shape->rank() != given->second.size()) {
      input.type.shape.reset();
      continue;
    }
    for (size_t d = 0; d < given->second.size(); ++d)
      if (given->second[d] >= 0) (*input.type.shape)[d] = Dim(given->second[d]);
  }
}

// `open`: the sizes stay open, with what the first layer tells of them.
void ask_for_shapes(Signature& signature, Interpreter& interpreter, bool open,
                    DiagnosticSink& sink) {
  std::string names, options;
  for (NamedInput& input : signature.tensors) {
    if (input.type.is_static()) continue;
    const auto hint = shape_hint(interpreter, signature.method, input.name);
    names += fmt::format("{}'{}'{}", names.empty() ? "" : ", ", printable(input.name),
                         hint ? " (" + hint->text + ")" : "");
    options += fmt::format("--input-shape {}:{} ", printable(input.name),
                           hint ? hint->example : "1x3x224x224");
    if (!open || !hint || input.type.shape) continue;
    Shape shape;
    for (size_t i = 0; i < hint->sizes.size(); ++i)
      shape.push_back(hint->sizes[i] >= 0 ? Dim(hint->sizes[i])
                                          : Dim::symbol(fmt::format("{}_dim{}", input.name, i)));
    input.type.shape = std::move(shape);
  }
  if (names.empty()) return;
  Error error =
      Error(Code::DynamicShape,
            fmt::format("the archive does not say which shape its inputs have: {}", names))
          .hint(options + "(with the model's own sizes)");
  if (open) error.diagnostic().severity = Severity::Warning;
  sink.report(error.diagnostic());
}

}  // namespace

Result<Signature> plan_inputs(const Archive& archive, Interpreter& interpreter,
                              const ImportOptions& options, DiagnosticSink& sink) {
  const Instance& module = *interpreter.root();
  Signature signature;
  // An overloaded forward has numbered forms; the first takes tensors.
  signature.method = module.type->method("forward") != nullptr ? "forward" : "forward__0";
  const Function* method = module.type->method(signature.method);
  if (method == nullptr)
    return Error(Code::UnsupportedFormat,
                 fmt::format("class '{}' has no method forward()", printable(module.class_name)))
        .hint("save the module that computes the result, with a forward() method");
  Planner planner(archive, options, signature, sink);
  for (size_t i = 1; i < method->parameters.size(); ++i) {
    EC_TRY(InputPlan plan, planner.parameter(method->parameters[i], i - 1));
    signature.parameters.push_back(std::move(plan));
  }
  forget_given_shapes(signature, options);
  apply_input_options(signature.tensors, options, sink);
  if (sink.has_errors()) return sink.first_error();
  ask_for_shapes(signature, interpreter, options.kept != nullptr && options.kept->takes_faults(),
                 sink);
  if (sink.has_errors()) return sink.first_error();
  return signature;
}

}  // namespace ec::torch::script
