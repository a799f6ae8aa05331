// Matrix products: matmul, gemm, and the determinant.
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "ops/activation_fn.h"
#include "ops/define.h"
#include "ops/matrix_product.h"
#include "ops/quantized/kernels.h"
#include "support/budget.h"

namespace ec::ops {
namespace {

Status check_numeric(const InferContext& ctx, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!ctx.has(i)) continue;
    if (ctx.dtype(i) == DType::Bool)
      return ctx.bad_type("matrix products need numbers, not " + operand_text(ctx, i));
    if (ctx.dtype(i) != ctx.dtype(0) && !carries_parameters(ctx))
      return ctx.bad_type("operands have different element types: " + operand_text(ctx, 0) +
                          " and " + operand_text(ctx, i));
  }
  return {};
}

Status check_activation(const InferContext& ctx, Activation activation) {
  if (activation != Activation::None && !is_float(ctx.dtype(0)) && !carries_parameters(ctx))
    return ctx.bad_type("a fused activation needs a float type, not " + operand_text(ctx, 0));
  return {};
}

// Rows and columns of the last two dimensions, after the transposition.
std::pair<Dim, Dim> matrix_dims(const Shape& shape, bool transpose) {
  const Dim& rows = shape[shape.rank() - 2];
  const Dim& columns = shape[shape.rank() - 1];
  return transpose ? std::pair(columns, rows) : std::pair(rows, columns);
}

Status check_depth(const InferContext& ctx, const Dim& a, const Dim& b) {
  if (a.is_static() && b.is_static() && a != b)
    return ctx.bad_shape("inner dimensions of " + operand_text(ctx, 0) + " and " +
                         operand_text(ctx, 1) + " differ: " + a.text() + " and " + b.text());
  return {};
}

// --- matmul --------------------------------------------------------------------------------------

Status check_matmul_bias(const InferContext& ctx, const Dim& columns) {
  if (!ctx.has(2) || !ctx.shape(2)) return {};
  const Shape& bias = *ctx.shape(2);
  const bool fits =
      bias.rank() == 1 && (!bias[0].is_static() || !columns.is_static() || bias[0] == columns);
  if (!fits)
    return ctx.bad_shape("bias " + operand_text(ctx, 2) + " does not fit " + columns.text() +
                         " columns");
  return {};
}

Status infer_matmul(InferContext& ctx) {
  const auto& attrs = ctx.attrs<MatMulAttrs>();
  EC_CHECK_OK(check_numeric(ctx, 3));
  EC_CHECK_OK(check_activation(ctx, attrs.activation));
  if (attrs.alpha != 1.0f && !is_float(ctx.dtype(0)))
    return ctx.bad_type("alpha needs a float type, not " + operand_text(ctx, 0));
  ctx.set(0, ctx.dtype(0), std::nullopt);
  if (!ctx.shape(0) || !ctx.shape(1)) return {};
  Shape a = *ctx.shape(0), b = *ctx.shape(1);
  if (a.rank() == 0 || b.rank() == 0)
    return ctx.bad_shape("matmul needs operands of rank 1 or more: " + operand_text(ctx, 0) +
                         " and " + operand_text(ctx, 1));
  const bool vector_a = a.rank() == 1, vector_b = b.rank() == 1;
  if (vector_a) a = Shape{1, a[0]};
  if (vector_b) b = Shape{b[0], 1};
  const auto [rows, depth_a] = matrix_dims(a, attrs.transpose_a && !vector_a);
  const auto [depth_b, columns] = matrix_dims(b, attrs.transpose_b && !vector_b);
  EC_CHECK_OK(check_depth(ctx, depth_a, depth_b));
  if (ctx.has(2) && vector_b)
    return ctx.bad_shape("a bias needs a second operand of rank 2 or more");
  EC_CHECK_OK(check_matmul_bias(ctx, columns));
  EC_TRY(Shape out, broadcast_shapes(ctx, Shape({a.dims().begin(), a.dims().end() - 2}),
                                     Shape({b.dims().begin(), b.dims().end() - 2})));
  if (!vector_a) out.push_back(rows);
  if (!vector_b) out.push_back(columns);
  ctx.set(0, ctx.dtype(0), std::move(out));
  return {};
}

// A stack of matrices as stored, with vectors made matrices.
struct MatrixStack {
  std::vector<int64_t> batch;
  int64_t rows, columns;

  MatrixStack(std::span<const int64_t> shape, bool as_column) {
    const size_t rank = shape.size();
    if (rank == 1) {
      rows = as_column ? shape[0] : 1;
      columns = as_column ? 1 : shape[0];
      return;
    }
    batch.assign(shape.begin(), shape.end() - 2);
    rows = shape[rank - 2];
    columns = shape[rank - 1];
  }
  template <class C>
  MatrixRef<C> matrix(const C* data, int64_t index, bool transpose) const {
    const auto ref = MatrixRef<C>::row_major(data + index * rows * columns, columns);
    return transpose ? ref.transposed() : ref;
  }
};

std::vector<int64_t> broadcast_sizes(std::span<const int64_t> a, std::span<const int64_t> b) {
  std::vector<int64_t> out(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < a.size(); ++i) out[out.size() - a.size() + i] = a[i];
  for (size_t i = 0; i < b.size(); ++i)
    if (b[i] != 1) out[out.size() - b.size() + i] = b[i];
  return out;
}

template <class C>
void run_matmul(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<MatMulAttrs>();
  MatrixStack a(ctx.input(0).shape, false);
  const MatrixStack b(ctx.input(1).shape, true);
  const bool transpose_a = attrs.transpose_a && ctx.input(0).rank() > 1;
  const bool transpose_b = attrs.transpose_b && ctx.input(1).rank() > 1;
  const bool activated = attrs.activation != Activation::None;
  int64_t rows = transpose_a ? a.columns : a.rows;
  const int64_t depth = transpose_a ? a.rows : a.columns;
  const int64_t columns = transpose_b ? b.rows : b.columns;

  const Reader<C> x(ctx.input(0)), y(ctx.input(1));
  Writer<C> out(ctx.output(0));
  if (out.size() == 0) return;
  std::optional<Reader<C>> bias;
  if (ctx.has(2)) bias.emplace(ctx.input(2));
  std::vector<int64_t> batch = broadcast_sizes(a.batch, b.batch);
  // One matrix on the right: those on the left are one tall matrix, and it is packed once.
  if (b.batch.empty() && !transpose_a) {
    for (const int64_t size : a.batch) rows *= size;
    a.batch.clear();
    batch.clear();
  }
  const auto strides_a = broadcast_strides(a.batch, batch),
             strides_b = broadcast_strides(b.batch, batch);
  IndexWalker walker(batch);
  C* target = out.data();
  do {
    multiply<C>(rows, columns, depth, a.matrix(x.data(), walker.offset(strides_a), transpose_a),
                b.matrix(y.data(), walker.offset(strides_b), transpose_b),
                [&](int64_t row, int64_t first, std::span<const Accumulator<C>> sums) {
                  for (size_t j = 0; j < sums.size(); ++j) {
                    const size_t column = static_cast<size_t>(first) + j;
                    auto value = sums[j];
                    if constexpr (std::is_floating_point_v<C>) value *= double{attrs.alpha};
                    if (bias) value += static_cast<Accumulator<C>>((*bias)[column]);
                    if constexpr (std::is_floating_point_v<C>)
                      if (activated)
                        value = apply_activation<double>(attrs.activation, value,
                                                         double{attrs.act_alpha},
                                                         double{attrs.act_beta});
                    target[row * columns + static_cast<int64_t>(column)] = static_cast<C>(value);
                  }
                });
    target += rows * columns;
  } while (walker.next());
  out.commit();
}

Status reference_matmul(KernelContext& ctx) {
  with_compute_type(ctx.output(0).dtype, [&](auto type) { run_matmul<decltype(type)>(ctx); });
  return {};
}

// --- gemm ----------------------------------------------------------------------------------------

Status infer_gemm(InferContext& ctx) {
  const auto& attrs = ctx.attrs<GemmAttrs>();
  EC_CHECK_OK(check_numeric(ctx, 3));
  EC_CHECK_OK(check_activation(ctx, attrs.activation));
  for (size_t i = 0; i < 2; ++i)
    if (ctx.shape(i) && ctx.shape(i)->rank() != 2)
      return ctx.bad_shape("gemm needs matrices: " + operand_text(ctx, 0) + " and " +
                           operand_text(ctx, 1));
  Dim rows = Dim::unknown(), columns = Dim::unknown(), depth_a = Dim::unknown(),
      depth_b = Dim::unknown();
  if (ctx.shape(0)) std::tie(rows, depth_a) = matrix_dims(*ctx.shape(0), attrs.transpose_a);
  if (ctx.shape(1)) std::tie(depth_b, columns) = matrix_dims(*ctx.shape(1), attrs.transpose_b);
  EC_CHECK_OK(check_depth(ctx, depth_a, depth_b));
  if (ctx.has(2) && ctx.shape(2)) {
    const Shape& c = *ctx.shape(2);
    const Dim targets[] = {rows, columns};
    bool fits = c.rank() <= 2;
    for (size_t i = 0; fits && i < c.rank(); ++i) {
      const Dim& target = targets[2 - c.rank() + i];
      fits = !c[i].is_static() || !target.is_static() || c[i] == Dim(1) || c[i] == target;
    }
    if (!fits)
      return ctx.bad_shape("third operand " + operand_text(ctx, 2) + " cannot be broadcast to " +
                           Shape{rows, columns}.text());
  }
  ctx.set(0, ctx.dtype(0), Shape{rows, columns});
  return {};
}

// Integer sums wrap in an unsigned type; as numbers they have the sign of C.
template <class C>
double to_double(Accumulator<C> sum) {
  if constexpr (std::is_floating_point_v<C>)
    return sum;
  else
    return static_cast<double>(static_cast<C>(sum));
}

template <class C>
void run_gemm(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<GemmAttrs>();
  const auto shape = ctx.output(0).shape;
  const int64_t rows = shape[0], columns = shape[1];
  const int64_t depth = ctx.input(0).shape[attrs.transpose_a ? 0 : 1];
  const Reader<C> x(ctx.input(0)), y(ctx.input(1));
  const auto stored_a = MatrixRef<C>::row_major(x.data(), ctx.input(0).shape[1]);
  const auto stored_b = MatrixRef<C>::row_major(y.data(), ctx.input(1).shape[1]);
  std::vector<C> c;
  std::vector<int64_t> c_strides(2, 0);
  if (ctx.has(2)) {
    c.resize(static_cast<size_t>(ctx.input(2).count()));
    load<C>(ctx.input(2), c);
    c_strides = broadcast_strides(ctx.input(2).shape, shape);
  }
  Writer<C> out(ctx.output(0));
  const double alpha = double{attrs.alpha}, beta = double{attrs.beta};
  const bool plain = alpha == 1.0 && beta == 1.0;
  multiply<C>(
      rows, columns, depth, attrs.transpose_a ? stored_a.transposed() : stored_a,
      attrs.transpose_b ? stored_b.transposed() : stored_b,
      [&](int64_t row, int64_t first, std::span<const Accumulator<C>> sums) {
        for (size_t j = 0; j < sums.size(); ++j) {
          const int64_t column = first + static_cast<int64_t>(j);
          const C addend =
              c.empty() ? C{} : c[static_cast<size_t>(row * c_strides[0] + column * c_strides[1])];
          C& target = out[static_cast<size_t>(row * columns + column)];
          if (std::is_integral_v<C> && plain) {
            target = static_cast<C>(sums[j] + static_cast<Accumulator<C>>(addend));
            continue;
          }
          double value = to_double<C>(sums[j]) * alpha + static_cast<double>(addend) * beta;
          if constexpr (std::is_integral_v<C>) {
            target = static_cast<C>(saturate_to_int64(value));
          } else {
            value = apply_activation<double>(attrs.activation, value, double{attrs.act_alpha},
                                             double{attrs.act_beta});
            target = static_cast<C>(value);
          }
        }
      });
  out.commit();
}

Status reference_gemm(KernelContext& ctx) {
  with_compute_type(ctx.output(0).dtype, [&](auto type) { run_gemm<decltype(type)>(ctx); });
  return {};
}

// --- det -----------------------------------------------------------------------------------------

Status infer_det(InferContext& ctx) {
  if (!is_float(ctx.dtype(0)))
    return ctx.bad_type("det needs a float type, not " + operand_text(ctx, 0));
  ctx.set(0, ctx.dtype(0), std::nullopt);
  if (!ctx.shape(0)) return {};
  const Shape& shape = *ctx.shape(0);
  if (shape.rank() < 2)
    return ctx.bad_shape("det needs square matrices, not " + operand_text(ctx, 0));
  const auto [rows, columns] = matrix_dims(shape, false);
  if (rows.is_static() && columns.is_static() && rows != columns)
    return ctx.bad_shape("det needs square matrices, not " + operand_text(ctx, 0));
  ctx.set(0, ctx.dtype(0), Shape({shape.dims().begin(), shape.dims().end() - 2}));
  return {};
}

// Gaussian elimination with partial pivoting; destroys the matrix.
double determinant(std::span<double> m, size_t n) {
  double det = 1.0;
  Ticker ticker;
  for (size_t c = 0; c < n; ++c) {
    if (ticker.tick(static_cast<int64_t>((n - c) * (n - c)))) return 0.0;
    size_t pivot = c;
    for (size_t r = c + 1; r < n; ++r)
      if (std::abs(m[r * n + c]) > std::abs(m[pivot * n + c])) pivot = r;
    if (m[pivot * n + c] == 0.0) return 0.0;
    if (pivot != c) {
      for (size_t j = 0; j < n; ++j) std::swap(m[c * n + j], m[pivot * n + j]);
      det = -det;
    }
    det *= m[c * n + c];
    for (size_t r = c + 1; r < n; ++r) {
      const double factor = m[r * n + c] / m[c * n + c];
      for (size_t j = c; j < n; ++j) m[r * n + j] -= factor * m[c * n + j];
    }
  }
  return det;
}

Status reference_det(KernelContext& ctx) {
  const auto shape = ctx.input(0).shape;
  const auto n = static_cast<size_t>(shape.back());
  std::vector<double> matrices(static_cast<size_t>(ctx.input(0).count()));
  load<double>(ctx.input(0), matrices);
  Writer<double> out(ctx.output(0));
  Ticker ticker;
  for (size_t i = 0; i < out.size() && !ticker.tick(static_cast<int64_t>(n * n)); ++i)
    out[i] = determinant(std::span(matrices).subspan(i * n * n, n * n), n);
  out.commit();
  return {};
}

}  // namespace

constexpr Rule kMatMulRules[] = {rule::numbers("a"), rule::min_rank("a", 1), rule::min_rank("b", 1),
                                 rule::rank("bias", 1)};
EC_OP_DEF(MatMul, .signature = "(a, b, bias?) -> y",
          .summary =
              "Matrix product of the last two dimensions, broadcast over the others: "
              "activation(alpha * a b + bias). Operands of rank 1 are a row (a) or a column (b).",
          .rules = kMatMulRules, .infer = infer_matmul, .reference = reference_matmul,
          .quantized = quantized::matmul, .quant = QuantRule::WeightedSum,
          .layout = LayoutRule::Fixed);
constexpr Rule kGemmRules[] = {rule::numbers("a"), rule::rank("a", 2), rule::rank("b", 2),
                               rule::rank("c", 0, 2)};
EC_OP_DEF(Gemm, .signature = "(a, b, c?) -> y",
          .summary =
              "activation(alpha * a b + beta * c) of matrices, each transposed on request; c is "
              "broadcast.",
          .rules = kGemmRules, .infer = infer_gemm, .reference = reference_gemm,
          .quantized = quantized::gemm, .quant = QuantRule::WeightedSum,
          .layout = LayoutRule::Fixed);
constexpr Rule kDetRules[] = {rule::floats("x"), rule::min_rank("x", 2)};
EC_OP_DEF(Det, .signature = "(x) -> y",
          .summary = "Determinant of the square matrices in the last two dimensions.",
          .rules = kDetRules, .infer = infer_det, .reference = reference_det,
          .quant = QuantRule::Never, .layout = LayoutRule::Fixed);

}  // namespace ec::ops
