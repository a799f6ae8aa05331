#include "quantize/fold_input/fold_preprocessing.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/attrs.h"
#include "ops/op_def.h"
#include "quantize/fold_input/pixel_layers.h"
#include "quantize/fold_input/preprocessing_keys.h"
#include "support/strings.h"

namespace ec::quantize {
namespace {

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

// The convolution that reads nothing but the input and whose weights can take the affine along.
Operation* constant_reader(const Graph& graph, const Tensor* input, size_t channels) {
  if (!graph.has_single_use(input) || input->uses().front().index != 0) return nullptr;
  Operation* op = input->uses().front().op;
  if (op->kind() != OpKind::Conv || !is_float_constant(op->input(1))) return nullptr;
  if (op->input(2) != nullptr && !is_float_constant(op->input(2))) return nullptr;
  const auto& attrs = op->attrs_as<ConvAttrs>();
  const Shape& weights = *op->input(1)->shape();
  const Dim read = weights[attrs.layout == Layout::ChannelsFirst ? 1 : weights.rank() - 1];
  return attrs.groups == 1 && read.size() == static_cast<int64_t>(channels) ? op : nullptr;
}

}  // namespace

Result<FoldedInput> fold_preprocessing(Graph& graph, const Preprocessing& preprocessing,
                                       PixelArithmetic arithmetic) {
  for (const Tensor* tensor : graph.tensors())
    if (tensor->type().quant)
      return Error(Code::Usage, "--fold-preprocessing works on float models, this one is quantised")
          .hint("fold while quantising: give the float model");
  EC_TRY(const ImageInput image, find_image_input(graph, preprocessing));
  const auto channels = static_cast<size_t>(image.form.channels);
  const ChannelAffine affine = affine_of(preprocessing, channels);
  Tensor* input = image.tensor;
  Operation* reader = constant_reader(graph, input, channels);
  const bool foldable =
      reader != nullptr && (affine.keeps_zero() || pads_nothing(reader->attrs_as<ConvAttrs>()));
  const bool centred = reader != nullptr && !foldable && arithmetic == PixelArithmetic::Integer;
  if (foldable) fold_affine(graph, reader, affine);

  const std::vector<Use> uses = input->uses().copy();
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
  if (centred) {
    EC_TRY(pixels, fold_centred(graph, reader, pixels, affine));
  } else if (!foldable && !affine.changes_nothing()) {
    EC_TRY(pixels, normalised_pixels(graph, pixels, affine, image.form.layout));
  }
  if (pixels != input) {
    for (const Use& use : uses) graph.set_operand(use.op, use.index, pixels);
    for (size_t i = 0; is_output && i < graph.outputs().size(); ++i)
      if (graph.outputs()[i] == input) graph.set_output(i, pixels);
  }

  FoldedInput folded{input->name(), {}};
  folded.rest.resize = preprocessing.resize;
  folded.rest.shorter_side = preprocessing.shorter_side;
  folded.rest.border = preprocessing.border;
  folded.rest.pixel_range = 255;
  folded.rest.layout = Layout::ChannelsLast;
  graph.metadata()[std::string(kPreprocessingKey)] = folded.rest.text();
  graph.metadata()[std::string(kFoldedPreprocessingKey)] = preprocessing.text();
  return folded;
}

Status bytes_at_input(Graph& graph, std::string_view name) {
  Tensor* input = graph.find_tensor(name);
  if (input == nullptr || !input->is_input() || input->dtype() != DType::F32) return {};
  const std::vector<Use> uses = input->uses().copy();
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
