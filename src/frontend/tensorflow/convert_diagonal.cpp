// Diagonals of matrices: made into matrices, taken out of them, put in.
#include <algorithm>

#include "frontend/graph_builder.h"
#include "frontend/tensorflow/table.h"

namespace ec::tf {
namespace {

// Sizes of masks that are written out.
constexpr int64_t kMaxSide = 4096;

// [rows, columns], true on the main diagonal.
ec::Tensor* on_diagonal(GraphBuilder& b, int64_t rows, int64_t columns) {
  std::vector<uint8_t> bits(static_cast<size_t>(rows * columns), 0);
  for (int64_t i = 0; i < std::min(rows, columns); ++i)
    bits[static_cast<size_t>(i * columns + i)] = 1;
  const TensorType type(DType::Bool, Shape{Dim(rows), Dim(columns)});
  return b.graph().add_constant("", type, Blob::copy_of(std::span<const uint8_t>(bits)));
}

// Later versions name diagonals beside the main one and sizes: only what the first had is taken.
Status check_main(const OpContext& ctx, size_t k_input) {
  if (ctx.num_inputs() <= k_input) return {};
  EC_TRY(const std::vector<int64_t> k, ctx.need_ints(k_input, "k"));
  if (std::ranges::all_of(k, [](int64_t number) { return number == 0; })) return {};
  return ctx.unsupported("diagonals beside the main one are not supported");
}

Status check_side(const OpContext& ctx, std::initializer_list<int64_t> sides) {
  if (std::ranges::all_of(sides, [](int64_t side) { return side > 0 && side <= kMaxSide; }))
    return {};
  return ctx.fail(Code::TooLarge, "the matrix is too large");
}

// (diagonal, k?, rows?, columns?, padding?)
Status matrix_diag(OpContext& ctx) {
  EC_CHECK_OK(check_main(ctx, 1));
  GraphBuilder b(ctx.graph(), ctx.location());
  ec::Tensor* x = ctx.in(0);
  const int64_t rank = b.rank(x);
  if (rank < 1) return ctx.fail(Code::ShapeMismatch, "a diagonal is needed");
  const int64_t side = b.size(x, rank - 1);
  EC_CHECK_OK(b.status());
  EC_CHECK_OK(check_side(ctx, {side}));
  for (size_t i = 2; i < std::min<size_t>(ctx.num_inputs(), 4); ++i) {
    EC_TRY(const int64_t given, ctx.need_int(i, "num_rows"));
    if (given != -1 && given != side) return ctx.unsupported("matrices that are not square");
  }
  const double padding = ctx.num_inputs() > 4 ? known_scalar(ctx.in(4)).value_or(0.0) : 0.0;
  ec::Tensor* y = b.where(on_diagonal(b, side, side), b.unsqueeze(x, {rank}), b.like(x, padding));
  EC_CHECK_OK(b.status());
  return ctx.set(0, y);
}

// (matrix, k?, padding?): the sum of each row where all but the diagonal is zero.
Status matrix_diag_part(OpContext& ctx) {
  EC_CHECK_OK(check_main(ctx, 1));
  GraphBuilder b(ctx.graph(), ctx.location());
  ec::Tensor* x = ctx.in(0);
  const int64_t rank = b.rank(x);
  if (rank < 2) return ctx.fail(Code::ShapeMismatch, "a matrix is needed");
  const int64_t rows = b.size(x, rank - 2), columns = b.size(x, rank - 1);
  EC_CHECK_OK(b.status());
  EC_CHECK_OK(check_side(ctx, {rows, columns}));
  ec::Tensor* y = b.where(on_diagonal(b, rows, columns), x, b.like(x, 0));
  y = b.reduce(OpKind::ReduceSum, y, {rank - 1}, false);
  if (rows > columns) y = b.slice(y, rank - 2, 0, columns);
  EC_CHECK_OK(b.status());
  return ctx.set(0, y);
}

// (matrix, diagonal, k?)
Status matrix_set_diag(OpContext& ctx) {
  EC_CHECK_OK(check_main(ctx, 2));
  GraphBuilder b(ctx.graph(), ctx.location());
  ec::Tensor* x = ctx.in(0);
  const int64_t rank = b.rank(x);
  if (rank < 2) return ctx.fail(Code::ShapeMismatch, "a matrix is needed");
  const int64_t rows = b.size(x, rank - 2), columns = b.size(x, rank - 1);
  EC_CHECK_OK(b.status());
  EC_CHECK_OK(check_side(ctx, {rows, columns}));
  // Along the rows or the columns, whichever are as many as the diagonal has elements.
  ec::Tensor* values = b.unsqueeze(ctx.in(1), {rows <= columns ? rank - 1 : rank - 2});
  ec::Tensor* y = b.where(on_diagonal(b, rows, columns), values, x);
  EC_CHECK_OK(b.status());
  return ctx.set(0, y);
}

constexpr Arity k1{1, 1}, k2{2, 2}, k3{3, 3}, k5{5, 5};

constexpr OpRow kRows[] = {
    {"MatrixDiag", k1, matrix_diag},
    {"MatrixDiagV2", k5, matrix_diag},
    {"MatrixDiagV3", k5, matrix_diag},
    {"MatrixDiagPart", k1, matrix_diag_part},
    {"MatrixDiagPartV2", k3, matrix_diag_part},
    {"MatrixDiagPartV3", k3, matrix_diag_part},
    {"MatrixSetDiag", k2, matrix_set_diag},
    {"MatrixSetDiagV2", k3, matrix_set_diag},
    {"MatrixSetDiagV3", k3, matrix_set_diag},
};

}  // namespace

const std::span<const OpRow> kDiagonalRows = kRows;

}  // namespace ec::tf
