// Attention and rotary positions as products, masks and a softmax.
#include <cmath>

#include "backend/tflite/passes/rules.h"
#include "passes/replacement.h"
#include "passes/tables.h"

namespace ec::passes {
namespace {

enum : size_t { kQ, kK, kV, kMask, kPastKey, kPastValue, kNonpad };

// What is added to masked scores: far below all others, and still finite when several add up.
constexpr double kMasked = -1e30;

// [batch, length, heads * size] as [batch, heads, length, size].
Tensor* by_heads(Replacement& p, Tensor* x, int64_t heads) {
  const auto sizes = static_shape(x);
  if (!p.ok() || sizes->size() == 4) return x;
  Tensor* split = p.sized(x, {(*sizes)[0], (*sizes)[1], heads, (*sizes)[2] / heads});
  return p.transpose(split, {0, 2, 1, 3});
}

// Each head of keys or values serves several of the queries.
Tensor* repeated_heads(Replacement& p, Tensor* x, int64_t heads) {
  if (!p.ok()) return x;
  const int64_t own = (*static_shape(x))[1];
  if (own == heads) return x;
  std::vector<int64_t> indices;
  for (int64_t h = 0; h < heads; ++h) indices.push_back(h * own / heads);
  return p.gather(x, indices, 1);
}

bool hides_by_position(const AttentionAttrs& attrs) {
  return attrs.causal || attrs.left_window >= 0 || attrs.right_window >= 0;
}

// 0 where query i may look at key j, else kMasked; null: everywhere. `has_blind`: a query may look
// at none.
Tensor* position_mask(Replacement& p, const AttentionAttrs& attrs, int64_t queries, int64_t keys,
                      int64_t past, bool& has_blind) {
  if (!hides_by_position(attrs)) return nullptr;
  std::vector<float> mask;
  for (int64_t i = 0; i < queries; ++i) {
    bool sees = false;
    for (int64_t j = 0; j < keys; ++j) {
      const int64_t distance = j - (i + past);
      const bool seen = (!attrs.causal || distance <= 0) &&
                        (attrs.left_window < 0 || distance >= -attrs.left_window) &&
                        (attrs.right_window < 0 || distance <= attrs.right_window);
      mask.push_back(seen ? 0.0f : static_cast<float>(kMasked));
      sees = sees || seen;
    }
    has_blind = has_blind || !sees;
  }
  return p.floats(Shape{queries, keys}, mask);
}

Tensor* with_mask(Replacement& p, Tensor* scores, Tensor* mask) {
  if (mask == nullptr || !p.ok()) return scores;
  if (mask->dtype() == DType::Bool)
    return p.op(OpKind::Where, {mask, scores, p.number(scores, kMasked)});
  // Infinities would give NaN where whole rows are masked.
  return p.add(scores, p.max(mask, kMasked));
}

bool fits(const Operation* op) {
  if (!is_plain(op) || op->output()->dtype() != DType::F32 || op->input(kNonpad) != nullptr)
    return false;
  for (size_t i = 0; i < op->inputs().size(); ++i)
    if (op->input(i) != nullptr && !static_shape(op->input(i))) return false;
  if (!fits_heads(*static_shape(op->input(kQ)), op->attrs_as<AttentionAttrs>().q_heads))
    return false;
  // The products themselves are asked for.
  if (op->outputs().size() > 3 && !op->graph().is_unused(op->output(3))) return false;
  const Tensor *mask = op->input(kMask), *past = op->input(kPastKey);
  const auto length_of = [](const Tensor* x) {
    const auto sizes = static_shape(x);
    return (*sizes)[sizes->size() == 4 ? 2 : 1];
  };
  const int64_t length =
      length_of(op->input(kK)) + (past != nullptr ? (*static_shape(past))[2] : 0);
  if (hides_by_position(op->attrs_as<AttentionAttrs>()) &&
      !fits_table(length_of(op->input(kQ)), length))
    return false;
  if (mask == nullptr) return true;
  // Keys beyond a shorter mask are masked, also where it has one column.
  return static_shape(mask)->back() == length;
}

Result<bool> expand_attention(Rewriter& r, Operation* op) {
  if (!fits(op)) return false;
  const auto& attrs = op->attrs_as<AttentionAttrs>();
  Replacement p(r, op);
  Tensor* q = by_heads(p, op->input(kQ), attrs.q_heads);
  Tensor* k = by_heads(p, op->input(kK), attrs.kv_heads);
  Tensor* v = by_heads(p, op->input(kV), attrs.kv_heads);
  int64_t past = 0;
  if (op->input(kPastKey) != nullptr) {
    past = (*static_shape(op->input(kPastKey)))[2];
    k = p.concat({op->input(kPastKey), k}, 2);
    v = p.concat({op->input(kPastValue), v}, 2);
  }
  if (!p.ok()) return p.replace(nullptr);
  Tensor *present_key = k, *present_value = v;
  const std::vector<int64_t> queries = *static_shape(q);
  const int64_t keys = (*static_shape(k))[2];
  k = repeated_heads(p, k, queries[1]);
  v = repeated_heads(p, v, queries[1]);
  const double scale =
      attrs.scale != 0.0f ? double{attrs.scale} : 1.0 / std::sqrt(static_cast<double>(queries[3]));
  Tensor* scores = p.op(OpKind::MatMul, {p.mul(q, scale), k}, MatMulAttrs{.transpose_b = true});
  if (attrs.softcap > 0.0f) {
    const double cap = double{attrs.softcap};
    scores = p.mul(p.unary(OpKind::Tanh, p.mul(scores, 1.0 / cap)), cap);
  }
  Tensor* mask = op->input(kMask);
  bool has_blind = false;
  Tensor* positions = position_mask(p, attrs, queries[2], keys, past, has_blind);
  scores = with_mask(p, scores, mask);
  scores = with_mask(p, scores, positions);
  Tensor* weights = p.op(OpKind::Softmax, {scores}, AxisAttrs{.axis = 3});
  // Masks of booleans and windows may leave nothing to look at: such a row gives zeros.
  const bool chooses = mask != nullptr && mask->dtype() == DType::Bool;
  if (chooses) weights = p.mul(weights, p.cast(mask, DType::F32));
  if ((chooses || has_blind) && positions != nullptr && p.ok())
    weights = p.mul(weights,
                    p.cast(p.op(OpKind::Equal, {positions, p.number(positions, 0)}), DType::F32));
  Tensor* y = p.op(OpKind::MatMul, {weights, v}, MatMulAttrs{});
  if (rank_of(op->input(kQ)) == 3) {
    y = p.transpose(y, {0, 2, 1, 3});
    y = p.reshape(y, *op->output()->shape());
  }
  std::vector<Tensor*> results{y, present_key, present_value, nullptr};
  results.resize(op->outputs().size());
  return p.replace_all(results);
}

// --- rotary positions ----------------------------------------------------------------------------

enum : size_t { kX, kCos, kSin, kPositions };

// [batch, 1, length, half], from a cache by position where there are positions.
Tensor* angles(Replacement& p, const Operation* op, size_t operand) {
  Tensor* cache = op->input(operand);
  if (op->input(kPositions) != nullptr)
    cache = p.op(OpKind::Gather, {cache, op->input(kPositions)}, GatherAttrs{.axis = 0});
  if (!p.ok()) return cache;
  const auto sizes = *static_shape(cache);
  return p.sized(cache, {sizes[0], 1, sizes[1], sizes[2]});
}

Result<bool> expand_rotary(Rewriter& r, Operation* op) {
  const auto shape = static_shape(op->input(kX));
  if (!is_plain(op)) return false;
  for (const Tensor* operand : op->inputs())
    if (operand != nullptr && !static_shape(operand)) return false;
  const auto& attrs = op->attrs_as<RotaryEmbeddingAttrs>();
  Replacement p(r, op);
  Tensor* x = by_heads(p, op->input(kX), attrs.num_heads);
  if (!p.ok()) return p.replace(nullptr);
  const std::vector<int64_t> sizes = *static_shape(x);
  const int64_t rotated = attrs.rotary_dim > 0 ? attrs.rotary_dim : sizes[3], half = rotated / 2;
  // The two elements of each pair: neighbours, or one from each half.
  std::vector<int64_t> first, second, order(static_cast<size_t>(rotated));
  for (int64_t i = 0; i < half; ++i) {
    first.push_back(attrs.interleaved ? 2 * i : i);
    second.push_back(attrs.interleaved ? 2 * i + 1 : i + half);
    order[static_cast<size_t>(first.back())] = i;
    order[static_cast<size_t>(second.back())] = i + half;
  }
  Tensor* a = attrs.interleaved ? p.gather(x, first, 3) : p.slice(x, 3, 0, half);
  Tensor* b = attrs.interleaved ? p.gather(x, second, 3) : p.slice(x, 3, half, rotated);
  Tensor* cosine = angles(p, op, kCos);
  Tensor* sine = angles(p, op, kSin);
  Tensor* a_cosine = p.mul(a, cosine);
  Tensor* b_sine = p.mul(b, sine);
  Tensor* a_sine = p.mul(a, sine);
  Tensor* b_cosine = p.mul(b, cosine);
  Tensor* left = p.sub(a_cosine, b_sine);
  Tensor* right = p.add(a_sine, b_cosine);
  Tensor* y = p.concat({left, right}, 3);
  if (attrs.interleaved) y = p.gather(y, order, 3);
  if (rotated < sizes[3]) {
    Tensor* rest = p.slice(x, 3, rotated, sizes[3]);
    y = p.concat({y, rest}, 3);
  }
  if (shape->size() == 3) {
    y = p.transpose(y, {0, 2, 1, 3});
    y = p.sized(y, *shape);
  }
  return p.replace(y);
}

constexpr RewriteRule kRules[] = {
    {OpKind::Attention, expand_attention, "attention"},
    {OpKind::RotaryEmbedding, expand_rotary, "rotary positions"},
};

}  // namespace

const std::span<const RewriteRule> kTfliteAttention = kRules;

}  // namespace ec::passes
