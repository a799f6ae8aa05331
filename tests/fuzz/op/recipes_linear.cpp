// Normalisation, matrix products and attention.
#include "fuzz/op/recipe_tools.h"
#include "fuzz/op/recipes.h"

namespace ec::fuzz {
namespace {

void matmul(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  auto& attrs = c.attrs.edit<MatMulAttrs>();
  plain_activation(b, attrs);
  Tensor* x = b.reals(1, 4);
  const Sizes sizes = *b.sizes_of(x);
  const bool matrix = sizes.size() > 1;
  if (!matrix) attrs.transpose_a = false;
  const int64_t k = attrs.transpose_a ? sizes[sizes.size() - 2] : sizes.back();
  const int64_t n = b.random().pick(1, 6);
  Sizes other = attrs.transpose_b ? Sizes{n, k} : Sizes{k, n};
  if (sizes.size() > 2 && b.random().chance(50))
    other.insert(other.begin(), sizes.begin(), sizes.end() - 2);
  else if (b.random().chance(10) && !attrs.transpose_b)
    other = {k};
  const auto axis =
      static_cast<int32_t>(other.size()) - (attrs.transpose_b && other.size() > 1 ? 2 : 1);
  c.inputs = {x, b.random().chance(60) ? b.weights(other, axis) : b.reals(other)};
  if (b.random().chance(30)) c.inputs.push_back(b.bias(n));
}
void gemm(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  auto& attrs = c.attrs.edit<GemmAttrs>();
  plain_activation(b, attrs);
  if (b.is_quantised()) attrs.alpha = attrs.beta = 1.0f;
  Tensor* x = b.reals(2, 2);
  const Sizes sizes = *b.sizes_of(x);
  const int64_t m = sizes[attrs.transpose_a ? 1 : 0], k = sizes[attrs.transpose_a ? 0 : 1];
  const int64_t n = b.random().pick(1, 6);
  c.inputs = {x,
              b.weights(attrs.transpose_b ? Sizes{n, k} : Sizes{k, n}, attrs.transpose_b ? 0 : 1)};
  if (b.random().chance(30)) return;
  if (b.is_quantised() || b.random().chance(60))
    c.inputs.push_back(b.bias(n));
  else
    c.inputs.push_back(b.reals(b.random().one_of<Sizes>({{m, n}, {1}, {}, {m, 1}, {1, n}})));
}
void einsum(Builder& b, Call& c) {
  const int64_t i = b.size(), j = b.size(), k = b.size(), n = b.size(3);
  struct Form {
    const char* equation;
    std::vector<Sizes> operands;
  };
  const std::vector<Form> forms = {{"ij,jk->ik", {{i, j}, {j, k}}},
                                   {"nij,njk->nik", {{n, i, j}, {n, j, k}}},
                                   {"ij->ji", {{i, j}}},
                                   {"ij->", {{i, j}}},
                                   {"ii->i", {{i, i}}},
                                   {"i,j->ij", {{i}, {j}}},
                                   {"...ij->...ji", {{n, i, j}}},
                                   {"ij,ij->i", {{i, j}, {i, j}}},
                                   {"ij,jk", {{i, j}, {j, k}}},
                                   {"nij,kj->nik", {{n, i, j}, {k, j}}},
                                   {"i,i,i->i", {{i}, {i}, {i}}},
                                   {"nijk,nk->nji", {{n, i, j, k}, {n, k}}}};
  const Form& form = b.random().one_of(forms);
  c.attrs = EinsumAttrs{.equation = form.equation};
  for (const Sizes& sizes : form.operands) c.inputs.push_back(b.floats(sizes));
}
void det(Builder& b, Call& c) {
  Sizes sizes = b.shape(0, 2);
  const int64_t n = b.random().pick(1, 4);
  sizes.insert(sizes.end(), {n, n});
  c.inputs = {b.floats(sizes)};
}
void attention(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  auto& attrs = c.attrs.edit<AttentionAttrs>();
  const int64_t n = b.random().pick(1, 2), kv = b.random().pick(1, 2),
                q = kv * b.random().pick(1, 2);
  const int64_t lq = b.random().pick(1, 4), lk = b.random().pick(1, 5), d = b.random().pick(1, 4);
  const int64_t dv = b.random().pick(1, 4);
  int64_t past = 0;
  if (b.random().chance(50)) {
    c.inputs = {b.floats({n, q, lq, d}), b.floats({n, kv, lk, d}), b.floats({n, kv, lk, dv})};
  } else {
    attrs.q_heads = q;
    attrs.kv_heads = kv;
    c.inputs = {b.floats({n, lq, q * d}), b.floats({n, lk, kv * d}), b.floats({n, lk, kv * dv})};
  }
  const bool cached = b.random().chance(25);
  if (cached) past = b.random().pick(1, 3);
  Tensor* mask = nullptr;
  if (b.random().chance(50)) {
    const Sizes sizes =
        b.random().one_of<Sizes>({{lq, lk + past}, {1, 1, lq, lk + past}, {n, q, lq, lk + past}});
    mask = b.random().chance(40) ? b.of_type(DType::Bool, sizes) : b.floats(sizes);
  }
  c.inputs.push_back(mask);
  if (cached)
    c.inputs.insert(c.inputs.end(), {b.floats({n, kv, past, d}), b.floats({n, kv, past, dv})});
  else if (b.random().chance(20))
    c.inputs.insert(c.inputs.end(), {nullptr, nullptr, b.indices({n}, lk + 1)});
  c.outputs = static_cast<size_t>(b.random().chance(30) ? b.random().pick(2, 4) : 1);
  if (b.random().chance(30)) attrs.left_window = b.random().pick(-1, 3);
}
void rotary(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  auto& attrs = c.attrs.edit<RotaryEmbeddingAttrs>();
  const int64_t n = b.random().pick(1, 2), heads = b.random().pick(1, 3),
                length = b.random().pick(1, 4);
  const int64_t half = b.random().pick(1, 3);
  const bool rank4 = b.random().chance(50);
  if (!rank4) attrs.num_heads = heads;
  c.inputs = {
      b.floats(rank4 ? Sizes{n, heads, length, 2 * half} : Sizes{n, length, heads * 2 * half})};
  if (b.random().chance(50)) {
    c.inputs.insert(c.inputs.end(),
                    {b.floats({6, half}), b.floats({6, half}), b.indices({n, length}, 6)});
  } else {
    c.inputs.insert(c.inputs.end(), {b.floats({n, length, half}), b.floats({n, length, half})});
  }
}

// --- normalisation -------------------------------------------------------------------------------

template <class A>
Tensor* channelled(Builder& b, const A& attrs, int64_t& channels) {
  Tensor* x = b.reals(2, 5);
  const Sizes sizes = *b.sizes_of(x);
  channels = attrs.layout == Layout::ChannelsFirst ? sizes[1] : sizes.back();
  return x;
}
void batch_norm(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  auto& attrs = c.attrs.edit<BatchNormAttrs>();
  if (b.random().chance(80)) attrs.training = false;
  int64_t n = 0;
  Tensor* x = channelled(b, attrs, n);
  c.inputs = {x, b.positive({n}), b.floats({n}), b.floats({n}), b.positive({n})};
  if (attrs.training) c.outputs = 3;
}
void scaled_norm(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  int64_t n = 0;
  Tensor* x = c.kind == OpKind::GroupNorm ? channelled(b, c.attrs.as<GroupNormAttrs>(), n)
                                          : channelled(b, c.attrs.as<InstanceNormAttrs>(), n);
  if (c.kind == OpKind::GroupNorm) c.attrs.edit<GroupNormAttrs>().groups = divisor_of(b, n);
  c.inputs = {x, b.positive({n}), b.floats({n})};
}
void layer_norm(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  Tensor* x = b.reals(1, 4);
  const Sizes sizes = *b.sizes_of(x);
  const auto axis = static_cast<int64_t>(b.random().index(sizes.size()));
  c.attrs.edit<LayerNormAttrs>().axis = axis;
  const Sizes inner(sizes.begin() + axis, sizes.end());
  c.inputs = {x};
  if (b.random().chance(80)) c.inputs.push_back(b.positive(inner));
  if (c.kind == OpKind::LayerNorm && c.inputs.size() == 2 && b.random().chance(60))
    c.inputs.push_back(b.floats(inner));
  if (c.kind == OpKind::LayerNorm && b.random().chance(15)) c.outputs = 3;
}
void lp_norm(Builder& b, Call& c) {
  c.inputs = {b.reals(1, 4)};
  const auto rank = static_cast<int64_t>(c.inputs[0]->shape()->rank());
  c.attrs = LpNormAttrs{b.random().pick(-rank, rank - 1), b.random().pick(1, 2)};
}
void lrn(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  c.attrs.edit<LrnAttrs>().size = b.random().pick(1, 5);
  c.inputs = {b.reals(3, 5)};
}

constexpr Recipe kLinear[] = {
    {OpKind::MatMul, matmul}, {OpKind::Gemm, gemm},           {OpKind::Einsum, einsum},
    {OpKind::Det, det},       {OpKind::Attention, attention}, {OpKind::RotaryEmbedding, rotary},
};
constexpr Recipe kNorm[] = {
    {OpKind::BatchNorm, batch_norm},
    {OpKind::InstanceNorm, scaled_norm},
    {OpKind::LayerNorm, layer_norm},
    {OpKind::RmsNorm, layer_norm},
    {OpKind::GroupNorm, scaled_norm},
    {OpKind::LpNorm, lp_norm},
    {OpKind::Lrn, lrn},
};

}  // namespace

const std::span<const Recipe> kLinearRecipes = kLinear;
const std::span<const Recipe> kNormRecipes = kNorm;

}  // namespace ec::fuzz
