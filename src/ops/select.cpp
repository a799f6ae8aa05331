// Ops whose results depend on which elements are there: one_hot, non_zero, compress, unique.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/define.h"
#include "ops/dim_math.h"
#include "ops/indexing.h"

namespace ec::ops {
namespace {

// --- one_hot
// --------------------------------------------------------------------------------------

int64_t integer_of(const ConstView& view) {
  int64_t value = 0;
  load<int64_t>(view, std::span<int64_t>(&value, 1));
  return value;
}

Result<Dim> one_hot_depth(InferContext& ctx) {
  EC_CHECK_OK(require_scalar(ctx, 1, "depth"));
  if (const auto value = ctx.value(1)) {
    const int64_t depth = integer_of(*value);
    if (depth < 0) return ctx.bad_value("depth is " + std::to_string(depth));
    return Dim(depth);
  }
  const auto tracked = tracked_elements(ctx, 1);
  return tracked && tracked->size() == 1 ? tracked->front().dim() : Dim::unknown();
}

Status infer_one_hot(InferContext& ctx) {
  EC_TRY(const Dim depth, one_hot_depth(ctx));
  if (const auto count = ctx.type(2).num_elements(); count && *count != 2)
    return ctx.bad_shape("values must be [off, on], got " + operand_text(ctx, 2));
  const auto& indices = ctx.shape(0);
  if (!indices) {
    ctx.set(0, ctx.dtype(2), std::nullopt);
    return {};
  }
  EC_CHECK_OK(require_rank_limit(ctx, indices->rank() + 1));
  const int64_t axis = ctx.attrs<OneHotAttrs>().axis;
  Shape out = *indices;
  out.dims().insert(out.dims().begin() + axis, depth);
  ctx.set(0, ctx.dtype(2), std::move(out));
  return {};
}

Status one_hot(KernelContext& ctx) {
  const MutableView& y = ctx.output(0);
  const AxisSplit split = split_at(y.shape, static_cast<size_t>(ctx.attrs<OneHotAttrs>().axis));
  const std::vector<int64_t> indices = read_ints(ctx, 0);
  const size_t bytes = element_size(y.dtype);
  const std::byte* const off = ctx.input(2).data;
  fill_elements(y.data, off, bytes, y.count());
  for (size_t i = 0; i < indices.size(); ++i) {
    int64_t index = indices[i];
    if (index < -split.size || index >= split.size) continue;
    if (index < 0) index += split.size;
    const int64_t outer = static_cast<int64_t>(i) / split.inner;
    const int64_t inner = static_cast<int64_t>(i) % split.inner;
    const int64_t at = (outer * split.size + index) * split.inner + inner;
    fill_elements(y.data + static_cast<size_t>(at) * bytes, off + bytes, bytes, 1);
  }
  return {};
}

// --- non_zero
// -------------------------------------------------------------------------------------

Status infer_non_zero(InferContext& ctx) {
  const auto& x = ctx.shape(0);
  const Dim rank = x ? Dim(static_cast<int64_t>(x->rank())) : Dim::unknown();
  ctx.set(0, DType::I64, Shape{rank, Dim::unknown()});
  return {};
}

// Positions of the elements that differ from zero.
std::vector<int64_t> non_zero_positions(const ConstView& x) {
  std::vector<int64_t> found;
  with_compute_type(x.dtype, [&](auto compute) {
    using C = decltype(compute);
    const Reader<C> values(x);
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i] != C{0}) found.push_back(static_cast<int64_t>(i));
  });
  return found;
}

Status non_zero(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  const std::vector<int64_t> found = non_zero_positions(x);
  const auto count = static_cast<int64_t>(found.size());
  EC_CHECK_OK(prepare_output(ctx, 0, DType::I64, {static_cast<int64_t>(x.rank()), count}));
  const auto y = ctx.output(0).as<int64_t>();
  const std::vector<int64_t> strides = row_major_strides(x.shape);
  for (size_t d = 0; d < x.rank(); ++d)
    for (size_t i = 0; i < found.size(); ++i)
      y[d * found.size() + i] = found[i] / strides[d] % x.shape[d];
  return {};
}

// --- compress
// -------------------------------------------------------------------------------------

Status infer_compress(InferContext& ctx) {
  const auto& attrs = ctx.attrs<CompressAttrs>();
  if (ctx.dtype(1) != DType::Bool)
    return ctx.bad_type("condition must be boolean, got " + operand_text(ctx, 1));
  if (ctx.shape(1) && ctx.shape(1)->rank() != 1)
    return ctx.bad_shape("condition must be a list, got " + operand_text(ctx, 1));
  const auto& x = ctx.shape(0);
  if (attrs.flatten) {
    ctx.set(0, ctx.dtype(0), Shape{Dim::unknown()});
    return {};
  }
  std::optional<Shape> out = x;
  if (out) {
    EC_TRY(const int64_t axis, normalize_axis(ctx, attrs.axis, out->rank()));
    (*out)[static_cast<size_t>(axis)] = Dim::unknown();
  }
  ctx.set(0, ctx.dtype(0), std::move(out));
  return {};
}

Status compress(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<CompressAttrs>();
  ConstView x = ctx.input(0);
  const int64_t flat[] = {x.count()};
  if (attrs.flatten) x.shape = flat;
  const size_t axis = attrs.flatten ? 0 : plain_axis(attrs.axis, x.rank());
  std::vector<int64_t> taken = non_zero_positions(ctx.input(1));
  // A condition that is longer than the dimension must not select from behind it.
  if (!taken.empty() && taken.back() >= x.shape[axis])
    return ctx.fail("condition selects entry " + std::to_string(taken.back()) +
                    " of a dimension of size " + std::to_string(x.shape[axis]));
  std::vector<int64_t> shape(x.shape.begin(), x.shape.end());
  shape[axis] = static_cast<int64_t>(taken.size());
  EC_CHECK_OK(prepare_output(ctx, 0, x.dtype, std::move(shape)));
  take_along(ctx.output(0), x, axis, taken);
  return {};
}

// --- unique
// ---------------------------------------------------------------------------------------

Status infer_unique(InferContext& ctx) {
  const auto& attrs = ctx.attrs<UniqueAttrs>();
  const auto& x = ctx.shape(0);
  Dim entries = Dim::unknown();
  std::optional<Shape> out = Shape{Dim::unknown()};
  if (attrs.flatten) {
    const auto count = ctx.type(0).num_elements();
    if (count) entries = Dim(*count);
  } else {
    out = x;
    if (out) {
      EC_TRY(const int64_t axis, normalize_axis(ctx, attrs.axis, out->rank()));
      entries = (*out)[static_cast<size_t>(axis)];
      (*out)[static_cast<size_t>(axis)] = Dim::unknown();
    }
  }
  ctx.set(0, ctx.dtype(0), std::move(out));
  for (size_t i = 1; i < ctx.num_outputs(); ++i)
    ctx.set(i, DType::I64, Shape{i == 2 ? entries : Dim::unknown()});
  return {};
}

// Entries along an axis, compared element by element. All NaN are one value, above all numbers.
template <class C>
class EntryOrder {
 public:
  EntryOrder(const ConstView& x, const AxisSplit& split) : values_(x), split_(split) {}

  // Negative, zero or positive, as entry a is below, the same as or above entry b.
  int compare(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < split_.outer; ++o) {
      const C* const at = values_.data() + o * split_.size * split_.inner;
      for (int64_t i = 0; i < split_.inner; ++i)
        if (const int order = compare_elements(at[a * split_.inner + i], at[b * split_.inner + i]))
          return order;
    }
    return 0;
  }

 private:
  static int compare_elements(C a, C b) {
    if constexpr (std::is_floating_point_v<C>)
      if (std::isnan(a) || std::isnan(b)) return std::isnan(a) - std::isnan(b);
    return a < b ? -1 : b < a ? 1 : 0;
  }

  const Reader<C> values_;
  const AxisSplit split_;
};

constexpr int64_t kMaxEmptyEntries = int64_t{1} << 20;

struct UniqueEntries {
  std::vector<int64_t> first;    // where each different entry occurs first
  std::vector<int64_t> counts;   // how often
  std::vector<int64_t> inverse;  // which one each entry is
};

// Runs of equal entries in `order`, which is sorted and keeps equal entries in their own order.
template <class C>
UniqueEntries find_runs(const EntryOrder<C>& entries, std::span<const int64_t> order) {
  UniqueEntries unique;
  unique.inverse.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || entries.compare(order[i - 1], order[i]) != 0) {
      unique.first.push_back(order[i]);
      unique.counts.push_back(0);
    }
    ++unique.counts.back();
    unique.inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(unique.first.size()) - 1;
  }
  return unique;
}

// Renumbers the entries in the order of their first occurrence.
void order_by_occurrence(UniqueEntries& unique) {
  std::vector<size_t> order(unique.first.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return unique.first[a] < unique.first[b]; });
  UniqueEntries sorted;
  std::vector<int64_t> rank(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = static_cast<int64_t>(i);
    sorted.first.push_back(unique.first[order[i]]);
    sorted.counts.push_back(unique.counts[order[i]]);
  }
  for (const int64_t entry : unique.inverse)
    sorted.inverse.push_back(rank[static_cast<size_t>(entry)]);
  unique = std::move(sorted);
}

UniqueEntries find_unique(const ConstView& x, size_t axis, bool sorted) {
  const AxisSplit split = split_at(x.shape, axis);
  std::vector<int64_t> order(static_cast<size_t>(split.size));
  std::iota(order.begin(), order.end(), int64_t{0});
  UniqueEntries unique;
  with_compute_type(x.dtype, [&](auto compute) {
    const EntryOrder<decltype(compute)> entries(x, split);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return entries.compare(a, b) < 0; });
    unique = find_runs(entries, order);
  });
  if (!sorted) order_by_occurrence(unique);
  return unique;
}

Status unique(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<UniqueAttrs>();
  ConstView x = ctx.input(0);
  const int64_t flat[] = {x.count()};
  if (attrs.flatten) x.shape = flat;
  const size_t axis = attrs.flatten ? 0 : plain_axis(attrs.axis, x.rank());
  // Without elements the number of entries is bounded by nothing in memory.
  if (x.count() == 0 && x.shape[axis] > kMaxEmptyEntries)
    return ctx.fail("an empty tensor has " + std::to_string(x.shape[axis]) + " entries to compare");
  const UniqueEntries found = find_unique(x, axis, attrs.sorted);
  std::vector<int64_t> shape(x.shape.begin(), x.shape.end());
  shape[axis] = static_cast<int64_t>(found.first.size());
  EC_CHECK_OK(prepare_output(ctx, 0, x.dtype, std::move(shape)));
  take_along(ctx.output(0), x, axis, found.first);
  const std::vector<int64_t>* const lists[] = {nullptr, &found.first, &found.inverse,
                                               &found.counts};
  for (size_t i = 1; i < ctx.num_outputs(); ++i) {
    EC_CHECK_OK(prepare_output(ctx, i, DType::I64, {static_cast<int64_t>(lists[i]->size())}));
    std::copy(lists[i]->begin(), lists[i]->end(), ctx.output(i).as<int64_t>().begin());
  }
  return {};
}

}  // namespace

constexpr Rule kOneHotRules[] = {rule::one_element("depth"), rule::new_axis("axis", "indices")};
EC_OP_DEF(OneHot, .signature = "(indices, depth, values) -> y",
          .summary =
              "A new dimension of size depth at axis, values[1] where the index points and "
              "values[0] elsewhere.",
          .rules = kOneHotRules, .infer = infer_one_hot, .reference = one_hot);
EC_OP_DEF(NonZero, .signature = "(x) -> y",
          .summary = "The positions of the elements that are not zero, one row per dimension.",
          .sizes_from_values = true, .infer = infer_non_zero, .reference = non_zero);
constexpr Rule kCompressRules[] = {rule::rank("condition", 1)};
EC_OP_DEF(Compress, .signature = "(x, condition) -> y",
          .summary = "The entries of x along axis, or its elements, where condition is true.",
          .rules = kCompressRules, .sizes_from_values = true, .infer = infer_compress,
          .reference = compress, .quant = QuantRule::SameAsInput, .layout = LayoutRule::Fixed);
EC_OP_DEF(Unique, .signature = "(x) -> (y, indices?, inverse?, counts?)",
          .summary =
              "The different elements of x, or entries along axis, with where they occur "
              "first, which one each entry of x is, and how often they occur.",
          .sizes_from_values = true, .infer = infer_unique, .reference = unique);

}  // namespace ec::ops
