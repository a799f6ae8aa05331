#include "runtime/quantize_input.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/rounding.h"

namespace ec {
namespace {

template <class T>
void quantize_elements(std::span<const float> from, T* to, float scale, int32_t zero_point) {
  constexpr auto kLow = static_cast<float>(std::numeric_limits<T>::min());
  constexpr auto kHigh = static_cast<float>(std::numeric_limits<T>::max());
  const auto zero = static_cast<float>(zero_point);
  for (size_t i = 0; i < from.size(); ++i) {
    const float step = round_half_away(from[i] / scale) + zero;
    to[i] = static_cast<T>(std::isnan(step) ? zero : std::clamp(step, kLow, kHigh));
  }
}

}  // namespace

bool takes_real_numbers(const TensorType& type) {
  if (!type.quant || type.quant->per_channel() || type.quant->scales.size() != 1) return false;
  return type.dtype == DType::I8 || type.dtype == DType::U8 || type.dtype == DType::I16 ||
         type.dtype == DType::U16;
}

Result<Value> quantize_input(const Value& value, const TensorType& type) {
  const auto from = value.as<float>();
  if (value.data.size() != from.size_bytes())
    return Value(type.dtype, value.shape, value.data);  // the caller's check of sizes reports it
  Buffer buffer = Buffer::allocate(from.size() * element_size(type.dtype));
  if (!buffer.ok()) return Error(Code::OutOfMemory, "no memory to quantise an input");
  const float scale = type.quant->scales[0];
  const int32_t zero = type.quant->zero_points.empty() ? 0 : type.quant->zero_points[0];
  std::byte* to = buffer.data();
  switch (type.dtype) {
    case DType::I8:
      quantize_elements(from, reinterpret_cast<int8_t*>(to), scale, zero);
      break;
    case DType::U8:
      quantize_elements(from, reinterpret_cast<uint8_t*>(to), scale, zero);
      break;
    case DType::I16:
      quantize_elements(from, reinterpret_cast<int16_t*>(to), scale, zero);
      break;
    default:
      quantize_elements(from, reinterpret_cast<uint16_t*>(to), scale, zero);
      break;
  }
  return Value(type.dtype, value.shape, std::move(buffer).to_blob());
}

}  // namespace ec
