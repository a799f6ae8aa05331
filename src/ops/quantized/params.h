// What integer kernels ask of their operands' quantisation parameters, checked: parameters come
// from files.
#pragma once

#include <span>

#include "ops/kernel.h"
#include "ops/quantized/fixed_point.h"

namespace ec::quantized {

struct Params {
  double scale = 1.0;
  int32_t zero_point = 0;
  bool operator==(const Params&) const = default;
};

// One scale and zero point for the whole tensor; fails when there are none or several.
Result<Params> input_params(const KernelContext& ctx, size_t i);
Result<Params> output_params(const KernelContext& ctx, size_t i = 0);
// The scales of operand i: one, or one per index of `axis`, whose size is `count`.
Result<std::span<const float>> channel_scales(const KernelContext& ctx, size_t i, int32_t axis,
                                              int64_t count);

// Lowest and highest stored value.
struct Range {
  int32_t low, high;
  int32_t clamp(int64_t x) const { return static_cast<int32_t>(std::clamp<int64_t>(x, low, high)); }
};
Range type_range(DType dtype);

// Calls f with a value of the C++ type of an 8- or 16-bit element type; false for others.
template <class F>
bool with_stored_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::I8:
      f(int8_t{});
      return true;
    case DType::U8:
      f(uint8_t{});
      return true;
    case DType::I16:
      f(int16_t{});
      return true;
    default:
      return false;
  }
}
// "i8 and u8" and the like: an element type that TFLite has no integer arithmetic for.
Error unsupported_type(const KernelContext& ctx, DType dtype);

}  // namespace ec::quantized
