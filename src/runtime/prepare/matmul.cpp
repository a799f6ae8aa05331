// Matrix products: packed when the right-hand side is constant, batched otherwise.
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/gemm.h"
#include "runtime/prepare/prepare.h"

namespace ec::prepare {

namespace {

using kernels::BatchedGemm;
using kernels::BatchedGemmShape;
using kernels::MatrixRef;
using kernels::PackedGemm;

// An operand as a stack of matrices. Vectors became a row (left) or a column (right).
struct Stack {
  std::vector<int64_t> batch;
  int64_t rows = 1, columns = 1;
};

Stack stack_of(const std::vector<int64_t>& shape, bool left) {
  if (shape.size() == 1) return left ? Stack{{}, 1, shape[0]} : Stack{{}, shape[0], 1};
  const size_t r = shape.size();
  return {{shape.begin(), shape.end() - 2}, shape[r - 2], shape[r - 1]};
}

// Offsets of the matrices of a broadcast batch, in output order.
std::vector<int64_t> batch_offsets(const std::vector<int64_t>& batch,
                                   const std::vector<int64_t>& own, int64_t matrix) {
  const int64_t count = product(batch);
  std::vector<int64_t> offsets(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    int64_t offset = 0;
    int64_t step = matrix;
    for (size_t d = 0; d < batch.size(); ++d) {
      const int64_t size = batch[batch.size() - 1 - d];
      const int64_t at = rest % size;
      rest /= size;
      if (d >= own.size()) continue;
      const int64_t own_size = own[own.size() - 1 - d];
      if (own_size != 1) offset += at * step;
      step *= own_size;
    }
    offsets[static_cast<size_t>(i)] = offset;
  }
  return offsets;
}

std::vector<int64_t> broadcast(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> out(std::max(a.size(), b.size()));
  for (size_t d = 0; d < out.size(); ++d) {
    const int64_t x = d < a.size() ? a[a.size() - 1 - d] : 1;
    const int64_t y = d < b.size() ? b[b.size() - 1 - d] : 1;
    out[out.size() - 1 - d] = x == 1 ? y : x;
  }
  return out;
}

Prepared packed(const float* b, bool transpose_b, int64_t m, int64_t k, int64_t n, float alpha,
                const float* bias, kernels::Epilogue epilogue, const PrepareContext& ctx) {
  const MatrixRef ref{b, transpose_b ? 1 : n, transpose_b ? k : 1};
  auto kernel = std::make_shared<PackedGemm>(ctx.table, k, n, ref, alpha, bias, epilogue);
  return make_op(
      [kernel, m, k, n](const RunArgs& args) {
        kernel->run(args.in(0), k, m, args.out(), n, nullptr, args.pool, args.scratch);
      },
      kernel->scratch_bytes(m, ctx.threads), 0, kernel->packed_bytes());
}

}  // namespace

Prepared matmul(const OpInstance& op, const PrepareContext& ctx) {
  if (!all_f32(op) || op.input(0).rank() == 0 || op.input(1).rank() == 0) return nullptr;
  const auto& attrs = op.attrs<MatMulAttrs>();
  const bool ta = attrs.transpose_a && op.input(0).rank() > 1;
  const bool tb = attrs.transpose_b && op.input(1).rank() > 1;
  const Stack a = stack_of(op.input(0).shape, true);
  const Stack b = stack_of(op.input(1).shape, false);
  const int64_t m = ta ? a.columns : a.rows;
  const int64_t k = ta ? a.rows : a.columns;
  const int64_t n = tb ? b.rows : b.columns;
  const kernels::Epilogue epilogue = epilogue_of(attrs.activation, attrs.act_alpha, attrs.act_beta);
  if (op.has(2) && op.input(2).count() != n) return nullptr;
  const bool bias_ready = !op.has(2) || op.input(2).constant != nullptr;
  if (op.input(1).constant != nullptr && product(b.batch) == 1 && bias_ready &&
      (!ta || m == 1 || k == 1)) {
    const float* bias = op.has(2) ? op.input(2).f32() : nullptr;
    return packed(op.input(1).f32(), tb, product(a.batch) * m, k, n, attrs.alpha, bias, epilogue,
                  ctx);
  }
  BatchedGemmShape shape;
  shape.m = m;
  shape.n = n;
  shape.k = k;
  shape.a_stride_m = ta ? 1 : a.columns;
  shape.a_stride_k = ta ? a.columns : 1;
  shape.b_stride_k = tb ? 1 : b.columns;
  shape.b_stride_n = tb ? b.columns : 1;
  const std::vector<int64_t> batch = broadcast(a.batch, b.batch);
  if (product(batch) > kMostMatrices) return nullptr;
  shape.a_offsets = batch_offsets(batch, a.batch, a.rows * a.columns);
  shape.b_offsets = batch_offsets(batch, b.batch, b.rows * b.columns);
  shape.c_offsets = batch_offsets(batch, batch, m * n);
  auto kernel = std::make_shared<BatchedGemm>(ctx.table, std::move(shape), attrs.alpha, epilogue);
  const bool bias = op.has(2);
  return make_op(
      [kernel, bias](const RunArgs& args) {
        kernel->run(args.in(0), args.in(1), bias ? args.in(2) : nullptr, args.out(), args.pool,
                    args.scratch);
      },
      kernel->scratch_bytes(ctx.threads));
}

Prepared gemm(const OpInstance& op, const PrepareContext& ctx) {
  if (!all_f32(op) || op.input(0).rank() != 2 || op.input(1).rank() != 2) return nullptr;
  const auto& attrs = op.attrs<GemmAttrs>();
  const int64_t m = op.output().shape[0];
  const int64_t n = op.output().shape[1];
  const int64_t k = op.input(0).shape[attrs.transpose_a ? 0 : 1];
  const kernels::Epilogue epilogue = epilogue_of(attrs.activation, attrs.act_alpha, attrs.act_beta);
  // A bias row (or scalar) is part of the product; a matrix is added afterwards.
  std::vector<float> bias;
  bool matrix = false;
  if (op.has(2)) {
    const OperandInfo& c = op.input(2);
    const bool row =
        c.constant != nullptr &&
        (c.count() == 1 || (c.count() == n && !c.shape.empty() && c.shape.back() == n));
    if (row) {
      for (int64_t i = 0; i < n; ++i) bias.push_back(attrs.beta * c.f32()[c.count() == 1 ? 0 : i]);
    } else if (attrs.beta == 1.0F) {
      matrix = true;
    } else {
      return nullptr;
    }
  }
  const kernels::Epilogue inner = matrix ? kernels::Epilogue{} : epilogue;
  Prepared core;
  if (op.input(1).constant != nullptr && (!attrs.transpose_a || m == 1 || k == 1)) {
    core = packed(op.input(1).f32(), attrs.transpose_b, m, k, n, attrs.alpha,
                  bias.empty() ? nullptr : bias.data(), inner, ctx);
  } else {
    BatchedGemmShape shape;
    shape.m = m;
    shape.n = n;
    shape.k = k;
    shape.a_stride_m = attrs.transpose_a ? 1 : k;
    shape.a_stride_k = attrs.transpose_a ? m : 1;
    shape.b_stride_k = attrs.transpose_b ? 1 : n;
    shape.b_stride_n = attrs.transpose_b ? k : 1;
    shape.a_offsets = shape.b_offsets = shape.c_offsets = {0};
    auto kernel = std::make_shared<BatchedGemm>(ctx.table, std::move(shape), attrs.alpha, inner);
    core = make_op(
        [kernel, bias](const RunArgs& args) {
          kernel->run(args.in(0), args.in(1), bias.empty() ? nullptr : bias.data(), args.out(),
                      args.pool, args.scratch);
        },
        kernel->scratch_bytes(ctx.threads));
  }
  if (!matrix) return core;
  const kernels::BinaryPlan plan(op.output().shape, op.input(2).shape);
  const size_t scratch = core->scratch_bytes();
  const size_t bytes = core->packed_bytes();
  const kernels::KernelTable* table = &ctx.table;
  return make_op(
      [core = std::shared_ptr<PreparedOp>(std::move(core)), plan, table,
       epilogue](const RunArgs& args) -> Status {
        EC_CHECK_OK(core->run(args));
        plan.run(*table, kernels::BinaryOp::Add, args.out(), args.in(2), args.out(), args.pool,
                 epilogue);
        return {};
      },
      scratch, 0, bytes);
}

}  // namespace ec::prepare
