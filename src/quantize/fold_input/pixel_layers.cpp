#include "quantize/fold_input/pixel_layers.h"

#include <algorithm>
#include <cmath>

#include "ops/attrs.h"
#include "ops/op_def.h"
#include "support/rounding.h"

namespace ec::quantize {
namespace {

constexpr double kLargestPixel = 255;

// Where the weights of a convolution with one group stand.
struct WeightIndices {
  explicit WeightIndices(const Operation& conv)
      : channels_first(conv.attrs_as<ConvAttrs>().layout == Layout::ChannelsFirst) {
    const std::vector<int64_t> shape = conv.input(1)->shape()->sizes();
    outputs = static_cast<size_t>(shape[0]);
    channels = static_cast<size_t>(channels_first ? shape[1] : shape.back());
    taps = 1;
    for (const int64_t size : shape) taps *= static_cast<size_t>(size);
    taps /= outputs * channels;
  }
  size_t at(size_t output, size_t channel, size_t tap) const {
    return output * channels * taps +
           (channels_first ? channel * taps + tap : tap * channels + channel);
  }
  Shape shape_with(const Shape& old, size_t new_channels) const {
    Shape shape = old;
    shape[channels_first ? 1 : shape.rank() - 1] = Dim(static_cast<int64_t>(new_channels));
    return shape;
  }
  bool channels_first;
  size_t outputs, channels, taps;
};

Tensor* add_floats(Graph& graph, std::string name, Shape shape, const std::vector<float>& values) {
  return graph.add_constant<float>(std::move(name), std::move(shape),
                                   std::span<const float>(values));
}

// A convolution of one tap from `inputs` to `bias.size()` channels.
Result<Tensor*> add_one_tap(Graph& graph, Tensor* pixels, const std::vector<float>& weights,
                            const std::vector<float>& bias, int64_t groups, Layout layout) {
  const auto outputs = static_cast<int64_t>(bias.size());
  const auto inputs = static_cast<int64_t>(weights.size() / bias.size());
  const Shape shape =
      layout == Layout::ChannelsFirst ? Shape{outputs, inputs, 1, 1} : Shape{outputs, 1, 1, inputs};
  Tensor* w = add_floats(graph, "preprocessing_scale", shape, weights);
  Tensor* b = add_floats(graph, "preprocessing_shift", Shape{outputs}, bias);
  ConvAttrs attrs;
  attrs.groups = groups;
  attrs.layout = layout;
  return graph.add_single(OpKind::Conv, {pixels, w, b}, Attrs(attrs),
                          Location("preprocessing", "Normalize"));
}

// The whole number nearest to the middle of the pixels that become zero.
double centre_of(const ChannelAffine& affine) {
  double low = INFINITY, high = -INFINITY;
  for (size_t c = 0; c < affine.scale.size(); ++c) {
    const double mean = -affine.shift[c] / affine.scale[c];
    low = std::min(low, mean);
    high = std::max(high, mean);
  }
  return std::clamp(round_half_away((low + high) / 2), 0.0, kLargestPixel);
}

}  // namespace

bool ChannelAffine::keeps_zero() const {
  return std::all_of(shift.begin(), shift.end(), [](double s) { return s == 0; });
}

bool ChannelAffine::changes_nothing() const {
  return !reversed && keeps_zero() &&
         std::all_of(scale.begin(), scale.end(), [](double s) { return s == 1; });
}

ChannelAffine affine_of(const Preprocessing& preprocessing, size_t channels) {
  ChannelAffine affine;
  affine.reversed = preprocessing.color == ColorOrder::Bgr && channels == 3;
  for (size_t c = 0; c < channels; ++c) {
    const Affine one = affine_of_channel(preprocessing, c);
    affine.scale.push_back(one.scale);
    affine.shift.push_back(one.shift);
  }
  return affine;
}

void fold_affine(Graph& graph, Operation* conv, const ChannelAffine& affine) {
  const Tensor* weights = conv->input(1);
  const WeightIndices index(*conv);
  const auto old = weights->values<float>();
  std::vector<float> scaled(old.size()), bias(index.outputs, 0.0f);
  for (size_t o = 0; o < index.outputs; ++o) {
    double sum = conv->input(2) != nullptr ? conv->input(2)->values<float>()[o] : 0.0;
    for (size_t c = 0; c < index.channels; ++c)
      for (size_t tap = 0; tap < index.taps; ++tap) {
        const double w = old[index.at(o, c, tap)];
        sum += w * affine.shift[c];
        scaled[index.at(o, affine.source_of(c), tap)] = static_cast<float>(w * affine.scale[c]);
      }
    bias[o] = static_cast<float>(sum);
  }
  std::vector<Tensor*> operands = conv->inputs();
  operands.resize(3, nullptr);
  operands[1] = add_floats(graph, weights->name() + "_of_pixels", *weights->shape(), scaled);
  const bool had_bias = operands[2] != nullptr;
  if (had_bias || !affine.keeps_zero())
    operands[2] = add_floats(
        graph, (had_bias ? operands[2]->name() : weights->name() + "_bias") + "_of_pixels",
        Shape{static_cast<int64_t>(index.outputs)}, bias);
  if (operands[2] == nullptr) operands.pop_back();
  graph.set_operands(conv, std::move(operands));
}

Result<Tensor*> normalised_pixels(Graph& graph, Tensor* pixels, const ChannelAffine& affine,
                                  Layout layout) {
  const size_t channels = affine.scale.size();
  const size_t per_output = affine.reversed ? channels : 1;
  std::vector<float> weights(channels * per_output, 0.0f), bias;
  for (size_t c = 0; c < channels; ++c) {
    weights[c * per_output + (affine.reversed ? affine.source_of(c) : 0)] =
        static_cast<float>(affine.scale[c]);
    bias.push_back(static_cast<float>(affine.shift[c]));
  }
  const int64_t groups = affine.reversed ? 1 : static_cast<int64_t>(channels);
  return add_one_tap(graph, pixels, weights, bias, groups, layout);
}

Result<Tensor*> fold_centred(Graph& graph, Operation* conv, Tensor* pixels,
                             const ChannelAffine& affine) {
  const Tensor* weights = conv->input(1);
  const WeightIndices index(*conv);
  const auto old = weights->values<float>();
  const size_t channels = index.channels;
  const double centre = centre_of(affine);

  // What a tap inside the image adds besides its pixels, against the largest weight.
  std::vector<double> rest(index.outputs * index.taps, 0.0);
  double ratio = 0;
  for (size_t o = 0; o < index.outputs; ++o) {
    double widest = 0, most = 0;
    for (size_t tap = 0; tap < index.taps; ++tap) {
      double& sum = rest[o * index.taps + tap];
      for (size_t c = 0; c < channels; ++c) {
        const double w = old[index.at(o, c, tap)];
        sum += w * (affine.scale[c] * centre + affine.shift[c]);
        widest = std::max(widest, std::abs(w * affine.scale[c]));
      }
      most = std::max(most, std::abs(sum));
    }
    if (widest > 0) ratio = std::max(ratio, most / widest);
  }
  const bool has_rest = ratio > 0;
  const double largest = std::max(centre, kLargestPixel - centre);
  const double magnitude = std::clamp(std::ceil(ratio), 1.0, largest);
  const double k = centre > kLargestPixel / 2 ? -magnitude : magnitude;

  const size_t made = channels + (has_rest ? 1 : 0);
  std::vector<float> picks(made * channels, 0.0f);
  std::vector<float> shifts(made, static_cast<float>(-centre));
  for (size_t c = 0; c < channels; ++c) picks[c * channels + c] = 1.0f;
  if (has_rest) shifts.back() = static_cast<float>(k);
  EC_TRY(Tensor * centred,
         add_one_tap(graph, pixels, picks, shifts, 1, conv->attrs_as<ConvAttrs>().layout));

  WeightIndices widened = index;
  widened.channels = made;
  std::vector<float> scaled(index.outputs * made * index.taps);
  for (size_t o = 0; o < index.outputs; ++o)
    for (size_t tap = 0; tap < index.taps; ++tap) {
      for (size_t c = 0; c < channels; ++c)
        scaled[widened.at(o, affine.source_of(c), tap)] =
            static_cast<float>(static_cast<double>(old[index.at(o, c, tap)]) * affine.scale[c]);
      if (has_rest)
        scaled[widened.at(o, channels, tap)] = static_cast<float>(rest[o * index.taps + tap] / k);
    }
  std::vector<Tensor*> operands = conv->inputs();
  operands[0] = centred;
  operands[1] = add_floats(graph, weights->name() + "_of_pixels",
                           index.shape_with(*weights->shape(), made), scaled);
  graph.set_operands(conv, std::move(operands));
  return centred;
}

QuantParams pixel_params(DType dtype) { return {{1.0f}, {dtype == DType::I8 ? -128 : 0}, -1}; }

std::optional<QuantParams> picked_pixel_params(const Operation& op) {
  if (op.kind() != OpKind::Conv || op.input(3) != nullptr) return std::nullopt;
  const auto& attrs = op.attrs_as<ConvAttrs>();
  const Tensor* weights = op.input(1);
  const auto is_real = [](const Tensor* tensor) {
    return tensor != nullptr && tensor->is_constant() && tensor->dtype() == DType::F32;
  };
  if (attrs.groups != 1 || attrs.activation != Activation::None || !is_real(weights) ||
      !is_real(op.input(2)) || *weights->type().num_elements() == 0)
    return std::nullopt;
  const WeightIndices index(op);
  const auto values = weights->values<float>(), bias = op.input(2)->values<float>();
  if (index.taps != 1 || bias.size() != index.outputs) return std::nullopt;
  double low = INFINITY, high = -INFINITY;
  for (size_t o = 0; o < index.outputs; ++o) {
    size_t picked = 0;
    for (size_t c = 0; c < index.channels; ++c) {
      const float w = values[index.at(o, c, 0)];
      if (w != 0.0f && w != 1.0f) return std::nullopt;
      picked += w == 1.0f;
    }
    const double shift = bias[o];
    if (picked > 1 || !(std::abs(shift) <= kLargestPixel) || shift != std::floor(shift))
      return std::nullopt;
    low = std::min(low, shift);
    high = std::max(high, shift + (picked != 0 ? kLargestPixel : 0));
  }
  if (high - low > kLargestPixel) return std::nullopt;
  return QuantParams{{1.0f}, {static_cast<int32_t>(-128 - low)}, -1};
}

}  // namespace ec::quantize
