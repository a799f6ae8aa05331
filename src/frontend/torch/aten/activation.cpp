// Activation functions and softmax.
#include "frontend/torch/aten/promotion.h"
#include "frontend/torch/aten/table.h"

namespace ec::torch {
namespace {

Result<ec::Tensor*> clip(Call& c, ec::Tensor* x, double low, double high) {
  return c.add(OpKind::Clip, {x, c.scalar(x->dtype(), low), c.scalar(x->dtype(), high)});
}

Result<ec::Tensor*> relu6(Call& c) { return clip(c, c.tensor("self"), 0, 6); }

Result<ec::Tensor*> hardtanh(Call& c) {
  return clip(c, c.tensor("self"), c.number("min_val"), c.number("max_val"));
}

Result<ec::Tensor*> gelu(Call& c) {
  GeluAttrs attrs;
  attrs.form = c.text("approximate") == "tanh" ? GeluForm::Tanh : GeluForm::Exact;
  return c.add(OpKind::Gelu, {c.tensor("self")}, attrs);
}

Result<ec::Tensor*> silu(Call& c) { return c.add(OpKind::Silu, {c.tensor("self")}, SiluAttrs{}); }

Result<ec::Tensor*> hard_sigmoid(Call& c) {
  HardSigmoidAttrs attrs;
  attrs.alpha = 1.0f / 6;
  return c.add(OpKind::HardSigmoid, {c.tensor("self")}, attrs);
}

// scale * (x above zero, alpha (exp(input_scale x) - 1) below)
Result<ec::Tensor*> elu(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const double scale = c.number("scale"), input_scale = c.number("input_scale");
  if (input_scale != 1) return c.unsupported("an input_scale other than 1");
  AlphaAttrs attrs;
  attrs.alpha = static_cast<float>(c.number("alpha"));
  EC_TRY(ec::Tensor * y, c.add(OpKind::Elu, {x}, attrs));
  return scale == 1 ? Result<ec::Tensor*>(y) : c.add(OpKind::Mul, {y, c.scalar(y->dtype(), scale)});
}

Result<ec::Tensor*> celu(Call& c) {
  AlphaAttrs attrs;
  attrs.alpha = static_cast<float>(c.number("alpha"));
  return c.add(OpKind::Celu, {c.tensor("self")}, attrs);
}

Result<ec::Tensor*> selu(Call& c) { return c.add(OpKind::Selu, {c.tensor("self")}, SeluAttrs{}); }

Result<ec::Tensor*> leaky(Call& c, ec::Tensor* x, double slope) {
  LeakyReluAttrs attrs;
  attrs.alpha = static_cast<float>(slope);
  return c.add(OpKind::LeakyRelu, {x}, attrs);
}

Result<ec::Tensor*> leaky_relu(Call& c) {
  return leaky(c, c.tensor("self"), c.number("negative_slope"));
}

// The mean slope, as in evaluation.
Result<ec::Tensor*> rrelu(Call& c) {
  return leaky(c, c.tensor("self"), (c.number("lower") + c.number("upper")) / 2);
}

Result<std::vector<TorchValue>> rrelu_with_noise(Call& c) {
  EC_TRY(ec::Tensor * y, rrelu(c));
  return std::vector<TorchValue>{y, c.tensor("noise")};
}

// One slope per channel (dimension 1), or one for all.
Result<ec::Tensor*> prelu(Call& c) {
  ec::Tensor* x = c.tensor("self");
  ec::Tensor* slope = c.tensor("weight");
  if (c.rank(slope) == 1 && c.rank(x) > 2) {
    Ints shape(static_cast<size_t>(c.rank(x)) - 1, 1);
    shape[0] = -1;
    EC_TRY(slope, c.reshape(slope, shape));
  }
  return c.add(OpKind::Prelu, {x, slope});
}

// log(1 + exp(beta x)) / beta; linear above the threshold, where f32 is equal.
Result<ec::Tensor*> softplus(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const double beta = c.number("beta");
  if (beta == 1) return c.add(OpKind::Softplus, {x});
  EC_TRY(ec::Tensor * y, c.add(OpKind::Mul, {x, c.scalar(x->dtype(), beta)}));
  EC_TRY(y, c.add(OpKind::Softplus, {y}));
  return c.add(OpKind::Div, {y, c.scalar(x->dtype(), beta)});
}

Result<ec::Tensor*> threshold(Call& c) {
  ec::Tensor* x = c.tensor("self");
  EC_TRY(ec::Tensor * above,
         c.add(OpKind::Greater, {x, c.scalar(x->dtype(), c.number("threshold"))}));
  return c.add(OpKind::Where, {above, x, c.scalar(x->dtype(), c.number("value"))});
}

Result<ec::Tensor*> hardshrink(Call& c) {
  ShrinkAttrs attrs;
  attrs.lambd = static_cast<float>(c.number("lambd"));
  return c.add(OpKind::Shrink, {c.tensor("self")}, attrs);
}

Result<ec::Tensor*> softshrink(Call& c) {
  ShrinkAttrs attrs;
  attrs.lambd = attrs.bias = static_cast<float>(c.number("lambd"));
  return c.add(OpKind::Shrink, {c.tensor("self")}, attrs);
}

// The first half times the sigmoid of the second.
Result<ec::Tensor*> glu(Call& c) {
  ec::Tensor* x = c.tensor("self");
  AxisAttrs attrs;
  attrs.axis = c.dim("dim", c.rank(x));
  const int64_t half = c.size(x, attrs.axis) / 2;
  EC_TRY(const Tensors halves, c.add_many(OpKind::Split, {x, c.int_list({half, half})}, attrs, 2));
  EC_TRY(ec::Tensor * gate, c.add(OpKind::Sigmoid, {halves[1]}));
  return c.add(OpKind::Mul, {halves[0], gate});
}

Result<ec::Tensor*> log_sigmoid(Call& c) {
  EC_TRY(ec::Tensor * y, c.add(OpKind::Neg, {c.tensor("self")}));
  EC_TRY(y, c.add(OpKind::Softplus, {y}));
  return c.add(OpKind::Neg, {y});
}

Result<std::vector<TorchValue>> log_sigmoid_forward(Call& c) {
  EC_TRY(ec::Tensor * y, log_sigmoid(c));
  return std::vector<TorchValue>{y, TorchValue()};
}

Result<ec::Tensor*> logit(Call& c) {
  EC_TRY(ec::Tensor * x, float_operand(c));
  const double eps = c.number("eps", -1);
  if (eps >= 0) {
    EC_TRY(x, clip(c, x, eps, 1 - eps));
  }
  EC_TRY(ec::Tensor * rest, c.add(OpKind::Sub, {c.scalar(x->dtype(), 1), x}));
  EC_TRY(ec::Tensor * odds, c.add(OpKind::Div, {x, rest}));
  return c.add(OpKind::Log, {odds});
}

Result<ec::Tensor*> normalised(Call& c, OpKind kind) {
  ec::Tensor* x = c.tensor("self");
  EC_TRY(x, c.cast(x, to_float_type(c.dtype("dtype", x->dtype()))));
  AxisAttrs attrs;
  attrs.axis = c.dim("dim", c.rank(x));
  return c.add(kind, {x}, attrs);
}

Result<ec::Tensor*> softmax(Call& c) { return normalised(c, OpKind::Softmax); }
Result<ec::Tensor*> log_softmax(Call& c) { return normalised(c, OpKind::LogSoftmax); }

// Rows of -inf give zeros instead of NaN.
Result<ec::Tensor*> safe_softmax(Call& c) {
  EC_TRY(ec::Tensor * y, normalised(c, OpKind::Softmax));
  EC_TRY(ec::Tensor * empty, c.add(OpKind::IsNan, {y}));
  return c.add(OpKind::Where, {empty, c.scalar(y->dtype(), 0), y});
}

Result<ec::Tensor*> dropout(Call& c) {
  if (c.boolean("train") && c.number("p") > 0 && c.site().sink != nullptr)
    c.site().sink->warn(Code::UnsupportedOpForm,
                        "dropout is on in the model and left out: it was not set to evaluation",
                        std::string(c.site().location.name()),
                        "call model.eval() before exporting");
  return c.tensor("input");
}

Result<std::vector<TorchValue>> native_dropout(Call& c) {
  EC_TRY(ec::Tensor * y, dropout(c));
  return std::vector<TorchValue>{y, TorchValue()};
}

constexpr OperatorRow kRows[] = {
    {"aten::relu(Tensor self) -> Tensor", direct<OpKind::Relu>},
    {"aten::relu6(Tensor self) -> Tensor", relu6},
    {"aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor", gelu},
    {"aten::silu(Tensor self) -> Tensor", silu},
    {"aten::mish(Tensor self) -> Tensor", direct<OpKind::Mish>},
    {"aten::sigmoid(Tensor self) -> Tensor", direct_float<OpKind::Sigmoid>},
    {"aten::tanh(Tensor self) -> Tensor", direct_float<OpKind::Tanh>},
    {"aten::hardsigmoid(Tensor self) -> Tensor", hard_sigmoid},
    {"aten::hardswish(Tensor self) -> Tensor", direct<OpKind::HardSwish>},
    {"aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor", hardtanh},
    {"aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor", elu},
    {"aten::celu(Tensor self, Scalar alpha=1.0) -> Tensor", celu},
    {"aten::selu(Tensor self) -> Tensor", selu},
    {"aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", leaky_relu},
    {"aten::rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, "
     "bool training=False, Generator? generator=None) -> Tensor",
     rrelu},
    {"aten::rrelu_with_noise(Tensor self, Tensor noise, Scalar lower=0.125, "
     "Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> Tensor",
     rrelu},
    {"aten::rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, "
     "Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> "
     "(Tensor, Tensor noise_out)",
     rrelu_with_noise},
    {"aten::prelu(Tensor self, Tensor weight) -> Tensor", prelu},
    {"aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor", prelu},
    {"aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", softplus},
    {"aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor", threshold},
    {"aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor", hardshrink},
    {"aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor", softshrink},
    {"aten::glu(Tensor self, int dim=-1) -> Tensor", glu},
    {"aten::log_sigmoid(Tensor self) -> Tensor", log_sigmoid},
    {"aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)",
     log_sigmoid_forward},
    {"aten::logit(Tensor self, float? eps=None) -> Tensor", logit},
    {"aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", softmax},
    {"aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", softmax},
    {"aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", log_softmax},
    {"aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", log_softmax},
    {"aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", safe_softmax},
    {"aten::dropout(Tensor input, float p, bool train) -> Tensor", dropout},
    {"aten::alpha_dropout(Tensor input, float p, bool train) -> Tensor", dropout},
    {"aten::feature_dropout(Tensor input, float p, bool train) -> Tensor", dropout},
    {"aten::feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor", dropout},
    {"aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
     native_dropout},
};

}  // namespace

const std::span<const OperatorRow> kActivationRows = kRows;

}  // namespace ec::torch
