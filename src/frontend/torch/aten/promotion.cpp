#include "frontend/torch/aten/promotion.h"

#include <optional>

namespace ec::torch {
namespace {

int category(DType dtype) {
  if (dtype == DType::Bool) return 0;
  return is_float(dtype) ? 2 : 1;
}

std::optional<DType> join(std::optional<DType> a, DType b) { return a ? promote(*a, b) : b; }

// What a number of the type is when nothing else decides: Python floats are f32, integers i64.
DType number_type(DType dtype) { return is_float(dtype) ? DType::F32 : dtype; }

std::optional<DType> combine(std::optional<DType> strong, std::optional<DType> weak) {
  if (!strong) return weak;
  if (!weak || category(*strong) >= category(*weak)) return strong;
  return promote(*strong, *weak);
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  const int ca = category(a), cb = category(b);
  if (ca != cb) return ca > cb ? a : b;
  if (ca == 2) {
    if (bit_width(a) != bit_width(b)) return bit_width(a) > bit_width(b) ? a : b;
    return DType::F32;  // f16 with bf16
  }
  // u8 with a signed type of its width needs the next one.
  const bool a_unsigned = is_unsigned_integer(a), b_unsigned = is_unsigned_integer(b);
  if (a_unsigned == b_unsigned) return bit_width(a) > bit_width(b) ? a : b;
  const DType signed_type = a_unsigned ? b : a, unsigned_type = a_unsigned ? a : b;
  if (bit_width(signed_type) > bit_width(unsigned_type)) return signed_type;
  switch (bit_width(unsigned_type)) {
    case 8:
      return DType::I16;
    case 16:
      return DType::I32;
    default:
      return DType::I64;
  }
}

DType result_type(std::span<const TensorRef> operands) {
  std::optional<DType> with_dims, zero_dim, number;
  for (const TensorRef& operand : operands) {
    const DType dtype = operand.tensor->dtype();
    if (operand.python_number)
      number = join(number, number_type(dtype));
    else if (operand.tensor->shape() && operand.tensor->shape()->rank() == 0)
      zero_dim = join(zero_dim, dtype);
    else
      with_dims = join(with_dims, dtype);
  }
  return combine(combine(with_dims, zero_dim), number).value_or(DType::F32);
}

DType to_float_type(DType dtype) { return is_float(dtype) ? dtype : DType::F32; }

}  // namespace ec::torch
