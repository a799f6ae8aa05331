#include "passes/shapes.h"

#include <algorithm>
#include <numeric>

#include "ops/op_def.h"
#include "passes/match.h"

namespace ec {

std::optional<ReshapeTarget> reshape_target(const std::optional<Shape>& from, const Shape& to) {
  ReshapeTarget target;
  int open = 0;
  bool copies = false, empty = false;
  for (size_t i = 0; i < to.rank(); ++i) {
    const Dim& dim = to[i];
    empty = empty || dim == Dim(0);
    if (dim.is_static()) {
      target.sizes.push_back(dim.size());
    } else if (from && i < from->rank() && dim.same_size((*from)[i])) {
      target.sizes.push_back(0);
      copies = true;
    } else {
      target.sizes.push_back(-1);
      ++open;
    }
  }
  if (open > 1) return std::nullopt;
  // With an empty dimension -1 has no answer, and 0 would be read as "copy".
  if (empty && (open > 0 || copies)) return std::nullopt;
  target.allow_zero = empty;
  return target;
}

Result<Tensor*> add_reshape(Rewriter& rewriter, Tensor* x, const Shape& to,
                            std::initializer_list<const Operation*> from) {
  const auto target = reshape_target(x->shape(), to);
  if (!target) return nullptr;
  return rewriter.add(OpKind::Reshape, {x, rewriter.ints(target->sizes)},
                      ReshapeAttrs{.allow_zero = target->allow_zero}, from);
}

bool is_view(const Operation* op) {
  if (op == nullptr) return false;
  switch (op->kind()) {
    case OpKind::Reshape:
    case OpKind::Flatten:
    case OpKind::Squeeze:
    case OpKind::Unsqueeze:
      return true;
    default:
      return false;
  }
}

Tensor* source_keeping_last(const Tensor* tensor, size_t count) {
  const Operation* view = tensor->producer();
  if (!is_view(view) || has_quant(view)) return nullptr;
  const auto from = static_shape(view->input(0)), to = static_shape(tensor);
  if (!from || !to || from->size() < count || to->size() < count) return nullptr;
  const auto tail = static_cast<std::ptrdiff_t>(count);
  return std::equal(from->end() - tail, from->end(), to->end() - tail) ? view->input(0) : nullptr;
}

Perm identity_perm(size_t rank) {
  Perm perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  return perm;
}

bool is_identity(const Perm& perm) { return perm == identity_perm(perm.size()); }

Perm inverse(const Perm& perm) {
  Perm result(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    result[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return result;
}

Perm compose(const Perm& first, const Perm& second) {
  Perm result(second.size());
  for (size_t i = 0; i < second.size(); ++i) result[i] = first[static_cast<size_t>(second[i])];
  return result;
}

Shape permuted(const Shape& shape, const Perm& perm) {
  std::vector<Dim> dims;
  for (const int64_t axis : perm) dims.push_back(shape[static_cast<size_t>(axis)]);
  return Shape(std::move(dims));
}

std::optional<Perm> perm_of(const Operation* op) {
  const Perm& perm = op->attrs_as<TransposeAttrs>().perm;
  if (!perm.empty()) return perm;
  const auto rank = rank_of(op->input(0));
  if (!rank) return std::nullopt;
  Perm reversed = identity_perm(*rank);
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

bool keeps_order(const Shape& shape, const Perm& perm) {
  int64_t last = -1;
  for (const int64_t axis : perm) {
    if (shape[static_cast<size_t>(axis)] == Dim(1)) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

namespace {

struct Group {
  std::vector<int64_t> from, to;  // dimensions with equal products
};

// Matches runs of dimensions of two static shapes of equal size. Dimensions of size 1 go with the
// run before them.
std::optional<std::vector<Group>> factor_groups(const std::vector<int64_t>& from,
                                                const std::vector<int64_t>& to) {
  std::vector<Group> groups;
  size_t i = 0, k = 0;
  while (i < from.size() || k < to.size()) {
    Group group;
    int64_t a = 1, b = 1;
    const auto take_from = [&] { a *= from[i], group.from.push_back(static_cast<int64_t>(i++)); };
    const auto take_to = [&] { b *= to[k], group.to.push_back(static_cast<int64_t>(k++)); };
    if (i < from.size()) take_from();
    if (k < to.size()) take_to();
    while (a != b) {
      if (a == 0 || b == 0) return std::nullopt;
      if (a < b && i < from.size())
        take_from();
      else if (b < a && k < to.size())
        take_to();
      else
        return std::nullopt;
    }
    if (group.from.empty() || group.to.empty()) {
      // Trailing dimensions of size 1.
      if (groups.empty()) return std::nullopt;
      groups.back().from.insert(groups.back().from.end(), group.from.begin(), group.from.end());
      groups.back().to.insert(groups.back().to.end(), group.to.begin(), group.to.end());
      continue;
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace

std::optional<ViewThenTranspose> view_before_transpose(const Operation* transpose,
                                                       const Tensor* result) {
  const auto perm = perm_of(transpose);
  const auto middle = static_shape(transpose->output());
  const auto to = static_shape(result);
  if (!perm || !middle || !to) return std::nullopt;
  const auto groups = factor_groups(*middle, *to);
  if (!groups) return std::nullopt;
  // Where each group's dimensions stand in the operand, in its order.
  std::vector<std::pair<int64_t, const Group*>> order;
  for (const Group& group : *groups) {
    const int64_t first = (*perm)[static_cast<size_t>(group.from.front())];
    for (size_t i = 0; i < group.from.size(); ++i)
      if ((*perm)[static_cast<size_t>(group.from[i])] != first + static_cast<int64_t>(i))
        return std::nullopt;
    order.emplace_back(first, &group);
  }
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Dim> dims;
  Perm position(to->size());  // of the result's dimensions in the moved view
  for (const auto& [first, group] : order)
    for (const int64_t dim : group->to) {
      position[static_cast<size_t>(dim)] = static_cast<int64_t>(dims.size());
      dims.emplace_back((*to)[static_cast<size_t>(dim)]);
    }
  return ViewThenTranspose{Shape(std::move(dims)), std::move(position)};
}

Perm to_channels_last(size_t rank) {
  Perm perm = identity_perm(rank);
  if (rank > 2) std::rotate(perm.begin() + 1, perm.begin() + 2, perm.end());
  return perm;
}

Perm to_channels_first(size_t rank) { return inverse(to_channels_last(rank)); }

std::optional<std::vector<AxisRange>> slice_ranges(const Operation* op) {
  const auto starts = int_values(op->input(1));
  const auto ends = int_values(op->input(2));
  const auto& shape = op->input(0)->shape();
  if (!starts || !ends || !shape || starts->size() != ends->size()) return std::nullopt;
  std::vector<int64_t> axes = identity_perm(starts->size());
  std::vector<int64_t> steps(starts->size(), 1);
  if (op->input(3) != nullptr) {
    const auto given = int_values(op->input(3));
    if (!given || given->size() != axes.size()) return std::nullopt;
    axes = *given;
  }
  if (op->input(4) != nullptr) {
    const auto given = int_values(op->input(4));
    if (!given || given->size() != steps.size()) return std::nullopt;
    steps = *given;
  }
  std::vector<AxisRange> ranges;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = positive_axis(axes[i], shape->rank());
    if (axis < 0 || axis >= static_cast<int64_t>(shape->rank()) || steps[i] <= 0)
      return std::nullopt;
    const Dim& dim = (*shape)[static_cast<size_t>(axis)];
    if (!dim.is_static()) {
      // The slice takes the whole axis, whatever its size is.
      if ((*starts)[i] == 0 && (*ends)[i] >= INT32_MAX && steps[i] == 1) continue;
      return std::nullopt;
    }
    const auto clamped = [&](int64_t p) {
      return std::clamp<int64_t>(p < 0 ? p + dim.size() : p, 0, dim.size());
    };
    AxisRange range{axis, clamped((*starts)[i]), clamped((*ends)[i]), steps[i]};
    range.end = std::max(range.start, range.end);
    if (range.start == 0 && range.end == dim.size() && range.step == 1) continue;
    ranges.push_back(range);
  }
  return ranges;
}

Result<Tensor*> add_slice(Rewriter& rewriter, Tensor* x, std::span<const AxisRange> ranges,
                          std::initializer_list<const Operation*> from) {
  std::vector<int64_t> starts, ends, axes, steps;
  bool stepped = false;
  for (const AxisRange& range : ranges) {
    starts.push_back(range.start);
    ends.push_back(range.end);
    axes.push_back(range.axis);
    steps.push_back(range.step);
    stepped = stepped || range.step != 1;
  }
  std::vector<Tensor*> inputs{x, rewriter.ints(starts), rewriter.ints(ends), rewriter.ints(axes)};
  if (stepped) inputs.push_back(rewriter.ints(steps));
  return rewriter.add(OpKind::Slice, std::move(inputs), NoAttrs{}, from);
}

}  // namespace ec
