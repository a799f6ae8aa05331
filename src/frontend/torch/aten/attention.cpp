// Attention, and the fused layers that contain it.
#include "frontend/torch/aten/linear.h"
#include "frontend/torch/aten/table.h"

namespace ec::torch {
namespace {

// The op takes [batch, heads, length, size].
Result<ec::Tensor*> with_heads(Call& c, ec::Tensor* x) {
  switch (c.rank(x)) {
    case 2:
      return c.unsqueeze(x, {0, 1});
    case 3:
      return c.unsqueeze(x, {1});
    case 4:
      return x;
    default: {
      Ints shape = {-1};
      for (int64_t i = c.rank(x) - 3; i < c.rank(x); ++i) shape.push_back(c.size(x, i));
      return c.reshape(x, shape);
    }
  }
}

Result<ec::Tensor*> scaled_dot_product(Call& c) {
  ec::Tensor* query = c.tensor("query");
  const int64_t rank = c.rank(query);
  EC_TRY(ec::Tensor * q, with_heads(c, query));
  EC_TRY(ec::Tensor * k, with_heads(c, c.tensor("key")));
  EC_TRY(ec::Tensor * v, with_heads(c, c.tensor("value")));
  AttentionAttrs attrs;
  attrs.scale = static_cast<float>(c.number("scale", 0));
  attrs.causal = c.boolean("is_causal");
  Tensors operands = {q, k, v};
  if (c.has("attn_mask")) {
    ec::Tensor* mask = c.tensor("attn_mask");
    if (rank == 3 && c.rank(mask) == 3) {
      EC_TRY(mask, c.unsqueeze(mask, {1}));
    }
    if (rank > 4 && c.rank(mask) > 2) return c.unsupported("masks of operands of so high a rank");
    if (mask->dtype() != DType::Bool) {
      EC_TRY(mask, c.cast(mask, q->dtype()));
    }
    operands.push_back(mask);
  }
  EC_TRY(ec::Tensor * y, c.add(OpKind::Attention, std::move(operands), attrs));
  if (rank == 4) return y;
  if (rank == 2) return c.squeeze(y, {0, 1});
  if (rank == 3) return c.squeeze(y, {1});
  Ints shape;
  for (int64_t i = 0; i < rank - 3; ++i) shape.push_back(c.size(query, i));
  for (int64_t i = 1; i < 4; ++i) shape.push_back(c.size(y, i));
  return c.reshape(y, shape);
}

Result<std::vector<TorchValue>> with_statistics(Call& c) {
  EC_TRY(ec::Tensor * y, scaled_dot_product(c));
  return std::vector<TorchValue>{y, TorchValue()};
}

// --- multi-head attention ------------------------------------------------------------------------

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

// The fused layers' masks are true where nothing may be seen; 0: [length, keys], 1: [batch, keys],
// 2: [batch, heads, length, keys].
Result<ec::Tensor*> visible(Call& c) {
  ec::Tensor* mask = c.tensor("mask");
  if (mask->dtype() != DType::Bool) return c.unsupported("masks of numbers");
  EC_TRY(mask, c.add(OpKind::Not, {mask}));
  return c.integer("mask_type", 2) == 1 ? c.unsqueeze(mask, {1, 2}) : Result<ec::Tensor*>(mask);
}

struct Attended {
  ec::Tensor* y = nullptr;
  ec::Tensor* weights = nullptr;  // [batch, heads, length, keys] when asked for
};

Result<Attended> multi_head(Call& c, const Tensors& inputs, std::string_view heads_name,
                            bool with_weights) {
  const int64_t width = c.integer("embed_dim"), heads = c.integer(heads_name);
  if (c.rank(inputs[0]) != 3) return c.unsupported("inputs without a batch dimension");
  EC_TRY(Tensors qkv, project(c, inputs, c.tensor("qkv_weight"), c.tensor("qkv_bias"), width));
  for (ec::Tensor*& x : qkv) {
    EC_TRY(x, split_heads(c, x, heads));
  }
  if (c.has("mask")) {
    EC_TRY(ec::Tensor * mask, visible(c));
    qkv.push_back(mask);
  }
  AttentionAttrs attrs;
  attrs.qk_output_mode = with_weights ? 3 : 0;
  EC_TRY(const Tensors results,
         c.add_many(OpKind::Attention, std::move(qkv), attrs, with_weights ? 4 : 1));
  EC_TRY(ec::Tensor * y, c.transpose(results[0], {0, 2, 1, 3}));
  EC_TRY(y, c.reshape(y, Ints{c.size(y, 0), c.size(y, 1), width}));
  EC_TRY(y, linear(c, y, c.tensor("proj_weight"), c.tensor("proj_bias")));
  return Attended{y, with_weights ? results[3] : nullptr};
}

Result<std::vector<TorchValue>> native_multi_head_attention(Call& c) {
  const bool with_weights = c.boolean("need_weights");
  EC_TRY(Attended result, multi_head(c, {c.tensor("query"), c.tensor("key"), c.tensor("value")},
                                     "num_head", with_weights));
  if (!with_weights) return std::vector<TorchValue>{result.y, TorchValue()};
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
         multi_head(c, {attended_input, attended_input, attended_input}, "num_heads", false));
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
    {"aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, "
     "Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, "
     "bool enable_gqa=False) -> Tensor",
     scaled_dot_product},
    {"aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, "
     "float dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> "
     "(Tensor output, Tensor logsumexp)",
     with_statistics},
    {"aten::_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, "
     "Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, "
     "Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)",
     with_statistics},
    {"aten::_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, "
     "int num_head, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, "
     "Tensor? mask=None, bool need_weights=True, bool average_attn_weights=True, "
     "int? mask_type=None) -> (Tensor, Tensor)",
     native_multi_head_attention},
    {"aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, "
     "Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, "
     "bool norm_first, float eps, Tensor norm_weight_1, Tensor norm_bias_1, "
     "Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, "
     "Tensor ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> Tensor",
     transformer_encoder_layer},
};

}  // namespace

const std::span<const OperatorRow> kAttentionRows = kRows;

}  // namespace ec::torch
