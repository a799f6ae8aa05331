// What stands before brackets: operators, functions, methods, classes and the special forms.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "frontend/torch/script/builtins.h"
#include "frontend/torch/script/interpreter.h"
#include "frontend/torch/script/nesting.h"
#include "frontend/torch/script/types.h"
#include "support/budget.h"
#include "support/strings.h"

namespace ec::torch::script {
namespace {

// The arguments of int(x), float(x), bool(x).
std::optional<SymScalar::Kind> number_kind(std::string_view name) {
  if (name == "int" || name == "aten::Int" || name == "aten::IntImplicit")
    return SymScalar::Kind::Int;
  if (name == "float" || name == "aten::Float" || name == "aten::FloatImplicit")
    return SymScalar::Kind::Float;
  if (name == "bool" || name == "aten::Bool") return SymScalar::Kind::Bool;
  return std::nullopt;
}

SymScalar::Kind item_kind(const ec::Tensor& tensor) {
  if (tensor.dtype() == DType::Bool) return SymScalar::Kind::Bool;
  return is_float(tensor.dtype()) ? SymScalar::Kind::Float : SymScalar::Kind::Int;
}

Error mkldnn_error() {
  return Error(Code::UnsupportedFormat,
               "the model was saved after torch.jit.optimize_for_inference: its weights are not in "
               "the file")
      .hint("save the model before that call");
}

}  // namespace

Status Interpreter::arguments(const Expr& expr, Frame& frame, std::vector<TorchValue>& args,
                              NamedValues& kwargs) {
  const size_t positional = expr.num_positional();
  for (size_t i = 1; i < expr.children.size(); ++i) {
    EC_TRY(TorchValue value, evaluate(expr.children[i], frame));
    if (i <= positional)
      args.push_back(std::move(value));
    else
      kwargs.emplace_back(expr.keywords[i - 1 - positional], std::move(value));
  }
  return {};
}

Result<TorchValue> Interpreter::evaluate_call(const Expr& expr, Frame& frame) {
  const size_t wanted = std::exchange(wanted_results_, 0);
  bool handled = false;
  Result<TorchValue> special = call_special(expr, frame, handled);
  if (handled || !special.ok()) return special;
  const Expr& callee = expr.callee();
  if (const std::string name = called_operator(callee); !name.empty())
    return call_operator(name, expr, wanted, frame);
  // A few functions are written without their namespace: sorted(x).
  if (callee.kind == Expr::Kind::Name && !frame.names.contains(callee.text) &&
      find_builtin("aten::" + callee.text) != nullptr)
    return call_operator("aten::" + callee.text, expr, wanted, frame);
  std::vector<TorchValue> args;
  NamedValues kwargs;
  if (callee.kind == Expr::Kind::Attribute && !dotted(callee).starts_with("__torch__.")) {
    EC_TRY(const TorchValue object, evaluate(callee.children[0], frame));
    EC_CHECK_OK(arguments(expr, frame, args, kwargs));
    if (const auto instance = as_object<Instance>(object))
      return call_method(instance, callee.text, std::move(args), std::move(kwargs));
    Result<TorchValue> packed = call_packed(object, callee.text);
    if (!packed.ok()) return with_source(std::move(packed).error(), frame, expr.offset);
    return packed;
  }
  // __torch__.Box.__new__(__torch__.Box)
  if (callee.kind == Expr::Kind::Attribute && callee.text == "__new__") {
    EC_TRY(const TorchValue type, evaluate(callee.children[0], frame));
    const auto class_value = as_object<ClassValue>(type);
    if (class_value == nullptr || class_value->type == nullptr)
      return with_source(Error(Code::CorruptFile, "an object of what is no class"), frame,
                         expr.offset);
    return TorchValue(TorchValue::Object(
        new_instance(class_value->name, {class_value->file, class_value->type, nullptr})));
  }
  EC_TRY(const TorchValue function, evaluate(callee, frame));
  EC_CHECK_OK(arguments(expr, frame, args, kwargs));
  Result<TorchValue> value = call_value(function, std::move(args), std::move(kwargs), frame);
  if (!value.ok()) return with_source(std::move(value).error(), frame, expr.offset);
  return value;
}

// Forms that look like calls and take types or names.
Result<TorchValue> Interpreter::call_special(const Expr& expr, Frame& frame, bool& handled) {
  const Expr& callee = expr.callee();
  if (callee.kind != Expr::Kind::Name || frame.names.contains(callee.text)) return TorchValue();
  const std::string& name = callee.text;
  const size_t count = expr.children.size() - 1;
  handled = true;
  if ((name == "annotate" || name == "unchecked_cast") && count == 2)
    return evaluate(expr.children[2], frame);
  if (name == "uninitialized")
    return TorchValue(TorchValue::Object(std::make_shared<Uninitialized>()));
  if (name == "getattr" && count == 2 && expr.children[2].kind == Expr::Kind::String) {
    EC_TRY(const TorchValue object, evaluate(expr.children[1], frame));
    return member(object, expr.children[2].text);
  }
  if (name == "fork" && count >= 1) {
    // Run at once: the result is the same, and wait() has nothing left to do.
    std::vector<TorchValue> args;
    NamedValues kwargs;
    EC_CHECK_OK(arguments(expr, frame, args, kwargs));
    const TorchValue function = args.front();
    args.erase(args.begin());
    return call_value(function, std::move(args), std::move(kwargs), frame);
  }
  if (const auto kind = number_kind(name); kind && count == 1) {
    EC_TRY(const TorchValue value, evaluate(expr.children[1], frame));
    return to_number(value, *kind, frame);
  }
  if (name == "isinstance" && count == 2) {
    EC_TRY(const TorchValue value, evaluate(expr.children[1], frame));
    return TorchValue(is_instance(value, expr.children[2]));
  }
  if (name == "str" && count == 1) {
    EC_TRY(const TorchValue value, evaluate(expr.children[1], frame));
    return TorchValue(text_of_value(value));
  }
  handled = false;
  return TorchValue();
}

Result<TorchValue> Interpreter::to_number(const TorchValue& value, SymScalar::Kind kind,
                                          Frame& frame) {
  if (const auto* tensor = value.get_if<TensorRef>()) {
    const CallSite where = site(frame.path, "aten::item");
    EC_TRY(const TensorRef now, functional_.current(where, *tensor));
    return as_number(where, now, kind);
  }
  if (const auto* open = value.get_if<SymScalar>()) {
    if (open->kind == kind) return value;
    const CallSite where = site(frame.path, "aten::item");
    return as_number(where, TensorRef{open->tensor, false, {}, {}}, kind);
  }
  if (const auto* text = value.get_if<std::string>()) {
    const auto number = parse_double(*text);
    if (number && kind == SymScalar::Kind::Float) return TorchValue(*number);
    if (const auto integer = parse_int(*text); integer && kind == SymScalar::Kind::Int)
      return TorchValue(*integer);
  }
  if (!value.is_number())
    return Error(Code::TypeMismatch, fmt::format("a number expected, got {}", describe(value)));
  const double real = real_of(value);
  switch (kind) {
    case SymScalar::Kind::Bool:
      return TorchValue(real != 0);
    case SymScalar::Kind::Float:
      return TorchValue(real);
    case SymScalar::Kind::Int:
      break;
  }
  if (value.is<int64_t>()) return value;
  if (!(std::abs(real) < 9.2e18))
    return Error(Code::BadValue, "a number that is no integer is made one");
  return TorchValue(static_cast<int64_t>(real));
}

// An operator that cannot be converted, as a custom operation whose results are tensors of types
// that nobody knows.
Result<TorchValue> Interpreter::keep_call(const CallSite& where, std::span<const TorchValue> args,
                                          size_t wanted, Error error) {
  if (kept_ == nullptr) return error;
  std::vector<ec::Tensor*> operands;
  const auto add = [&](const TorchValue& value) -> Status {
    if (const auto* tensor = value.get_if<TensorRef>()) {
      EC_TRY(const TensorRef now, functional_.current(where, *tensor));
      operands.push_back(now.tensor);
    }
    if (const auto* open = value.get_if<SymScalar>()) operands.push_back(open->tensor);
    return {};
  };
  for (const TorchValue& arg : args) {
    EC_CHECK_OK(add(arg));
    if (const auto* items = arg.items())
      for (const TorchValue& item : *items) EC_CHECK_OK(add(item));
  }
  if (is_stop(error.code()) || !kept_->takes(error.code(), operands)) return error;
  const auto first = std::find_if(operands.begin(), operands.end(), [](const ec::Tensor* tensor) {
    return is_float(tensor->dtype());
  });
  // As in the other readers: `check` supposes the type of an operand, `inspect` guesses no sizes.
  const TensorType type = first == operands.end() ? TensorType(DType::F32)
                          : kept_->takes_faults() ? TensorType((*first)->dtype())
                                                  : (*first)->type();
  EC_TRY(const Operation* op, kept_->add(graph_, std::move(operands),
                                         std::vector<TensorType>(std::max<size_t>(wanted, 1), type),
                                         where.location, error.diagnostic()));
  std::vector<TorchValue> results;
  for (ec::Tensor* output : op->outputs())
    results.emplace_back(Functionalizer::adopt({output, false, {}, {}}));
  if (wanted == 0) return std::move(results.front());
  return TorchValue::tuple(std::move(results));
}

// What a built-in function looks at: all of its containers and texts, but for those that only read
// or write one place.
Status Interpreter::count_arguments(const std::string& name, std::span<const TorchValue> args) {
  static constexpr std::string_view kSinglePlace[] = {"aten::len", "aten::__getitem__",
                                                      "aten::append", "aten::_set_item"};
  const bool single = std::ranges::find(kSinglePlace, name) != std::end(kSinglePlace) ||
                      (name == "aten::pop" && args.size() == 1);
  for (const TorchValue& arg : args) {
    // Keys of dictionaries are compared one by one.
    if (const auto* dict = arg.get_if<TorchValue::Dict>())
      EC_CHECK_OK(spend((*dict)->items.size()));
    if (const auto* text = arg.get_if<std::string>()) EC_CHECK_OK(spend(text->size() / 16));
    const std::vector<TorchValue>* items = arg.items();
    if (single || items == nullptr) continue;
    const bool nested = std::ranges::any_of(*items, [](const TorchValue& item) {
      return item.items() != nullptr || item.is<TorchValue::Dict>();
    });
    EC_CHECK_OK(nested ? check_nested(arg) : spend(items->size()));
  }
  return {};
}

Status Interpreter::count_result(const TorchValue& result, std::span<const TorchValue> args) {
  if (const auto* text = result.get_if<std::string>())
    return made(text->size() / sizeof(TorchValue) + 1);
  if (const auto* dict = result.get_if<TorchValue::Dict>()) {
    size_t items = 1;
    for (const auto& [key, value] : (*dict)->items)
      items += memory_items(key) + memory_items(value);
    return made(items);
  }
  const auto* list = result.get_if<TorchValue::List>();
  if (list == nullptr) return {};
  for (const TorchValue& arg : args)
    if (const auto* given = arg.get_if<TorchValue::List>(); given != nullptr && *given == *list)
      return {};  // counted as it grew
  return made(memory_items((*list)->items));
}

Result<TorchValue> Interpreter::call_operator(const std::string& name, const Expr& expr,
                                              size_t wanted, Frame& frame) {
  std::vector<TorchValue> args;
  NamedValues kwargs;
  EC_CHECK_OK(arguments(expr, frame, args, kwargs));
  const auto located = [&](Error error) {
    return with_source(std::move(error).node(frame.path, name), frame, expr.offset);
  };
  if (const auto kind = number_kind(name); kind && args.size() == 1) {
    Result<TorchValue> number = to_number(args[0], *kind, frame);
    if (!number.ok()) return located(std::move(number).error());
    return number;
  }
  if (name == "aten::item" && args.size() == 1 && args[0].is_tensor())
    return to_number(args[0], item_kind(*args[0].tensor()), frame);
  if (name == "prim::RaiseException") {
    raised_ = true;
    const std::string what = args.empty() ? "" : text_of_value(args[0]);
    return located(
        Error(Code::BadValue, fmt::format("the model itself raises an error: {}", printable(what)))
            .hint("check the shapes of the inputs: --input-shape"));
  }
  if (name == "prim::ConstantMKLDNNTensor" || name == "aten::to_mkldnn" ||
      name.starts_with("prim::mkldnn_"))
    return mkldnn_error();
  if (const Builtin builtin = find_builtin(name)) {
    if (Status counted = count_arguments(name, args); !counted.ok())
      return located(std::move(counted).error());
    BuiltinResult result = builtin({*this, args, kwargs});
    if (!result.ok()) {
      if (result.error().code() == Code::DataDependent && result.error().diagnostic().hint.empty())
        return data_dependent(result.error().message(), frame, expr.offset);
      return located(std::move(result).error());
    }
    if (*result) {
      const bool taken = name == "aten::__getitem__" || name == "aten::get" || name == "aten::pop";
      if (!taken) EC_CHECK_OK(count_result(**result, args));
      return **result;
    }
  }
  Result<std::vector<TorchValue>> results =
      functional_.call(site(frame.path, name), name, args, kwargs);
  if (!results.ok())
    return keep_call(site(frame.path, name), args, wanted, located(std::move(results).error()));
  if (results->empty()) return TorchValue();
  if (results->size() == 1) return std::move(results->front());
  return TorchValue::tuple(std::move(*results));
}

Result<TorchValue> Interpreter::call_value(const TorchValue& callee, std::vector<TorchValue> args,
                                           NamedValues kwargs, Frame& frame) {
  if (const auto function = as_object<FunctionValue>(callee)) {
    Frame inner;
    inner.file = function->file;
    inner.path = frame.path;
    if (const auto enclosing = function->enclosing.lock()) inner.enclosing = *enclosing;
    return invoke(*function->function, std::move(inner), std::move(args), std::move(kwargs));
  }
  if (const auto type = as_object<ClassValue>(callee))
    return construct(*type, std::move(args), std::move(kwargs));
  if (const auto instance = as_object<Instance>(callee))
    return call_method(instance, "forward", std::move(args), std::move(kwargs));
  return Error(Code::CorruptFile, fmt::format("{} is called", describe(callee)))
      .hint("the archive is damaged: save the model again");
}

Result<TorchValue> Interpreter::construct(const ClassValue& type, std::vector<TorchValue> args,
                                          NamedValues kwargs) {
  if (type.type == nullptr)
    return Error(Code::UnsupportedOpForm,
                 fmt::format("the model makes an object of '{}'", printable(type.name)));
  if (type.type->base != "NamedTuple") {
    const auto made = new_instance(type.name, {type.file, type.type, nullptr});
    EC_TRY(const TorchValue ignored,
           call_method(made, "__init__", std::move(args), std::move(kwargs)));
    (void)ignored;
    return TorchValue(TorchValue::Object(made));
  }
  auto made = std::make_shared<TorchTuple>();
  made->class_name = type.name;
  made->items = std::move(args);
  for (auto& [key, value] : kwargs) made->items.push_back(std::move(value));
  for (const Field& field : type.type->fields) made->field_names.push_back(field.name);
  if (made->items.size() != made->field_names.size())
    return Error(Code::BadArity, fmt::format("'{}' has {} fields, not {}", printable(type.name),
                                             made->field_names.size(), made->items.size()));
  return TorchValue(std::move(made));
}

// Methods of packed weights; only unpack() is ever called on them.
Result<TorchValue> Interpreter::call_packed(const TorchValue& object, const std::string& name) {
  const auto optional = [](ec::Tensor* tensor) {
    return tensor == nullptr ? TorchValue()
                             : TorchValue(Functionalizer::adopt({tensor, false, {}, {}}));
  };
  if (name == "unpack") {
    if (const auto* conv = object.get_if<TorchValue::Conv>())
      return TorchValue::tuple({(*conv)->weight, optional((*conv)->bias)});
    if (const auto* linear = object.get_if<TorchValue::Linear>())
      return TorchValue::tuple({(*linear)->weight, optional((*linear)->bias)});
  }
  return Error(Code::UnsupportedOpForm,
               fmt::format("method '{}' of {} is called", printable(name), describe(object)));
}

}  // namespace ec::torch::script
