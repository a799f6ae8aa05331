// recover-attention: scaled dot-product attention written as two products and a softmax.
//
//   softmax(scale * q k^T + mask) v -> attention(q, k, v, mask)
//
// q, k, v: [batch, heads, length, size], or [batch, length, size] with one head.
#include "passes/match.h"
#include "passes/permute.h"
#include "passes/registry.h"

namespace ec::passes {
namespace {

struct Scores {
  const Operation* product = nullptr;
  double scale = 1;
  Tensor* mask = nullptr;
  Location location;
};

bool is_product(const Operation* op) {
  if (op == nullptr || op->kind() != OpKind::MatMul || has_quant(op)) return false;
  const auto& attrs = op->attrs_as<MatMulAttrs>();
  return op->input(2) == nullptr && attrs.activation == Activation::None;
}

// The mask is added to every score: it must cover all keys.
bool is_mask(const Tensor* mask, const Tensor* scores) {
  if (!mask->shape() || mask->shape()->rank() < 1 || mask->shape()->rank() > 4) return false;
  return broadcasts_into(mask, scores) &&
         mask->shape()->dims().back().same_size(scores->shape()->dims().back());
}

// From the softmax's operand inwards: mask, factors, product; each read by nothing else.
std::optional<Scores> scores_of(Tensor* tensor) {
  Scores scores;
  for (int i = 0; i < 4; ++i) {
    const Operation* op = tensor->producer();
    if (op == nullptr || !has_single_use(tensor) || has_quant(op)) return std::nullopt;
    Location inner = op->location();
    inner.merge(scores.location);
    scores.location = std::move(inner);
    if (is_product(op)) {
      scores.product = op;
      scores.scale *= static_cast<double>(op->attrs_as<MatMulAttrs>().alpha);
      return scores;
    }
    if (op->kind() == OpKind::Mul || op->kind() == OpKind::Div) {
      const WithScalar match = with_scalar(op);
      if (!match || scores.scale != 1) return std::nullopt;
      scores.scale = op->kind() == OpKind::Mul ? match.value : 1 / match.value;
      tensor = match.x;
    } else if (op->kind() == OpKind::Add && scores.mask == nullptr && scores.scale == 1) {
      // Which of the two is the mask: the one that is broadcast, or not computed from a product.
      Tensor* a = op->input(0);
      Tensor* b = op->input(1);
      const auto leads = [](const Tensor* t) {
        const Operation* p = t->producer();
        return p != nullptr && has_single_use(t) &&
               (is_product(p) ||
                ((p->kind() == OpKind::Mul || p->kind() == OpKind::Div) && with_scalar(p)));
      };
      if (!leads(a)) std::swap(a, b);
      if (!leads(a) || !same_shape(a, op->output()) || !is_mask(b, op->output()))
        return std::nullopt;
      scores.mask = b;
      tensor = a;
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

Perm swap_last(size_t rank) {
  Perm perm = identity_perm(rank);
  std::swap(perm[rank - 1], perm[rank - 2]);
  return perm;
}

Result<bool> attention(Rewriter& rewriter, Operation* op) {
  const auto rank = rank_of(op->output());
  if (!rank || (*rank != 3 && *rank != 4) || !is_float(op->output()->dtype())) return false;
  if (positive_axis(op->attrs_as<AxisAttrs>().axis, *rank) != static_cast<int64_t>(*rank) - 1)
    return false;
  Operation* outer = only_user(op->output());
  if (!is_product(outer) || outer->input(0) != op->output() || has_quant(op)) return false;
  const auto& outer_attrs = outer->attrs_as<MatMulAttrs>();
  if (outer_attrs.transpose_a || outer_attrs.alpha != 1) return false;
  const auto scores = scores_of(op->input(0));
  if (!scores || !(scores->scale > 0)) return false;
  if (scores->mask != nullptr && *rank == 3 && rank_of(scores->mask) == 3) return false;
  const auto& inner_attrs = scores->product->attrs_as<MatMulAttrs>();
  Tensor* q = scores->product->input(0);
  Tensor* k = scores->product->input(1);
  Tensor* v = outer->input(1);
  if (inner_attrs.transpose_a) return false;
  // All of one rank, with equal batch and heads: products broadcast, attention does not.
  for (const Tensor* tensor : {q, k, v}) {
    if (rank_of(tensor) != rank) return false;
    for (size_t i = 0; i + 2 < *rank; ++i)
      if (!(*tensor->shape())[i].same_size((*op->output()->shape())[i])) return false;
  }
  if (!inner_attrs.transpose_b) {
    EC_TRY(k, add_transposed(rewriter, k, swap_last(*rank), {scores->product}));
  }
  if (outer_attrs.transpose_b) {
    EC_TRY(v, add_transposed(rewriter, v, swap_last(*rank), {outer}));
  }
  AttentionAttrs attrs{.scale = static_cast<float>(scores->scale)};
  if (*rank == 3) attrs.q_heads = attrs.kv_heads = 1;
  std::vector<Tensor*> inputs{q, k, v};
  if (scores->mask != nullptr) inputs.push_back(scores->mask);
  OpSpec spec;
  spec.attrs = attrs;
  spec.location = scores->location;
  spec.location.merge(op->location());
  spec.location.merge(outer->location());
  EC_TRY(const Operation* result,
         rewriter.add_op(OpKind::Attention, std::move(inputs), std::move(spec)));
  rewriter.replace(outer, result->output());
  return true;
}

constexpr RewriteRule kRules[] = {{OpKind::Softmax, attention, "attention"}};

}  // namespace

const PassInfo kRecoverAttentionPass{
    .name = "recover-attention",
    .summary = "Finds scaled dot-product attention in products around a softmax.",
    .details =
        "A product of queries and keys with a factor anywhere around it, an optional mask that is "
        "added, a softmax over the keys and the product with the values. Nothing else may read the "
        "scores. Batch and heads must agree: products that broadcast stay.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<RulePass>(kRecoverAttentionPass.name, kRules);
    }};

}  // namespace ec::passes
