// Shapes, movement, indices, quantisation and random numbers.
#include <algorithm>
#include <numeric>

#include "fuzz/op/recipes.h"

namespace ec::fuzz {
namespace {

// Any tensor whose sizes are known; movement does not care for the type.
Tensor* anything(Builder& b, int64_t least, int64_t most) {
  return b.random().chance(20) ? b.of_type(b.any_type(), b.shape(least, most))
                               : b.reals(least, most);
}
int64_t axis_of(Builder& b, size_t rank) {
  const auto r = static_cast<int64_t>(rank);
  return b.random().pick(-r, r - 1);
}
size_t plain(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

// --- shapes --------------------------------------------------------------------------------------

void reshape(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  Tensor* x = anything(b, 0, 5);
  int64_t rest = count_elements(*b.sizes_of(x));
  std::vector<int64_t> shape;
  while (rest > 1 && shape.size() < 4 && b.random().chance(70)) {
    int64_t part = b.random().pick(1, 6);
    while (rest % part != 0) --part;
    shape.push_back(part);
    rest /= part;
  }
  shape.push_back(b.random().chance(40) ? -1 : rest);
  std::rotate(shape.begin(),
              shape.begin() + static_cast<std::ptrdiff_t>(b.random().index(shape.size())),
              shape.end());
  c.inputs = {x, b.ints(shape)};
}
void flatten(Builder& b, Call& c) {
  Tensor* x = anything(b, 0, 5);
  const auto rank = static_cast<int64_t>(x->shape()->rank());
  c.attrs = FlattenAttrs{b.random().pick(-rank, rank)};
  c.inputs = {x};
}
void squeeze(Builder& b, Call& c) {
  Sizes sizes = b.shape(1, 4);
  std::vector<int64_t> axes;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (b.random().chance(50)) {
      sizes[d] = 1;
      axes.push_back(static_cast<int64_t>(d));
    }
  c.inputs = {b.reals(sizes)};
  if (b.random().chance(70)) c.inputs.push_back(b.ints(axes));
}
void unsqueeze(Builder& b, Call& c) {
  Tensor* x = anything(b, 0, 4);
  const auto rank = static_cast<int64_t>(x->shape()->rank());
  std::vector<int64_t> axes = {b.random().pick(0, rank)};
  if (b.random().chance(20)) axes = {0, rank + 1};
  c.inputs = {x, b.ints(axes)};
}
void expand(Builder& b, Call& c) {
  const Sizes target = b.shape(0, 4);
  c.inputs = {b.reals(b.broadcastable(target)), b.ints(target)};
}
void shape_op(Builder& b, Call& c) {
  c.inputs = {anything(b, 0, 5)};
  ShapeAttrs attrs;
  if (b.random().chance(30)) attrs.start = b.random().pick(-3, 3);
  if (b.random().chance(30)) attrs.end = b.random().pick(-3, 4);
  c.attrs = attrs;
}
void size_op(Builder& b, Call& c) { c.inputs = {anything(b, 0, 5)}; }
void range(Builder& b, Call& c) {
  const DType dtype = b.random().one_of({DType::I64, DType::I32, DType::F32});
  const int64_t start = b.random().pick(-5, 5),
                step = b.random().one_of<int64_t>({1, 2, 3, -1, -2});
  c.inputs = {b.scalar(dtype, static_cast<double>(start)),
              b.scalar(dtype, static_cast<double>(start + step * b.random().pick(0, 8))),
              b.scalar(dtype, static_cast<double>(step))};
}
void fill(Builder& b, Call& c) { c.inputs = {b.ints(b.shape(0, 4)), b.scalar(b.any_type(), 1.0)}; }
void eye_like(Builder& b, Call& c) {
  c.attrs = EyeLikeAttrs{b.random().one_of({DType::F32, DType::I64, DType::Bool}),
                         b.random().pick(-3, 3)};
  c.inputs = {b.reals(2, 2)};
}

// --- movement ------------------------------------------------------------------------------------

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

// --- indices -------------------------------------------------------------------------------------

void gather(Builder& b, Call& c) {
  Tensor* x = anything(b, 1, 4);
  const Sizes sizes = *b.sizes_of(x);
  const int64_t axis = axis_of(b, sizes.size());
  c.attrs = GatherAttrs{axis};
  c.inputs = {x, b.positions(b.shape(0, 2), sizes[plain(axis, sizes.size())])};
}
Sizes within(Builder& b, Sizes sizes, size_t free_axis) {
  for (size_t d = 0; d < sizes.size(); ++d)
    sizes[d] = d == free_axis ? b.size(5) : b.random().pick(0, sizes[d]);
  return sizes;
}
void gather_elements(Builder& b, Call& c) {
  Tensor* x = anything(b, 1, 4);
  const Sizes sizes = *b.sizes_of(x);
  const int64_t axis = axis_of(b, sizes.size());
  const size_t a = plain(axis, sizes.size());
  c.attrs = GatherAttrs{axis};
  c.inputs = {x, b.positions(within(b, sizes, a), sizes[a])};
}
void gather_nd(Builder& b, Call& c) {
  Tensor* x = anything(b, 1, 4);
  const Sizes sizes = *b.sizes_of(x);
  const auto batch = sizes.size() > 1 && b.random().chance(30) ? int64_t{1} : int64_t{0};
  const int64_t width = b.random().pick(1, static_cast<int64_t>(sizes.size()) - batch);
  Sizes indices = batch == 1 ? Sizes{sizes[0]} : Sizes{};
  const Sizes more = b.shape(0, 1);
  indices.insert(indices.end(), more.begin(), more.end());
  indices.push_back(width);
  const int64_t least = *std::min_element(sizes.begin(), sizes.end());
  c.attrs = GatherNdAttrs{batch};
  c.inputs = {x, b.positions(indices, least)};
}
void scatter_elements(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  Tensor* x = b.reals(1, 4);
  const Sizes sizes = *b.sizes_of(x);
  const int64_t axis = axis_of(b, sizes.size());
  const size_t a = plain(axis, sizes.size());
  const Sizes updates = within(b, sizes, a);
  c.attrs.edit<ScatterElementsAttrs>().axis = axis;
  c.inputs = {x, b.positions(updates, sizes[a]), b.reals(updates)};
}
void scatter_nd(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  Tensor* x = b.reals(1, 4);
  const Sizes sizes = *b.sizes_of(x);
  const int64_t width = b.random().pick(1, static_cast<int64_t>(sizes.size()));
  Sizes indices = b.shape(0, 2);
  Sizes updates = indices;
  indices.push_back(width);
  updates.insert(updates.end(), sizes.begin() + width, sizes.end());
  c.inputs = {x, b.positions(indices, *std::min_element(sizes.begin(), sizes.end())),
              b.reals(updates)};
}
void tensor_scatter(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  Tensor* x = b.reals(3, 4);
  Sizes sizes = *b.sizes_of(x);
  const auto axis = static_cast<int64_t>(sizes.size()) - 2;
  auto& length = sizes[static_cast<size_t>(axis)];
  const int64_t whole = length;
  length = b.random().pick(0, length);
  c.attrs.edit<TensorScatterAttrs>().axis = b.random().chance(50) ? axis : -2;
  c.inputs = {x, b.reals(sizes)};
  std::vector<int64_t> at;
  for (int64_t i = 0; i < sizes[0]; ++i)
    at.push_back(b.random().pick(0, std::max<int64_t>(whole - length, 0)));
  if (b.random().chance(70)) c.inputs.push_back(b.ints(at));
}
void one_hot(Builder& b, Call& c) {
  const Sizes sizes = b.shape(0, 3);
  const int64_t depth = b.random().pick(1, 5);
  c.attrs = OneHotAttrs{axis_of(b, sizes.size() + 1)};
  c.inputs = {b.positions(sizes, depth), b.ints({}, {depth}), b.floats({2})};
}
void non_zero(Builder& b, Call& c) { c.inputs = {b.reals(1, 4)}; }
void compress(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  Tensor* x = b.reals(1, 4);
  const Sizes sizes = *b.sizes_of(x);
  const int64_t axis = axis_of(b, sizes.size());
  auto& attrs = c.attrs.edit<CompressAttrs>();
  if (!attrs.flatten) attrs.axis = axis;
  const int64_t most = attrs.flatten ? count_elements(sizes) : sizes[plain(axis, sizes.size())];
  c.inputs = {x, b.of_type(DType::Bool, {b.random().pick(0, most)})};
}
void unique(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  c.inputs = {b.reals(1, 3)};
  auto& attrs = c.attrs.edit<UniqueAttrs>();
  if (!attrs.flatten) attrs.axis = axis_of(b, c.inputs[0]->shape()->rank());
  c.outputs = static_cast<size_t>(b.random().pick(1, 4));
}

// --- quantisation and random numbers -------------------------------------------------------------

DType stored_type(Builder& b) {
  return b.random().chance(70)
             ? b.random().one_of({DType::I8, DType::U8})
             : b.random().one_of({DType::I16, DType::U16, DType::I4, DType::U4, DType::I2,
                                  DType::F8E4M3FN, DType::F8E5M2, DType::F4E2M1});
}
// The shape of scale and zero point: one, per axis, or per block.
Sizes scale_sizes(Builder& b, const Sizes& sizes, int64_t& axis, int64_t& block) {
  axis = axis_of(b, sizes.size());
  const size_t a = plain(axis, sizes.size());
  if (b.random().chance(50)) return {};
  if (b.random().chance(70)) return {sizes[a]};
  block = b.random().pick(1, 3);
  Sizes blocks = sizes;
  blocks[a] = (sizes[a] + block - 1) / block;
  return blocks;
}
void quantize(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  auto& attrs = c.attrs.edit<QuantizeAttrs>();
  attrs.dtype = stored_type(b);
  const Sizes sizes = b.shape(1, 4);
  const Sizes scale = scale_sizes(b, sizes, attrs.axis, attrs.block_size);
  c.inputs = {b.floats(sizes), b.positive(scale)};
  if (b.random().chance(60)) c.inputs.push_back(b.of_type(attrs.dtype, scale));
}
void dequantize(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  auto& attrs = c.attrs.edit<DequantizeAttrs>();
  const DType dtype = stored_type(b);
  const Sizes sizes = b.shape(1, 4);
  const Sizes scale = scale_sizes(b, sizes, attrs.axis, attrs.block_size);
  c.inputs = {b.of_type(dtype, sizes), b.positive(scale)};
  if (b.random().chance(60)) c.inputs.push_back(b.of_type(dtype, scale));
}
void dynamic_quantize(Builder& b, Call& c) {
  c.inputs = {b.of_type(DType::F32, b.shape(0, 4))};
  c.outputs = 3;
}
void fake_quant(Builder& b, Call& c) {
  c.attrs = FakeQuantAttrs{-static_cast<float>(b.random().pick(0, 4)),
                           static_cast<float>(b.random().pick(1, 4)), b.random().pick(2, 16),
                           b.random().chance(30)};
  c.inputs = {b.floats(b.shape(0, 4))};
}
void random_tensor(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  c.inputs = {b.ints(b.shape(0, 3))};
}
void bernoulli(Builder& b, Call& c) {
  c.attrs = BernoulliAttrs{b.random().one_of({DType::F32, DType::I32, DType::Bool}),
                           b.random().pick(0, 9)};
  c.inputs = {b.floats(b.shape(0, 3))};
}
void multinomial(Builder& b, Call& c) {
  c.attrs = MultinomialAttrs{b.random().one_of({DType::I32, DType::I64}), b.random().pick(1, 4),
                             b.random().pick(0, 9)};
  c.inputs = {b.floats({b.size(3), b.random().pick(1, 5)})};
}
void dropout(Builder& b, Call& c) {
  c.attrs = DropoutAttrs{b.random().pick(0, 9)};
  c.inputs = {b.floats(b.shape(0, 4))};
  if (b.random().chance(60)) c.inputs.push_back(b.scalar(DType::F32, 0.5));
  if (c.inputs.size() == 2 && b.random().chance(60))
    c.inputs.push_back(b.flag(b.random().chance(30)));
  c.outputs = static_cast<size_t>(b.random().pick(1, 2));
}

constexpr Recipe kShape[] = {
    {OpKind::Reshape, reshape},     {OpKind::Flatten, flatten}, {OpKind::Squeeze, squeeze},
    {OpKind::Unsqueeze, unsqueeze}, {OpKind::Expand, expand},   {OpKind::Shape, shape_op},
    {OpKind::Size, size_op},        {OpKind::Range, range},     {OpKind::Fill, fill},
    {OpKind::EyeLike, eye_like},
};
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
constexpr Recipe kIndex[] = {
    {OpKind::Gather, gather},        {OpKind::GatherElements, gather_elements},
    {OpKind::GatherNd, gather_nd},   {OpKind::ScatterElements, scatter_elements},
    {OpKind::ScatterNd, scatter_nd}, {OpKind::TensorScatter, tensor_scatter},
    {OpKind::OneHot, one_hot},       {OpKind::NonZero, non_zero},
    {OpKind::Compress, compress},    {OpKind::Unique, unique},
};
constexpr Recipe kQuant[] = {
    {OpKind::Quantize, quantize},
    {OpKind::Dequantize, dequantize},
    {OpKind::DynamicQuantize, dynamic_quantize},
    {OpKind::FakeQuant, fake_quant},
    {OpKind::RandomUniform, random_tensor},
    {OpKind::RandomNormal, random_tensor},
    {OpKind::Bernoulli, bernoulli},
    {OpKind::Multinomial, multinomial},
    {OpKind::Dropout, dropout},
};

}  // namespace

const std::span<const Recipe> kShapeRecipes = kShape;
const std::span<const Recipe> kMovementRecipes = kMovement;
const std::span<const Recipe> kIndexRecipes = kIndex;
const std::span<const Recipe> kQuantRecipes = kQuant;

}  // namespace ec::fuzz
