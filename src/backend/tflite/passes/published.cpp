// Operations that TFLite has only as custom operators of other programs, in builtin ones.
#include <cmath>
#include <numbers>

#include "backend/tflite/passes/rules.h"
#include "passes/replacement.h"

namespace ec::passes {
namespace {

// Windows that lie side by side: [N, h, w] windows of [kh, kw] elements.
struct Tiles {
  int64_t batch, rows, columns, channels, height, width;  // height, width: of a window
  int64_t count() const { return height * width; }
  // [N, h, kh, w, kw, C] and back by the same exchange.
  std::vector<int64_t> apart() const { return {batch, rows, height, columns, width, channels}; }
  std::vector<int64_t> together() const { return {batch, rows, columns, height, width, channels}; }
};
const Perm kExchange{0, 1, 3, 2, 4, 5};

bool are_tiles(const ArgmaxWindowAttrs& attrs) { return attrs.kernel == attrs.strides; }

// Without its indices a pool is the builtin one; with them the windows become a dimension.
Result<bool> expand_pool(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<ArgmaxWindowAttrs>();
  const auto in = static_shape(op->input(0)), out = static_shape(op->output());
  Replacement p(r, op);
  if (op->outputs().size() < 2 || r.graph().is_unused(op->output(1))) {
    PoolAttrs pool;
    pool.kernel = attrs.kernel;
    pool.strides = attrs.strides;
    pool.auto_pad = attrs.padding;
    pool.layout = Layout::ChannelsLast;
    std::vector<Tensor*> results{p.op(OpKind::MaxPool, {op->input(0)}, pool)};
    results.resize(op->outputs().size());
    return p.replace_all(results);
  }
  if (!in || !out || !are_tiles(attrs) || (*in)[1] % attrs.kernel[0] != 0 ||
      (*in)[2] % attrs.kernel[1] != 0)
    return false;
  const Tiles t{(*out)[0], (*out)[1], (*out)[2], (*out)[3], attrs.kernel[0], attrs.kernel[1]};
  Tensor* x = p.transpose(p.sized(op->input(0), t.apart()), kExchange);
  x = p.sized(x, {t.batch, t.rows, t.columns, t.count(), t.channels});
  Tensor* most = p.reduce(OpKind::ReduceMax, x, {3}, false);
  Tensor* place = p.op(OpKind::ArgMax, {x}, ArgReduceAttrs{.axis = 3, .keep_dims = false});
  Tensor* indices = p.cast(place, DType::F32);
  if (!p.ok()) return p.replace(nullptr);
  const std::vector<Tensor*> results{most, p.add(indices, 0.1f)};
  return p.replace_all(results);
}

// Every element in all places of its window, kept in one.
Result<bool> expand_unpool(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<ArgmaxWindowAttrs>();
  const auto in = static_shape(op->input(0)), out = static_shape(op->output());
  if (!in || !out || !are_tiles(attrs)) return false;
  const Tiles t{(*in)[0], (*in)[1], (*in)[2], (*in)[3], attrs.kernel[0], attrs.kernel[1]};
  Replacement p(r, op);
  std::vector<float> places;
  for (int64_t i = 0; i < t.count(); ++i) places.push_back(static_cast<float>(i));
  const std::vector<int64_t> spread{t.batch, t.rows, t.columns, 1, t.channels};
  Tensor* index = p.sized(p.unary(OpKind::Floor, op->input(1)), spread);
  Tensor* hit = p.op(OpKind::Equal, {index, p.floats(Shape{Dim(t.count()), 1}, places)});
  Tensor* x = p.sized(op->input(0), spread);
  if (!p.ok()) return p.replace(nullptr);
  Tensor* y = p.op(OpKind::Where, {hit, x, p.number(x, 0)});
  return p.replace(p.sized(p.transpose(p.sized(y, t.together()), kExchange), *out));
}

// Transforms of floats are the graph's own; parts of numbers alternate.
Result<bool> expand_rfft(Rewriter& r, Operation* op) {
  const auto in = static_shape(op->input(0)), out = static_shape(op->output());
  if (!in || !out || op->output()->dtype() != DType::F32) return false;
  const int64_t length = op->attrs_as<SignalFftAttrs>().fft_length;
  Replacement p(r, op);
  std::vector<int64_t> sizes = *in;
  sizes.push_back(1);
  Tensor* y = p.op(OpKind::Dft,
                   {p.sized(op->input(0), sizes), r.scalar(DType::I64, static_cast<double>(length)),
                    r.scalar(DType::I64, -2)},
                   DftAttrs{.inverse = false, .onesided = true});
  return p.replace(p.sized(y, *out));
}

// A product with the matrix of the inverse: frequencies but the first and the last count twice.
Result<bool> expand_irfft(Rewriter& r, Operation* op) {
  constexpr int64_t kMaxLength = 4096;  // beyond it the matrix is larger than most models
  const int64_t length = op->attrs_as<SignalFftAttrs>().fft_length;
  if (op->output()->dtype() != DType::F32 || length > kMaxLength || !rank_of(op->input(0)))
    return false;
  std::vector<float> matrix;
  for (int64_t n = 0; n < length; ++n)
    for (int64_t k = 0; k <= length / 2; ++k) {
      const bool once = k == 0 || k == length / 2;
      const double factor = (once ? 1.0 : 2.0) / static_cast<double>(length);
      const double angle =
          2 * std::numbers::pi * static_cast<double>(n * k % length) / static_cast<double>(length);
      matrix.push_back(static_cast<float>(factor * std::cos(angle)));
      matrix.push_back(once ? 0.0f : static_cast<float>(-factor * std::sin(angle)));
    }
  Replacement p(r, op);
  return p.replace(p.op(OpKind::MatMul,
                        {op->input(0), p.floats(Shape{Dim(length), Dim(length + 2)}, matrix)},
                        MatMulAttrs{.transpose_b = true}));
}

constexpr RewriteRule kRules[] = {
    {OpKind::MaxPoolArgmax, expand_pool, "published custom operators"},
    {OpKind::MaxUnpoolArgmax, expand_unpool, "published custom operators"},
    {OpKind::SignalRfft, expand_rfft, "published custom operators"},
    {OpKind::SignalIrfft, expand_irfft, "published custom operators"},
};

}  // namespace

const std::span<const RewriteRule> kTflitePublished = kRules;

}  // namespace ec::passes
