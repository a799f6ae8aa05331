// Attention without caches: scores, masks, softmax and the weighted sum of values, one block of
// queries of one head at a time.
#include <cmath>
#include <limits>

#include "runtime/kernels/gemm.h"
#include "runtime/prepare/prepare.h"

namespace ec::prepare {

namespace {

enum : size_t { kQ, kK, kV, kMask, kPastKey, kPastValue, kNonpad };

constexpr int64_t kQueryBlock = 256;
constexpr float kMinusInf = -std::numeric_limits<float>::infinity();

// Where the rows of q, k, v or y lie: [batch, heads, length, size] or [batch, length, heads *
// size].
struct Rows {
  int64_t heads = 0, length = 0, size = 0;
  int64_t row = 0, head = 0, image = 0;  // steps

  Rows(const std::vector<int64_t>& shape, int64_t head_count) {
    const bool heads_first = shape.size() == 4;
    heads = heads_first ? shape[1] : head_count;
    length = shape[heads_first ? 2 : 1];
    size = heads_first ? shape[3] : shape[2] / head_count;
    row = heads_first ? size : heads * size;
    head = heads_first ? length * size : size;
    image = heads * length * size;
  }
  int64_t at(int64_t b, int64_t h, int64_t i) const { return b * image + h * head + i * row; }
};

// The mask operand seen as [batch, heads, queries, keys].
struct Mask {
  bool present = false, boolean = false;
  int64_t batch = 0, head = 0, row = 0;  // steps; 0 where broadcast

  int64_t at(int64_t b, int64_t h, int64_t i) const { return b * batch + h * head + i * row; }
};

struct Plan {
  const kernels::KernelTable* table = nullptr;
  int64_t batch = 0;
  Rows q, k, v, y;
  Mask mask;
  bool causal = false;
  int64_t blocks = 0;
  // One product of scores and one of values for full blocks, and for the last block.
  std::shared_ptr<kernels::BatchedGemm> scores[2], values[2];
  size_t score_bytes = 0, work_bytes = 0;

  size_t thread_bytes() const { return score_bytes + work_bytes; }
  int64_t rows_of(int64_t block) const {
    return std::min(kQueryBlock, q.length - block * kQueryBlock);
  }
};

std::optional<Mask> mask_of(const OpInstance& op, const Rows& q, const Rows& k) {
  Mask mask;
  if (!op.has(kMask)) return mask;
  const OperandInfo& info = op.input(kMask);
  if (info.dtype != DType::F32 && info.dtype != DType::Bool) return std::nullopt;
  std::vector<int64_t> shape(4 - std::min<size_t>(4, info.rank()), 1);
  shape.insert(shape.end(), info.shape.begin(), info.shape.end());
  if (shape.size() != 4 || shape[3] != k.length) return std::nullopt;
  mask.present = true;
  mask.boolean = info.dtype == DType::Bool;
  mask.row = shape[2] == 1 ? 0 : k.length;
  mask.head = shape[1] == 1 ? 0 : shape[2] * k.length;
  mask.batch = shape[0] == 1 ? 0 : shape[1] * shape[2] * k.length;
  if (shape[2] != 1 && shape[2] != q.length) return std::nullopt;
  return mask;
}

void apply_masks(const Plan& p, const RunArgs& args, int64_t b, int64_t h, int64_t i, float* row) {
  const int64_t keys = p.k.length;
  if (p.mask.present) {
    const int64_t at = p.mask.at(b, h, i);
    if (p.mask.boolean) {
      const auto* keep = reinterpret_cast<const bool*>(args.inputs[kMask]) + at;
      for (int64_t j = 0; j < keys; ++j) row[j] = keep[j] ? row[j] : kMinusInf;
    } else {
      p.table->binary[static_cast<size_t>(kernels::BinaryOp::Add)].vv(row, args.in(kMask) + at, row,
                                                                      keys);
    }
  }
  if (p.causal && i + 1 < keys) std::fill(row + i + 1, row + keys, kMinusInf);
}

void run_block(const Plan& p, const RunArgs& args, int64_t task, std::byte* scratch) {
  const int64_t block = task % p.blocks;
  const int64_t h = task / p.blocks % p.q.heads;
  const int64_t b = task / p.blocks / p.q.heads;
  const int64_t first = block * kQueryBlock;
  const int64_t rows = p.rows_of(block);
  const int64_t group = h / (p.q.heads / p.k.heads);
  const size_t form = rows == kQueryBlock ? 0 : 1;
  auto* scores = reinterpret_cast<float*>(scratch);
  std::byte* work = scratch + p.score_bytes;
  kernels::ThreadPool serial(1);
  p.scores[form]->run(args.in(kQ) + p.q.at(b, h, first), args.in(kK) + p.k.at(b, group, 0), nullptr,
                      scores, serial, work);
  for (int64_t r = 0; r < rows; ++r) {
    float* row = scores + r * p.k.length;
    apply_masks(p, args, b, h, first + r, row);
    // A row that is masked altogether attends to nothing.
    if (p.table->max(row, p.k.length) == kMinusInf) {
      std::fill(row, row + p.k.length, 0.0F);
    } else {
      p.table->softmax_row(row, row, p.k.length, false);
    }
  }
  p.values[form]->run(scores, args.in(kV) + p.v.at(b, group, 0), nullptr,
                      args.out() + p.y.at(b, h, first), serial, work);
}

std::shared_ptr<kernels::BatchedGemm> score_product(const Plan& p, int64_t rows, float scale) {
  kernels::BatchedGemmShape s;
  s.m = rows;
  s.n = p.k.length;
  s.k = p.q.size;
  s.a_stride_m = p.q.row;
  s.b_stride_k = 1;
  s.b_stride_n = p.k.row;
  s.a_offsets = s.b_offsets = s.c_offsets = {0};
  return std::make_shared<kernels::BatchedGemm>(*p.table, std::move(s), scale, kernels::Epilogue{});
}

std::shared_ptr<kernels::BatchedGemm> value_product(const Plan& p, int64_t rows) {
  kernels::BatchedGemmShape s;
  s.m = rows;
  s.n = p.v.size;
  s.k = p.k.length;
  s.a_stride_m = p.k.length;
  s.b_stride_k = p.v.row;
  s.b_stride_n = 1;
  s.c_stride_m = p.y.row;
  s.a_offsets = s.b_offsets = s.c_offsets = {0};
  return std::make_shared<kernels::BatchedGemm>(*p.table, std::move(s), 1.0F, kernels::Epilogue{});
}

bool plain_form(const OpInstance& op) {
  const auto& attrs = op.attrs<AttentionAttrs>();
  for (const size_t i : {kPastKey, kPastValue, kNonpad})
    if (op.has(i)) return false;
  for (const size_t i : {kQ, kK, kV})
    if (!op.input(i).is_f32()) return false;
  const bool precise =
      attrs.softmax_precision == DType::F32 || attrs.softmax_precision == DType::F64;
  return op.outputs.size() == 1 && attrs.softcap == 0.0F && precise && attrs.left_window < 0 &&
         attrs.right_window < 0;
}

}  // namespace

Prepared attention(const OpInstance& op, const PrepareContext& ctx) {
  if (!plain_form(op)) return nullptr;
  const auto& attrs = op.attrs<AttentionAttrs>();
  const Rows q(op.input(kQ).shape, attrs.q_heads);
  const Rows k(op.input(kK).shape, attrs.kv_heads);
  const Rows v(op.input(kV).shape, attrs.kv_heads);
  const Rows y(op.output().shape, attrs.q_heads);
  const auto mask = mask_of(op, q, k);
  if (!mask) return nullptr;
  auto p = std::make_shared<Plan>(
      Plan{&ctx.table, op.input(kQ).shape[0], q, k, v, y, *mask, attrs.causal, 0, {}, {}, 0, 0});
  p->blocks = (q.length + kQueryBlock - 1) / kQueryBlock;
  const float scale =
      attrs.scale != 0.0F ? attrs.scale : 1.0F / std::sqrt(static_cast<float>(q.size));
  const int64_t tail = p->rows_of(p->blocks - 1);
  const int64_t rows[2] = {std::min(kQueryBlock, q.length), tail};
  for (size_t form = 0; form < 2; ++form) {
    p->scores[form] = score_product(*p, rows[form], scale);
    p->values[form] = value_product(*p, rows[form]);
    p->work_bytes = std::max({p->work_bytes, align_up(p->scores[form]->scratch_bytes(1)),
                              align_up(p->values[form]->scratch_bytes(1))});
  }
  p->score_bytes = align_up(static_cast<size_t>(rows[0] * k.length) * sizeof(float));
  return make_op(
      [p](const RunArgs& args) {
        args.pool.parallel_for(p->batch * p->q.heads * p->blocks, [&](int64_t task, int thread) {
          run_block(*p, args, task, args.scratch + static_cast<size_t>(thread) * p->thread_bytes());
        });
      },
      p->thread_bytes() * static_cast<size_t>(ctx.threads));
}

}  // namespace ec::prepare
