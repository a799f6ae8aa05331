#include "quantize/fold_preprocessing.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/attrs.h"
#include "ops/op_def.h"
#include "quantize/preprocessing_keys.h"
#include "support/strings.h"

namespace ec::quantize {
namespace {

// What happens to a pixel of the input's channel: scale * pixel + shift.
struct ChannelAffine {
  std::vector<double> scale, shift;
  bool reversed = false;  // channel c of the model is channel C - 1 - c of the picture

  bool keeps_zero() const {
    return std::all_of(shift.begin(), shift.end(), [](double s) { return s == 0; });
  }
  size_t source_of(size_t channel) const { return reversed ? scale.size() - 1 - channel : channel; }
};

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

struct ImageInput {
  Tensor* tensor = nullptr;
  ImageForm form;
};

Result<ImageInput> find_image_input(const Graph& graph, const Preprocessing& preprocessing) {
  ImageInput found;
  std::string reason = "the model has no inputs";
  for (Tensor* input : graph.inputs()) {
    TensorType type = input->type();
    // The batch may stay open.
    if (type.shape && type.shape->rank() > 0 && !(*type.shape)[0].is_static())
      (*type.shape)[0] = Dim(1);
    Result<ImageForm> form = image_form({input->name(), type}, preprocessing);
    if (!form.ok()) {
      if (form.error().code() == Code::Usage) return std::move(form).error();
      reason = form.error().message();
      continue;
    }
    if (form->dtype != DType::F32 || form->shape.size() != 4) {
      reason = fmt::format("input '{}' is {}, not f32 of four dimensions", printable(input->name()),
                           type.text());
      continue;
    }
    if (found.tensor != nullptr)
      return Error(Code::Usage,
                   fmt::format("--fold-preprocessing needs one image input; '{}' and "
                               "'{}' both look like one",
                               printable(found.tensor->name()), printable(input->name())))
          .hint("leave the option out and preprocess outside of the network");
    found = {input, std::move(*form)};
  }
  if (found.tensor == nullptr)
    return Error(Code::Usage, "--fold-preprocessing needs an image input, and the model has none")
        .note(reason)
        .hint("leave the option out, or say the order of dimensions with --input-layout");
  return found;
}

bool pads_nothing(const ConvAttrs& attrs) {
  if (attrs.auto_pad == AutoPad::Valid) return true;
  return attrs.auto_pad == AutoPad::Explicit &&
         std::all_of(attrs.pads.begin(), attrs.pads.end(), [](int64_t pad) { return pad == 0; });
}

bool is_float_constant(const Tensor* tensor) {
  return tensor != nullptr && tensor->is_constant() && tensor->dtype() == DType::F32 &&
         tensor->type().is_static() && *tensor->type().num_elements() > 0;
}

// The convolution that reads nothing but the input, where it can take the affine along exactly.
Operation* exact_reader(const Graph& graph, const Tensor* input, const ChannelAffine& affine) {
  if (!graph.has_single_use(input) || input->uses()[0].index != 0) return nullptr;
  Operation* op = input->uses()[0].op;
  if (op->kind() != OpKind::Conv) return nullptr;
  const auto& attrs = op->attrs_as<ConvAttrs>();
  const bool constant = is_float_constant(op->input(1)) &&
                        (op->input(2) == nullptr || is_float_constant(op->input(2)));
  const bool exact = pads_nothing(attrs) || affine.keeps_zero();
  return constant && exact && attrs.groups == 1 ? op : nullptr;
}

Status fold_into(Graph& graph, Operation* conv, const ChannelAffine& affine) {
  const Tensor* weights = conv->input(1);
  const std::vector<int64_t> shape = weights->shape()->sizes();
  const bool first = conv->attrs_as<ConvAttrs>().layout == Layout::ChannelsFirst;
  const auto outputs = static_cast<size_t>(shape[0]);
  const auto channels = static_cast<size_t>(first ? shape[1] : shape.back());
  const auto per_output = static_cast<size_t>(*weights->type().num_elements()) / outputs;
  const size_t taps = per_output / channels;
  const auto at = [&](size_t o, size_t c, size_t tap) {
    return o * per_output + (first ? c * taps + tap : tap * channels + c);
  };
  const auto old = weights->values<float>();
  std::vector<float> scaled(old.size()), bias(outputs, 0.0f);
  for (size_t o = 0; o < outputs; ++o) {
    double sum = conv->input(2) != nullptr ? conv->input(2)->values<float>()[o] : 0.0;
    for (size_t c = 0; c < channels; ++c)
      for (size_t tap = 0; tap < taps; ++tap) {
        const double w = old[at(o, c, tap)];
        sum += w * affine.shift[c];
        scaled[at(o, affine.source_of(c), tap)] = static_cast<float>(w * affine.scale[c]);
      }
    bias[o] = static_cast<float>(sum);
  }
  std::vector<Tensor*> operands = conv->inputs();
  operands.resize(3, nullptr);
  operands[1] = graph.add_constant<float>(weights->name() + "_of_pixels", *weights->shape(),
                                          std::span<const float>(scaled));
  const bool had_bias = operands[2] != nullptr;
  if (had_bias || !affine.keeps_zero())
    operands[2] = graph.add_constant<float>(
        (had_bias ? operands[2]->name() : weights->name() + "_bias") + "_of_pixels",
        Shape{static_cast<int64_t>(outputs)}, std::span<const float>(bias));
  if (operands[2] == nullptr) operands.pop_back();
  graph.set_operands(conv, std::move(operands));
  return {};
}

// One tap: every channel by itself, or all of them where their order changes.
Result<Tensor*> normalised(Graph& graph, Tensor* pixels, const ChannelAffine& affine,
                           Layout layout) {
  const size_t channels = affine.scale.size();
  const auto count = static_cast<int64_t>(channels);
  const size_t per_output = affine.reversed ? channels : 1;
  std::vector<float> weights(channels * per_output, 0.0f), bias;
  for (size_t c = 0; c < channels; ++c) {
    weights[c * per_output + (affine.reversed ? affine.source_of(c) : 0)] =
        static_cast<float>(affine.scale[c]);
    bias.push_back(static_cast<float>(affine.shift[c]));
  }
  const auto inputs = static_cast<int64_t>(per_output);
  const Shape shape =
      layout == Layout::ChannelsFirst ? Shape{count, inputs, 1, 1} : Shape{count, 1, 1, inputs};
  Tensor* w =
      graph.add_constant<float>("preprocessing_scale", shape, std::span<const float>(weights));
  Tensor* b =
      graph.add_constant<float>("preprocessing_shift", Shape{count}, std::span<const float>(bias));
  ConvAttrs attrs;
  attrs.groups = affine.reversed ? 1 : count;
  attrs.layout = layout;
  return graph.add_single(OpKind::Conv, {pixels, w, b}, Attrs(attrs),
                          Location("preprocessing", "Normalize"));
}

bool changes_nothing(const ChannelAffine& affine) {
  return !affine.reversed && affine.keeps_zero() &&
         std::all_of(affine.scale.begin(), affine.scale.end(), [](double s) { return s == 1; });
}

}  // namespace

Result<FoldedInput> fold_preprocessing(Graph& graph, const Preprocessing& preprocessing) {
  for (const Tensor* tensor : graph.tensors())
    if (tensor->type().quant)
      return Error(Code::Usage, "--fold-preprocessing works on float models, this one is quantised")
          .hint("fold while quantising: give the float model");
  EC_TRY(const ImageInput image, find_image_input(graph, preprocessing));
  const ChannelAffine affine = affine_of(preprocessing, static_cast<size_t>(image.form.channels));
  Tensor* input = image.tensor;
  Operation* reader = exact_reader(graph, input, affine);
  if (reader != nullptr) EC_CHECK_OK(fold_into(graph, reader, affine));

  const std::vector<Use> uses = input->uses();
  const bool is_output = graph.is_output(input);
  Tensor* pixels = input;
  if (image.form.layout == Layout::ChannelsFirst) {
    TensorType type = input->type();
    const Shape old = *type.shape;
    type.shape = Shape{old[0], old[2], old[3], old[1]};
    graph.set_type(input, std::move(type));
    TransposeAttrs attrs;
    attrs.perm = {0, 3, 1, 2};
    EC_TRY(pixels, graph.add_single(OpKind::Transpose, {input}, Attrs(attrs),
                                    Location("preprocessing", "Transpose")));
  }
  if (reader == nullptr && !changes_nothing(affine)) {
    EC_TRY(pixels, normalised(graph, pixels, affine, image.form.layout));
  }
  if (pixels != input) {
    for (const Use& use : uses) graph.set_operand(use.op, use.index, pixels);
    for (size_t i = 0; is_output && i < graph.outputs().size(); ++i)
      if (graph.outputs()[i] == input) graph.set_output(i, pixels);
  }

  FoldedInput folded{input->name(), {}};
  folded.rest.resize = preprocessing.resize;
  folded.rest.shorter_side = preprocessing.shorter_side;
  folded.rest.pixel_range = 255;
  folded.rest.layout = Layout::ChannelsLast;
  graph.metadata()[std::string(kPreprocessingKey)] = folded.rest.text();
  graph.metadata()[std::string(kFoldedPreprocessingKey)] = preprocessing.text();
  return folded;
}

QuantParams pixel_params(DType dtype) { return {{1.0f}, {dtype == DType::I8 ? -128 : 0}, -1}; }

Status bytes_at_input(Graph& graph, std::string_view name) {
  Tensor* input = graph.find_tensor(name);
  if (input == nullptr || !input->is_input() || input->dtype() != DType::F32) return {};
  const std::vector<Use> uses = input->uses();
  TensorType type(DType::U8, *input->shape());
  const auto takes_bytes = [](const Use& use) {
    // With parameters of its own it takes floats (the form of ONNX).
    return use.op->kind() == OpKind::Quantize && use.op->inputs().size() == 1 &&
           use.op->output()->dtype() == DType::I8;
  };
  const bool all = !uses.empty() && !graph.is_output(input) &&
                   std::all_of(uses.begin(), uses.end(), takes_bytes);
  if (all) type.quant = pixel_params(DType::U8);
  graph.set_type(input, std::move(type));
  if (all) return {};
  CastAttrs attrs;
  attrs.to = DType::F32;
  EC_TRY(Tensor * reals,
         graph.add_single(OpKind::Cast, {input}, Attrs(attrs), Location("preprocessing", "Cast")));
  for (const Use& use : uses) graph.set_operand(use.op, use.index, reals);
  for (size_t i = 0; i < graph.outputs().size(); ++i)
    if (graph.outputs()[i] == input) graph.set_output(i, reals);
  return {};
}

}  // namespace ec::quantize
