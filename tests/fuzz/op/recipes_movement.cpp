// Operations that move elements.
#include <algorithm>
#include <numeric>

#include "fuzz/op/recipe_tools.h"
#include "fuzz/op/recipes.h"

namespace ec::fuzz {
namespace {

void transpose(Builder& b, Call& c) {
  Tensor* x = anything(b, 0, 5);
  std::vector<int64_t> perm(x->shape()->rank());
  std::iota(perm.begin(), perm.end(), 0);
  for (size_t i = perm.size(); i > 1; --i) std::swap(perm[i - 1], perm[b.random().index(i)]);
  if (b.random().chance(10)) perm.clear();
  c.attrs = TransposeAttrs{std::move(perm)};
  c.inputs = {x};
}
void concat(Builder& b, Call& c) {
  Tensor* x = b.reals(1, 4);
  const Sizes sizes = *b.sizes_of(x);
  const int64_t axis = axis_of(b, sizes.size());
  c.attrs = AxisAttrs{axis};
  c.inputs = {x};
  for (int64_t i = b.random().pick(0, 3); i > 0; --i) {
    Sizes other = sizes;
    other[plain(axis, sizes.size())] = b.size(4);
    c.inputs.push_back(b.reals(other));
  }
}
void split(Builder& b, Call& c) {
  Sizes sizes = b.shape(1, 4);
  const int64_t axis = axis_of(b, sizes.size());
  const int64_t parts = b.random().pick(1, 4);
  c.attrs = AxisAttrs{axis};
  c.outputs = static_cast<size_t>(parts);
  if (b.random().chance(50)) {
    sizes[plain(axis, sizes.size())] = parts * b.random().pick(1, 3);
    c.inputs = {b.reals(sizes)};
    return;
  }
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < parts; ++i) lengths.push_back(b.random().pick(0, 3));
  sizes[plain(axis, sizes.size())] = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  c.inputs = {b.reals(sizes), b.ints(lengths)};
}
void slice(Builder& b, Call& c) {
  Tensor* x = anything(b, 1, 4);
  const Sizes sizes = *b.sizes_of(x);
  std::vector<int64_t> starts, ends, axes, steps;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (b.random().chance(40)) continue;
    axes.push_back(static_cast<int64_t>(d) -
                   (b.random().chance(30) ? static_cast<int64_t>(sizes.size()) : 0));
    starts.push_back(b.random().pick(-sizes[d] - 1, sizes[d] + 1));
    ends.push_back(b.random().chance(20) ? INT64_MAX
                                         : b.random().pick(-sizes[d] - 1, sizes[d] + 1));
    steps.push_back(b.random().chance(60) ? 1 : b.random().one_of<int64_t>({-1, 2, -2, 3}));
  }
  c.inputs = {x, b.ints(starts), b.ints(ends), b.ints(axes)};
  if (b.random().chance(60)) c.inputs.push_back(b.ints(steps));
}
void pad(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  Tensor* x = b.reals(1, 4);
  const Sizes sizes = *b.sizes_of(x);
  std::vector<int64_t> pads;
  for (size_t i = 0; i < 2 * sizes.size(); ++i) {
    const int64_t most = std::max<int64_t>(sizes[i % sizes.size()] - 1, 0);
    pads.push_back(b.random().chance(50) ? 0 : b.random().pick(-1, std::min<int64_t>(most, 3)));
  }
  c.inputs = {x, b.ints(pads)};
  if (b.random().chance(40)) c.inputs.push_back(b.scalar(x->dtype(), 1.0));
}
void tile(Builder& b, Call& c) {
  Tensor* x = anything(b, 1, 4);
  std::vector<int64_t> repeats;
  for (size_t d = 0; d < x->shape()->rank(); ++d)
    repeats.push_back(b.random().pick(b.random().chance(5) ? 0 : 1, 3));
  c.inputs = {x, b.ints(repeats)};
}
void trilu(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  c.inputs = {b.reals(2, 4)};
  if (b.random().chance(60)) c.inputs.push_back(b.ints({}, {b.random().pick(-4, 4)}));
}
void reverse_sequence(Builder& b, Call& c) {
  const int64_t time = b.random().pick(1, 5), n = b.random().pick(1, 4);
  const bool batch_first = b.random().chance(50);
  Sizes sizes = batch_first ? Sizes{n, time} : Sizes{time, n};
  if (b.random().chance(50)) sizes.push_back(b.random().pick(1, 3));
  c.attrs = ReverseSequenceAttrs{batch_first ? 0 : 1, batch_first ? 1 : 0};
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < n; ++i) lengths.push_back(b.random().pick(0, time));
  c.inputs = {b.reals(sizes), b.typed_ints({n}, lengths)};
}
void center_crop_pad(Builder& b, Call& c) {
  Tensor* x = b.reals(1, 4);
  CenterCropPadAttrs attrs;
  std::vector<int64_t> sizes;
  for (size_t d = 0; d < x->shape()->rank(); ++d) {
    if (b.random().chance(30)) continue;
    attrs.axes.push_back(static_cast<int64_t>(d));
    sizes.push_back(b.random().pick(1, 8));
  }
  if (attrs.axes.empty()) sizes = *b.sizes_of(x);
  c.attrs = attrs;
  c.inputs = {x, b.ints(sizes)};
}
void reverse(Builder& b, Call& c) {
  Tensor* x = anything(b, 1, 4);
  ReverseAttrs attrs;
  for (size_t d = 0; d < x->shape()->rank(); ++d)
    if (b.random().chance(50)) attrs.axes.push_back(static_cast<int64_t>(d));
  c.attrs = attrs;
  c.inputs = {x};
}
void space_to_batch(Builder& b, Call& c) {
  const int64_t bh = b.random().pick(1, 2), bw = b.random().pick(1, 2);
  const Sizes sizes = {b.random().pick(1, 2), bh * b.random().pick(1, 3),
                       bw * b.random().pick(1, 3), b.random().pick(1, 3)};
  const int64_t pad_h = b.random().chance(50) ? 0 : bh, pad_w = b.random().chance(50) ? 0 : bw;
  c.inputs = {b.reals(sizes), b.ints({bh, bw}), b.ints({2, 2}, {0, pad_h, pad_w, 0})};
}
void batch_to_space(Builder& b, Call& c) {
  const int64_t bh = b.random().pick(1, 2), bw = b.random().pick(1, 2);
  const Sizes sizes = {bh * bw * b.random().pick(1, 2), b.random().pick(1, 3),
                       b.random().pick(1, 3), b.random().pick(1, 3)};
  c.inputs = {b.reals(sizes), b.ints({bh, bw}), b.ints({2, 2}, {0, bh - 1, 0, bw - 1})};
}
void dynamic_update_slice(Builder& b, Call& c) {
  Tensor* x = b.reals(1, 4);
  Sizes sizes = *b.sizes_of(x);
  std::vector<int64_t> starts;
  for (int64_t& size : sizes) {
    starts.push_back(b.random().pick(-2, size + 2));
    size = b.random().pick(0, size);
  }
  c.inputs = {x, b.reals(sizes), b.typed_ints({static_cast<int64_t>(starts.size())}, starts)};
}

constexpr Recipe kMovement[] = {
    {OpKind::Transpose, transpose},
    {OpKind::Concat, concat},
    {OpKind::Split, split},
    {OpKind::Slice, slice},
    {OpKind::Pad, pad},
    {OpKind::Tile, tile},
    {OpKind::Trilu, trilu},
    {OpKind::ReverseSequence, reverse_sequence},
    {OpKind::CenterCropPad, center_crop_pad},
    {OpKind::Reverse, reverse},
    {OpKind::SpaceToBatch, space_to_batch},
    {OpKind::BatchToSpace, batch_to_space},
    {OpKind::DynamicUpdateSlice, dynamic_update_slice},
};

}  // namespace

const std::span<const Recipe> kMovementRecipes = kMovement;

}  // namespace ec::fuzz
