// Attention, and the fused layers that contain it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/torch/aten/linear.h"
#include "frontend/torch/aten/table.h"

namespace ec::torch {
namespace {

struct Attended {
  ec::Tensor* y = nullptr;
  ec::Tensor* weights = nullptr;
};

// Whether every row of a known mask lets something be seen. PyTorch gives zeros
// for rows that see nothing, a softmax of -inf gives none.
bool sees_something(const ec::Tensor* mask) {
  if (!mask->is_constant() || !mask->type().is_static() || mask->shape()->rank() == 0) return false;
  const auto columns = static_cast<size_t>(mask->shape()->dims().back().size());
  const auto values = mask->values<uint8_t>();
  for (size_t at = 0; columns > 0 && at < values.size(); at += columns)
    if (std::ranges::all_of(values.subspan(at, columns), [](uint8_t v) { return v == 0; }))
      return false;
  return columns > 0;
}

// Numbers to add to the scores: 0 where a boolean mask is true, -inf elsewhere.
Result<ec::Tensor*> as_summand(Call& c, ec::Tensor* mask, DType dtype) {
  if (mask->dtype() != DType::Bool) return c.cast(mask, dtype);
  return c.add(OpKind::Where, {mask, c.scalar(dtype, 0),
                               c.scalar(dtype, -std::numeric_limits<double>::infinity())});
}

// Query i sees the keys up to i.
Result<ec::Tensor*> causal_mask(Call& c, const ec::Tensor* q, const ec::Tensor* k) {
  const int64_t rows = c.size(q, c.rank(q) - 2), columns = c.size(k, c.rank(k) - 2);
  if (rows < 1 || columns < 1 || columns > (1 << 24) / rows)
    return c.unsupported("causal attention over this length");
  std::vector<uint8_t> visible(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      visible[static_cast<size_t>(i * columns + j)] = j <= i ? 1 : 0;
  return c.graph().add_constant("", TensorType(DType::Bool, Shape{rows, columns}),
                                Blob::copy_of(std::span<const uint8_t>(visible)));
}

// softmax(scale q k^T + mask) v as single operations, as other formats have it: back
// ends know them, and the runtime puts them together again.
Result<Attended> attend(Call& c, ec::Tensor* q, ec::Tensor* k, ec::Tensor* v, ec::Tensor* mask,
                        double scale) {
  MatMulAttrs product;
  product.transpose_b = true;
  product.alpha = static_cast<float>(scale);
  EC_TRY(ec::Tensor * scores, c.add(OpKind::MatMul, {q, k}, product));
  if (mask != nullptr) {
    EC_TRY(mask, as_summand(c, mask, scores->dtype()));
    EC_TRY(scores, c.add(OpKind::Add, {scores, mask}));
  }
  AxisAttrs last;
  last.axis = c.rank(scores) - 1;
  EC_TRY(ec::Tensor * weights, c.add(OpKind::Softmax, {scores}, last));
  EC_TRY(ec::Tensor * y, c.add(OpKind::MatMul, {weights, v}, MatMulAttrs{}));
  return Attended{y, weights};
}

double default_scale(Call& c, const ec::Tensor* q) {
  return 1 / std::sqrt(static_cast<double>(std::max<int64_t>(c.size(q, c.rank(q) - 1), 1)));
}

// Rows that may see nothing, and heads that share keys, are the attention op's.
Result<ec::Tensor*> whole_attention(Call& c, ec::Tensor* mask) {
  if (c.rank(c.tensor("query")) != 4) return c.unsupported("this mask without heads");
  AttentionAttrs attrs;
  attrs.scale = static_cast<float>(c.number("scale", 0));
  attrs.causal = c.boolean("is_causal");
  Tensors operands = {c.tensor("query"), c.tensor("key"), c.tensor("value")};
  if (mask != nullptr) operands.push_back(mask);
  return c.add(OpKind::Attention, std::move(operands), attrs);
}

Result<ec::Tensor*> scaled_dot_product(Call& c) {
  ec::Tensor* q = c.tensor("query");
  ec::Tensor* k = c.tensor("key");
  ec::Tensor* mask = c.tensor("attn_mask");
  const bool shared_heads = c.has_arg("enable_gqa") && c.boolean("enable_gqa");
  if (shared_heads || (mask != nullptr && mask->dtype() == DType::Bool && !sees_something(mask)))
    return whole_attention(c, mask);
  if (c.boolean("is_causal")) {
    EC_TRY(mask, causal_mask(c, q, k));
  }
  const double scale = c.has("scale") ? c.number("scale") : default_scale(c, q);
  EC_TRY(const Attended result, attend(c, q, k, c.tensor("value"), mask, scale));
  return result.y;
}

Result<std::vector<TorchValue>> with_statistics(Call& c) {
  EC_TRY(ec::Tensor * y, scaled_dot_product(c));
  return std::vector<TorchValue>{y, TorchValue()};
}

// --- multi-head attention
// ------------------------------------------------------------------------

// [batch, length, heads * size] to [batch, heads, length, size]
Result<ec::Tensor*> split_heads(Call& c, ec::Tensor* x, int64_t heads) {
  const int64_t width = c.size(x, 2);
  if (heads < 1 || width % heads != 0)
    return c.fail(Code::BadValue, "heads do not divide the width");
  EC_TRY(x, c.reshape(x, Ints{c.size(x, 0), c.size(x, 1), heads, width / heads}));
  return c.transpose(x, {0, 2, 1, 3});
}

// q, k and v: one product when they come from one tensor.
Result<Tensors> project(Call& c, const Tensors& inputs, ec::Tensor* weight, ec::Tensor* bias,
                        int64_t width) {
  AxisAttrs attrs;
  if (inputs[0] == inputs[1] && inputs[1] == inputs[2]) {
    EC_TRY(ec::Tensor * all, linear(c, inputs[0], weight, bias));
    attrs.axis = 2;
    return c.add_many(OpKind::Split, {all, c.int_list({width, width, width})}, attrs, 3);
  }
  Tensors results;
  for (int64_t i = 0; i < 3; ++i) {
    EC_TRY(ec::Tensor * w, c.slice(weight, 0, i * width, (i + 1) * width));
    EC_TRY(ec::Tensor * b, c.slice(bias, 0, i * width, (i + 1) * width));
    EC_TRY(ec::Tensor * y, linear(c, inputs[static_cast<size_t>(i)], w, b));
    results.push_back(y);
  }
  return results;
}

// The fused layers' masks are true where nothing may be seen; 0: [length,
// keys], 1: [batch, keys], 2: [batch, heads, length, keys].
Result<ec::Tensor*> visible(Call& c) {
  ec::Tensor* mask = c.tensor("mask");
  if (mask->dtype() != DType::Bool) return c.unsupported("masks of numbers");
  EC_TRY(mask, c.add(OpKind::Not, {mask}));
  return c.integer("mask_type", 2) == 1 ? c.unsqueeze(mask, {1, 2}) : Result<ec::Tensor*>(mask);
}

Result<Attended> multi_head(Call& c, const Tensors& inputs, std::string_view heads_name) {
  const int64_t width = c.integer("embed_dim"), heads = c.integer(heads_name);
  if (c.rank(inputs[0]) != 3) return c.unsupported("inputs without a batch dimension");
  EC_TRY(Tensors qkv, project(c, inputs, c.tensor("qkv_weight"), c.tensor("qkv_bias"), width));
  for (ec::Tensor*& x : qkv) {
    EC_TRY(x, split_heads(c, x, heads));
  }
  ec::Tensor* mask = nullptr;
  if (c.has("mask")) {
    EC_TRY(mask, visible(c));
  }
  EC_TRY(Attended result, attend(c, qkv[0], qkv[1], qkv[2], mask, default_scale(c, qkv[0])));
  EC_TRY(ec::Tensor * y, c.transpose(result.y, {0, 2, 1, 3}));
  EC_TRY(y, c.reshape(y, Ints{c.size(y, 0), c.size(y, 1), width}));
  EC_TRY(result.y, linear(c, y, c.tensor("proj_weight"), c.tensor("proj_bias")));
  return result;
}

Result<std::vector<TorchValue>> native_multi_head_attention(Call& c) {
  EC_TRY(Attended result,
         multi_head(c, {c.tensor("query"), c.tensor("key"), c.tensor("value")}, "num_head"));
  if (!c.boolean("need_weights")) return std::vector<TorchValue>{result.y, TorchValue()};
  if (c.boolean("average_attn_weights")) {
    ReduceAttrs attrs;
    attrs.keep_dims = false;
    EC_TRY(result.weights, c.add(OpKind::ReduceMean, {result.weights, c.int_list({1})}, attrs));
  }
  return std::vector<TorchValue>{result.y, result.weights};
}

Result<ec::Tensor*> norm(Call& c, ec::Tensor* x, std::string_view weight, std::string_view bias) {
  LayerNormAttrs attrs;
  attrs.axis = c.rank(x) - 1;
  attrs.epsilon = static_cast<float>(c.number("eps"));
  return c.add(OpKind::LayerNorm, {x, c.tensor(weight), c.tensor(bias)}, attrs);
}

Result<ec::Tensor*> feed_forward(Call& c, ec::Tensor* x) {
  EC_TRY(ec::Tensor * y, linear(c, x, c.tensor("ffn_weight_1"), c.tensor("ffn_bias_1")));
  EC_TRY(y,
         c.boolean("use_gelu") ? c.add(OpKind::Gelu, {y}, GeluAttrs{}) : c.add(OpKind::Relu, {y}));
  return linear(c, y, c.tensor("ffn_weight_2"), c.tensor("ffn_bias_2"));
}

Result<ec::Tensor*> transformer_encoder_layer(Call& c) {
  ec::Tensor* x = c.tensor("src");
  const bool norm_first = c.boolean("norm_first");
  ec::Tensor* attended_input = x;
  if (norm_first) {
    EC_TRY(attended_input, norm(c, x, "norm_weight_1", "norm_bias_1"));
  }
  EC_TRY(const Attended attended,
         multi_head(c, {attended_input, attended_input, attended_input}, "num_heads"));
  EC_TRY(x, c.add(OpKind::Add, {x, attended.y}));
  if (norm_first) {
    EC_TRY(ec::Tensor * y, norm(c, x, "norm_weight_2", "norm_bias_2"));
    EC_TRY(y, feed_forward(c, y));
    return c.add(OpKind::Add, {x, y});
  }
  EC_TRY(x, norm(c, x, "norm_weight_1", "norm_bias_1"));
  EC_TRY(ec::Tensor * y, feed_forward(c, x));
  EC_TRY(x, c.add(OpKind::Add, {x, y}));
  return norm(c, x, "norm_weight_2", "norm_bias_2");
}

constexpr OperatorRow kRows[] = {
    {"aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor "
     "value, "
     "Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, *, "
     "float? scale=None, "
     "bool enable_gqa=False) -> Tensor",
     scaled_dot_product},
    {"aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor "
     "key, Tensor value, "
     "float dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, "
     "float? scale=None) -> "
     "(Tensor output, Tensor logsumexp)",
     with_statistics},
    {"aten::_scaled_dot_product_attention_math(Tensor query, Tensor key, "
     "Tensor value, "
     "Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, "
     "Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) "
     "-> (Tensor, Tensor)",
     with_statistics},
    {"aten::_native_multi_head_attention(Tensor query, Tensor key, Tensor "
     "value, int embed_dim, "
     "int num_head, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, "
     "Tensor proj_bias, "
     "Tensor? mask=None, bool need_weights=True, bool "
     "average_attn_weights=True, "
     "int? mask_type=None) -> (Tensor, Tensor)",
     native_multi_head_attention},
    {"aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int "
     "num_heads, "
     "Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor "
     "proj_bias, bool use_gelu, "
     "bool norm_first, float eps, Tensor norm_weight_1, Tensor norm_bias_1, "
     "Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, Tensor "
     "ffn_bias_1, "
     "Tensor ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? "
     "mask_type=None) -> Tensor",
     transformer_encoder_layer},
};

}  // namespace

const std::span<const OperatorRow> kAttentionRows = kRows;

}  // namespace ec::torch
