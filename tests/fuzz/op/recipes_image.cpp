// Images: sizes, grids, blocks, boxes.
#include "fuzz/op/recipes.h"

namespace ec::fuzz {
namespace {

void resize(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  auto& attrs = c.attrs.edit<ResizeAttrs>();
  Tensor* x = b.reals(1, 5);
  const Sizes sizes = *b.sizes_of(x);
  const size_t rank = sizes.size();
  // Batch and channels stay more often than not.
  std::vector<double> scales;
  std::vector<int64_t> wanted;
  for (size_t d = 0; d < rank; ++d) {
    const bool stays = rank > 2 && d < 2 && b.random().chance(80);
    scales.push_back(stays ? 1.0 : static_cast<double>(b.random().pick(1, 8)) / 4);
    wanted.push_back(stays ? sizes[d] : b.random().pick(1, 8));
  }
  if (rank > 2 && b.random().chance(30)) {
    for (size_t d = 2; d < rank; ++d) attrs.axes.push_back(static_cast<int64_t>(d));
    scales.erase(scales.begin(), scales.begin() + 2);
    wanted.erase(wanted.begin(), wanted.begin() + 2);
  }
  const auto count = static_cast<int64_t>(wanted.size());
  Tensor* roi = nullptr;
  if (attrs.coordinates == CoordinateMode::CropAndResize) {
    std::vector<double> box(static_cast<size_t>(2 * count), 0.0);
    for (size_t i = static_cast<size_t>(count); i < box.size(); ++i) box[i] = 1.0;
    roi = b.given(value_of(DType::F32, {2 * count}, box), true);
  }
  if (b.random().chance(50)) {
    attrs.aspect = AspectPolicy::Stretch;
    c.inputs = {x, roi, b.made(value_of(DType::F32, {count}, scales), 85)};
  } else {
    c.inputs = {x, roi, nullptr, b.ints(wanted)};
  }
}
void grid_sample(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  const int64_t spatial = b.random().chance(80) ? 2 : b.random().one_of<int64_t>({1, 3});
  Sizes x = {b.random().pick(1, 2), b.random().pick(1, 3)}, grid = {x[0]};
  for (int64_t d = 0; d < spatial; ++d) {
    x.push_back(b.random().pick(1, 5));
    grid.push_back(b.random().pick(1, 4));
  }
  grid.push_back(spatial);
  c.inputs = {b.floats(x), b.floats(grid)};
}
void affine_grid(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  const int64_t spatial = b.random().pick(2, 3), n = b.random().pick(1, 2);
  Sizes size = {n, 2};
  for (int64_t d = 0; d < spatial; ++d) size.push_back(b.random().pick(1, 4));
  c.inputs = {b.floats({n, spatial, spatial + 1}), b.ints(size)};
}
template <class A, bool kToSpace>
void blocks(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  A& attrs = c.attrs.template edit<A>();
  attrs.block = b.random().pick(1, 3);
  int64_t h = b.random().pick(1, 3), w = b.random().pick(1, 3), channels = b.random().pick(1, 2);
  if (kToSpace) {
    channels *= attrs.block * attrs.block;
  } else {
    h *= attrs.block;
    w *= attrs.block;
  }
  c.inputs = {b.reals(attrs.layout == Layout::ChannelsFirst ? Sizes{1, channels, h, w}
                                                            : Sizes{1, h, w, channels})};
}
void nms(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  const int64_t n = b.random().pick(1, 2), count = b.random().pick(1, 6),
                classes = b.random().pick(1, 3);
  c.inputs = {b.of_type(DType::F32, {n, count, 4}), b.of_type(DType::F32, {n, classes, count}),
              b.random().chance(90) ? b.ints({}, {b.random().pick(0, 4)}) : nullptr,
              b.random().chance(70) ? b.scalar(DType::F32, 0.5) : nullptr};
  if (b.random().chance(50)) c.inputs.push_back(b.scalar(DType::F32, 0.25));
}
void detection(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  auto& attrs = c.attrs.edit<DetectionAttrs>();
  attrs.num_classes = b.random().pick(1, 3);
  attrs.max_detections = b.random().pick(1, 6);
  attrs.max_classes_per_detection = b.random().pick(1, attrs.num_classes);
  attrs.detections_per_class = b.random().pick(1, 5);
  const int64_t count = b.random().pick(1, 6);
  c.inputs = {b.of_type(DType::F32, {1, count, 4}),
              b.of_type(DType::F32, {1, count, attrs.num_classes + b.random().pick(0, 1)}),
              b.of_type(DType::F32, {count, 4})};
  c.outputs = 4;
}

constexpr Recipe kImage[] = {
    {OpKind::Resize, resize},
    {OpKind::GridSample, grid_sample},
    {OpKind::AffineGrid, affine_grid},
    {OpKind::DepthToSpace, blocks<DepthToSpaceAttrs, true>},
    {OpKind::SpaceToDepth, blocks<SpaceToDepthAttrs, false>},
    {OpKind::NonMaxSuppression, nms},
    {OpKind::DetectionPostProcess, detection},
};

}  // namespace

const std::span<const Recipe> kImageRecipes = kImage;

}  // namespace ec::fuzz
