// Diagonals of matrices: made into matrices, taken out of them, put in.
#include <algorithm>

#include "frontend/graph_builder.h"
#include "frontend/tensorflow/table.h"

namespace ec::tf {
namespace {

// Sizes of masks that are written out.
constexpr int64_t kMaxSide = 4096;

// [rows, columns], true on the main diagonal.
Result<ec::Tensor*> on_diagonal(OpContext& ctx, int64_t rows, int64_t columns) {
  if (rows < 1 || columns < 1 || rows > kMaxSide || columns > kMaxSide)
    return ctx.fail(Code::TooLarge, "the matrix is too large");
  EC_CHECK_OK(ctx.take_room(static_cast<size_t>(rows * columns)));
  std::vector<uint8_t> bits(static_cast<size_t>(rows * columns), 0);
  for (int64_t i = 0; i < std::min(rows, columns); ++i)
    bits[static_cast<size_t>(i * columns + i)] = 1;
  const TensorType type(DType::Bool, Shape{Dim(rows), Dim(columns)});
  return ctx.graph().add_constant("", type, Blob::copy_of(std::span<const uint8_t>(bits)));
}

// Later versions name diagonals beside the main one and sizes: only what the first had is taken.
Status check_main(const OpContext& ctx, size_t k_input) {
  if (ctx.num_inputs() <= k_input) return {};
  EC_TRY(const std::vector<int64_t> k, ctx.need_ints(k_input, "k"));
  if (std::ranges::all_of(k, [](int64_t number) { return number == 0; })) return {};
  return ctx.unsupported("diagonals beside the main one are not supported");
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
  for (size_t i = 2; i < std::min<size_t>(ctx.num_inputs(), 4); ++i) {
    EC_TRY(const int64_t given, ctx.need_int(i, "num_rows"));
    if (given != -1 && given != side) return ctx.unsupported("matrices that are not square");
  }
  const double padding = ctx.num_inputs() > 4 ? known_scalar(ctx.in(4)).value_or(0.0) : 0.0;
  EC_TRY(ec::Tensor * diagonal, on_diagonal(ctx, side, side));
  ec::Tensor* y = b.where(diagonal, b.unsqueeze(x, {rank}), b.like(x, padding));
  EC_CHECK_OK(b.status());
  return ctx.set(0, y);
}

// A node's matrix, and the mask of its diagonal.
struct Matrix {
  int64_t rank = 0, rows = 0, columns = 0;
  ec::Tensor* diagonal = nullptr;
};

Result<Matrix> matrix_of(OpContext& ctx, GraphBuilder& b, size_t k_input) {
  EC_CHECK_OK(check_main(ctx, k_input));
  const ec::Tensor* x = ctx.in(0);
  Matrix matrix;
  matrix.rank = b.rank(x);
  if (matrix.rank < 2) return ctx.fail(Code::ShapeMismatch, "a matrix is needed");
  matrix.rows = b.size(x, matrix.rank - 2);
  matrix.columns = b.size(x, matrix.rank - 1);
  EC_CHECK_OK(b.status());
  EC_TRY(matrix.diagonal, on_diagonal(ctx, matrix.rows, matrix.columns));
  return matrix;
}

// (matrix, k?, padding?): the sum of each row where all but the diagonal is zero.
Status matrix_diag_part(OpContext& ctx) {
  GraphBuilder b(ctx.graph(), ctx.location());
  EC_TRY(const Matrix matrix, matrix_of(ctx, b, 1));
  ec::Tensor* x = ctx.in(0);
  ec::Tensor* y = b.where(matrix.diagonal, x, b.like(x, 0));
  y = b.reduce(OpKind::ReduceSum, y, {matrix.rank - 1}, false);
  if (matrix.rows > matrix.columns) y = b.slice(y, matrix.rank - 2, 0, matrix.columns);
  EC_CHECK_OK(b.status());
  return ctx.set(0, y);
}

// (matrix, diagonal, k?)
Status matrix_set_diag(OpContext& ctx) {
  GraphBuilder b(ctx.graph(), ctx.location());
  EC_TRY(const Matrix matrix, matrix_of(ctx, b, 2));
  // Along the rows or the columns, whichever are as many as the diagonal has elements.
  const int64_t side = matrix.rows <= matrix.columns ? matrix.rank - 1 : matrix.rank - 2;
  ec::Tensor* y = b.where(matrix.diagonal, b.unsqueeze(ctx.in(1), {side}), ctx.in(0));
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
