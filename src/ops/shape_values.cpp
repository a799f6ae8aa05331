#include "ops/shape_values.h"

#include <algorithm>

#include "ops/broadcast.h"

namespace ec {
namespace {

constexpr int64_t kMaxElements = 64;

// Narrow integers wrap early and never hold shapes.
bool holds_sizes(DType dtype) {
  return dtype == DType::I64 || dtype == DType::I32 || dtype == DType::U64 || dtype == DType::U32 ||
         dtype == DType::Bool;
}

bool fits(const Dim& dim, DType dtype) {
  if (!dim.is_static()) return dtype != DType::Bool;
  switch (dtype) {
    case DType::I32:
      return dim.size() <= INT32_MAX;
    case DType::U32:
      return dim.size() <= UINT32_MAX;
    case DType::Bool:
      return dim.size() <= 1;
    default:
      return true;
  }
}

void set_known(InferContext& ctx, std::vector<Dim> dims) {
  const DType dtype = ctx.results()[0].dtype;
  for (Dim& dim : dims)
    if (!fits(dim, dtype)) dim = Dim::unknown();
  if (std::all_of(dims.begin(), dims.end(), [](const Dim& d) { return d.is_unknown(); })) return;
  ctx.set_dim_values(0, std::move(dims));
}

// Whether result 0 is small enough to be tracked.
bool is_tracked(InferContext& ctx) {
  const TensorType& type = ctx.results()[0];
  const auto count = type.num_elements();
  return holds_sizes(type.dtype) && count && *count > 0 && *count <= kMaxElements;
}

// Offsets of one operand's elements in the order of the result's.
std::vector<size_t> broadcast_offsets(const InferContext& ctx, size_t operand,
                                      std::span<const int64_t> target) {
  const std::vector<int64_t> shape = ctx.shape(operand)->sizes();
  const std::span<const int64_t> shapes[] = {shape};
  const BroadcastPlan plan = plan_broadcast(target, shapes);
  std::vector<size_t> offsets;
  for_each_run<1>(plan, [&](int64_t, const std::array<int64_t, 1>& at) {
    for (int64_t i = 0; i < plan.inner; ++i)
      offsets.push_back(static_cast<size_t>(at[0] + i * plan.inner_strides[0]));
  });
  return offsets;
}

}  // namespace

Dim dim_or_unknown(std::optional<int64_t> value) {
  return value && *value >= 0 ? Dim(*value) : Dim::unknown();
}

std::optional<std::vector<ShapeElement>> shape_elements(const InferContext& ctx, size_t i) {
  if (!ctx.has(i) || !holds_sizes(ctx.dtype(i))) return std::nullopt;
  const auto count = ctx.type(i).num_elements();
  if (!count || *count > kMaxElements) return std::nullopt;
  std::vector<ShapeElement> elements;
  if (const auto ints = ctx.int_values(i)) {
    for (const int64_t v : *ints) {
      if (v < 0 && ctx.dtype(i) == DType::U64) return std::nullopt;  // above INT64_MAX
      elements.push_back(ShapeElement::constant(v));
    }
  } else if (const auto dims = ctx.dim_values(i)) {
    elements.assign(dims->begin(), dims->end());
  } else {
    return std::nullopt;
  }
  if (static_cast<int64_t>(elements.size()) != *count) return std::nullopt;
  return elements;
}

void propagate_unary(InferContext& ctx, const ElementRule& rule) {
  if (!is_tracked(ctx)) return;
  const auto elements = shape_elements(ctx, 0);
  if (!elements) return;
  std::vector<Dim> dims;
  for (const ShapeElement& element : *elements) dims.push_back(rule(element));
  set_known(ctx, std::move(dims));
}

void propagate_binary(InferContext& ctx, const ElementPairRule& rule) {
  if (!is_tracked(ctx)) return;
  const auto a = shape_elements(ctx, 0), b = shape_elements(ctx, 1);
  if (!a || !b) return;
  const std::vector<int64_t> target = ctx.results()[0].shape->sizes();
  const auto at_a = broadcast_offsets(ctx, 0, target), at_b = broadcast_offsets(ctx, 1, target);
  std::vector<Dim> dims;
  for (size_t i = 0; i < at_a.size(); ++i) dims.push_back(rule((*a)[at_a[i]], (*b)[at_b[i]]));
  set_known(ctx, std::move(dims));
}

void propagate_where(InferContext& ctx) {
  if (!is_tracked(ctx)) return;
  const auto condition = shape_elements(ctx, 0);
  const auto x = shape_elements(ctx, 1), y = shape_elements(ctx, 2);
  if (!x && !y) return;
  const std::vector<int64_t> target = ctx.results()[0].shape->sizes();
  // Operands of open shape have no known elements: their offsets are not needed.
  std::array<std::vector<size_t>, 3> at;
  for (size_t k = 0; k < 3; ++k)
    if (ctx.type(k).is_static()) at[k] = broadcast_offsets(ctx, k, target);
  std::vector<Dim> dims;
  for (size_t i = 0; i < static_cast<size_t>(*ctx.results()[0].num_elements()); ++i) {
    const auto chosen = condition ? (*condition)[at[0][i]].constant() : std::nullopt;
    if (chosen) {
      const auto& source = *chosen != 0 ? x : y;
      const auto& offsets = *chosen != 0 ? at[1] : at[2];
      dims.push_back(source ? (*source)[offsets[i]].dim() : Dim::unknown());
    } else if (x && y && (*x)[at[1][i]].same((*y)[at[2][i]])) {
      dims.push_back((*x)[at[1][i]].dim());
    } else {
      dims.push_back(Dim::unknown());
    }
  }
  set_known(ctx, std::move(dims));
}

}  // namespace ec
