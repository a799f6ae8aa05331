// Ops that make tensors from a few scalars: range, fill, eye_like.
#include <cmath>

#include "ops/define.h"
#include "ops/dim_math.h"
#include "ops/move.h"

namespace ec::ops {
namespace {

// --- range
// ----------------------------------------------------------------------------------------

// The difference of two 64-bit integers needs one bit more.
__extension__ using Wide = __int128;

template <class C>
C scalar_of(const ConstView& view) {
  C value{};
  load<C>(view, std::span<C>(&value, 1));
  return value;
}

// max(ceil((limit - start) / delta), 0); empty when delta is zero or the count is not a size.
std::optional<int64_t> range_count(const ConstView& start, const ConstView& limit,
                                   const ConstView& delta) {
  if (is_float(start.dtype)) {
    const double from = scalar_of<double>(start), to = scalar_of<double>(limit);
    const double count = std::ceil((to - from) / scalar_of<double>(delta));
    if (std::isnan(count) || count >= 9.0e18) return std::nullopt;
    return count <= 0 ? 0 : static_cast<int64_t>(count);
  }
  const auto wide = [](const ConstView& view) -> Wide {
    return view.dtype == DType::U64 ? static_cast<Wide>(scalar_of<uint64_t>(view))
                                    : static_cast<Wide>(scalar_of<int64_t>(view));
  };
  const Wide step = wide(delta), distance = wide(limit) - wide(start);
  if (step == 0) return std::nullopt;
  if (distance == 0 || (distance < 0) != (step < 0)) return 0;
  const Wide count = (distance + step + (step > 0 ? -1 : 1)) / step;
  if (count > INT64_MAX) return std::nullopt;
  return static_cast<int64_t>(count);
}

Status infer_range(InferContext& ctx) {
  constexpr std::string_view kNames[] = {"start", "limit", "delta"};
  for (size_t i = 0; i < 3; ++i) {
    EC_CHECK_OK(require_same_type(ctx, 0, i));
    EC_CHECK_OK(require_scalar(ctx, i, kNames[i]));
  }
  if (ctx.dtype(0) == DType::Bool) return ctx.bad_type("a range of booleans has no meaning");
  const auto start = ctx.value(0), limit = ctx.value(1), delta = ctx.value(2);
  if (start && limit && delta) {
    const auto count = range_count(*start, *limit, *delta);
    if (!count) return ctx.bad_value("the range is endless or has no step");
    ctx.set(0, ctx.dtype(0), Shape{*count});
    return {};
  }
  // 0, 1, ... up to an open dimension has just that many elements.
  const auto first = tracked_elements(ctx, 0), last = tracked_elements(ctx, 1),
             step = tracked_elements(ctx, 2);
  const bool counts_up = first && step && !first->empty() && !step->empty() &&
                         first->front().is(0) && step->front().is(1);
  ctx.set(0, ctx.dtype(0),
          Shape{counts_up && last && !last->empty() ? last->front().dim() : Dim::unknown()});
  return {};
}

Status range(KernelContext& ctx) {
  const DType dtype = ctx.input(0).dtype;
  const auto count = range_count(ctx.input(0), ctx.input(1), ctx.input(2));
  if (!count) return ctx.fail("the range is endless or has no step");
  EC_CHECK_OK(prepare_output(ctx, 0, dtype, {*count}));
  with_compute_type(dtype, [&](auto compute) {
    using C = decltype(compute);
    const C start = scalar_of<C>(ctx.input(0)), delta = scalar_of<C>(ctx.input(2));
    Writer<C> y(ctx.output(0));
    for (size_t i = 0; i < y.size(); ++i) {
      if constexpr (std::is_floating_point_v<C>) {
        y[i] = start + static_cast<C>(i) * delta;
      } else {
        // Modulo 2^64: no overflow, and equal in every result that fits.
        y[i] = static_cast<C>(static_cast<uint64_t>(start) + i * static_cast<uint64_t>(delta));
      }
    }
    y.commit();
  });
  return {};
}

// --- fill
// -----------------------------------------------------------------------------------------

Status infer_fill(InferContext& ctx) {
  EC_CHECK_OK(require_scalar(ctx, 1, "value"));
  EC_TRY(const std::optional<Elements> elements, list_operand(ctx, 0, "shape"));
  if (!elements) {
    ctx.set(0, ctx.dtype(1), std::nullopt);
    return {};
  }
  EC_CHECK_OK(require_rank_limit(ctx, elements->size()));
  Shape shape;
  for (const ShapeElement& element : *elements) {
    if (element.is_negative())
      return ctx.bad_value("shape has the negative size " + std::to_string(*element.constant()));
    shape.push_back(element.dim());
  }
  const auto count = shape.num_elements();
  const auto value = tracked_elements(ctx, 1);
  if (value && value->size() == 1 && count && *count <= static_cast<int64_t>(kMaxRank))
    track_result(ctx, 0, Elements(static_cast<size_t>(*count), value->front()));
  ctx.set(0, ctx.dtype(1), std::move(shape));
  return {};
}

Status fill(KernelContext& ctx) {
  const ConstView& value = ctx.input(1);
  if (value.count() != 1) return ctx.fail("value must be one element");
  fill_elements(ctx.output(0).data, value.data, element_size(value.dtype), ctx.output(0).count());
  return {};
}

// --- eye_like
// -------------------------------------------------------------------------------------

Status infer_eye_like(InferContext& ctx) {
  if (ctx.shape(0) && ctx.shape(0)->rank() != 2)
    return ctx.bad_shape("input must have two dimensions, got " + operand_text(ctx, 0));
  ctx.set(0, ctx.attrs<EyeLikeAttrs>().dtype,
          ctx.shape(0).value_or(Shape{Dim::unknown(), Dim::unknown()}));
  return {};
}

Status eye_like(KernelContext& ctx) {
  const MutableView& y = ctx.output(0);
  const int64_t rows = y.shape[0], cols = y.shape[1], k = ctx.attrs<EyeLikeAttrs>().k;
  const size_t bytes = element_size(y.dtype);
  const int64_t values[] = {0, 1};
  std::vector<std::byte> elements(2 * bytes);
  const int64_t two[] = {2};
  store<int64_t>(MutableView{y.dtype, two, elements.data(), nullptr}, values);
  fill_elements(y.data, elements.data(), bytes, y.count());
  // |k| beyond the matrix: no diagonal, and no overflow below.
  if (k >= cols || k <= -rows) return {};
  for (int64_t r = std::max<int64_t>(0, -k); r < rows && r + k < cols; ++r)
    fill_elements(y.data + static_cast<size_t>(r * cols + r + k) * bytes, &elements[bytes], bytes,
                  1);
  return {};
}

}  // namespace

constexpr Rule kRangeRules[] = {rule::numbers("start"), rule::one_element("start"),
                                rule::one_element("limit"), rule::one_element("delta")};
EC_OP_DEF(Range, .signature = "(start, limit, delta) -> y",
          .summary = "start, start + delta, ... up to but not including limit.",
          .rules = kRangeRules, .infer = infer_range, .reference = range);
constexpr Rule kFillRules[] = {rule::integers("shape"), rule::one_element("value"),
                               rule::not_negative("shape")};
EC_OP_DEF(Fill, .signature = "(shape, value) -> y",
          .summary = "A tensor of the given shape with every element equal to value.",
          .rules = kFillRules, .infer = infer_fill, .reference = fill);
constexpr Rule kEyeLikeRules[] = {rule::rank("x", 2)};
EC_OP_DEF(EyeLike, .signature = "(x) -> y",
          .summary = "Ones on diagonal k of a matrix with the shape of x, zeros elsewhere.",
          .rules = kEyeLikeRules, .infer = infer_eye_like, .reference = eye_like);

}  // namespace ec::ops
