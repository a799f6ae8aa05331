// Dense layers, embeddings, and layers that do nothing when a model runs.
#include <algorithm>

#include "frontend/keras/convolution.h"
#include "frontend/keras/quantize.h"
#include "frontend/keras/table.h"

namespace ec::keras {
namespace {

bool biased(const LayerCall& c) { return c.flag("use_bias", true); }

Value dense(LayerCall& c) {
  Tensor* x = c.float_x();
  if (is_quantized_layer(c)) return c.activate(quantized_dense(c, x));
  Names names = {"kernel"};
  if (biased(c)) names.emplace_back("bias");
  c.variables(names);
  Tensor* y = c.matmul(x, trained_steps(c, layer_kernel(c, "kernel"), 1));
  if (biased(c)) y = c.plus(y, c.weight("bias"));
  return c.activate(y);
}

Value einsum_dense(LayerCall& c) {
  Tensor* x = c.float_x();
  const std::string equation = c.text("equation");
  const bool bias = c.has("bias_axes");
  if (is_quantized_layer(c)) return c.activate(quantized_einsum_dense(c, x, equation, bias));
  Names names = {"kernel"};
  if (bias) names.emplace_back("bias");
  c.variables(names);
  EinsumAttrs attrs;
  attrs.equation = equation;
  Tensor* y = c.add(OpKind::Einsum, {x, layer_kernel(c, "kernel")}, attrs);
  if (bias) y = c.plus(y, c.weight("bias"));
  return c.activate(y);
}

Value embedding(LayerCall& c) {
  Tensor* ids = c.x();
  if (!is_integer(ids->dtype())) ids = c.cast(ids, DType::I32);
  Tensor* y = nullptr;
  if (is_quantized_layer(c)) {
    y = quantized_embedding(c, ids);
  } else {
    c.variables({"embeddings"});
    y = c.gather(layer_kernel(c, "embeddings"), ids, 0);
  }
  Tensor* mask = nullptr;
  if (c.flag("mask_zero", false))
    mask = c.add(OpKind::Not, {c.add(OpKind::Equal, {ids, c.like(ids, 0)})});
  return Value::tensor(y, mask);
}

// Embedding, or with reverse=True the scores of all entries.
Value reversible_embedding(LayerCall& c) {
  const Value& reverse = c.arg(1, "reverse");
  if (!reverse.as_bool()) return embedding(c);
  if (is_quantized_layer(c)) return c.unsupported("a quantised reversible embedding");
  const bool tied = c.flag("tie_weights", true);
  Names names = {"embeddings"};
  if (!tied) names.emplace_back("reverse_embeddings");
  c.variables(names);
  Tensor* x = c.float_x();
  Tensor* y = tied ? c.matmul(x, c.permuted(c.weight("embeddings"), {1, 0}))
                   : c.matmul(x, c.weight("reverse_embeddings"));
  if (c.has("logit_soft_cap")) {
    const double cap = c.number("logit_soft_cap", 1);
    y = c.times(c.add(OpKind::Tanh, {c.over(y, cap)}), cap);
  }
  return y;
}

// Steps whose features all have the masked value count no more, and become zeros.
Value masking(LayerCall& c) {
  Tensor* x = c.float_x();
  const double value = c.number("mask_value", 0);
  Tensor* equal = c.cast(c.add(OpKind::Equal, {x, c.like(x, value)}), DType::I32);
  const int64_t last = c.rank(x) - 1;
  Tensor* all = c.reduce(OpKind::ReduceMin, equal, {last}, true);
  Tensor* kept = c.add(OpKind::Equal, {all, c.scalar(DType::I32, 0)});
  return Value::tensor(c.times(x, c.cast(kept, x->dtype())), c.squeeze(kept, {last}));
}

Value nothing(LayerCall& c) {
  const Value& first = c.arg(0, "inputs");
  return first.is_none() ? Value::tensor(c.x()) : first;
}

// ConvNeXt's scale of the channels.
Value layer_scale(LayerCall& c) {
  c.variables({"gamma|layer_scale_gamma|variable"});
  return c.times(c.float_x(), c.weight("gamma"));
}

// InceptionResNet's a + scale * b.
Value custom_scale(LayerCall& c) {
  const Tensors x = c.inputs();
  if (x.size() != 2) return c.fail(Code::BadArity, "two inputs are needed");
  return c.plus(x[0], c.times(x[1], c.number("scale", 1)));
}

constexpr LayerRow kRows[] = {
    {"Dense", dense, MaskRule::Pass},
    {"EinsumDense", einsum_dense, MaskRule::Pass},
    {"Embedding", embedding, MaskRule::Own},
    {"ReversibleEmbedding", reversible_embedding, MaskRule::Own},
    {"Masking", masking, MaskRule::Own},
    {"Identity", nothing, MaskRule::Pass},
    {"InputLayer", nothing, MaskRule::Pass},
    {"Dropout", nothing, MaskRule::Pass},
    {"SpatialDropout1D", nothing, MaskRule::Pass},
    {"SpatialDropout2D", nothing, MaskRule::Pass},
    {"SpatialDropout3D", nothing, MaskRule::Pass},
    {"GaussianDropout", nothing, MaskRule::Pass},
    {"GaussianNoise", nothing, MaskRule::Pass},
    {"AlphaDropout", nothing, MaskRule::Pass},
    {"ActivityRegularization", nothing, MaskRule::Pass},
    {"FixedDropout", nothing, MaskRule::Pass},
    {"LayerScale", layer_scale},
    {"CustomScaleLayer", custom_scale},
};

}  // namespace

const std::span<const LayerRow> kCoreRows = kRows;

}  // namespace ec::keras
