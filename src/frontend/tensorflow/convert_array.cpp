// Blocks of pixels, and convolutions over them: a dilated convolution is written as one over
// interleaved parts of the image.
#include <algorithm>

#include "frontend/graph_builder.h"
#include "frontend/tensorflow/table.h"
#include "frontend/tensorflow/window.h"
#include "support/checked.h"

namespace ec::tf {
namespace {

template <OpKind kKind, class A>
Status blocks(OpContext& ctx) {
  A attrs;
  attrs.block = ctx.attr_int("block_size");
  EC_TRY(attrs.layout, layout_of(ctx, 2));
  return ctx.finish(kKind, {ctx.in(0)}, attrs);
}

// Patches of the image side by side in the channels: the block of a depth where they do not
// overlap, else a convolution with a kernel of its own for every element of a patch.
Status extract_patches(OpContext& ctx) {
  EC_TRY(const size_t rank, ctx.rank());
  if (rank != 4) return ctx.fail(Code::ShapeMismatch, "the input has to have 4 dimensions");
  ConvAttrs attrs;
  attrs.layout = Layout::ChannelsLast;
  EC_TRY(const std::vector<int64_t> kernel, spatial_ints(ctx, "ksizes", attrs.layout, 2));
  EC_TRY(attrs.strides, spatial_ints(ctx, "strides", attrs.layout, 2));
  EC_TRY(attrs.dilations, spatial_ints(ctx, "rates", attrs.layout, 2));
  EC_CHECK_OK(set_padding(ctx, ctx.in(0), kernel, attrs));
  GraphBuilder b(ctx.graph(), ctx.location());
  ec::Tensor* x = b.to_float(ctx.in(0));
  const int64_t channels = b.size(x, 3), side = kernel[0];
  const bool apart = attrs.strides == kernel && kernel[1] == side && attrs.pads == Ints(4, 0) &&
                     attrs.dilations == Ints(2, 1) && b.size(x, 1) % side == 0 &&
                     b.size(x, 2) % side == 0;
  EC_CHECK_OK(b.status());
  if (channels < 1) return ctx.fail(Code::ShapeMismatch, "the image has no channels");
  if (apart) {
    SpaceToDepthAttrs blocks;
    blocks.block = side;
    blocks.layout = Layout::ChannelsLast;
    return ctx.finish(OpKind::SpaceToDepth, {x}, blocks);
  }
  constexpr int64_t kMaxPatch = 4096;
  const auto patch = checked_extent(std::vector<int64_t>{kernel[0], kernel[1], channels}, 1);
  if (!patch || *patch < 1 || *patch > kMaxPatch)
    return ctx.fail(Code::TooLarge, "a patch is too large");
  EC_CHECK_OK(ctx.take_room(static_cast<size_t>(*patch * *patch) * sizeof(float)));
  std::vector<float> ones(static_cast<size_t>(*patch * *patch), 0.0f);
  for (int64_t i = 0; i < *patch; ++i) ones[static_cast<size_t>(i * *patch + i)] = 1.0f;
  ec::Tensor* weights =
      b.floats(Shape{Dim(*patch), Dim(kernel[0]), Dim(kernel[1]), Dim(channels)}, ones);
  return ctx.finish(OpKind::Conv, {x, weights}, attrs);
}

// Block shape and pads or crops are lists of numbers and of pairs.
Result<ec::Tensor*> batch_blocks(OpContext& ctx, OpKind kind) {
  EC_TRY(ec::Tensor * block, ctx.as_i64(1));
  EC_TRY(ec::Tensor * pairs, ctx.cast(ctx.in(2), DType::I64));
  return ctx.add(kind, {ctx.in(0), block, pairs});
}

Status space_to_batch(OpContext& ctx) {
  EC_TRY(ec::Tensor * y, batch_blocks(ctx, OpKind::SpaceToBatch));
  return ctx.set(0, y);
}

bool is_unit_view(const Operation* op) {
  return op != nullptr && (op->kind() == OpKind::Squeeze || op->kind() == OpKind::Unsqueeze);
}

// Convolution of a dilation: space_to_batch, convolution, batch_to_space. A convolution of one
// dimension has a dimension of size 1 put in and taken out again around it.
struct DilatedConv {
  Operation* space = nullptr;   // space_to_batch
  Operation* before = nullptr;  // unsqueeze, or none
  Operation* conv = nullptr;
  Operation* after = nullptr;  // squeeze, or none
};

std::optional<DilatedConv> find_dilated(ec::Tensor* x) {
  DilatedConv found;
  Operation* op = x->producer();
  if (is_unit_view(op) && op->kind() == OpKind::Squeeze) {
    found.after = op;
    op = op->input(0)->producer();
  }
  if (op == nullptr || op->kind() != OpKind::Conv || op->inputs().size() != 2) return std::nullopt;
  found.conv = op;
  op = op->input(0)->producer();
  if (found.after != nullptr) {
    if (!is_unit_view(op) || op->kind() != OpKind::Unsqueeze) return std::nullopt;
    found.before = op;
    op = op->input(0)->producer();
  }
  if (op == nullptr || op->kind() != OpKind::SpaceToBatch) return std::nullopt;
  found.space = op;
  const auto& attrs = found.conv->attrs_as<ConvAttrs>();
  const auto is = [](const std::vector<int64_t>& values, int64_t wanted) {
    return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == wanted; });
  };
  if (attrs.layout != Layout::ChannelsLast || attrs.auto_pad != AutoPad::Explicit ||
      !is(attrs.pads, 0) || !is(attrs.strides, 1) || !is(attrs.dilations, 1))
    return std::nullopt;
  return found;
}

// The one convolution with dilations, or null where the numbers are not known.
Result<ec::Tensor*> as_dilated(OpContext& ctx, const DilatedConv& found) {
  const auto block = known_ints(found.space->input(1)), crops = known_ints(ctx.in(2)),
             pads = known_ints(found.space->input(2)), back = known_ints(ctx.in(1));
  const auto& old = found.conv->attrs_as<ConvAttrs>();
  const size_t spatial = old.strides.size(), blocks = block ? block->size() : 0;
  // An unsqueezed dimension comes first or last among the spatial ones.
  size_t first = 0;
  if (found.before != nullptr) {
    const auto axes = known_ints(found.before->input(1)),
               removed = known_ints(found.after->input(1));
    if (!axes || axes->size() != 1 || !removed || *removed != *axes || blocks != 1 ||
        spatial != 2 || ((*axes)[0] != 1 && (*axes)[0] != 2))
      return static_cast<ec::Tensor*>(nullptr);
    first = (*axes)[0] == 1 ? 1 : 0;
  } else if (blocks != spatial) {
    return static_cast<ec::Tensor*>(nullptr);
  }
  if (!back || !pads || !crops || *back != *block || pads->size() != 2 * blocks ||
      crops->size() != 2 * blocks)
    return static_cast<ec::Tensor*>(nullptr);
  ConvAttrs attrs = old;
  for (size_t i = 0; i < blocks; ++i) {
    // What is cropped at the beginning has to be whole steps: it is the padding up to the block.
    if ((*crops)[2 * i] != 0) return static_cast<ec::Tensor*>(nullptr);
    const int64_t begin = (*pads)[2 * i], before = (*pads)[2 * i + 1], cut = (*crops)[2 * i + 1];
    if (begin < 0 || cut < 0 || before < cut || (*block)[i] < 1)
      return static_cast<ec::Tensor*>(nullptr);
    const int64_t end = before - cut;
    attrs.dilations[first + i] = (*block)[i];
    attrs.pads[first + i] = begin;
    attrs.pads[spatial + first + i] = end;
  }
  ec::Tensor* x = found.space->input(0);
  if (found.before != nullptr) {
    EC_TRY(x, ctx.add(OpKind::Unsqueeze, {x, found.before->input(1)}));
  }
  ec::Tensor* y = nullptr;
  {
    OpSpec spec;
    spec.attrs = attrs;
    spec.location = found.conv->location();
    EC_TRY(Operation * conv,
           ctx.graph().add(OpKind::Conv, {x, found.conv->input(1)}, std::move(spec)));
    y = conv->output();
  }
  if (found.after != nullptr) {
    EC_TRY(y, ctx.add(OpKind::Squeeze, {y, found.after->input(1)}));
  }
  return y;
}

Status batch_to_space(OpContext& ctx) {
  if (const auto found = find_dilated(ctx.in(0))) {
    EC_TRY(ec::Tensor * y, as_dilated(ctx, *found));
    // The other form stays for whoever reads a part of it; if nobody does, it goes at the end.
    if (y != nullptr) return ctx.set(0, y);
  }
  EC_TRY(ec::Tensor * y, batch_blocks(ctx, OpKind::BatchToSpace));
  return ctx.set(0, y);
}

constexpr OpRow kRows[] = {
    {"DepthToSpace", {1, 1}, blocks<OpKind::DepthToSpace, DepthToSpaceAttrs>},
    {"SpaceToDepth", {1, 1}, blocks<OpKind::SpaceToDepth, SpaceToDepthAttrs>},
    {"ExtractImagePatches", {1, 1}, extract_patches},
    {"SpaceToBatchND", {3, 3}, space_to_batch},
    {"BatchToSpaceND", {3, 3}, batch_to_space},
};

}  // namespace

const std::span<const OpRow> kArrayRows = kRows;

}  // namespace ec::tf
