// Convolutions and pools in the form TFLite has: two spatial dimensions, channels last, pads that
// are SAME or VALID, activations that an operator can take along.
#include <algorithm>
#include <limits>

#include "ops/same_padding.h"
#include "passes/tflite/parts.h"
#include "passes/tflite/rules.h"

namespace ec::passes {
namespace {

bool is_channels_last(const Operation* op) {
  if (op->attrs().is<ConvAttrs>()) return op->attrs_as<ConvAttrs>().layout == Layout::ChannelsLast;
  if (op->attrs().is<ConvTransposeAttrs>())
    return op->attrs_as<ConvTransposeAttrs>().layout == Layout::ChannelsLast;
  if (op->attrs().is<LpPoolAttrs>())
    return op->attrs_as<LpPoolAttrs>().layout == Layout::ChannelsLast;
  return op->attrs_as<PoolAttrs>().layout == Layout::ChannelsLast;
}

// --- activations and residuals ------------------------------------------------------------------

struct FusedActivation {
  Activation kind = Activation::None;
  float alpha = 0, beta = 0;
};

bool goes_into_file(const FusedActivation& a) {
  if (a.kind == Activation::Clip)
    return (a.alpha == 0 && a.beta == 6) || (a.alpha == -1 && a.beta == 1) ||
           (a.alpha == 0 && a.beta == std::numeric_limits<float>::infinity());
  return a.kind == Activation::None || a.kind == Activation::Relu || a.kind == Activation::Relu6;
}

Tensor* activated(Parts& p, Tensor* x, const FusedActivation& a) {
  switch (a.kind) {
    case Activation::None:
      return x;
    case Activation::Relu:
      return p.unary(OpKind::Relu, x);
    case Activation::Relu6:
      return p.op(OpKind::Clip, {x, p.number(x, 0), p.number(x, 6)});
    case Activation::Clip:
      return p.op(OpKind::Clip, {x, p.number(x, double{a.alpha}), p.number(x, double{a.beta})});
    case Activation::LeakyRelu:
      return p.op(OpKind::LeakyRelu, {x}, LeakyReluAttrs{.alpha = a.alpha});
    case Activation::Sigmoid:
      return p.unary(OpKind::Sigmoid, x);
    case Activation::Tanh:
      return p.unary(OpKind::Tanh, x);
    case Activation::Silu:
      return p.op(OpKind::Silu, {x}, SiluAttrs{});
    case Activation::HardSwish:
      return p.unary(OpKind::HardSwish, x);
    case Activation::HardSigmoid:
      return p.op(OpKind::HardSigmoid, {x}, HardSigmoidAttrs{.alpha = a.alpha, .beta = a.beta});
    case Activation::Gelu:
      return p.op(OpKind::Gelu, {x}, GeluAttrs{});
    case Activation::GeluTanh:
      return p.op(OpKind::Gelu, {x}, GeluAttrs{.form = GeluForm::Tanh});
  }
  return x;
}

template <class A>
FusedActivation take_activation(Attrs& attrs) {
  A& edited = attrs.edit<A>();
  const FusedActivation taken{edited.activation, edited.act_alpha, edited.act_beta};
  edited.activation = Activation::None;
  edited.act_alpha = edited.act_beta = 0;
  return taken;
}

template <class A>
Result<bool> split_activation(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<A>();
  const bool residual = op->kind() == OpKind::Conv && op->input(3) != nullptr;
  if (has_quant(op)) return false;
  if (!residual && goes_into_file({attrs.activation, attrs.act_alpha, attrs.act_beta}))
    return false;
  Parts p(r, op);
  Attrs plain = op->attrs();
  const FusedActivation taken = take_activation<A>(plain);
  std::vector<Tensor*> inputs = op->inputs();
  if (residual) inputs.resize(3);
  Tensor* y = p.op(op->kind(), std::move(inputs), std::move(plain));
  if (residual) y = p.add(y, op->input(3));
  return p.replace(activated(p, y, taken));
}

// --- one spatial dimension -----------------------------------------------------------------------

void insert_front(std::vector<int64_t>& values, int64_t value) {
  if (!values.empty()) values.insert(values.begin(), value);
}

// pads of one dimension [begin, end] to two [0, begin, 0, end]
void widen_pads(std::vector<int64_t>& pads) {
  if (pads.size() == 2) pads = {0, pads[0], 0, pads[1]};
}

Shape with_height(const Shape& shape) {
  std::vector<Dim> dims(shape.begin(), shape.end());
  dims.insert(dims.begin() + 1, Dim(1));
  return Shape(std::move(dims));
}

Tensor* raised(Parts& p, Tensor* x) {
  if (x->is_constant()) {
    Result<Tensor*> folded = p.rewriter().add_folded(
        OpKind::Reshape, {x, p.ints(with_height(*x->shape()).sizes())}, ReshapeAttrs{});
    if (folded.ok()) {
      auto quant = x->type().quant;
      if (quant && quant->axis > 0) ++quant->axis;
      if (quant) p.rewriter().graph().set_quant(*folded, quant);
      return *folded;
    }
  }
  return p.reshape(x, with_height(*x->shape()));
}

template <class A>
void raise_attrs(A& attrs) {
  insert_front(attrs.strides, 1);
  insert_front(attrs.dilations, 1);
  widen_pads(attrs.pads);
  if constexpr (requires { attrs.kernel; }) insert_front(attrs.kernel, 1);
  if constexpr (requires { attrs.output_padding; }) insert_front(attrs.output_padding, 0);
  if constexpr (requires { attrs.output_sizes; }) insert_front(attrs.output_sizes, 1);
}

// [N, W, C] is an image of height 1.
template <class A>
Result<bool> raise_rank(Rewriter& r, Operation* op) {
  if (rank_of(op->input(0)) != 3 || has_quant(op) || !is_channels_last(op)) return false;
  if (op->outputs().size() != 1) return false;
  const bool weighted = op->kind() == OpKind::Conv || op->kind() == OpKind::ConvTranspose;
  if (weighted && rank_of(op->input(1)) != 3) return false;
  Parts p(r, op);
  std::vector<Tensor*> inputs = op->inputs();
  inputs[0] = raised(p, inputs[0]);
  if (weighted) inputs[1] = raised(p, inputs[1]);
  Attrs attrs = op->attrs();
  raise_attrs(attrs.edit<A>());
  Tensor* y = p.op(op->kind(), std::move(inputs), std::move(attrs));
  return p.replace(p.reshape(y, *op->output()->shape()));
}

// --- pads ----------------------------------------------------------------------------------------

// [N, spatial..., C]: the pads of the spatial dimensions as those of all.
std::vector<int64_t> all_pads(std::span<const WindowDim> windows) {
  std::vector<int64_t> begin{0}, end{0};
  for (const WindowDim& w : windows) {
    begin.push_back(w.pad_begin);
    // What the last window needs: rounding up may ask for more than the pads say, or less.
    end.push_back(
        std::max<int64_t>(0, (w.output - 1) * w.stride + w.extent() - w.input - w.pad_begin));
  }
  begin.push_back(0), end.push_back(0);
  begin.insert(begin.end(), end.begin(), end.end());
  return begin;
}

template <class A>
void remove_pads(Attrs& attrs) {
  A& edited = attrs.edit<A>();
  edited.pads.clear();
  edited.auto_pad = AutoPad::Explicit;
  if constexpr (requires { edited.ceil_mode; }) edited.ceil_mode = false;
}

std::optional<std::vector<WindowDim>> windows_of(const Operation* op, const WindowSpec& spec) {
  const auto sizes = static_shape(op->input(0));
  if (!sizes || sizes->size() != spec.rank() + 2) return std::nullopt;
  return resolve_windows(spec, std::span(*sizes).subspan(1, spec.rank()));
}

Result<bool> pad_conv(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<ConvAttrs>();
  const auto weights = static_shape(op->input(1));
  if (!is_channels_last(op) || !weights || weights->size() < 4) return false;
  const auto windows =
      windows_of(op, window_spec(attrs, std::span(*weights).subspan(1, weights->size() - 2)));
  if (!windows || padding_scheme(*windows) != PaddingScheme::Other) return false;
  Parts p(r, op);
  std::vector<Tensor*> inputs = op->inputs();
  inputs[0] = p.pad(inputs[0], all_pads(*windows));
  Attrs plain = op->attrs();
  remove_pads<ConvAttrs>(plain);
  return p.replace(p.op(OpKind::Conv, std::move(inputs), std::move(plain)));
}

Result<bool> pad_max_pool(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<PoolAttrs>();
  if (!is_channels_last(op) || has_quant(op) || op->outputs().size() != 1) return false;
  const auto windows = windows_of(op, window_spec(attrs, attrs.kernel));
  if (!windows || padding_scheme(*windows) != PaddingScheme::Other) return false;
  Parts p(r, op);
  // Behind a relu nothing is below zero, which needs no special filler.
  const Operation* before = op->input(0)->producer();
  const bool positive = before != nullptr && before->kind() == OpKind::Relu &&
                        std::all_of(windows->begin(), windows->end(), [](const WindowDim& w) {
                          return w.pad_begin < w.kernel && w.pad_end < w.kernel;
                        });
  Tensor* x = positive ? p.pad(op->input(0), all_pads(*windows))
                       : p.pad(op->input(0), all_pads(*windows),
                               -double{std::numeric_limits<float>::max()});
  Attrs plain = op->attrs();
  remove_pads<PoolAttrs>(plain);
  return p.replace(p.op(OpKind::MaxPool, {x}, std::move(plain)));
}

// Elements of the window that count, at each place along one dimension.
std::vector<double> counts(const WindowDim& w, bool include_pads) {
  std::vector<double> result;
  for (int64_t o = 0; o < w.output; ++o) {
    int64_t n = 0;
    for (int64_t k = 0; k < w.kernel; ++k) {
      const int64_t at = o * w.stride - w.pad_begin + k * w.dilation;
      n += include_pads ? (at < w.input + w.pad_end) : (at >= 0 && at < w.input);
    }
    result.push_back(static_cast<double>(std::max<int64_t>(n, 1)));
  }
  return result;
}

// Zeros around, the mean of whole windows, and a constant factor where fewer elements count.
Result<bool> pad_avg_pool(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<PoolAttrs>();
  if (!is_channels_last(op) || has_quant(op) || rank_of(op->input(0)) != 4) return false;
  const auto windows = windows_of(op, window_spec(attrs, attrs.kernel));
  if (!windows) return false;
  const PaddingScheme scheme = padding_scheme(*windows);
  const bool padded = std::any_of(windows->begin(), windows->end(), [](const WindowDim& w) {
    return w.pad_begin > 0 || (w.output - 1) * w.stride + w.extent() > w.input;
  });
  if (scheme == PaddingScheme::Valid || (scheme == PaddingScheme::Same && !attrs.count_include_pad))
    return false;
  Parts p(r, op);
  Tensor* x = p.pad(op->input(0), all_pads(*windows));
  Attrs plain = op->attrs();
  remove_pads<PoolAttrs>(plain);
  plain.edit<PoolAttrs>().count_include_pad = false;
  Tensor* y = p.op(OpKind::AvgPool, {x}, std::move(plain));
  const WindowDim &h = (*windows)[0], &w = (*windows)[1];
  const auto rows = counts(h, attrs.count_include_pad),
             columns = counts(w, attrs.count_include_pad);
  const auto area = static_cast<double>(h.kernel * w.kernel);
  std::vector<float> factors;
  for (const double row : rows)
    for (const double column : columns)
      factors.push_back(static_cast<float>(area / (row * column)));
  const bool uniform = std::all_of(factors.begin(), factors.end(), [](float f) { return f == 1; });
  if (padded && !uniform) y = p.mul(y, p.floats(Shape{1, h.output, w.output, 1}, factors));
  return p.replace(y);
}

// --- three spatial dimensions --------------------------------------------------------------------

// Over height and width with the depth in the batch, then over the depth with the rest in the
// width.
Result<bool> split_pool_3d(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<PoolAttrs>();
  const auto in = static_shape(op->input(0)), out = static_shape(op->output());
  if (!is_channels_last(op) || has_quant(op) || !in || !out || in->size() != 5) return false;
  if (op->outputs().size() != 1) return false;
  const WindowSpec spec = window_spec(attrs, attrs.kernel);
  const auto windows = resolve_windows(spec, std::span(*in).subspan(1, 3));
  const bool average = op->kind() == OpKind::AvgPool;
  if (average && !attrs.count_include_pad && padding_scheme(windows) != PaddingScheme::Valid)
    return false;
  const auto part = [&](std::vector<size_t> dims) {
    PoolAttrs a = attrs;
    a.kernel.clear(), a.strides.clear(), a.dilations.clear(), a.pads.clear();
    a.auto_pad = AutoPad::Explicit;
    for (const size_t d : dims) {
      const bool used = d < 3;
      a.kernel.push_back(used ? windows[d].kernel : 1);
      a.strides.push_back(used ? windows[d].stride : 1);
      a.dilations.push_back(used ? windows[d].dilation : 1);
    }
    for (const bool begin : {true, false})
      for (const size_t d : dims)
        a.pads.push_back(d >= 3 ? 0 : begin ? windows[d].pad_begin : windows[d].pad_end);
    return a;
  };
  Parts p(r, op);
  const int64_t n = (*in)[0], depth = (*in)[1], c = (*in)[4];
  Tensor* x = p.sized(op->input(0), {n * depth, (*in)[2], (*in)[3], c});
  x = p.op(op->kind(), {x}, part({1, 2}));
  const int64_t area = (*out)[2] * (*out)[3];
  x = p.sized(x, {n, depth, area, c});
  x = p.op(op->kind(), {x}, part({0, 3}));
  return p.replace(p.sized(x, *out));
}

// Groups of a three-dimensional convolution one by one.
Result<bool> split_groups_3d(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<ConvAttrs>();
  const auto in = static_shape(op->input(0)), weights = static_shape(op->input(1));
  if (!is_channels_last(op) || has_quant(op) || !in || !weights || in->size() != 5) return false;
  constexpr int64_t kMaxGroups = 256;
  if (attrs.groups == 1 || attrs.groups > kMaxGroups) return false;
  const int64_t from = in->back() / attrs.groups, to = (*weights)[0] / attrs.groups;
  Attrs plain = op->attrs();
  plain.edit<ConvAttrs>().groups = 1;
  Parts p(r, op);
  std::vector<Tensor*> parts;
  for (int64_t g = 0; g < attrs.groups; ++g) {
    std::vector<Tensor*> inputs{p.slice(op->input(0), 4, g * from, (g + 1) * from),
                                p.slice(op->input(1), 0, g * to, (g + 1) * to)};
    if (op->input(2) != nullptr) inputs.push_back(p.slice(op->input(2), 0, g * to, (g + 1) * to));
    parts.push_back(p.op(OpKind::Conv, std::move(inputs), plain));
  }
  return p.replace(p.concat(std::move(parts), 4));
}

// --- transposed convolution ----------------------------------------------------------------------

// Filters [I, h, w, O / groups] with zeros between their elements (dilation) and between groups.
struct DenseFilters {
  std::vector<int64_t> shape;
  std::vector<float> values;
};
std::optional<DenseFilters> dense_filters(const Operation* op, const WindowSpec& spec) {
  const auto& attrs = op->attrs_as<ConvTransposeAttrs>();
  const Tensor* weights = op->input(1);
  if (!weights->is_constant() || weights->dtype() != DType::F32) return std::nullopt;
  const std::vector<int64_t> from = weights->shape()->sizes();
  const int64_t in = from[0], out = from[3], g = attrs.groups;
  DenseFilters dense;
  dense.shape = {in, (from[1] - 1) * spec.dilations[0] + 1, (from[2] - 1) * spec.dilations[1] + 1,
                 out * g};
  const auto count = Shape::of(dense.shape).num_elements();
  constexpr int64_t kMaxElements = int64_t{1} << 24;
  if (!count || *count > kMaxElements) return std::nullopt;
  dense.values.assign(static_cast<size_t>(*count), 0.0f);
  const auto values = weights->values<float>();
  size_t at = 0;
  for (int64_t i = 0; i < in; ++i)
    for (int64_t y = 0; y < from[1]; ++y)
      for (int64_t x = 0; x < from[2]; ++x)
        for (int64_t o = 0; o < out; ++o, ++at) {
          const int64_t row =
              (i * dense.shape[1] + y * spec.dilations[0]) * dense.shape[2] + x * spec.dilations[1];
          dense.values[static_cast<size_t>(row * out * g + i / (in / g) * out + o)] = values[at];
        }
  return dense;
}

Result<bool> make_dense(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<ConvTransposeAttrs>();
  if (!is_channels_last(op) || has_quant(op) || rank_of(op->input(0)) != 4) return false;
  const auto weights = static_shape(op->input(1));
  if (!weights || weights->size() != 4) return false;
  const WindowSpec spec = window_spec(attrs, std::span(*weights).subspan(1, 2));
  if (attrs.groups == 1 && spec.dilations[0] == 1 && spec.dilations[1] == 1) return false;
  const auto dense = dense_filters(op, spec);
  if (!dense) return false;
  Parts p(r, op);
  Attrs plain = op->attrs();
  plain.edit<ConvTransposeAttrs>().groups = 1;
  plain.edit<ConvTransposeAttrs>().dilations.clear();
  std::vector<Tensor*> inputs = op->inputs();
  inputs[1] = p.floats(Shape::of(dense->shape), dense->values);
  return p.replace(p.op(OpKind::ConvTranspose, std::move(inputs), std::move(plain)));
}

// All that the filters reach, then the part that the pads leave.
Result<bool> crop_conv_transpose(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<ConvTransposeAttrs>();
  const auto in = static_shape(op->input(0)), weights = static_shape(op->input(1));
  if (!is_channels_last(op) || has_quant(op) || !in || !weights || in->size() != 4) return false;
  const WindowSpec spec = window_spec(attrs, std::span(*weights).subspan(1, 2));
  std::vector<TransposedDim> windows;
  for (size_t d = 0; d < 2; ++d)
    windows.push_back(resolve_transposed(attrs, spec, d, (*in)[d + 1]));
  if (padding_scheme(windows) != PaddingScheme::Other) return false;
  Attrs plain = op->attrs();
  ConvTransposeAttrs& edited = plain.edit<ConvTransposeAttrs>();
  edited.pads.clear(), edited.output_sizes.clear(), edited.output_padding.clear();
  edited.auto_pad = AutoPad::Explicit;
  std::vector<int64_t> begin, end;
  for (const TransposedDim& w : windows) {
    const int64_t reach = (w.input - 1) * w.stride + (w.kernel - 1) * w.dilation + 1;
    const int64_t more = std::max<int64_t>(0, w.pad_begin + w.output - reach);
    // Zeros further out than the operator can give, or before the begin: not in real models.
    if (w.pad_begin < 0 || more >= w.stride) return false;
    edited.output_padding.push_back(more);
    begin.push_back(w.pad_begin);
    end.push_back(w.pad_begin + w.output);
  }
  const FusedActivation taken = take_activation<ConvTransposeAttrs>(plain);
  Parts p(r, op);
  Tensor* y = activated(p, p.op(OpKind::ConvTranspose, op->inputs(), std::move(plain)), taken);
  const int64_t axes[] = {1, 2};
  return p.replace(p.op(OpKind::Slice, {y, p.ints(begin), p.ints(end), p.ints(axes)}));
}

// --- the rest ------------------------------------------------------------------------------------

template <OpKind kReduction>
Result<bool> global_pool(Rewriter& r, Operation* op) {
  if (has_quant(op) || !rank_of(op->input(0))) return false;
  const Layout layout = op->attrs_as<GlobalPoolAttrs>().layout;
  std::vector<int64_t> axes;
  for (size_t d = 0; d + 2 < *rank_of(op->input(0)); ++d)
    axes.push_back(static_cast<int64_t>(spatial_axis(layout, d)));
  Parts p(r, op);
  return p.replace(p.reduce(kReduction, op->input(0), axes));
}

// (mean(|x|^p) * area)^(1/p)
Result<bool> expand_lp_pool(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<LpPoolAttrs>();
  if (has_quant(op) || attrs.p < 1) return false;
  PoolAttrs pool{.kernel = attrs.kernel,
                 .strides = attrs.strides,
                 .dilations = attrs.dilations,
                 .pads = attrs.pads,
                 .auto_pad = attrs.auto_pad,
                 .ceil_mode = attrs.ceil_mode,
                 .count_include_pad = true,
                 .layout = attrs.layout};
  double area = 1;
  for (const int64_t k : attrs.kernel) area *= static_cast<double>(k);
  if (attrs.ceil_mode) return false;
  Parts p(r, op);
  Tensor* x = op->input(0);
  const auto exponent = static_cast<double>(attrs.p);
  if (attrs.p == 2)
    return p.replace(
        p.unary(OpKind::Sqrt, p.mul(p.op(OpKind::AvgPool, {p.mul(x, x)}, pool), area)));
  x = p.unary(OpKind::Abs, x);
  if (attrs.p == 1) return p.replace(p.mul(p.op(OpKind::AvgPool, {x}, pool), area));
  x = p.op(OpKind::Pow, {x, p.number(x, exponent)});
  x = p.mul(p.op(OpKind::AvgPool, {x}, pool), area);
  return p.replace(p.op(OpKind::Pow, {x, p.number(x, 1 / exponent)}));
}

constexpr RewriteRule kRules[] = {
    {OpKind::Conv, split_activation<ConvAttrs>, "activations split off"},
    {OpKind::ConvTranspose, split_activation<ConvTransposeAttrs>, "activations split off"},
    {OpKind::MatMul, split_activation<MatMulAttrs>, "activations split off"},
    {OpKind::Gemm, split_activation<GemmAttrs>, "activations split off"},
    {OpKind::Conv, raise_rank<ConvAttrs>, "images of height 1"},
    {OpKind::ConvTranspose, raise_rank<ConvTransposeAttrs>, "images of height 1"},
    {OpKind::MaxPool, raise_rank<PoolAttrs>, "images of height 1"},
    {OpKind::AvgPool, raise_rank<PoolAttrs>, "images of height 1"},
    {OpKind::MaxPool, split_pool_3d, "pools of volumes"},
    {OpKind::AvgPool, split_pool_3d, "pools of volumes"},
    {OpKind::Conv, split_groups_3d, "groups of volumes"},
    {OpKind::Conv, pad_conv, "explicit pads"},
    {OpKind::MaxPool, pad_max_pool, "explicit pads"},
    {OpKind::AvgPool, pad_avg_pool, "explicit pads"},
    {OpKind::ConvTranspose, make_dense, "filters made dense"},
    {OpKind::ConvTranspose, crop_conv_transpose, "cropped results"},
    {OpKind::GlobalAvgPool, global_pool<OpKind::ReduceMean>, "global pools"},
    {OpKind::GlobalMaxPool, global_pool<OpKind::ReduceMax>, "global pools"},
    {OpKind::LpPool, expand_lp_pool, "norm pools"},
};

}  // namespace

const std::span<const RewriteRule> kTfliteWindows = kRules;

}  // namespace ec::passes
