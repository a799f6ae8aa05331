// Operations that read and write by indices.
#include <algorithm>

#include "fuzz/op/recipe_tools.h"
#include "fuzz/op/recipes.h"

namespace ec::fuzz {
namespace {

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

constexpr Recipe kIndex[] = {
    {OpKind::Gather, gather},        {OpKind::GatherElements, gather_elements},
    {OpKind::GatherNd, gather_nd},   {OpKind::ScatterElements, scatter_elements},
    {OpKind::ScatterNd, scatter_nd}, {OpKind::TensorScatter, tensor_scatter},
    {OpKind::OneHot, one_hot},       {OpKind::NonZero, non_zero},
    {OpKind::Compress, compress},    {OpKind::Unique, unique},
};

}  // namespace

const std::span<const Recipe> kIndexRecipes = kIndex;

}  // namespace ec::fuzz
