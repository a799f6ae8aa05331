// Means that the device takes in other forms only. As real numbers they are the same; integers
// would be rounded in another way.
#include <algorithm>

#include "backend/coral/passes/rules.h"
#include "passes/tables.h"

namespace ec::passes {
namespace {

constexpr int64_t kLargestWindow = 42 * 42;  // the largest seen in compiled files

// A mean over channels whose count is no multiple of 4: a 1x1 convolution of equal weights.
Tensor* mean_of_channels(Replacement& p, Tensor* x) {
  const std::vector<int64_t> sizes = x->shape()->sizes();
  const int64_t channels = sizes.back();
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < sizes.size(); ++d) rows *= sizes[d];
  const std::vector<float> weights(static_cast<size_t>(channels),
                                   1.0f / static_cast<float>(channels));
  ConvAttrs attrs;
  attrs.layout = Layout::ChannelsLast;
  if (sizes.size() != 4) x = p.sized(x, {1, 1, rows, channels});
  return p.op(OpKind::Conv, {x, p.floats(Shape{1, 1, 1, channels}, weights)}, attrs);
}

bool has_dimension(const std::vector<int64_t>& axes, int64_t d) {
  return std::find(axes.begin(), axes.end(), d) != axes.end();
}

// The largest divisor of n up to `limit`.
int64_t divisor_up_to(int64_t n, int64_t limit) {
  for (int64_t d = std::min(n, limit); d > 1; --d)
    if (n % d == 0) return d;
  return 1;
}

Result<bool> mean_in_parts(Replacement& p, Operation* op, const std::vector<int64_t>& sizes,
                           const std::vector<int64_t>& axes) {
  const int64_t height = sizes[1], width = sizes[2];
  if (height * width <= kLargestWindow) return false;
  PoolAttrs pool;
  pool.layout = Layout::ChannelsLast;
  pool.kernel = {divisor_up_to(height, 32), divisor_up_to(width, 32)};
  pool.strides = pool.kernel;
  const int64_t rest = height / pool.kernel[0] * (width / pool.kernel[1]);
  if (pool.kernel[0] * pool.kernel[1] == 1 || rest > kLargestWindow) return false;
  Tensor* parts = p.op(OpKind::AvgPool, {op->input(0)}, pool);
  return rewritten(p,
                   p.reduce(OpKind::ReduceMean, parts, axes, op->attrs_as<ReduceAttrs>().keep_dims),
                   "AVERAGE_POOL_2D and the mean of the rest");
}

Result<bool> mean_to_forms(Rewriter& r, Operation* op) {
  const auto sizes = static_shape(op->input(0));
  const auto axes = reduce_axes(op);
  if (!is_float_form(op) || op->output()->dtype() != DType::F32 || !sizes || !axes ||
      axes->empty() || sizes->empty())
    return false;
  Replacement p(r, op);
  const auto last = static_cast<int64_t>(sizes->size()) - 1;
  if (has_dimension(*axes, last) && sizes->back() % 4 != 0 && sizes->back() > 1 &&
      fits_table(std::span(*sizes).last(1))) {
    std::vector<int64_t> others;
    std::copy_if(axes->begin(), axes->end(), std::back_inserter(others),
                 [&](int64_t d) { return d != last; });
    Tensor* x = op->input(0);
    if (!others.empty()) x = p.reduce(OpKind::ReduceMean, x, others);
    if (!p.ok()) return p.replace(nullptr);
    return rewritten(p, p.reshape(mean_of_channels(p, x), *op->output()->shape()),
                     "a 1x1 convolution");
  }
  if (sizes->size() == 4 && *axes == std::vector<int64_t>{1, 2})
    return mean_in_parts(p, op, *sizes, *axes);
  return false;
}

constexpr RewriteRule kRules[] = {{OpKind::ReduceMean, mean_to_forms, "means"}};

}  // namespace

const std::span<const RewriteRule> kCoralReductions = kRules;

}  // namespace ec::passes
