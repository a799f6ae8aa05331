#include "frontend/torch/aten/operators.h"

#include "frontend/known_values.h"
#include "frontend/torch/aten/quantization.h"
#include "frontend/torch/aten/resolve.h"
#include "frontend/torch/aten/table.h"
#include "support/strings.h"

namespace ec::torch {
namespace {

struct SplitName {
  std::string_view name, overload;
  bool exact = false;
};

SplitName split_name(std::string_view text) {
  const size_t colons = text.find("::");
  const size_t dot = text.find('.', colons == std::string_view::npos ? 0 : colons);
  if (dot == std::string_view::npos) return {text, {}, false};
  const std::string_view overload = text.substr(dot + 1);
  return {text.substr(0, dot), overload == "default" ? std::string_view{} : overload, true};
}

// c10::ScalarType, and where it stands in the IR.
struct ScalarTypeRow {
  int64_t number;
  DType dtype;
};
constexpr ScalarTypeRow kScalarTypes[] = {
    {0, DType::U8},          {1, DType::I8},          {2, DType::I16},     {3, DType::I32},
    {4, DType::I64},         {5, DType::F16},         {6, DType::F32},     {7, DType::F64},
    {11, DType::Bool},       {15, DType::BF16},       {23, DType::F8E5M2}, {24, DType::F8E4M3FN},
    {25, DType::F8E5M2FNUZ}, {26, DType::F8E4M3FNUZ}, {27, DType::U16},    {28, DType::U32},
    {29, DType::U64},        {44, DType::F8E8M0},     {12, DType::I8},     {13, DType::U8},
    {14, DType::I32},
};

const TensorRef* first_quantized(const std::vector<TorchValue>& args) {
  for (const TorchValue& value : args) {
    if (const auto* ref = value.get_if<TensorRef>(); ref != nullptr && ref->quant) return ref;
    const auto* items = value.items();
    if (items == nullptr) continue;
    if (const TensorRef* ref = first_quantized(*items)) return ref;
  }
  return nullptr;
}

Result<TorchValue> real_value(const CallSite& site, const TorchValue& value) {
  if (const auto* ref = value.get_if<TensorRef>(); ref != nullptr && ref->quant) {
    EC_TRY(ec::Tensor * real, dequantized(site, *ref));
    return TorchValue(real);
  }
  const auto* items = value.items();
  if (items == nullptr) return value;
  std::vector<TorchValue> reals;
  for (const TorchValue& item : *items) {
    EC_TRY(TorchValue real, real_value(site, item));
    reals.push_back(std::move(real));
  }
  return TorchValue::list(std::move(reals));
}

// Results of an operator on quantised tensors have the parameters of its operand, except where
// PyTorch fixes them: sigmoid and tanh use the whole range of their function.
std::shared_ptr<const QuantParams> result_parameters(std::string_view name,
                                                     const TensorRef& operand) {
  const bool is_unsigned = operand.tensor->dtype() == DType::U8;
  if (name == "aten::sigmoid")
    return std::make_shared<QuantParams>(per_tensor(1.0 / 256, is_unsigned ? 0 : -128));
  if (name == "aten::tanh")
    return std::make_shared<QuantParams>(per_tensor(2.0 / 256, is_unsigned ? 128 : 0));
  return operand.quant;
}

Result<TorchValue> quantize_again(const CallSite& site, const TorchValue& value,
                                  const std::shared_ptr<const QuantParams>& quant, DType dtype) {
  if (const auto* ref = value.get_if<TensorRef>();
      ref != nullptr && is_float(ref->tensor->dtype())) {
    EC_TRY(TensorRef result, quantized(site, ref->tensor, quant, dtype));
    return TorchValue(std::move(result));
  }
  const auto* items = value.items();
  if (items == nullptr) return value;
  std::vector<TorchValue> results;
  for (const TorchValue& item : *items) {
    EC_TRY(TorchValue result, quantize_again(site, item, quant, dtype));
    results.push_back(std::move(result));
  }
  return TorchValue::list(std::move(results));
}

Result<std::vector<TorchValue>> run(const CallSite& site, const Operator& op,
                                    std::vector<TorchValue> args) {
  Call call(site, op.schema, std::move(args));
  auto results = op.row->convert(call);
  EC_CHECK_OK(call.status());  // what went wrong first
  return results;
}

Result<std::vector<TorchValue>> run_on_reals(const CallSite& site, const Operator& op,
                                             std::vector<TorchValue> args,
                                             const TensorRef& operand) {
  if (operand.quant->per_channel())
    return Error(Code::UnsupportedOpForm,
                 op.schema.name + " on a tensor that is quantised per channel");
  const auto parameters = result_parameters(op.schema.name, operand);
  const DType dtype = operand.tensor->dtype();
  for (TorchValue& arg : args) {
    EC_TRY(arg, real_value(site, arg));
  }
  EC_TRY(std::vector<TorchValue> results, run(site, op, std::move(args)));
  for (TorchValue& result : results) {
    EC_TRY(result, quantize_again(site, result, parameters, dtype));
  }
  return results;
}

}  // namespace

Result<std::vector<TorchValue>> call(const CallSite& site, std::string_view name,
                                     std::span<const TorchValue> args, const NamedValues& kwargs) {
  const SplitName split = split_name(name);
  const std::span<const Operator> overloads = find_operators(split.name);
  const auto where = [&](Error error) {
    return std::move(error).node(std::string(site.location.name()), site.location.op_type);
  };
  if (overloads.empty()) return where(unknown_operator(split.name));
  auto resolved = resolve(split.name, overloads, split.overload, split.exact, args, kwargs);
  if (!resolved.ok()) return where(std::move(resolved).error());
  const Operator& op = *resolved->op;
  const TensorRef* operand = op.row->quantized ? nullptr : first_quantized(resolved->args);
  // The reference points into the arguments, which move.
  const TensorRef kept = operand != nullptr ? *operand : TensorRef{};
  auto results = operand == nullptr ? run(site, op, std::move(resolved->args))
                                    : run_on_reals(site, op, std::move(resolved->args), kept);
  if (!results.ok()) return where(std::move(results).error());
  return results;
}

bool is_known_operator(std::string_view name) {
  return !find_operators(split_name(name).name).empty();
}

Error unknown_operator(std::string_view name) {
  std::string hint = did_you_mean(name, operator_names());
  if (hint.empty())
    hint =
        "export the model with torch.export and run_decompositions(), which writes it with core "
        "operators";
  return Error(Code::UnsupportedOp, "operator '" + printable(name) + "' is not supported")
      .hint(std::move(hint));
}

Result<DType> dtype_of_scalar_type(int64_t scalar_type) {
  for (const ScalarTypeRow& row : kScalarTypes)
    if (row.number == scalar_type) return row.dtype;
  return Error(Code::UnsupportedType, "element type number " + std::to_string(scalar_type) +
                                          " of PyTorch is not supported")
      .hint(scalar_type >= 8 && scalar_type <= 10
                ? "complex numbers are not supported: compute with real and imaginary parts"
                : "convert the model to float32");
}

int64_t scalar_type_of(DType dtype) {
  for (const ScalarTypeRow& row : kScalarTypes)
    if (row.dtype == dtype) return row.number;
  return 6;
}

Result<TensorRef> as_tensor(const CallSite& site, const TorchValue& value) {
  if (const auto* ref = value.get_if<TensorRef>()) return *ref;
  if (const auto* symbol = value.get_if<SymScalar>())
    return TensorRef{symbol->tensor, true, {}, {}};
  const auto constant = [&](DType dtype, auto number) {
    return TensorRef{site.graph->add_constant("", TensorType(dtype, Shape{}),
                                              Blob::copy_of(std::as_bytes(std::span(&number, 1)))),
                     true,
                     {},
                     {}};
  };
  if (const auto* v = value.get_if<bool>())
    return constant(DType::Bool, static_cast<uint8_t>(*v ? 1 : 0));
  if (const auto* v = value.get_if<int64_t>()) return constant(DType::I64, *v);
  if (const auto* v = value.get_if<double>()) return constant(DType::F64, *v);
  return Error(Code::TypeMismatch, describe(value) + " where a tensor is needed");
}

Result<TorchValue> as_number(const CallSite& site, const TensorRef& ref, SymScalar::Kind kind) {
  ec::Tensor* tensor = ref.tensor;
  if (const auto value = known_number(ref)) {
    if (kind == SymScalar::Kind::Bool) return TorchValue(*value != 0);
    if (kind == SymScalar::Kind::Float) return TorchValue(*value);
    // Integers above 2^53 do not pass through a double.
    if (const auto exact = known_int(ref)) return TorchValue(*exact);
    return TorchValue(static_cast<int64_t>(*value));
  }
  if (tensor->shape() && tensor->shape()->rank() > 0) {
    ReshapeAttrs attrs;
    attrs.allow_zero = true;
    EC_TRY(tensor, site.graph->add_single(OpKind::Reshape, {tensor, site.graph->add_ints("", {})},
                                          attrs, site.location));
  }
  const DType dtype = kind == SymScalar::Kind::Bool  ? DType::Bool
                      : kind == SymScalar::Kind::Int ? DType::I64
                      : is_float(tensor->dtype())    ? tensor->dtype()
                                                     : DType::F64;
  if (tensor->dtype() != dtype) {
    CastAttrs attrs;
    attrs.to = dtype;
    EC_TRY(tensor, site.graph->add_single(OpKind::Cast, {tensor}, attrs, site.location));
  }
  return TorchValue(SymScalar{tensor, kind});
}

}  // namespace ec::torch
