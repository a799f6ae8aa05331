// Attention over open lengths as products, masks and a softmax, and the triangles of its masks.
#include <algorithm>
#include <cmath>

#include "backend/metal/passes/rules.h"
#include "passes/replacement.h"

namespace ec::passes {
namespace {

enum : size_t { kQ, kK, kV, kMask, kPastKey, kPastValue, kNonpad };

// What is added to masked scores: far below all others, and still finite when several add up.
constexpr double kMasked = -1e30;

bool is_open(const Tensor* tensor) {
  return tensor != nullptr && tensor->shape() && !tensor->shape()->is_static();
}

// Sizes by a list in which 0 is the operand's own and -1 what is left.
Tensor* viewed(Replacement& p, Tensor* x, std::initializer_list<int64_t> sizes) {
  return p.op(OpKind::Reshape, {x, p.ints(std::span(sizes.begin(), sizes.size()))}, ReshapeAttrs{});
}

// Without a state, windows or keys that do not count; with every size but lengths and batch.
bool fits(const Operation* op) {
  const auto& attrs = op->attrs_as<AttentionAttrs>();
  if (!is_plain(op) || op->output()->dtype() != DType::F32 || attrs.left_window >= 0 ||
      attrs.right_window >= 0 || op->outputs().size() != 1)
    return false;
  for (const size_t i : {kPastKey, kPastValue, kNonpad})
    if (op->input(i) != nullptr) return false;
  if (!std::ranges::any_of(op->inputs(), is_open)) return false;
  const auto rank = rank_of(op->input(kQ));
  if (!rank || (*rank != 3 && *rank != 4)) return false;
  for (const size_t i : {kQ, kK, kV}) {
    const auto& shape = op->input(i)->shape();
    if (!shape || shape->rank() != *rank || !(*shape)[*rank - 1].is_static()) return false;
    if (*rank == 4 && !(*shape)[1].is_static()) return false;
  }
  const Tensor* mask = op->input(kMask);
  // Keys beyond a shorter mask are masked: the lengths must not be known to differ.
  return mask == nullptr ||
         (mask->shape() && mask->shape()->rank() > 0 && mask->shape()->dims().back() != Dim(1));
}

struct Heads {
  int64_t queries = 1, keys = 1;
  bool split = false;  // [batch, length, heads * size]
};

Tensor* by_heads(Replacement& p, Tensor* x, int64_t heads, bool split) {
  return split ? p.transpose(viewed(p, x, {0, 0, heads, -1}), {0, 2, 1, 3}) : x;
}

Tensor* repeated_heads(Replacement& p, Tensor* x, const Heads& heads) {
  if (heads.keys == heads.queries) return x;
  std::vector<int64_t> indices;
  for (int64_t h = 0; h < heads.queries; ++h) indices.push_back(h * heads.keys / heads.queries);
  return p.gather(x, indices, 1);
}

// 0, 1, ... as many as x has in this dimension.
Tensor* counted(Replacement& p, Tensor* x, int64_t axis) {
  Tensor* shape = p.op(OpKind::Shape, {x}, ShapeAttrs{});
  Tensor* at = p.rewriter().scalar(DType::I64, static_cast<double>(axis));
  Tensor* length = p.op(OpKind::Gather, {shape, at}, GatherAttrs{});
  return p.op(OpKind::Range,
              {p.rewriter().scalar(DType::I64, 0), length, p.rewriter().scalar(DType::I64, 1)});
}

// kMasked where a key lies behind the query.
Tensor* causal_mask(Replacement& p, Tensor* q, Tensor* k, int64_t axis) {
  Tensor *rows = counted(p, q, axis), *columns = counted(p, k, axis);
  Tensor* behind = p.op(OpKind::Less, {viewed(p, rows, {-1, 1}), columns});
  Tensor* zero = p.rewriter().scalar(DType::F32, 0);
  return p.op(OpKind::Where, {behind, p.number(zero, kMasked), zero});
}

Result<bool> expand_open_attention(Rewriter& r, Operation* op) {
  if (!fits(op)) return false;
  const auto& attrs = op->attrs_as<AttentionAttrs>();
  const Shape& shape = *op->input(kQ)->shape();
  Heads heads;
  heads.queries = shape.rank() == 4 ? shape[1].size() : attrs.q_heads;
  heads.keys = shape.rank() == 4 ? (*op->input(kK)->shape())[1].size() : attrs.kv_heads;
  heads.split = shape.rank() == 3 && (heads.queries != 1 || heads.keys != 1);
  if (heads.queries < 1 || heads.keys < 1) return false;
  const int64_t width = shape[shape.rank() - 1].size() / (heads.split ? heads.queries : 1);
  Replacement p(r, op);
  Tensor* q = by_heads(p, op->input(kQ), heads.queries, heads.split);
  Tensor* k = repeated_heads(p, by_heads(p, op->input(kK), heads.keys, heads.split), heads);
  Tensor* v = repeated_heads(p, by_heads(p, op->input(kV), heads.keys, heads.split), heads);
  const auto length = static_cast<int64_t>(shape.rank() == 3 && !heads.split ? 1 : 2);
  const double scale =
      attrs.scale != 0.0f ? double{attrs.scale} : 1.0 / std::sqrt(static_cast<double>(width));
  Tensor* scores = p.op(OpKind::MatMul, {p.mul(q, scale), k}, MatMulAttrs{.transpose_b = true});
  if (attrs.softcap > 0.0f) {
    const double cap = double{attrs.softcap};
    scores = p.mul(p.unary(OpKind::Tanh, p.mul(scores, 1.0 / cap)), cap);
  }
  Tensor* mask = op->input(kMask);
  const bool chooses = mask != nullptr && mask->dtype() == DType::Bool;
  if (chooses)
    scores = p.op(OpKind::Where, {mask, scores, p.number(scores, kMasked)});
  else if (mask != nullptr)
    scores = p.add(scores, p.max(mask, kMasked));  // infinities would give NaN in masked rows
  if (attrs.causal) scores = p.add(scores, causal_mask(p, q, k, length));
  Tensor* weights = p.op(OpKind::Softmax, {scores}, AxisAttrs{.axis = -1});
  // A query that may look at nothing gives zeros.
  if (chooses) weights = p.mul(weights, p.cast(mask, DType::F32));
  Tensor* y = p.op(OpKind::MatMul, {weights, v}, MatMulAttrs{});
  if (heads.split) y = viewed(p, p.transpose(y, {0, 2, 1, 3}), {0, 0, -1});
  return p.replace(y);
}

// A triangle that programs have no band for: chosen by the positions.
Result<bool> choose_open_triangle(Rewriter& r, Operation* op) {
  const auto k = op->input(1) == nullptr ? std::optional<double>(0) : scalar_value(op->input(1));
  const auto rank = rank_of(op->output());
  if (!k || !is_plain(op) || !rank || *rank < 2 || !is_open(op->output())) return false;
  const bool upper = op->attrs_as<TriluAttrs>().upper;
  if ((upper ? *k <= 0 : *k >= 0) && is_float(op->output()->dtype())) return false;
  Replacement p(r, op);
  Tensor* x = op->input(0);
  Tensor* rows = p.add(counted(p, x, static_cast<int64_t>(*rank) - 2), *k);
  Tensor* columns = counted(p, x, static_cast<int64_t>(*rank) - 1);
  Tensor* seen = p.op(upper ? OpKind::GreaterOrEqual : OpKind::LessOrEqual,
                      {columns, viewed(p, rows, {-1, 1})});
  if (x->dtype() == DType::Bool) return p.replace(p.op(OpKind::And, {x, seen}));
  return p.replace(p.op(OpKind::Where, {seen, x, p.number(x, 0)}));
}

constexpr RewriteRule kRules[] = {
    {OpKind::Trilu, choose_open_triangle, "triangles of open sizes"},
    {OpKind::Attention, expand_open_attention, "attention over open lengths"},
};

}  // namespace

const std::span<const RewriteRule> kMilOpenAttention = kRules;

}  // namespace ec::passes
