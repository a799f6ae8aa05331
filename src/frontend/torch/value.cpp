#include "frontend/torch/value.h"

#include "support/strings.h"

namespace ec::torch {
namespace {

struct Describe {
  std::string operator()(std::monostate) const { return "None"; }
  std::string operator()(bool value) const { return value ? "bool True" : "bool False"; }
  std::string operator()(int64_t value) const { return "int " + std::to_string(value); }
  std::string operator()(double value) const { return "float " + format_double(value); }
  std::string operator()(const std::string& value) const {
    return "str \"" + printable(value, 40) + "\"";
  }
  std::string operator()(const TensorRef& value) const {
    return (value.quant ? "quantised Tensor " : "Tensor ") + value.tensor->type().text();
  }
  std::string operator()(const SymScalar& value) const {
    constexpr const char* kNames[] = {"bool", "int", "float"};
    return std::string(kNames[static_cast<size_t>(value.kind)]) + " known at run time";
  }
  std::string operator()(const TorchValue::List& value) const {
    return "list of " + std::to_string(value->items.size());
  }
  std::string operator()(const TorchValue::Tuple& value) const {
    return "tuple of " + std::to_string(value->items.size());
  }
  std::string operator()(const TorchValue::Dict& value) const {
    return "dict of " + std::to_string(value->items.size());
  }
  std::string operator()(const TorchValue::Object&) const { return "object"; }
  std::string operator()(const TorchValue::Linear&) const { return "packed linear weights"; }
  std::string operator()(const TorchValue::Conv&) const { return "packed convolution weights"; }
  std::string operator()(const TorchValue::Cell&) const { return "packed recurrent weights"; }
};

}  // namespace

std::string describe(const TorchValue& value) { return std::visit(Describe{}, value.variant()); }

}  // namespace ec::torch
