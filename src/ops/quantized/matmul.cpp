// Matrix products on integers, and on floats with integer weights.
#include "ops/convert.h"
#include "ops/quantized/kernels.h"
#include "ops/quantized/weighted_sum.h"
#include "support/budget.h"
#include "support/rounding.h"

namespace ec::quantized {
namespace {

// A stack of matrices [batch, rows, columns], perhaps stored transposed.
struct Stack {
  std::vector<int64_t> batch;
  int64_t rows = 1, columns = 1;
  bool transposed = false;

  Stack(std::span<const int64_t> shape, bool transpose, bool as_column) {
    const size_t rank = shape.size();
    if (rank == 1) {
      rows = as_column ? shape[0] : 1;
      columns = as_column ? 1 : shape[0];
      return;
    }
    batch.assign(shape.begin(), shape.end() - 2);
    rows = shape[rank - 2];
    columns = shape[rank - 1];
    transposed = transpose;
    if (transposed) std::swap(rows, columns);
  }
  int64_t size() const { return rows * columns; }
};

// Every matrix of the stack transposed.
template <class T>
std::vector<T> transposed_stack(const std::vector<T>& v, int64_t rows, int64_t columns) {
  std::vector<T> out(v.size());
  const int64_t size = rows * columns;
  for (size_t first = 0; size > 0 && first < v.size(); first += static_cast<size_t>(size))
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        out[first + static_cast<size_t>(c * rows + r)] =
            v[first + static_cast<size_t>(r * columns + c)];
  return out;
}

std::vector<int64_t> broadcast_sizes(std::span<const int64_t> a, std::span<const int64_t> b) {
  std::vector<int64_t> out(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < a.size(); ++i) out[out.size() - a.size() + i] = a[i];
  for (size_t i = 0; i < b.size(); ++i)
    if (b[i] != 1) out[out.size() - b.size() + i] = b[i];
  return out;
}

struct Request {
  bool transpose_a = false, transpose_b = false;
  Activation activation = Activation::None;
  float act_alpha = 0.0f, act_beta = 0.0f;
  bool asymmetric = false;
  bool fully_connected = false;
};

class Product {
 public:
  Product(KernelContext& ctx, const Request& request)
      : ctx_(ctx),
        request_(request),
        a_(ctx.input(0).shape, request.transpose_a, false),
        b_(ctx.input(1).shape, request.transpose_b, true) {
    // Where operand 1 keeps the columns of the result.
    const size_t rank = ctx.input(1).rank();
    axis_ = static_cast<int32_t>(rank == 1 ? 0 : rank - (b_.transposed ? 2 : 1));
  }

  Status run() {
    if (ctx_.output(0).count() == 0) return {};
    EC_TRY(const int32_t zero_point, weight_zero_point(ctx_, 1));
    weights_ = centred(ctx_.input(1), zero_point);
    if (!b_.transposed) weights_ = transposed_stack(weights_, b_.rows, b_.columns);
    return is_hybrid(ctx_) ? run_hybrid() : run_integer();
  }

 private:
  // finish(result index, row of a, column, sum) for every element.
  template <class Acc, class F>
  void multiply_all(const std::vector<int16_t>& x, F&& finish) const {
    const std::vector<int64_t> batch = broadcast_sizes(a_.batch, b_.batch);
    const auto steps_a = broadcast_strides(a_.batch, batch),
               steps_b = broadcast_strides(b_.batch, batch);
    IndexWalker walker(batch);
    Ticker ticker;
    size_t at = 0;
    do {
      const int64_t matrix = walker.offset(steps_a);
      const int16_t* a = x.data() + matrix * a_.size();
      const int16_t* b = weights_.data() + walker.offset(steps_b) * b_.size();
      for (int64_t r = 0; r < a_.rows && !ticker.tick(b_.columns * (8 + a_.columns)); ++r)
        for (int64_t c = 0; c < b_.columns; ++c, ++at)
          finish(at, static_cast<size_t>(matrix * a_.rows + r), static_cast<size_t>(c),
                 dot<Acc>(a + r * a_.columns, b + c * a_.columns, a_.columns));
    } while (walker.next());
  }

  Status run_integer() {
    EC_TRY(const OutputStage stage,
           output_stage(ctx_, {axis_, b_.columns, request_.activation, request_.act_alpha,
                               request_.act_beta, true, request_.fully_connected}));
    EC_TRY(const Params in, input_params(ctx_, 0));
    std::vector<int16_t> x = centred(ctx_.input(0), in.zero_point);
    if (a_.transposed) x = transposed_stack(x, a_.columns, a_.rows);
    with_stored_type(ctx_.output(0).dtype, [&](auto type) {
      using T = decltype(type);
      T* y = ctx_.output(0).as<T>().data();
      const auto finish = [&](size_t at, size_t, size_t column, int64_t sum) {
        y[at] = static_cast<T>(stage.finish(wrapping_add(sum, stage.start(column)), column));
      };
      if (stage.wide)
        multiply_all<int64_t>(x, finish);
      else
        multiply_all<int32_t>(x, finish);
    });
    return {};
  }

  // Each row is quantised by itself.
  Status run_hybrid() {
    EC_TRY(const auto scales, channel_scales(ctx_, 1, axis_, b_.columns));
    EC_TRY(const FloatRange range, float_activation_range(ctx_, request_.activation,
                                                          request_.act_alpha, request_.act_beta));
    std::vector<float> values(static_cast<size_t>(ctx_.input(0).count()));
    load<float>(ctx_.input(0), values);
    if (a_.transposed) values = transposed_stack(values, a_.columns, a_.rows);
    std::vector<float> bias;
    if (ctx_.has(2)) {
      bias.resize(static_cast<size_t>(ctx_.input(2).count()));
      load<float>(ctx_.input(2), bias);
      if (bias.size() != static_cast<size_t>(b_.columns))
        return ctx_.fail("the bias does not fit the columns");
    }
    std::vector<int16_t> x(values.size());
    std::vector<QuantizedRow> rows;
    const auto depth = static_cast<size_t>(a_.columns);
    for (size_t first = 0; depth > 0 && first < values.size(); first += depth) {
      const auto row = std::span(values).subspan(first, depth);
      rows.push_back(request_.asymmetric ? quantize_asymmetric(row, x.data() + first)
                                         : quantize_symmetric(row, x.data() + first));
    }
    if (depth == 0) rows.resize(static_cast<size_t>(count_elements(a_.batch) * a_.rows));
    Writer<float> y(ctx_.output(0));
    multiply_all<int32_t>(x, [&](size_t at, size_t row, size_t column, int32_t sum) {
      const float scale = rows[row].scale * scales[scales.size() == 1 ? 0 : column];
      const float value = (bias.empty() ? 0.0f : bias[column]) + static_cast<float>(sum) * scale;
      y[at] = std::min(std::max(value, range.low), range.high);
    });
    y.commit();
    return {};
  }

  KernelContext& ctx_;
  const Request& request_;
  Stack a_, b_;
  int32_t axis_ = 0;
  std::vector<int16_t> weights_;
};

template <class A>
Request request_of(const A& attrs) {
  return {attrs.transpose_a,
          attrs.transpose_b,
          attrs.activation,
          attrs.act_alpha,
          attrs.act_beta,
          attrs.asymmetric_quantize_inputs,
          false};
}

}  // namespace

Status matmul(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<MatMulAttrs>();
  if (is_float(ctx.input(1).dtype)) return ctx.op().def().reference(ctx);
  if (attrs.alpha != 1.0f) return ctx.fail("alpha has no integer form");
  Request request = request_of(attrs);
  // A fully connected layer that keeps its dimensions.
  request.fully_connected = attrs.transpose_b && !attrs.transpose_a && ctx.input(1).rank() == 2 &&
                            ctx.op().input(1)->is_constant();
  return Product(ctx, request).run();
}

Status gemm(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<GemmAttrs>();
  if (is_float(ctx.input(1).dtype)) return ctx.op().def().reference(ctx);
  if (attrs.alpha != 1.0f || (ctx.has(2) && attrs.beta != 1.0f))
    return ctx.fail("alpha and beta have no integer form");
  Request request = request_of(attrs);
  request.fully_connected = true;
  return Product(ctx, request).run();
}

}  // namespace ec::quantized
