#include "passes/weighted_sum.h"

#include <algorithm>
#include <cmath>

#include "ops/convert.h"
#include "passes/weight_channels.h"

namespace ec {
namespace {

int64_t product(const std::vector<int64_t>& sizes, size_t begin, size_t end) {
  int64_t n = 1;
  for (size_t i = begin; i < end; ++i) n *= sizes[i];
  return n;
}

bool transposes_b(const Operation* op) {
  return op->kind() == OpKind::MatMul ? op->attrs_as<MatMulAttrs>().transpose_b
                                      : op->attrs_as<GemmAttrs>().transpose_b;
}

bool channels_last(const Operation* op) {
  const Layout layout = op->kind() == OpKind::Conv ? op->attrs_as<ConvAttrs>().layout
                                                   : op->attrs_as<ConvTransposeAttrs>().layout;
  return layout == Layout::ChannelsLast;
}

int64_t groups_of(const Operation* op) {
  return op->kind() == OpKind::Conv ? op->attrs_as<ConvAttrs>().groups
                                    : op->attrs_as<ConvTransposeAttrs>().groups;
}

bool is_product(const Operation* op) {
  return op->kind() == OpKind::MatMul || op->kind() == OpKind::Gemm;
}

// Which output channel an element of the constant weights contributes to.
std::optional<ChannelOf> output_channel_of(const Operation* op) {
  const std::vector<int64_t> w = op->input(1)->shape()->sizes();
  ChannelOf channel;
  if (is_product(op)) {
    if (w.size() < 2) return std::nullopt;
    const size_t axis = transposes_b(op) ? w.size() - 2 : w.size() - 1;
    channel.count = w[axis];
    channel.inner = product(w, axis + 1, w.size());
    return channel;
  }
  if (op->kind() == OpKind::Conv) {
    channel.count = w[0];
    channel.inner = product(w, 1, w.size());
    return channel;
  }
  // conv_transpose: [I, O/g, k...] or [I, k..., O/g]; the position along I tells an element's
  // group.
  const size_t axis = channels_last(op) ? w.size() - 1 : 1;
  channel.count = w[axis];
  channel.inner = product(w, axis + 1, w.size());
  const int64_t groups = groups_of(op);
  if (groups < 1 || w[0] % groups != 0) return std::nullopt;
  channel.group_elements = product(w, 0, w.size()) / groups;
  return channel;
}

// Which input channel an element of the constant weights multiplies.
std::optional<ChannelOf> input_channel_of(const Operation* op) {
  const std::vector<int64_t> w = op->input(1)->shape()->sizes();
  ChannelOf channel;
  if (is_product(op)) {
    if (w.size() < 2) return std::nullopt;
    const size_t axis = transposes_b(op) ? w.size() - 1 : w.size() - 2;
    channel.count = w[axis];
    channel.inner = product(w, axis + 1, w.size());
    return channel;
  }
  if (op->kind() == OpKind::ConvTranspose) return std::nullopt;
  const size_t axis = channels_last(op) ? w.size() - 1 : 1;
  channel.count = w[axis];
  channel.inner = product(w, axis + 1, w.size());
  const int64_t groups = groups_of(op);
  if (groups < 1 || w[0] % groups != 0) return std::nullopt;
  channel.group_elements = product(w, 0, w.size()) / groups;
  return channel;
}

Tensor* add_floats(Graph& graph, DType dtype, const Shape& shape, std::span<const double> values) {
  TensorType type(dtype, shape);
  Buffer buffer = Buffer::allocate(static_cast<size_t>(*type.num_bytes()));
  const std::vector<int64_t> sizes = shape.sizes();
  store<double>(MutableView{dtype, sizes, buffer.data(), nullptr}, values);
  return graph.add_constant("", std::move(type), std::move(buffer).to_blob());
}

Tensor* scaled_weights(Rewriter& rewriter, const Tensor* weights, const ChannelOf& channel,
                       const std::vector<double>& scale) {
  if (weights->dtype() == DType::F32) {
    Blob data = scaled_floats(weights->raw_data().bytes(), channel, scale);
    if (!data.empty()) return rewriter.graph().add_constant("", weights->type(), std::move(data));
  }
  std::vector<double> values = double_values(weights);
  const auto n = static_cast<int64_t>(values.size());
  // Channels change every `inner` elements.
  for (int64_t begin = 0; begin < n; begin += channel.inner) {
    const double factor = scale[static_cast<size_t>(channel(begin))];
    for (int64_t i = begin; i < std::min(n, begin + channel.inner); ++i)
      values[static_cast<size_t>(i)] *= factor;
  }
  return add_floats(rewriter.graph(), weights->dtype(), *weights->shape(), values);
}

// The bias as one value per channel; empty when there is none. Nothing when it is not constant or
// no vector.
std::optional<std::vector<double>> bias_values(const Operation* op, int64_t channels) {
  const Tensor* bias = op->input(2);
  if (bias == nullptr) return std::vector<double>{};
  if (!is_constant(bias)) return std::nullopt;
  const size_t rank = std::max<size_t>(1, bias->shape()->rank());
  auto values = channel_values(bias, rank, rank - 1, channels);
  if (values && op->kind() == OpKind::Gemm)
    for (double& value : *values) value *= static_cast<double>(op->attrs_as<GemmAttrs>().beta);
  return values;
}

Attrs attrs_with_unit_beta(const Operation* op) {
  Attrs attrs = op->attrs();
  if (op->kind() == OpKind::Gemm) attrs.edit<GemmAttrs>().beta = 1;
  return attrs;
}

}  // namespace

bool is_weighted_sum(const Operation* op) {
  if (op == nullptr) return false;
  switch (op->kind()) {
    case OpKind::Conv:
    case OpKind::ConvTranspose:
    case OpKind::MatMul:
    case OpKind::Gemm:
      return true;
    default:
      return false;
  }
}

bool is_open(const Operation* op) {
  switch (op->kind()) {
    case OpKind::Conv:
      return op->attrs_as<ConvAttrs>().activation == Activation::None && op->input(3) == nullptr;
    case OpKind::ConvTranspose:
      return op->attrs_as<ConvTransposeAttrs>().activation == Activation::None;
    case OpKind::MatMul:
      return op->attrs_as<MatMulAttrs>().activation == Activation::None;
    case OpKind::Gemm:
      return op->attrs_as<GemmAttrs>().activation == Activation::None;
    default:
      return false;
  }
}

std::optional<size_t> output_channel_axis(const Operation* op) {
  const auto rank = rank_of(op->output());
  if (!rank || *rank < 2) return std::nullopt;
  // Products with a vector have no channels: the vector's only dimension is summed.
  if (is_product(op) && (!rank_of(op->input(1)) || *rank_of(op->input(1)) < 2)) return std::nullopt;
  if (is_product(op) || channels_last(op)) return *rank - 1;
  return 1;
}

std::optional<size_t> input_channel_axis(const Operation* op) {
  const auto rank = rank_of(op->input(0));
  if (!rank || *rank < 2) return std::nullopt;
  if (op->kind() == OpKind::MatMul && op->attrs_as<MatMulAttrs>().transpose_a) return *rank - 2;
  if (op->kind() == OpKind::Gemm && op->attrs_as<GemmAttrs>().transpose_a) return *rank - 2;
  if (is_product(op) || channels_last(op)) return *rank - 1;
  return 1;
}

std::optional<int64_t> output_channels(const Operation* op) {
  const auto axis = output_channel_axis(op);
  if (!axis || !(*op->output()->shape())[*axis].is_static()) return std::nullopt;
  return (*op->output()->shape())[*axis].size();
}

std::optional<int64_t> input_channels(const Operation* op) {
  const auto axis = input_channel_axis(op);
  if (!axis || !(*op->input(0)->shape())[*axis].is_static()) return std::nullopt;
  return (*op->input(0)->shape())[*axis].size();
}

std::optional<std::vector<double>> channel_values(const Tensor* constant, size_t rank, size_t axis,
                                                  int64_t channels) {
  if (!is_constant(constant) || !is_float(constant->dtype())) return std::nullopt;
  // A file of some bytes may name any number of channels.
  constexpr int64_t kMostChannels = int64_t{1} << 20;
  if (channels > kMostChannels) return std::nullopt;
  const Shape& shape = *constant->shape();
  if (shape.rank() > rank) return std::nullopt;
  for (size_t i = 0; i < shape.rank(); ++i) {
    const bool at_axis = i + rank - shape.rank() == axis;
    if (shape[i] != Dim(1) && !(at_axis && shape[i] == Dim(channels))) return std::nullopt;
  }
  std::vector<double> values = double_values(constant);
  if (values.size() == 1) values.assign(static_cast<size_t>(channels), values.front());
  if (values.size() != static_cast<size_t>(channels)) return std::nullopt;
  return values;
}

std::optional<size_t> batch_norm_axis(const Operation* op) {
  const auto rank = rank_of(op->input(0));
  if (!rank || *rank < 2) return std::nullopt;
  return op->attrs_as<BatchNormAttrs>().layout == Layout::ChannelsLast ? *rank - 1 : 1;
}

std::optional<ChannelAffine> batch_norm_affine(const Operation* op) {
  const auto& attrs = op->attrs_as<BatchNormAttrs>();
  if (attrs.training || op->outputs().size() != 1 || has_quant(op)) return std::nullopt;
  for (size_t i = 1; i < 5; ++i)
    if (!is_constant(op->input(i))) return std::nullopt;
  const std::vector<double> gamma = double_values(op->input(1)), beta = double_values(op->input(2));
  const std::vector<double> mean = double_values(op->input(3)), var = double_values(op->input(4));
  if (beta.size() != gamma.size() || mean.size() != gamma.size() || var.size() != gamma.size())
    return std::nullopt;
  ChannelAffine affine;
  for (size_t i = 0; i < gamma.size(); ++i) {
    const double scale = gamma[i] / std::sqrt(var[i] + static_cast<double>(attrs.epsilon));
    if (!std::isfinite(scale)) return std::nullopt;
    affine.scale.push_back(scale);
    affine.shift.push_back(beta[i] - mean[i] * scale);
  }
  return affine;
}

bool takes_output_affine(const Operation* op, const ChannelAffine& affine) {
  if (!is_weighted_sum(op) || !is_open(op) || has_quant(op)) return false;
  if (!is_float(op->output()->dtype())) return false;
  const auto channels = output_channels(op);
  if (!channels || !bias_values(op, *channels)) return false;
  if (affine.scale.empty()) return true;
  return is_constant(op->input(1)) && is_float(op->input(1)->dtype()) &&
         output_channel_of(op).has_value();
}

Result<Tensor*> add_with_affine(Rewriter& rewriter, const Operation* op,
                                const ChannelAffine& affine,
                                std::initializer_list<const Operation*> from) {
  const auto channels = *output_channels(op);
  const auto n = static_cast<size_t>(channels);
  std::vector<double> bias = *bias_values(op, channels);
  std::vector<Tensor*> inputs = op->inputs();
  inputs.resize(std::max<size_t>(inputs.size(), 2));
  if (!affine.scale.empty()) {
    inputs[1] = scaled_weights(rewriter, op->input(1), *output_channel_of(op), affine.scale);
    for (size_t i = 0; i < bias.size(); ++i) bias[i] *= affine.scale[i];
  }
  if (!affine.shift.empty()) {
    bias.resize(n, 0.0);
    for (size_t i = 0; i < n; ++i) bias[i] += affine.shift[i];
  }
  if (!bias.empty()) {
    inputs.resize(3, nullptr);
    inputs[2] = add_floats(rewriter.graph(), op->output()->dtype(), Shape{channels}, bias);
  }
  return rewriter.add(op->kind(), std::move(inputs), attrs_with_unit_beta(op), from);
}

namespace {

// Every position of the window lies within the input.
bool pads_nothing(const Operation* op) {
  if (op->kind() != OpKind::Conv) return true;
  const auto& attrs = op->attrs_as<ConvAttrs>();
  if (attrs.auto_pad == AutoPad::Valid) return true;
  if (attrs.auto_pad != AutoPad::Explicit) return false;
  return std::all_of(attrs.pads.begin(), attrs.pads.end(), [](int64_t p) { return p == 0; });
}

}  // namespace

bool takes_input_affine(const Operation* op, const ChannelAffine& affine) {
  if (!is_weighted_sum(op) || op->kind() == OpKind::ConvTranspose || has_quant(op)) return false;
  if (!is_constant(op->input(1)) || !is_float(op->input(1)->dtype())) return false;
  if (!input_channels(op) || !input_channel_of(op) || !output_channel_of(op)) return false;
  const bool shifts =
      std::any_of(affine.shift.begin(), affine.shift.end(), [](double v) { return v != 0; });
  if (!shifts) return true;
  const auto channels = output_channels(op);
  return pads_nothing(op) && channels && bias_values(op, *channels) &&
         (op->input(1)->shape()->rank() == 2 || op->kind() == OpKind::Conv);
}

Result<Tensor*> add_with_input_affine(Rewriter& rewriter, const Operation* op, Tensor* x,
                                      const ChannelAffine& affine,
                                      std::initializer_list<const Operation*> from) {
  const ChannelOf input_channel = *input_channel_of(op);
  const ChannelOf output_channel = *output_channel_of(op);
  std::vector<Tensor*> inputs = op->inputs();
  inputs[0] = x;
  Attrs attrs = op->attrs();
  if (std::any_of(affine.shift.begin(), affine.shift.end(), [](double v) { return v != 0; })) {
    // Each weight adds its share of the shift to its output channel.
    const auto channels = *output_channels(op);
    std::vector<double> bias = *bias_values(op, channels);
    bias.resize(static_cast<size_t>(channels), 0.0);
    double alpha = 1;
    if (op->kind() == OpKind::MatMul)
      alpha = static_cast<double>(op->attrs_as<MatMulAttrs>().alpha);
    if (op->kind() == OpKind::Gemm) alpha = static_cast<double>(op->attrs_as<GemmAttrs>().alpha);
    add_shifts(op->input(1), {output_channel, input_channel}, affine.shift, alpha, bias);
    inputs.resize(std::max<size_t>(inputs.size(), 3), nullptr);
    inputs[2] = add_floats(rewriter.graph(), op->output()->dtype(), Shape{channels}, bias);
    attrs = attrs_with_unit_beta(op);
  }
  if (!affine.scale.empty())
    inputs[1] = scaled_weights(rewriter, op->input(1), input_channel, affine.scale);
  return rewriter.add(op->kind(), std::move(inputs), std::move(attrs), from);
}

}  // namespace ec
