// Shapes, quantisation and random numbers.
#include <algorithm>

#include "fuzz/op/recipe_tools.h"
#include "fuzz/op/recipes.h"

namespace ec::fuzz {
namespace {

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
  c.inputs = {b.of_type(DType::F32, 0, 4)};
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
const std::span<const Recipe> kQuantRecipes = kQuant;

}  // namespace ec::fuzz
