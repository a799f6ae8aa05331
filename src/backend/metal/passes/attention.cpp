// Attention as the one operation that programs have from iOS 18 on: equal numbers of heads, the
// scores divided by the root of the head size, one mask of truth values or floats. What lacks that
// form and can be brought into it is; the rest becomes products as on older systems.
#include <algorithm>
#include <cmath>

#include "backend/metal/passes/rules.h"
#include "backend/tflite/formulas.h"
#include "passes/replacement.h"
#include "passes/tables.h"
#include "writer/coreml/forms.h"

namespace ec::passes {
namespace {

enum : size_t { kQ, kK, kV, kMask, kPastKey, kPastValue, kNonpad };

// Added to a score, numbers from here on leave nothing of it.
constexpr float kHidden = -1e9f;
// Factors that differ by less are the root of the head size, rounded.
constexpr double kSameScale = 1e-6;

// Which keys each query may look at, by positions alone.
std::vector<uint8_t> seen_positions(const AttentionAttrs& attrs, int64_t queries, int64_t keys,
                                    int64_t past) {
  std::vector<uint8_t> seen;
  for (int64_t i = 0; i < queries; ++i)
    for (int64_t j = 0; j < keys; ++j) {
      const int64_t distance = j - (i + past);
      seen.push_back((!attrs.causal || distance <= 0) &&
                     (attrs.left_window < 0 || distance >= -attrs.left_window) &&
                     (attrs.right_window < 0 || distance <= attrs.right_window));
    }
  return seen;
}

// A query that sees no key has no result in programs.
bool has_blind_row(const std::vector<uint8_t>& seen, int64_t keys) {
  for (auto row = seen.begin(); row != seen.end(); row += keys)
    if (std::find(row, row + keys, 1) == row + keys) return true;
  return false;
}

Tensor* truths(Graph& graph, const Shape& shape, const std::vector<uint8_t>& values) {
  return graph.add_constant("", TensorType(DType::Bool, shape),
                            Blob::copy_of(std::span<const uint8_t>(values)));
}

class WholeAttention {
 public:
  WholeAttention(Rewriter& r, Operation* op)
      : op_(op), attrs_(op->attrs_as<AttentionAttrs>()), p_(r, op) {}

  static bool fits(const Operation* op) {
    if (!is_plain(op) || op->output()->dtype() != DType::F32 || op->input(kNonpad) != nullptr ||
        op->attrs_as<AttentionAttrs>().softcap > 0)
      return false;
    for (const Tensor* operand : op->inputs())
      if (operand != nullptr && !static_shape(operand)) return false;
    if (!fits_heads(*static_shape(op->input(kQ)), op->attrs_as<AttentionAttrs>().q_heads))
      return false;
    return op->outputs().size() <= 3 || op->graph().is_unused(op->output(3));
  }

  Result<bool> replace() {
    const int64_t past =
        op_->input(kPastKey) == nullptr ? 0 : (*static_shape(op_->input(kPastKey)))[2];
    if (!choose_mask(length_of(op_->input(kQ)), past + length_of(op_->input(kK)), past))
      return false;
    Tensor* q = by_heads(op_->input(kQ), attrs_.q_heads);
    Tensor* k = by_heads(op_->input(kK), attrs_.kv_heads);
    Tensor* v = by_heads(op_->input(kV), attrs_.kv_heads);
    if (past > 0) {
      k = p_.concat({op_->input(kPastKey), k}, 2);
      v = p_.concat({op_->input(kPastValue), v}, 2);
    }
    if (!p_.ok()) return p_.replace(nullptr);
    Tensor *present_key = k, *present_value = v;
    const std::vector<int64_t> queries = *static_shape(q);
    const double root = std::sqrt(static_cast<double>(queries.back()));
    if (attrs_.scale != 0.0f && std::abs(double{attrs_.scale} * root - 1) > kSameScale)
      q = p_.mul(q, double{attrs_.scale} * root);
    if (!one_head()) {
      k = repeated(k, queries[1]);
      v = repeated(v, queries[1]);
    }
    Tensor* any = may_be_blind_ ? let_blind_see() : nullptr;
    std::vector<Tensor*> inputs{q, k, v};
    if (mask_ != nullptr) inputs.push_back(mask_);
    AttentionAttrs plain;
    if (one_head()) plain.q_heads = plain.kv_heads = 1;
    Tensor* y = p_.op(OpKind::Attention, std::move(inputs), plain);
    if (any != nullptr) y = p_.op(OpKind::Where, {any, y, p_.number(y, 0)});
    if (rank_of(op_->input(kQ)) == 3 && !one_head()) {
      y = p_.transpose(y, {0, 2, 1, 3});
      y = p_.reshape(y, *op_->output()->shape());
    }
    std::vector<Tensor*> results{y, present_key, present_value, nullptr};
    results.resize(op_->outputs().size());
    return p_.replace_all(results);
  }

 private:
  static int64_t length_of(const Tensor* x) {
    const auto sizes = static_shape(x);
    return (*sizes)[sizes->size() - 2];
  }
  // Without a dimension of heads, which programs take as it is.
  bool one_head() const {
    return rank_of(op_->input(kQ)) == 3 && attrs_.q_heads == 1 && attrs_.kv_heads == 1 &&
           op_->input(kPastKey) == nullptr && op_->outputs().size() == 1 &&
           (op_->input(kMask) == nullptr || *rank_of(op_->input(kMask)) <= 2);
  }

  // [batch, length, heads * size] as [batch, heads, length, size].
  Tensor* by_heads(Tensor* x, int64_t heads) {
    const auto sizes = static_shape(x);
    if (!p_.ok() || sizes->size() == 4 || one_head()) return x;
    Tensor* split = p_.sized(x, {(*sizes)[0], (*sizes)[1], heads, (*sizes)[2] / heads});
    return p_.transpose(split, {0, 2, 1, 3});
  }

  // Each head of keys or values serves several of the queries.
  Tensor* repeated(Tensor* x, int64_t heads) {
    const auto sizes = static_shape(x);
    if (!p_.ok() || (*sizes)[1] == heads) return x;
    std::vector<int64_t> indices;
    for (int64_t h = 0; h < heads; ++h) indices.push_back(h * (*sizes)[1] / heads);
    return p_.gather(x, indices, 1);
  }

  // The model's mask, or the one of its positions. False: there is no one mask for it.
  bool choose_mask(int64_t queries, int64_t keys, int64_t past) {
    mask_ = op_->input(kMask);
    const bool positions = attrs_.causal || attrs_.left_window >= 0 || attrs_.right_window >= 0;
    if (mask_ != nullptr) {
      // Keys beyond a shorter mask are masked.
      if (positions || static_shape(mask_)->back() != keys) return false;
      if (is_constant(mask_)) return choose_constant(keys);
      may_be_blind_ = mask_->dtype() == DType::Bool;
      return may_be_blind_ || mask_->dtype() == DType::F32;
    }
    if (!positions) return true;
    if (!fits_table(queries, keys)) return false;
    const std::vector<uint8_t> seen = seen_positions(attrs_, queries, keys, past);
    if (has_blind_row(seen, keys)) return false;
    mask_ = truths(p_.rewriter().graph(), Shape{queries, keys}, seen);
    return true;
  }

  // Floats that hide keys or leave them alone are truth values, which half precision holds.
  bool choose_constant(int64_t keys) {
    std::vector<uint8_t> seen;
    if (mask_->dtype() == DType::Bool) {
      const auto values = mask_->values<uint8_t>();
      seen.assign(values.begin(), values.end());
      return !has_blind_row(seen, keys);
    }
    if (mask_->dtype() != DType::F32) return false;
    bool chooses = true;
    for (const float value : mask_->values<float>()) {
      chooses = chooses && (value == 0 || value <= kHidden);
      seen.push_back(value > kHidden);
    }
    if (has_blind_row(seen, keys)) return false;
    if (chooses) mask_ = truths(p_.rewriter().graph(), *mask_->shape(), seen);
    return true;
  }

  // A query that sees no key sees all of them, and its result becomes zeros: gives which queries
  // see any.
  Tensor* let_blind_see() {
    const auto last = static_cast<int64_t>(*rank_of(mask_)) - 1;
    Tensor* count = p_.reduce(OpKind::ReduceMax, p_.cast(mask_, DType::F32), {last});
    Tensor* any = p_.cast(count, DType::Bool);
    mask_ = p_.op(OpKind::Or, {mask_, p_.unary(OpKind::Not, any)});
    return any;
  }

  Operation* op_;
  const AttentionAttrs& attrs_;
  Replacement p_;
  Tensor* mask_ = nullptr;
  bool may_be_blind_ = false;
};

// Computed truth values may hide all keys from a query; let_blind_see() has dealt with these.
bool may_hide_all(const Tensor* mask) {
  if (mask == nullptr || is_constant(mask) || mask->dtype() != DType::Bool) return false;
  const Operation* either = produced_by(mask, OpKind::Or);
  return either == nullptr || produced_by(either->input(1), OpKind::Not) == nullptr;
}

Result<bool> keep_whole(Rewriter& r, Operation* op) {
  if (has_coreml_attention(*op) && !may_hide_all(op->input(kMask))) return false;
  if (WholeAttention::fits(op)) {
    EC_TRY(const bool replaced, WholeAttention(r, op).replace());
    if (replaced) return true;
  }
  return apply_formula(r, op);
}

constexpr RewriteRule kWhole[] = {{OpKind::Attention, keep_whole, "attention"}};
constexpr RewriteRule kProducts[] = {{OpKind::Attention, apply_formula, "attention"}};

}  // namespace

const std::span<const RewriteRule> kMilWholeAttention = kWhole;
const std::span<const RewriteRule> kMilAttentionProducts = kProducts;

}  // namespace ec::passes
