// Attributes of modules that outlive a run: buffers that forward() writes to, tensors and numbers
// that it assigns.
#include <fmt/format.h>

#include "frontend/torch/script/interpreter.h"
#include "support/strings.h"

namespace ec::torch::script {

// The module and the attribute that "encoder.layers.0.cache" names.
Result<Interpreter::AttributeRef> Interpreter::find_attribute(const std::string& path) {
  std::shared_ptr<Instance> object = root_;
  const std::vector<std::string_view> parts = split(path, '.');
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    EC_TRY(const TorchValue inner, attribute(object, std::string(parts[i])));
    object = as_object<Instance>(inner);
    if (object == nullptr)
      return Error(Code::UnsupportedOpForm,
                   fmt::format("'{}' is no attribute of a module", printable(path)));
  }
  return AttributeRef{std::move(object), std::string(parts.back())};
}

Status Interpreter::declare_state(const std::vector<std::string>& paths, StateBuilder& states) {
  for (const std::string& path : paths) {
    EC_TRY(const AttributeRef owner, find_attribute(path));
    EC_TRY(TorchValue value, attribute(owner.object, owner.name));
    const Location location(path, "state");
    if (auto* tensor = value.get_if<TensorRef>(); tensor != nullptr && tensor->alias) {
      if (tensor->quant || tensor->alias->base)
        return Error(Code::UnsupportedOpForm,
                     fmt::format("the state '{}' is quantised or a view", printable(path)));
      EC_TRY(ec::Tensor * before,
             states.declare(path, path, tensor->alias->value.tensor, location));
      // Everything that holds the tensor reads it through its memory.
      tensor->alias->value.tensor = before;
      tensor->tensor = before;
      owner.object->attributes.insert_or_assign(owner.name, value);
      continue;
    }
    const bool is_bool = value.is<bool>(), is_int = value.is<int64_t>();
    if (!value.is_number())
      return Error(Code::UnsupportedOpForm,
                   fmt::format("the state '{}' is {}", printable(path), describe(value)));
    const double number = is_bool  ? static_cast<double>(value.get<bool>())
                          : is_int ? static_cast<double>(value.get<int64_t>())
                                   : value.get<double>();
    const DType dtype = is_bool ? DType::Bool : is_int ? DType::I64 : DType::F64;
    EC_TRY(ec::Tensor * before,
           states.declare(path, path, graph_.add_scalar("", dtype, number), location));
    const auto kind = is_bool  ? SymScalar::Kind::Bool
                      : is_int ? SymScalar::Kind::Int
                               : SymScalar::Kind::Float;
    owner.object->attributes.insert_or_assign(owner.name, TorchValue(SymScalar{before, kind}));
  }
  return {};
}

Status Interpreter::keep_state(const std::vector<std::string>& paths, StateBuilder& states) {
  for (const std::string& path : paths) {
    EC_TRY(const AttributeRef owner, find_attribute(path));
    EC_TRY(const TorchValue stored, attribute(owner.object, owner.name));
    EC_TRY(const TorchValue value, functional_.current(site(path, "state"), stored));
    const ec::Tensor* before = states.value(path);
    if (const auto* symbol = value.get_if<SymScalar>()) {
      states.assign(path, symbol->tensor);
    } else if (value.is_tensor() && !value.get<TensorRef>().quant) {
      states.assign(path, value.tensor());
    } else if (value.is_number()) {
      const double number = value.is<bool>()      ? static_cast<double>(value.get<bool>())
                            : value.is<int64_t>() ? static_cast<double>(value.get<int64_t>())
                                                  : value.get<double>();
      states.assign(path, graph_.add_scalar("", before->dtype(), number));
    } else {
      return Error(Code::UnsupportedOpForm,
                   fmt::format("the state '{}' becomes {}", printable(path), describe(value)));
    }
  }
  return {};
}

}  // namespace ec::torch::script
