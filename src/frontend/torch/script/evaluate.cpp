// Expressions.
#include <fmt/format.h>

#include "frontend/torch/script/builtins.h"
#include "frontend/torch/script/interpreter.h"
#include "frontend/torch/script/limits.h"
#include "frontend/torch/script/nesting.h"
#include "support/budget.h"
#include "support/strings.h"

namespace ec::torch::script {
namespace {

const std::string* leftmost_name(const Expr& expr) {
  const Expr* at = &expr;
  while (at->kind == Expr::Kind::Attribute) at = &at->children[0];
  return at->kind == Expr::Kind::Name ? &at->text : nullptr;
}

bool is_container(const TorchValue& value) {
  return value.items() != nullptr || value.is<TorchValue::Dict>();
}

struct Nesting {
  explicit Nesting(int& depth) : depth_(++depth) {}
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  int& depth_;
};

}  // namespace

Result<TorchValue> Interpreter::evaluate(const Expr& expr, Frame& frame) {
  const Nesting nesting(nesting_);
  if (nesting_ > kMaxNesting) return Error(Code::TooDeep, "the program nests too deep");
  EC_CHECK_OK(check_budget());
  switch (expr.kind) {
    case Expr::Kind::Int:
      return TorchValue(expr.integer);
    case Expr::Kind::Float:
      return TorchValue(expr.real);
    case Expr::Kind::String:
      EC_CHECK_OK(spend(expr.text.size() / 64));
      return TorchValue(expr.text);
    case Expr::Kind::None:
      return TorchValue();
    case Expr::Kind::True:
      return TorchValue(true);
    case Expr::Kind::False:
      return TorchValue(false);
    case Expr::Kind::Name:
      return evaluate_name(expr, frame);
    case Expr::Kind::Attribute:
      return evaluate_attribute(expr, frame);
    case Expr::Kind::Subscript:
      return evaluate_subscript(expr, frame);
    case Expr::Kind::Call:
      return evaluate_call(expr, frame);
    case Expr::Kind::Dict:
      return evaluate_dict(expr, frame);
    case Expr::Kind::List:
    case Expr::Kind::Tuple: {
      std::vector<TorchValue> items;
      bool nested = false;
      for (const Expr& child : expr.children) {
        EC_TRY(TorchValue item, evaluate(child, frame));
        nested |= is_container(item);
        items.push_back(std::move(item));
      }
      TorchValue made = expr.kind == Expr::Kind::List ? TorchValue::list(std::move(items))
                                                      : TorchValue::tuple(std::move(items));
      if (const auto* list = made.get_if<TorchValue::List>()) created(list->get());
      EC_CHECK_OK(this->made(memory_items(*made.items())));
      if (nested) EC_CHECK_OK(check_nested(made));
      return made;
    }
    case Expr::Kind::Complex:
      return with_source(Error(Code::UnsupportedType, "the model computes with complex numbers"),
                         frame, expr.offset);
    case Expr::Kind::Ellipsis:
      break;
  }
  return with_source(Error(Code::CorruptFile, "an expression that means nothing here"), frame,
                     expr.offset);
}

Result<TorchValue> Interpreter::evaluate_name(const Expr& expr, Frame& frame) {
  for (const Frame* at = &frame; at != nullptr; at = at->enclosing)
    if (const auto found = at->names.find(expr.text); found != at->names.end()) {
      if (as_object<Undecided>(found->second))
        return data_dependent(fmt::format("the shape or type of '{}'", printable(expr.text)), frame,
                              expr.offset);
      // Texts are copied.
      if (const auto* text = found->second.get_if<std::string>())
        EC_CHECK_OK(spend(text->size() / 64));
      return found->second;
    }
  return with_source(
      Error(Code::UndefinedName, fmt::format("'{}' is read and never set", printable(expr.text))),
      frame, expr.offset);
}

Result<TorchValue> Interpreter::evaluate_attribute(const Expr& expr, Frame& frame) {
  if (const std::string* first = leftmost_name(expr)) {
    if (*first == "CONSTANTS") return constant(expr.text);
    if (*first == "__torch__") return global(dotted(expr));
  }
  EC_TRY(const TorchValue object, evaluate(expr.children[0], frame));
  Result<TorchValue> value = member(object, expr.text);
  if (!value.ok()) return with_source(std::move(value).error(), frame, expr.offset);
  return value;
}

// A function, a class, or an enumerator of one.
Result<TorchValue> Interpreter::global(const std::string& name) {
  EC_TRY(const Definition found, library_.find(name));
  if (found.function != nullptr) {
    auto made = std::make_shared<FunctionValue>();
    made->function = found.function;
    made->file = found.file;
    return TorchValue(TorchValue::Object(std::move(made)));
  }
  if (found.type != nullptr || Library::is_builtin(name)) {
    auto made = std::make_shared<ClassValue>();
    made->name = name;
    made->type = found.type;
    made->file = found.file;
    return TorchValue(TorchValue::Object(std::move(made)));
  }
  const size_t dot = name.rfind('.');
  EC_TRY(const Definition owner, library_.find(name.substr(0, dot)));
  if (owner.type != nullptr) {
    const auto entry = owner.type->constants.find(name.substr(dot + 1));
    if (entry != owner.type->constants.end()) {
      auto made = std::make_shared<Enumerator>();
      made->class_name = name.substr(0, dot);
      made->name = name.substr(dot + 1);
      Frame frame;
      frame.file = owner.file;
      EC_TRY(made->value, evaluate(entry->second, frame));
      return TorchValue(TorchValue::Object(std::move(made)));
    }
  }
  return Error(Code::UndefinedName, fmt::format("the archive has no code of '{}'", printable(name)))
      .hint("the archive is damaged: save the model again");
}

// CONSTANTS.c3. Scalars of a trace are tensors of rank 0 that count as numbers.
Result<TorchValue> Interpreter::constant(const std::string& name) {
  const Pickle& pickle = *constants_pickle_;
  const std::vector<PickleRef>& items = pickle[pickle.root()].items;
  const auto index = parse_int(std::string_view(name).substr(name.empty() ? 0 : 1));
  if (!name.starts_with('c') || !index || *index < 0 || static_cast<size_t>(*index) >= items.size())
    return Error(Code::UndefinedName, fmt::format("no constant '{}'", printable(name)));
  EC_TRY(TorchValue value, constants_->value(items[static_cast<size_t>(*index)], name));
  if (auto* tensor = value.get_if<TensorRef>()) {
    const TensorType& type = tensor->tensor->type();
    tensor->python_number =
        type.shape->rank() == 0 && (type.dtype == DType::F64 || type.dtype == DType::I64);
  }
  return value;
}

Result<TorchValue> Interpreter::attribute(const std::shared_ptr<Instance>& object,
                                          const std::string& name) {
  // Models are compiled to be used, not trained.
  if (name == "training" && object->stored.contains(name)) return TorchValue(false);
  if (const auto known = object->attributes.find(name); known != object->attributes.end())
    return known->second;
  if (const auto stored = object->stored.find(name); stored != object->stored.end()) {
    const std::string path = object->path.empty() ? name : object->path + "." + name;
    EC_TRY(TorchValue value, data_->value(stored->second, path));
    object->attributes.insert_or_assign(name, value);
    return value;
  }
  if (object->type != nullptr) {
    for (const Field& field : object->type->fields) {
      if (field.name != name || !field.value) continue;
      Frame frame;
      frame.file = object->file;
      return evaluate(*field.value, frame);
    }
  }
  return Error(Code::UndefinedName,
               fmt::format("object '{}' of class '{}' has no attribute '{}'",
                           printable(object->path), printable(object->class_name), printable(name)))
      .hint("the archive is damaged: save the model again");
}

Result<TorchValue> Interpreter::member(const TorchValue& object, const std::string& name) {
  if (const auto instance = as_object<Instance>(object)) return attribute(instance, name);
  if (const auto* tuple = object.get_if<TorchValue::Tuple>()) {
    for (size_t i = 0; i < (*tuple)->field_names.size(); ++i)
      if ((*tuple)->field_names[i] == name && i < (*tuple)->items.size()) return (*tuple)->items[i];
  }
  if (const auto entry = as_object<Enumerator>(object)) {
    if (name == "value") return entry->value;
    if (name == "name") return TorchValue(entry->name);
  }
  return Error(Code::UndefinedName,
               fmt::format("{} has no attribute '{}'", describe(object), printable(name)));
}

Result<TorchValue> Interpreter::evaluate_dict(const Expr& expr, Frame& frame) {
  auto made = std::make_shared<TorchDict>();
  for (size_t i = 0; i + 1 < expr.children.size(); i += 2) {
    EC_TRY(TorchValue key, evaluate(expr.children[i], frame));
    EC_TRY(TorchValue value, evaluate(expr.children[i + 1], frame));
    EC_CHECK_OK(this->made(memory_items(key) + memory_items(value)));
    made->items.emplace_back(std::move(key), std::move(value));
  }
  created(made.get());
  TorchValue value(std::move(made));
  EC_CHECK_OK(check_nested(value));
  return value;
}

Result<TorchValue> Interpreter::evaluate_subscript(const Expr& expr, Frame& frame) {
  EC_TRY(const TorchValue object, evaluate(expr.children[0], frame));
  EC_TRY(const TorchValue key, evaluate(expr.children[1], frame));
  Result<TorchValue> value = item_of(object, key);
  if (value.ok()) return value;
  if (value.error().code() == Code::DataDependent)
    return data_dependent("this index", frame, expr.offset);
  return with_source(std::move(value).error(), frame, expr.offset);
}

}  // namespace ec::torch::script
