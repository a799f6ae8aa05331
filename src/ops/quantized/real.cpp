#include "ops/quantized/real.h"

#include "ops/axis.h"
#include "ops/convert.h"

namespace ec::ops {

Result<std::vector<float>> real_values(const KernelContext& ctx, size_t i) {
  const ConstView& x = ctx.input(i);
  std::vector<float> values(static_cast<size_t>(x.count()));
  if (is_float(x.dtype) || x.quant == nullptr) {
    load<float>(x, values);
    return values;
  }
  const QuantParams& q = *x.quant;
  const size_t count = q.per_channel() ? q.scales.size() : 1;
  if (q.scales.empty() || q.zero_points.size() < count)
    return ctx.fail("operand " + std::to_string(i) + " has incomplete quantisation parameters");
  AxisSplit split{1, 1, x.count()};
  if (q.per_channel()) {
    if (static_cast<size_t>(q.axis) >= x.rank() ||
        x.shape[static_cast<size_t>(q.axis)] != static_cast<int64_t>(count))
      return ctx.fail("operand " + std::to_string(i) + " has " + std::to_string(count) +
                      " scales that do not fit its axis");
    split = split_at_axis(x.shape, q.axis);
  }
  std::vector<int64_t> stored(values.size());
  load<int64_t>(x, stored);
  size_t at = 0;
  for (int64_t o = 0; o < split.outer; ++o)
    for (size_t k = 0; k < static_cast<size_t>(split.size); ++k)
      for (int64_t n = 0; n < split.inner; ++n, ++at)
        values[at] = static_cast<float>(double{q.scales[k]} *
                                        static_cast<double>(stored[at] - q.zero_points[k]));
  return values;
}

}  // namespace ec::ops
