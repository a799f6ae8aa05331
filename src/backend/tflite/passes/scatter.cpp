// Elements written into a tensor by their indices. TFLite adds updates to zeros; everything else is
// made of that: sums are added to what is there, replaced elements are chosen by a mask of the same
// kind.
#include <algorithm>
#include <set>
#include <span>

#include "backend/tflite/passes/rules.h"
#include "ops/convert.h"
#include "passes/replacement.h"
#include "passes/tables.h"

namespace ec::passes {
namespace {

Tensor* i32_constant(Rewriter& r, const Shape& shape, const std::vector<int64_t>& values) {
  const std::vector<int32_t> narrow(values.begin(), values.end());
  return r.graph().add_constant<int32_t>("", shape, std::span<const int32_t>(narrow));
}

// Negative indices count from the end: the same counted from the begin.
Tensor* from_begin(Replacement& p, Tensor* indices, Tensor* sizes) {
  if (!p.ok()) return indices;
  if (const auto known = int_values(indices))
    if (std::none_of(known->begin(), known->end(), [](int64_t i) { return i < 0; })) return indices;
  Tensor* wrapped = p.add(indices, sizes);
  Tensor* negative = p.op(OpKind::Less, {indices, p.number(indices, 0)});
  return p.op(OpKind::Where, {negative, wrapped, indices});
}

// Which elements are replaced, as the same scatter of ones.
Tensor* replaced(Replacement& p, Rewriter& r, Tensor* indices, const std::vector<int64_t>& shape,
                 const std::vector<int64_t>& updates) {
  const auto count = [](const std::vector<int64_t>& sizes) {
    return static_cast<size_t>(count_elements(sizes));
  };
  Tensor* zeros = i32_constant(r, Shape::of(shape), std::vector<int64_t>(count(shape), 0));
  Tensor* ones = i32_constant(r, Shape::of(updates), std::vector<int64_t>(count(updates), 1));
  Tensor* hits =
      p.op(OpKind::ScatterNd, {zeros, indices, ones}, ScatterNdAttrs{.reduction = Reduction::Add});
  return p.op(OpKind::Greater, {hits, p.number(hits, 0)});
}

Tensor* sums_into_zeros(Replacement& p, Rewriter& r, Tensor* indices, Tensor* updates,
                        const std::vector<int64_t>& shape) {
  if (!p.ok()) return nullptr;
  const size_t bytes = static_cast<size_t>(count_elements(shape)) * element_size(updates->dtype());
  const std::vector<std::byte> nothing(bytes);
  Tensor* zeros = r.graph().add_constant("", TensorType(updates->dtype(), Shape::of(shape)),
                                         Blob::copy_of(std::span<const std::byte>(nothing)));
  return p.op(OpKind::ScatterNd, {zeros, indices, updates},
              ScatterNdAttrs{.reduction = Reduction::Add});
}

// Whether two updates may have one index: a sum adds them all, no other operator of the file format
// handles that. Without a reduction ONNX requires the indices to differ.
bool may_repeat(const Tensor* indices, std::span<const int64_t> sizes, Reduction reduction) {
  if (reduction == Reduction::Add) return false;
  const auto values = int_values(indices);
  if (!values) return reduction != Reduction::None;
  const size_t row = sizes.size();
  if (row == 0) return true;
  std::set<std::vector<int64_t>> seen;
  for (size_t i = 0; i + row <= values->size(); i += row) {
    std::vector<int64_t> place;
    place.reserve(row);
    for (size_t d = 0; d < row; ++d) {
      const int64_t index = (*values)[i + d];
      place.push_back(index < 0 ? index + sizes[d] : index);
    }
    if (!seen.insert(std::move(place)).second) return true;
  }
  return false;
}

// The updates and what was there, as the reduction joins them.
Tensor* joined(Replacement& p, Reduction reduction, Tensor* x, Tensor* updates) {
  switch (reduction) {
    case Reduction::Mul:
      return p.mul(x, updates);
    case Reduction::Max:
      return p.max(x, updates);
    case Reduction::Min:
      return p.min(x, updates);
    default:
      return updates;
  }
}

bool has_kernel(DType dtype) {
  return dtype == DType::F32 || dtype == DType::I32 || dtype == DType::I64 || dtype == DType::I8 ||
         dtype == DType::U8;
}

Result<bool> expand_scatter_nd(Rewriter& r, Operation* op) {
  const Reduction reduction = op->attrs_as<ScatterNdAttrs>().reduction;
  const auto shape = static_shape(op->input(0)), index = static_shape(op->input(1)),
             updates = static_shape(op->input(2));
  if (!is_plain(op) || !shape || !index || !updates || index->empty()) return false;
  if (!has_kernel(op->output()->dtype()) || !fits_table(*shape) || !fits_table(*updates))
    return false;
  const auto row = static_cast<size_t>(index->back());
  const bool is_ready = reduction == Reduction::Add && op->input(1)->dtype() == DType::I32;
  const std::vector<int64_t> sizes(shape->begin(), shape->begin() + static_cast<int64_t>(row));
  if (is_ready || may_repeat(op->input(1), sizes, reduction)) return false;
  Replacement p(r, op);
  Tensor* indices = from_begin(p, p.cast(op->input(1), DType::I32),
                               i32_constant(r, Shape{static_cast<int64_t>(row)}, sizes));
  Tensor* x = op->input(0);
  Tensor* sums = sums_into_zeros(p, r, indices, op->input(2), *shape);
  if (reduction == Reduction::Add) return p.replace(p.add(x, sums));
  Tensor* mask = replaced(p, r, indices, *shape, *updates);
  Tensor* news = joined(p, reduction, x, sums);
  return p.replace(p.op(OpKind::Where, {mask, news, x}));
}

// Indices along an axis become flat indices into the flattened tensor.
Result<bool> expand_scatter_elements(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<ScatterElementsAttrs>();
  const auto shape = static_shape(op->input(0)), updates = static_shape(op->input(1));
  if (!is_plain(op) || !shape || !updates || shape->empty() || !fits_table(*updates)) return false;
  const auto axis = static_cast<size_t>(positive_axis(attrs.axis, shape->size()));
  std::vector<int64_t> stride(shape->size(), 1);
  for (size_t d = shape->size(); d-- > 1;) stride[d - 1] = stride[d] * (*shape)[d];
  const int64_t count = count_elements(*updates);
  std::vector<int64_t> base(static_cast<size_t>(count), 0);
  for (size_t i = 0; i < base.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    for (size_t d = updates->size(); d-- > 0;) {
      const int64_t at = rest % (*updates)[d];
      rest /= (*updates)[d];
      base[i] += d == axis ? 0 : at * stride[d];
    }
  }
  Replacement p(r, op);
  Tensor* indices = p.sized(p.cast(op->input(1), DType::I32), {count, 1});
  indices = from_begin(p, indices, i32_constant(r, Shape{1}, {(*shape)[axis]}));
  if (stride[axis] != 1) indices = p.mul(indices, static_cast<double>(stride[axis]));
  indices = p.add(indices, i32_constant(r, Shape{count, 1}, base));
  Tensor* flat = p.sized(op->input(0), {count_elements(*shape)});
  Tensor* news = p.sized(op->input(2), {count});
  Tensor* y =
      p.op(OpKind::ScatterNd, {flat, indices, news}, ScatterNdAttrs{.reduction = attrs.reduction});
  return p.replace(p.sized(y, *shape));
}

// Batch dimensions of gather_nd: their coordinates become part of the indices.
Result<bool> expand_gather_nd(Rewriter& r, Operation* op) {
  const auto batch = static_cast<size_t>(op->attrs_as<GatherNdAttrs>().batch_dims);
  const auto index = static_shape(op->input(1)), shape = static_shape(op->input(0));
  if (batch == 0 || has_quant(op) || !index || !shape || batch >= index->size()) return false;
  std::vector<int64_t> sizes = *index;
  sizes.back() = static_cast<int64_t>(batch);
  if (!fits_table(sizes)) return false;
  std::vector<int64_t> coordinates(static_cast<size_t>(count_elements(sizes)));
  int64_t inner = 1;
  for (size_t d = batch; d + 1 < index->size(); ++d) inner *= (*index)[d];
  for (size_t i = 0; i < coordinates.size(); ++i) {
    int64_t at = static_cast<int64_t>(i / batch) / inner;
    for (size_t d = batch; d-- > i % batch + 1;) at /= (*index)[d];
    coordinates[i] = at % (*index)[i % batch];
  }
  Replacement p(r, op);
  Tensor* rows = i32_constant(r, Shape::of(sizes), coordinates);
  const std::vector<int64_t> limits(shape->begin() + static_cast<int64_t>(batch),
                                    shape->begin() + static_cast<int64_t>(batch) + index->back());
  Tensor* indices = from_begin(p, p.cast(op->input(1), DType::I32),
                               i32_constant(r, Shape{index->back()}, limits));
  indices = p.concat({rows, indices}, static_cast<int64_t>(index->size()) - 1);
  return p.replace(p.op(OpKind::GatherNd, {op->input(0), indices}, GatherNdAttrs{}));
}

constexpr RewriteRule kRules[] = {
    {OpKind::ScatterElements, expand_scatter_elements, "scatters"},
    {OpKind::ScatterNd, expand_scatter_nd, "scatters"},
    {OpKind::GatherNd, expand_gather_nd, "gathers"},
};

}  // namespace

const std::span<const RewriteRule> kTfliteScatter = kRules;

}  // namespace ec::passes
