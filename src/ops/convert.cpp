#include "ops/convert.h"

#include <bit>
#include <cmath>
#include <limits>

#include "support/halves.h"
#include "support/rounding.h"
#include "support/small_float.h"

namespace ec {
namespace {

template <class T, class C, class F>
void store_each(const MutableView& view, std::span<const C> values, F&& convert) {
  auto* out = reinterpret_cast<T*>(view.data);
  for (size_t i = 0; i < values.size(); ++i) out[i] = convert(values[i]);
}

// Narrow integer types keep their low bits in a byte; the sign of i4 and i2 is extended by the
// shifts.
int8_t sign_extend(int64_t value, int bits) {
  const int shift = 64 - bits;
  return static_cast<int8_t>(std::bit_cast<int64_t>(std::bit_cast<uint64_t>(value) << shift) >>
                             shift);
}

template <class C>
int64_t to_int(C value) {
  if constexpr (std::is_floating_point_v<C>)
    return saturate_to_int64(static_cast<double>(value));
  else
    return static_cast<int64_t>(value);
}

template <class T, class C>
T to_integer(C value) {
  if constexpr (std::is_floating_point_v<C>) {
    // Truncation with saturation at the target's range: no undefined behaviour on any input.
    if (std::isnan(value)) return 0;
    const double v = static_cast<double>(value);
    if (v <= static_cast<double>(std::numeric_limits<T>::min()))
      return std::numeric_limits<T>::min();
    if (v >= static_cast<double>(std::numeric_limits<T>::max()))
      return std::numeric_limits<T>::max();
    return static_cast<T>(v);
  } else {
    return static_cast<T>(value);
  }
}

template <class C, class T, class F>
void load_each(const ConstView& view, std::span<C> out, F&& convert) {
  const auto* in = reinterpret_cast<const T*>(view.data);
  for (size_t i = 0; i < out.size(); ++i) {
    const auto value = convert(in[i]);
    if constexpr (std::is_integral_v<C> && std::is_floating_point_v<decltype(convert(in[i]))>)
      out[i] = to_integer<C>(value);
    else
      out[i] = static_cast<C>(value);
  }
}

template <class T, class C>
void store_integer(const MutableView& view, std::span<const C> values) {
  store_each<T>(view, values, [](C v) { return to_integer<T, C>(v); });
}

// A float from which a smaller format can be rounded as if directly from the value.
template <class C>
float to_narrow(C value) {
  if constexpr (std::is_same_v<C, float>)
    return value;
  else if constexpr (std::is_same_v<C, double>)
    return narrow_to_odd(value);
  else
    return narrow_to_odd(static_cast<double>(value));
}

template <class C>
void store_small(const MutableView& view, std::span<const C> values,
                 const SmallFloatFormat& format) {
  store_each<uint8_t>(view, values,
                      [&](C v) { return float_to_small(to_narrow(v), format, true); });
}

template <class C>
void load_small(const ConstView& view, std::span<C> out, const SmallFloatFormat& format) {
  load_each<C, uint8_t>(view, out, [&](uint8_t v) { return small_to_float(v, format); });
}

}  // namespace

int64_t saturate_to_int64(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 9223372036854775807.0) return std::numeric_limits<int64_t>::max();
  if (value <= -9223372036854775808.0) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

template <class C>
void load(const ConstView& view, std::span<C> out) {
  const auto plain = [](auto v) { return v; };
  switch (view.dtype) {
    case DType::F32:
      return load_each<C, float>(view, out, [](float v) {
        if constexpr (std::is_integral_v<C>)
          return saturate_to_int64(static_cast<double>(v));
        else
          return v;
      });
    case DType::F64:
      return load_each<C, double>(view, out, [](double v) {
        if constexpr (std::is_integral_v<C>)
          return saturate_to_int64(v);
        else
          return v;
      });
    case DType::F16:
      if constexpr (std::is_same_v<C, float>)
        return halves_to_floats({reinterpret_cast<const uint16_t*>(view.data), out.size()},
                                out.data());
      else
        return load_each<C, uint16_t>(view, out, [](uint16_t v) { return half_to_float(v); });
    case DType::BF16:
      return load_each<C, uint16_t>(view, out, [](uint16_t v) { return bfloat16_to_float(v); });
    case DType::I8:
    case DType::I4:
    case DType::I2:
      return load_each<C, int8_t>(view, out, plain);
    case DType::U8:
    case DType::U4:
    case DType::U2:
      return load_each<C, uint8_t>(view, out, plain);
    case DType::Bool:
      return load_each<C, uint8_t>(view, out, [](uint8_t v) { return v != 0 ? 1 : 0; });
    case DType::I16:
      return load_each<C, int16_t>(view, out, plain);
    case DType::U16:
      return load_each<C, uint16_t>(view, out, plain);
    case DType::I32:
      return load_each<C, int32_t>(view, out, plain);
    case DType::U32:
      return load_each<C, uint32_t>(view, out, plain);
    case DType::I64:
      return load_each<C, int64_t>(view, out, plain);
    case DType::U64:
      return load_each<C, uint64_t>(view, out, plain);
    case DType::F8E4M3FN:
      return load_small(view, out, kF8E4M3FN);
    case DType::F8E4M3FNUZ:
      return load_small(view, out, kF8E4M3FNUZ);
    case DType::F8E5M2:
      return load_small(view, out, kF8E5M2);
    case DType::F8E5M2FNUZ:
      return load_small(view, out, kF8E5M2FNUZ);
    case DType::F4E2M1:
      return load_small(view, out, kF4E2M1);
    case DType::F8E8M0:
      return load_each<C, uint8_t>(view, out, [](uint8_t v) { return e8m0_to_float(v); });
  }
}

template <class C>
void store(const MutableView& view, std::span<const C> values) {
  switch (view.dtype) {
    case DType::F32:
      return store_each<float>(view, values, [](C v) { return static_cast<float>(v); });
    case DType::F64:
      return store_each<double>(view, values, [](C v) { return static_cast<double>(v); });
    case DType::F16:
      if constexpr (std::is_same_v<C, float>)
        return floats_to_halves(values, reinterpret_cast<uint16_t*>(view.data));
      else
        return store_each<uint16_t>(view, values, [](C v) { return float_to_half(to_narrow(v)); });
    case DType::BF16:
      return store_each<uint16_t>(view, values,
                                  [](C v) { return float_to_bfloat16(to_narrow(v)); });
    case DType::I8:
      return store_integer<int8_t>(view, values);
    case DType::U8:
      return store_integer<uint8_t>(view, values);
    case DType::I16:
      return store_integer<int16_t>(view, values);
    case DType::U16:
      return store_integer<uint16_t>(view, values);
    case DType::I32:
      return store_integer<int32_t>(view, values);
    case DType::U32:
      return store_integer<uint32_t>(view, values);
    case DType::I64:
      return store_integer<int64_t>(view, values);
    case DType::U64:
      return store_integer<uint64_t>(view, values);
    case DType::Bool:
      return store_each<uint8_t>(view, values,
                                 [](C v) { return static_cast<uint8_t>(v != C{0} ? 1 : 0); });
    case DType::I4:
      return store_each<int8_t>(view, values, [](C v) { return sign_extend(to_int(v), 4); });
    case DType::I2:
      return store_each<int8_t>(view, values, [](C v) { return sign_extend(to_int(v), 2); });
    case DType::U4:
      return store_each<uint8_t>(view, values,
                                 [](C v) { return static_cast<uint8_t>(to_int(v) & 15); });
    case DType::U2:
      return store_each<uint8_t>(view, values,
                                 [](C v) { return static_cast<uint8_t>(to_int(v) & 3); });
    case DType::F8E4M3FN:
      return store_small(view, values, kF8E4M3FN);
    case DType::F8E4M3FNUZ:
      return store_small(view, values, kF8E4M3FNUZ);
    case DType::F8E5M2:
      return store_small(view, values, kF8E5M2);
    case DType::F8E5M2FNUZ:
      return store_small(view, values, kF8E5M2FNUZ);
    case DType::F4E2M1:
      return store_small(view, values, kF4E2M1);
    case DType::F8E8M0:
      return store_each<uint8_t>(view, values, [](C v) { return float_to_e8m0(to_narrow(v)); });
  }
}

template void load<float>(const ConstView&, std::span<float>);
template void load<double>(const ConstView&, std::span<double>);
template void load<int64_t>(const ConstView&, std::span<int64_t>);
template void load<uint64_t>(const ConstView&, std::span<uint64_t>);
template void store<float>(const MutableView&, std::span<const float>);
template void store<double>(const MutableView&, std::span<const double>);
template void store<int64_t>(const MutableView&, std::span<const int64_t>);
template void store<uint64_t>(const MutableView&, std::span<const uint64_t>);

const SmallFloatFormat* small_float_format(DType dtype) {
  switch (dtype) {
    case DType::F8E4M3FN:
      return &kF8E4M3FN;
    case DType::F8E4M3FNUZ:
      return &kF8E4M3FNUZ;
    case DType::F8E5M2:
      return &kF8E5M2;
    case DType::F8E5M2FNUZ:
      return &kF8E5M2FNUZ;
    default:
      return nullptr;
  }
}

void store_unsaturated(const MutableView& view, std::span<const float> values) {
  const SmallFloatFormat& format = *small_float_format(view.dtype);
  store_each<uint8_t>(view, values, [&](float v) { return float_to_small(v, format, false); });
}

std::vector<int64_t> row_major_strides(std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    // Wraps only for empty tensors with huge other sizes, whose strides are never used.
    stride = wrapping_mul(stride, shape[d]);
  }
  return strides;
}

std::vector<int64_t> broadcast_strides(std::span<const int64_t> shape,
                                       std::span<const int64_t> target) {
  std::vector<int64_t> strides(target.size(), 0);
  const std::vector<int64_t> own = row_major_strides(shape);
  const size_t lead = target.size() - shape.size();
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1) strides[lead + d] = own[d];
  return strides;
}

}  // namespace ec
