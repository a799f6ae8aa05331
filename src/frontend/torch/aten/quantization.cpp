#include "frontend/torch/aten/quantization.h"

#include <algorithm>
#include <cmath>

#include "ops/convert.h"

namespace ec::torch {
namespace {

struct Parameters {
  ec::Tensor* scale;
  ec::Tensor* zero_point;
};

Result<Parameters> add_parameters(const CallSite& site, const QuantParams& quant, DType dtype) {
  const auto count = static_cast<int64_t>(quant.scales.size());
  const Shape shape = quant.per_channel() ? Shape{count} : Shape{};
  for (const float scale : quant.scales)
    if (!(scale > 0) || !std::isfinite(scale))
      return Error(Code::BadQuantParams, "a scale is not positive and finite");
  ec::Tensor* scale =
      site.graph->add_constant<float>("", shape, std::span<const float>(quant.scales));
  std::vector<int64_t> zeros(quant.zero_points.begin(), quant.zero_points.end());
  for (const int64_t zero : zeros)
    if (zero < lowest_integer(dtype) ||
        (zero > 0 && static_cast<uint64_t>(zero) > highest_integer(dtype)))
      return Error(Code::BadQuantParams,
                   "zero point " + std::to_string(zero) + " is outside its type's range");
  Buffer bytes = Buffer::allocate(zeros.size() * element_size(dtype));
  const std::vector<int64_t> sizes = shape.sizes();
  store<int64_t>(MutableView{dtype, sizes, bytes.data(), nullptr}, zeros);
  ec::Tensor* zero_point =
      site.graph->add_constant("", TensorType(dtype, shape), std::move(bytes).to_blob());
  return Parameters{scale, zero_point};
}

}  // namespace

QuantParams per_tensor(double scale, int64_t zero_point) {
  QuantParams quant;
  quant.scales = {static_cast<float>(scale)};
  quant.zero_points = {static_cast<int32_t>(std::clamp<int64_t>(
      zero_point, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()))};
  return quant;
}

Result<ec::Tensor*> dequantized(const CallSite& site, const TensorRef& x) {
  if (!x.quant) return x.tensor;
  EC_TRY(const Parameters p, add_parameters(site, *x.quant, x.tensor->dtype()));
  DequantizeAttrs attrs;
  if (x.quant->per_channel()) attrs.axis = x.quant->axis;
  return site.graph->add_single(OpKind::Dequantize, {x.tensor, p.scale, p.zero_point}, attrs,
                                site.location);
}

Result<TensorRef> quantized(const CallSite& site, ec::Tensor* x,
                            std::shared_ptr<const QuantParams> quant, DType dtype) {
  if (!is_float(x->dtype()))
    return Error(Code::TypeMismatch,
                 "only floating-point tensors are quantised, not " + x->type().text());
  EC_TRY(const Parameters p, add_parameters(site, *quant, dtype));
  QuantizeAttrs attrs;
  attrs.dtype = dtype;
  if (quant->per_channel()) attrs.axis = quant->axis;
  EC_TRY(ec::Tensor * y, site.graph->add_single(OpKind::Quantize, {x, p.scale, p.zero_point}, attrs,
                                                site.location));
  return TensorRef{y, false, std::move(quant), {}};
}

Result<QuantParams> known_parameters(Call& c, ec::Tensor* scale, ec::Tensor* zero_point,
                                     std::optional<int64_t> axis) {
  if (scale == nullptr || zero_point == nullptr || !scale->is_constant() ||
      !zero_point->is_constant())
    return c.fail(Code::DataDependent, "scales and zero points have to be known");
  const auto read = [](const ec::Tensor* x) {
    const std::vector<int64_t> sizes = x->shape()->sizes();
    std::vector<double> values(static_cast<size_t>(count_elements(sizes)));
    load<double>(ConstView{x->dtype(), sizes, x->data().bytes().data(), nullptr}, values);
    return values;
  };
  const std::vector<double> scales = read(scale), zeros = read(zero_point);
  if (scales.empty() || scales.size() != zeros.size() || (!axis && scales.size() != 1))
    return c.fail(Code::BadQuantParams, "numbers of scales and zero points do not fit");
  QuantParams quant;
  quant.scales.assign(scales.begin(), scales.end());
  for (const double zero : zeros)
    quant.zero_points.push_back(
        static_cast<int32_t>(std::clamp(zero, -2147483648.0, 2147483647.0)));
  if (axis) quant.axis = static_cast<int32_t>(*axis);
  return quant;
}

Result<DType> step_type(Call& c, int64_t low, int64_t high) {
  for (const DType dtype : {DType::U8, DType::I8, DType::I16, DType::U16})
    if (low >= lowest_integer(dtype) && high <= static_cast<int64_t>(highest_integer(dtype)))
      return dtype;
  return c.unsupported("steps from " + std::to_string(low) + " to " + std::to_string(high));
}

Result<ec::Tensor*> limited(Call& c, ec::Tensor* x, const QuantParams& quant, DType dtype,
                            int64_t low, int64_t high) {
  const int64_t lowest = lowest_integer(dtype);
  const auto highest = static_cast<int64_t>(highest_integer(dtype));
  if (low <= lowest && high >= highest) return x;
  // Weights reach +-127 at most: their scale is the largest of them over 127. The lowest step of
  // symmetric activations is the only other one left out; both forms pair with integer kernels.
  const bool symmetric = low == lowest + 1 && high >= highest;
  if (symmetric && quant.zero_points.front() == 0) return x;
  if (quant.per_channel()) return c.unsupported("a narrow range per channel");
  const double scale = quant.scales.front();
  const int64_t zero = quant.zero_points.front();
  return c.add(
      OpKind::Clip,
      {x, c.scalar(x->dtype(), (static_cast<double>(low) - static_cast<double>(zero)) * scale),
       c.scalar(x->dtype(), (static_cast<double>(high) - static_cast<double>(zero)) * scale)});
}

}  // namespace ec::torch
