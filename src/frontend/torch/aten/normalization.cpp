// Normalisation.
#include <algorithm>
#include <limits>

#include "frontend/torch/aten/table.h"

namespace ec::torch {
namespace {

// A parameter per channel; PyTorch leaves ones and zeros away.
Result<ec::Tensor*> per_channel(Call& c, std::string_view name, int64_t channels, DType dtype,
                                double fallback) {
  if (c.has(name)) return c.tensor(name);
  return c.fill(c.int_list({channels}), c.scalar(dtype, fallback));
}

Result<Tensors> batch_statistics(Call& c, ec::Tensor* x) {
  ReduceAttrs attrs;
  attrs.keep_dims = true;
  Ints axes;
  for (int64_t i = 0; i < c.rank(x); ++i)
    if (i != 1) axes.push_back(i);
  EC_TRY(ec::Tensor * mean, c.add(OpKind::ReduceMean, {x, c.int_list(axes)}, attrs));
  EC_TRY(ec::Tensor * centred, c.add(OpKind::Sub, {x, mean}));
  EC_TRY(ec::Tensor * squares, c.add(OpKind::Mul, {centred, centred}));
  attrs.keep_dims = false;
  EC_TRY(ec::Tensor * variance, c.add(OpKind::ReduceMean, {squares, c.int_list(axes)}, attrs));
  EC_TRY(mean, c.squeeze(mean, axes));
  return Tensors{mean, variance};
}

// With the given statistics, or those of the batch where PyTorch would use them.
Result<ec::Tensor*> normalise_batch(Call& c, bool training) {
  ec::Tensor* x = c.tensor("input");
  if (c.rank(x) < 2) return c.fail(Code::ShapeMismatch, "the input has no channels");
  const int64_t channels = c.size(x, 1);
  EC_TRY(ec::Tensor * scale, per_channel(c, "weight", channels, x->dtype(), 1));
  EC_TRY(ec::Tensor * bias, per_channel(c, "bias", channels, x->dtype(), 0));
  ec::Tensor* mean = c.has_arg("running_mean") ? c.tensor("running_mean") : nullptr;
  ec::Tensor* variance = c.has_arg("running_var") ? c.tensor("running_var") : nullptr;
  if (training || mean == nullptr || variance == nullptr) {
    EC_TRY(const Tensors statistics, batch_statistics(c, x));
    mean = statistics[0];
    variance = statistics[1];
  }
  BatchNormAttrs attrs;
  attrs.epsilon = static_cast<float>(c.number("eps"));
  return c.add(OpKind::BatchNorm, {x, scale, bias, mean, variance}, attrs);
}

Result<ec::Tensor*> batch_norm(Call& c) { return normalise_batch(c, c.boolean("training")); }

// Saved statistics are for the gradient: nothing of a model reads them.
Result<std::vector<TorchValue>> native_batch_norm(Call& c) {
  EC_TRY(ec::Tensor * y, normalise_batch(c, c.boolean("training")));
  return std::vector<TorchValue>{y, TorchValue(), TorchValue()};
}

Result<std::vector<TorchValue>> batch_norm_impl(Call& c) {
  EC_TRY(ec::Tensor * y, normalise_batch(c, c.boolean("training")));
  return std::vector<TorchValue>{y, TorchValue(), TorchValue(), TorchValue(), TorchValue(0)};
}

// Also gives the running statistics after the batch.
Result<std::vector<TorchValue>> functional_batch_norm(Call& c) {
  ec::Tensor* mean = c.tensor("running_mean");
  ec::Tensor* variance = c.tensor("running_var");
  const bool training = c.boolean("training");
  EC_TRY(ec::Tensor * y, normalise_batch(c, training));
  if (training) {
    ec::Tensor* x = c.tensor("input");
    EC_TRY(const Tensors batch, batch_statistics(c, x));
    int64_t count = 1;
    for (int64_t i = 0; i < c.rank(x); ++i)
      if (i != 1) count *= c.size(x, i);
    const double momentum = c.number("momentum");
    const double unbiased =
        static_cast<double>(count) / std::max<double>(static_cast<double>(count - 1), 1);
    const auto blend = [&](ec::Tensor* old, ec::Tensor* seen,
                           double weight) -> Result<ec::Tensor*> {
      EC_TRY(ec::Tensor * a, c.add(OpKind::Mul, {old, c.scalar(old->dtype(), 1 - momentum)}));
      EC_TRY(ec::Tensor * b, c.add(OpKind::Mul, {seen, c.scalar(seen->dtype(), weight)}));
      return c.add(OpKind::Add, {a, b});
    };
    EC_TRY(mean, blend(mean, batch[0], momentum));
    EC_TRY(variance, blend(variance, batch[1], momentum * unbiased));
  }
  return std::vector<TorchValue>{y, TorchValue(), TorchValue(), mean, variance};
}

Result<ec::Tensor*> instance_norm(Call& c) {
  ec::Tensor* x = c.tensor("input");
  if (c.has_arg("use_input_stats") && !c.boolean("use_input_stats"))
    return normalise_batch(c, false);
  if (c.rank(x) < 3) return c.fail(Code::ShapeMismatch, "the input has no spatial dimensions");
  const int64_t channels = c.size(x, 1);
  EC_TRY(ec::Tensor * scale, per_channel(c, "weight", channels, x->dtype(), 1));
  EC_TRY(ec::Tensor * bias, per_channel(c, "bias", channels, x->dtype(), 0));
  InstanceNormAttrs attrs;
  attrs.epsilon = static_cast<float>(c.number("eps"));
  return c.add(OpKind::InstanceNorm, {x, scale, bias}, attrs);
}

int64_t first_axis(Call& c, const ec::Tensor* x) {
  const auto count = static_cast<int64_t>(c.items("normalized_shape").size());
  const int64_t rank = c.rank(x);
  if (count >= 1 && count <= rank) return rank - count;
  c.remember(c.fail(Code::BadValue, "normalized_shape has " + std::to_string(count) +
                                        " sizes, the input " + std::to_string(rank)));
  return 0;
}

Result<ec::Tensor*> layer_norm(Call& c) {
  ec::Tensor* x = c.tensor("input");
  LayerNormAttrs attrs;
  attrs.axis = first_axis(c, x);
  attrs.epsilon = static_cast<float>(c.number("eps"));
  Tensors operands = {x};
  if (c.has("weight") || c.has("bias")) operands.push_back(c.tensor("weight"));
  if (c.has("bias")) operands.push_back(c.tensor("bias"));
  return c.add(OpKind::LayerNorm, std::move(operands), attrs);
}

Result<std::vector<TorchValue>> native_layer_norm(Call& c) {
  EC_TRY(ec::Tensor * y, layer_norm(c));
  return std::vector<TorchValue>{y, TorchValue(), TorchValue()};
}

Result<ec::Tensor*> rms_norm(Call& c) {
  ec::Tensor* x = c.tensor("input");
  LayerNormAttrs attrs;
  attrs.axis = first_axis(c, x);
  attrs.epsilon = static_cast<float>(c.number("eps", std::numeric_limits<float>::epsilon()));
  Tensors operands = {x};
  if (c.has("weight")) {
    operands.push_back(c.tensor("weight"));
  } else {
    EC_TRY(ec::Tensor * ones,
           c.fill(c.int_list(c.ints("normalized_shape")), c.scalar(x->dtype(), 1)));
    operands.push_back(ones);
  }
  return c.add(OpKind::RmsNorm, std::move(operands), attrs);
}

Result<std::vector<TorchValue>> fused_rms_norm(Call& c) {
  EC_TRY(ec::Tensor * y, rms_norm(c));
  return std::vector<TorchValue>{y, TorchValue()};
}

Result<ec::Tensor*> grouped(Call& c, std::string_view groups) {
  ec::Tensor* x = c.tensor("input");
  if (c.rank(x) < 2) return c.fail(Code::ShapeMismatch, "the input has no channels");
  const int64_t channels = c.size(x, 1);
  GroupNormAttrs attrs;
  attrs.groups = c.integer(groups);
  attrs.epsilon = static_cast<float>(c.number("eps"));
  EC_TRY(ec::Tensor * scale, per_channel(c, "weight", channels, x->dtype(), 1));
  EC_TRY(ec::Tensor * bias, per_channel(c, "bias", channels, x->dtype(), 0));
  return c.add(OpKind::GroupNorm, {x, scale, bias}, attrs);
}

Result<ec::Tensor*> group_norm(Call& c) { return grouped(c, "num_groups"); }

Result<std::vector<TorchValue>> native_group_norm(Call& c) {
  EC_TRY(ec::Tensor * y, grouped(c, "group"));
  return std::vector<TorchValue>{y, TorchValue(), TorchValue()};
}

// g v / |v|, the norm over all dimensions but one.
Result<ec::Tensor*> weight_norm(Call& c) {
  ec::Tensor* v = c.tensor("v");
  const int64_t rank = c.rank(v);
  const int64_t dim = c.integer("dim");
  Ints axes;
  for (int64_t i = 0; i < rank; ++i)
    if (dim == -1 || i != c.axis(dim, rank)) axes.push_back(i);
  EC_TRY(ec::Tensor * norm, c.add(OpKind::ReduceL2, {v, c.int_list(axes)}, ReduceAttrs{}));
  EC_TRY(ec::Tensor * factor, c.add(OpKind::Div, {c.tensor("g"), norm}));
  return c.add(OpKind::Mul, {v, factor});
}

Result<std::vector<TorchValue>> weight_norm_interface(Call& c) {
  EC_TRY(ec::Tensor * y, weight_norm(c));
  return std::vector<TorchValue>{y, TorchValue()};
}

Result<ec::Tensor*> cosine_similarity(Call& c) {
  ec::Tensor* a = c.tensor("x1");
  ec::Tensor* b = c.tensor("x2");
  const int64_t rank = std::max(c.rank(a), c.rank(b));
  ReduceAttrs attrs;
  attrs.keep_dims = false;
  const int64_t axis = c.dim("dim", rank);
  EC_TRY(ec::Tensor * shape, c.op("aten::mul", {a, b}));
  const auto reduced = [&](OpKind kind, ec::Tensor* x) {
    // Operands may lack leading dimensions; the axis counts in the joint shape.
    return c.add(kind, {x, c.int_list({axis - rank})}, attrs);
  };
  EC_TRY(ec::Tensor * dot, reduced(OpKind::ReduceSum, shape));
  const double eps = c.number("eps");
  Tensors norms;
  for (ec::Tensor* x : {a, b}) {
    EC_TRY(ec::Tensor * norm, reduced(OpKind::ReduceL2, x));
    EC_TRY(norm, c.add(OpKind::Max, {norm, c.scalar(norm->dtype(), eps)}));
    norms.push_back(norm);
  }
  EC_TRY(ec::Tensor * product, c.add(OpKind::Mul, {norms[0], norms[1]}));
  return c.add(OpKind::Div, {dot, product});
}

Result<ec::Tensor*> pairwise_distance(Call& c) {
  EC_TRY(ec::Tensor * d, c.op("aten::sub", {c.tensor("x1"), c.tensor("x2")}));
  EC_TRY(d, c.add(OpKind::Add, {d, c.scalar(d->dtype(), c.number("eps"))}));
  return c.op("aten::linalg_vector_norm",
              {d, c.number("p"), TorchValue::ints({-1}), c.boolean("keepdim")});
}

constexpr OperatorRow kRows[] = {
    {"aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
     "Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> "
     "Tensor",
     batch_norm},
    {"aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
     "Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
     native_batch_norm},
    {"aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, "
     "Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, "
     "Tensor)",
     native_batch_norm},
    {"aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, "
     "Tensor running_mean, Tensor running_var, bool training, float momentum, float eps) -> "
     "(Tensor, Tensor, Tensor)",
     native_batch_norm},
    {"aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, "
     "bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
     native_batch_norm},
    {"aten::_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, "
     "Tensor running_mean, Tensor running_var, bool training, float momentum, float eps) -> "
     "(Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)",
     functional_batch_norm},
    {"aten::_batch_norm_impl_index(Tensor input, Tensor? weight, Tensor? bias, "
     "Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, "
     "bool cudnn_enabled) -> (Tensor, Tensor, Tensor, Tensor, int)",
     batch_norm_impl},
    {"aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
     "Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) "
     "-> Tensor",
     instance_norm},
    {"aten::layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, "
     "Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor",
     layer_norm},
    {"aten::native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, "
     "Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
     native_layer_norm},
    {"aten::rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, "
     "float? eps=None) -> Tensor",
     rms_norm},
    {"aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> "
     "(Tensor, Tensor)",
     fused_rms_norm},
    {"aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, "
     "float eps=1e-05, bool cudnn_enabled=True) -> Tensor",
     group_norm},
    {"aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, "
     "int group, float eps) -> (Tensor, Tensor, Tensor)",
     native_group_norm},
    {"aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor", weight_norm},
    {"aten::_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)",
     weight_norm_interface},
    {"aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
     cosine_similarity},
    {"aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=1e-06, "
     "bool keepdim=False) -> Tensor",
     pairwise_distance},
};

}  // namespace

const std::span<const OperatorRow> kNormalizationRows = kRows;

}  // namespace ec::torch
