#include "backend/metal/images.h"

#include <algorithm>

#include "frontend/flexible_shapes.h"
#include "ops/attrs.h"
#include "passes/rewriter.h"
#include "quantize/fold_input/preprocessing_keys.h"

namespace ec::metal {
namespace {

const std::vector<int64_t> kToChannelsFirst{0, 3, 1, 2}, kToChannelsLast{0, 2, 3, 1};

bool is_flexible(const Graph& graph, const std::string& name) {
  return graph.metadata().contains(std::string(kFlexibleShapeKey) + name);
}

// Open sizes in the order of the image.
void turn_sizes(Graph& graph, const std::string& name) {
  for (FlexibleInput& input : flexible_inputs(graph)) {
    if (input.name != name) continue;
    const auto turned = [](const auto& list) {
      auto result = list;
      for (size_t d = 0; d < list.size(); ++d)
        result[d] = list[static_cast<size_t>(kToChannelsFirst[d])];
      return result;
    };
    input.shape = turned(input.shape);
    if (!input.sizes.ranges.empty()) input.sizes.ranges = turned(input.sizes.ranges);
    for (auto& shape : input.sizes.listed) shape = turned(shape);
    set_flexible_input(graph, input);
  }
}

// Bytes of one image that nothing reads but a cast to floats.
bool takes_pixels(const Graph& graph, const Tensor* input) {
  if (input->dtype() != DType::U8 || input->type().quant || !input->shape() ||
      input->shape()->rank() != 4 || graph.is_output(input) || input->uses().empty())
    return false;
  const Shape& sizes = *input->shape();
  if (sizes[0] != Dim(1) || (sizes[3] != Dim(3) && sizes[3] != Dim(1))) return false;
  if (!input->type().is_static() && !is_flexible(graph, input->name())) return false;
  return std::ranges::all_of(input->uses(), [](const Use& use) {
    return use.op->kind() == OpKind::Cast && use.op->output()->dtype() == DType::F32;
  });
}

// What reads the pixels with channels last reads them through a transpose; a transpose back is not
// needed.
Status connect(Graph& graph, Tensor* pixels, Tensor* image) {
  Tensor* channels_last = nullptr;
  for (const Use& use : pixels->uses().copy()) {
    if (use.op->kind() == OpKind::Transpose &&
        use.op->attrs_as<TransposeAttrs>().perm == kToChannelsFirst) {
      graph.replace_all_uses(use.op->output(), image);
      continue;
    }
    if (channels_last == nullptr) {
      EC_TRY(channels_last,
             graph.add_single(OpKind::Transpose, {image}, TransposeAttrs{.perm = kToChannelsLast}));
    }
    graph.set_operand(use.op, use.index, channels_last);
  }
  return {};
}

}  // namespace

Result<std::vector<CoremlImageInput>> give_image_inputs(Graph& graph) {
  std::vector<CoremlImageInput> images;
  if (!graph.metadata().contains(std::string(quantize::kFoldedPreprocessingKey))) return images;
  // One input: others behind it would change their places.
  if (graph.inputs().size() != 1 || !takes_pixels(graph, graph.inputs()[0])) return images;
  Tensor* bytes = graph.inputs()[0];
  const std::string name = bytes->name();
  const Shape sizes = *bytes->shape();
  turn_sizes(graph, name);
  graph.rename(bytes, name + "_bytes");
  Tensor* image =
      graph.add_input(name, TensorType(DType::F32, Shape{1, sizes[3], sizes[1], sizes[2]}));
  for (const Use& use : bytes->uses().copy()) {
    EC_CHECK_OK(connect(graph, use.op->output(), image));
    if (graph.is_output(use.op->output())) return images;
  }
  PassContext context;
  Rewriter rewriter(graph, context);
  for (auto id = static_cast<uint32_t>(graph.operation_id_bound()); id-- > 0;)
    if (Operation* op = graph.operation(id)) rewriter.erase_if_unused(op);
  graph.erase_input(0);
  images.push_back(
      {name, sizes[3] == Dim(3) ? coreml::ColorSpace::Rgb : coreml::ColorSpace::Grayscale});
  return images;
}

}  // namespace ec::metal
