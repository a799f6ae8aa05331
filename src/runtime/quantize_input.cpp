#include "runtime/quantize_input.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/rounding.h"

namespace ec {
namespace {

template <class T>
void quantize(std::span<const float> from, std::byte* to, float scale, int32_t zero_point) {
  constexpr auto kLow = static_cast<float>(std::numeric_limits<T>::min());
  constexpr auto kHigh = static_cast<float>(std::numeric_limits<T>::max());
  const auto zero = static_cast<float>(zero_point);
  T* stored = reinterpret_cast<T*>(to);
  for (size_t i = 0; i < from.size(); ++i) {
    const float q = round_half_away(from[i] / scale) + zero;
    stored[i] = static_cast<T>(std::isnan(q) ? zero : std::clamp(q, kLow, kHigh));
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
    return Value(type.dtype, value.shape, value.data);  // the size check reports it
  Buffer buffer = Buffer::allocate(from.size() * element_size(type.dtype));
  if (!buffer.ok()) return Error(Code::OutOfMemory, "no memory to quantise an input");
  const float scale = type.quant->scales[0];
  const int32_t zero = type.quant->zero_points.empty() ? 0 : type.quant->zero_points[0];
  switch (type.dtype) {
    case DType::I8:
      quantize<int8_t>(from, buffer.data(), scale, zero);
      break;
    case DType::U8:
      quantize<uint8_t>(from, buffer.data(), scale, zero);
      break;
    case DType::I16:
      quantize<int16_t>(from, buffer.data(), scale, zero);
      break;
    default:
      quantize<uint16_t>(from, buffer.data(), scale, zero);
      break;
  }
  return Value(type.dtype, value.shape, std::move(buffer).to_blob());
}

}  // namespace ec
