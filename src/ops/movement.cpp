// Ops that move whole elements: transpose, concat, split, tile, trilu, reverse_sequence. Slices and
// pads have files of their own.
#include <algorithm>
#include <numeric>

#include "ops/define.h"
#include "ops/dim_math.h"
#include "ops/move.h"
#include "ops/quantized/kernels.h"

namespace ec::ops {
namespace {

// --- transpose
// ------------------------------------------------------------------------------------

// The permutation for a rank; an empty attribute reverses the dimensions.
std::vector<size_t> permutation(const TransposeAttrs& attrs, size_t rank) {
  std::vector<size_t> out(attrs.perm.begin(), attrs.perm.end());
  if (!out.empty()) return out;
  for (size_t d = rank; d-- > 0;) out.push_back(d);
  return out;
}

Status infer_transpose(InferContext& ctx) {
  const auto& x = ctx.shape(0);
  if (!x) {
    const auto& perm = ctx.attrs<TransposeAttrs>().perm;
    std::optional<Shape> shape;
    if (!perm.empty()) shape = Shape(std::vector<Dim>(perm.size(), Dim::unknown()));
    ctx.set(0, ctx.dtype(0), std::move(shape));
    return {};
  }
  Shape out;
  for (const size_t axis : permutation(ctx.attrs<TransposeAttrs>(), x->rank()))
    out.push_back((*x)[axis]);
  ctx.set(0, ctx.dtype(0), std::move(out));
  if (x->rank() <= 1)
    if (const auto tracked = tracked_elements(ctx, 0)) track_result(ctx, 0, *tracked);
  return {};
}

Status transpose(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  const MutableView& y = ctx.output(0);
  const std::vector<int64_t> strides = row_major_strides(x.shape);
  std::vector<int64_t> permuted;
  for (const size_t axis : permutation(ctx.attrs<TransposeAttrs>(), x.rank()))
    permuted.push_back(strides[axis]);
  strided_copy(y.data, row_major_strides(y.shape), x.data, permuted, y.shape,
               element_size(x.dtype));
  return {};
}

// --- concat
// ---------------------------------------------------------------------------------------

Result<std::optional<Shape>> concat_shape(InferContext& ctx) {
  std::optional<Shape> out;
  for (size_t i = 0; i < ctx.num_inputs(); ++i) {
    if (!ctx.has(i)) return ctx.bad_value("input " + std::to_string(i) + " is absent");
    EC_CHECK_OK(require_same_type(ctx, 0, i));
    const auto& x = ctx.shape(i);
    if (x && !out) out = Shape(std::vector<Dim>(x->rank(), Dim::unknown()));
  }
  if (!out) return out;
  const int64_t axis = ctx.attrs<AxisAttrs>().axis;
  Dim sum(0);
  for (size_t i = 0; i < ctx.num_inputs(); ++i) {
    const auto& x = ctx.shape(i);
    if (x && x->rank() != out->rank())
      return ctx.bad_shape("inputs have different ranks: " + operand_text(ctx, 0) + " and " +
                           operand_text(ctx, i));
    const Dim along = x ? (*x)[static_cast<size_t>(axis)] : Dim::unknown();
    EC_TRY(sum, add_dims(ctx, sum, along));
    for (size_t d = 0; x && d < out->rank(); ++d) {
      if (static_cast<int64_t>(d) == axis) continue;
      EC_TRY((*out)[d], merge_dims(ctx, (*out)[d], (*x)[d],
                                   "dimension " + std::to_string(d) + " of the inputs"));
    }
  }
  (*out)[static_cast<size_t>(axis)] = sum;
  return out;
}

Status infer_concat(InferContext& ctx) {
  if (ctx.num_inputs() == 0) return ctx.bad_value("there is nothing to concatenate");
  EC_TRY(std::optional<Shape> shape, concat_shape(ctx));
  const bool is_list = shape && shape->rank() == 1;
  ctx.set(0, ctx.dtype(0), std::move(shape));
  if (!is_list) return {};
  Elements all;
  for (size_t i = 0; i < ctx.num_inputs(); ++i) {
    const auto part = tracked_elements(ctx, i);
    if (!part) return {};
    all.insert(all.end(), part->begin(), part->end());
  }
  track_result(ctx, 0, all);
  return {};
}

size_t axis_of(const KernelContext& ctx) {
  return static_cast<size_t>(ctx.attrs<AxisAttrs>().axis);
}

Status concat(KernelContext& ctx) {
  const MutableView& y = ctx.output(0);
  const AxisSplit whole = split_at(y.shape, axis_of(ctx));
  const int64_t row = whole.size * whole.inner;
  const size_t bytes = element_size(y.dtype);
  int64_t offset = 0;
  for (size_t i = 0; i < ctx.num_inputs(); ++i) {
    const ConstView& x = ctx.input(i);
    const int64_t run = split_at(x.shape, axis_of(ctx)).size * whole.inner;
    if (offset + run > row) return ctx.fail("the inputs do not fit the result");
    const int64_t shape[] = {whole.outer, run}, from[] = {run, 1}, to[] = {row, 1};
    strided_copy(y.data + static_cast<size_t>(offset) * bytes, to, x.data, from, shape, bytes);
    offset += run;
  }
  return {};
}

// --- split
// ----------------------------------------------------------------------------------------

// Sizes of n pieces of a dimension: equal, the last ones smaller where it does not divide.
std::vector<int64_t> even_sizes(int64_t size, size_t n) {
  const auto count = static_cast<int64_t>(n);
  const int64_t chunk = size / count + (size % count != 0 ? 1 : 0);
  std::vector<int64_t> pieces;
  for (size_t i = 0; i < n; ++i) {
    pieces.push_back(std::min(chunk, size));
    size -= pieces.back();
  }
  return pieces;
}

Result<std::vector<Dim>> split_sizes(InferContext& ctx, const Dim& along) {
  const size_t n = ctx.num_outputs();
  std::vector<Dim> sizes(n, Dim::unknown());
  if (!ctx.has(1)) {
    if (along.is_static()) {
      const std::vector<int64_t> pieces = even_sizes(along.size(), n);
      sizes.assign(pieces.begin(), pieces.end());
    } else if (n == 1) {
      sizes[0] = along;
    }
    return sizes;
  }
  EC_CHECK_OK(require_integer(ctx, 1, "split"));
  const auto count = ctx.type(1).num_elements();
  if (count && *count != static_cast<int64_t>(n))
    return ctx.bad_value("split lists " + std::to_string(*count) + " sizes for " +
                         std::to_string(n) + " outputs");
  const auto list = ctx.int_values(1);
  if (!list) return sizes;
  int64_t sum = 0;
  for (size_t i = 0; i < n; ++i) {
    const int64_t part = (*list)[i];
    const auto next = checked_add(sum, part);
    if (part < 0 || !next) return ctx.bad_value("split has the size " + std::to_string(part));
    sum = *next;
    sizes[i] = Dim(part);
  }
  if (along.is_static() && along.size() != sum)
    return ctx.bad_value("split sizes add up to " + std::to_string(sum) + ", the dimension has " +
                         along.text());
  return sizes;
}

Status infer_split(InferContext& ctx) {
  const size_t n = ctx.num_outputs();
  if (n == 0) return ctx.bad_value("split has no outputs");
  const auto& x = ctx.shape(0);
  if (!x) {
    for (size_t i = 0; i < n; ++i) ctx.set(i, ctx.dtype(0), std::nullopt);
    return {};
  }
  const int64_t axis = ctx.attrs<AxisAttrs>().axis;
  EC_TRY(const std::vector<Dim> sizes, split_sizes(ctx, (*x)[static_cast<size_t>(axis)]));
  const auto tracked = x->rank() == 1 ? tracked_elements(ctx, 0) : std::nullopt;
  size_t offset = 0;
  for (size_t i = 0; i < n; ++i) {
    Shape part = *x;
    part[static_cast<size_t>(axis)] = sizes[i];
    ctx.set(i, ctx.dtype(0), std::move(part));
    if (!tracked || !sizes[i].is_static()) continue;
    const auto begin = tracked->begin() + static_cast<std::ptrdiff_t>(offset);
    track_result(ctx, i, Elements(begin, begin + static_cast<std::ptrdiff_t>(sizes[i].size())));
    offset += static_cast<size_t>(sizes[i].size());
  }
  return {};
}

Status split(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  const size_t axis = axis_of(ctx);
  const AxisSplit whole = split_at(x.shape, axis);
  const int64_t row = whole.size * whole.inner;
  const size_t bytes = element_size(x.dtype);
  int64_t offset = 0;
  for (size_t i = 0; i < ctx.num_outputs(); ++i) {
    const MutableView& y = ctx.output(i);
    const int64_t run = y.shape[axis] * whole.inner;
    if (offset + run > row) return ctx.fail("the pieces do not fit the input");
    const int64_t shape[] = {whole.outer, run}, from[] = {row, 1}, to[] = {run, 1};
    strided_copy(y.data, to, x.data + static_cast<size_t>(offset) * bytes, from, shape, bytes);
    offset += run;
  }
  return {};
}

// --- tile
// -----------------------------------------------------------------------------------------

Status infer_tile(InferContext& ctx) {
  EC_TRY(const std::optional<Elements> repeats, list_operand(ctx, 1, "repeats"));
  const auto& x = ctx.shape(0);
  if (!x || !repeats) {
    std::optional<Shape> shape;
    if (x || repeats)
      shape = Shape(std::vector<Dim>(x ? x->rank() : repeats->size(), Dim::unknown()));
    if (shape) EC_CHECK_OK(require_rank_limit(ctx, shape->rank()));
    ctx.set(0, ctx.dtype(0), std::move(shape));
    return {};
  }
  if (repeats->size() != x->rank())
    return ctx.bad_shape("repeats lists " + std::to_string(repeats->size()) +
                         " numbers, the input has " + std::to_string(x->rank()) + " dimensions");
  Shape out;
  for (size_t d = 0; d < x->rank(); ++d) {
    const ShapeElement& repeat = (*repeats)[d];
    if (repeat.is_negative())
      return ctx.bad_value("repeats has the number " + std::to_string(*repeat.constant()));
    EC_TRY(const Dim dim, multiply_dims(ctx, (*x)[d], repeat.dim()));
    out.push_back(dim);
  }
  ctx.set(0, ctx.dtype(0), std::move(out));
  return {};
}

// Each dimension d becomes two: the repeats, with stride 0 in the source, and d itself.
Status tile(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  const MutableView& y = ctx.output(0);
  const std::vector<int64_t> in = row_major_strides(x.shape), out = row_major_strides(y.shape);
  std::vector<int64_t> shape, from, to;
  if (y.count() == 0) return {};
  for (size_t d = 0; d < x.rank(); ++d) {
    shape.insert(shape.end(), {y.shape[d] / x.shape[d], x.shape[d]});
    from.insert(from.end(), {0, in[d]});
    to.insert(to.end(), {out[d] * x.shape[d], out[d]});
  }
  strided_copy(y.data, to, x.data, from, shape, element_size(x.dtype));
  return {};
}

// --- trilu
// ----------------------------------------------------------------------------------------

Status infer_trilu(InferContext& ctx) {
  ctx.set(0, ctx.dtype(0), ctx.shape(0));
  return {};
}

Status trilu(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  const MutableView& y = ctx.output(0);
  const int64_t rows = x.shape[x.rank() - 2], cols = x.shape[x.rank() - 1];
  const bool upper = ctx.attrs<TriluAttrs>().upper;
  // Diagonals beyond the matrix are all the same.
  const int64_t k = ctx.has(1) ? std::clamp(read_ints(ctx, 1).at(0), -rows - 1, cols + 1) : 0;
  const size_t bytes = element_size(x.dtype);
  const std::vector<std::byte> zero = zero_element(y);
  if (x.count() == 0) return {};
  const int64_t lines = x.count() / cols;
  for (int64_t line = 0; line < lines; ++line) {
    // Upper keeps columns from r + k on; lower keeps those up to and including r + k.
    const int64_t edge = std::clamp<int64_t>(line % rows + k + (upper ? 0 : 1), 0, cols);
    const int64_t keep_from = upper ? edge : 0, keep_to = upper ? cols : edge;
    const int64_t shape[] = {keep_to - keep_from}, one[] = {1};
    const size_t start = static_cast<size_t>(line * cols) * bytes;
    const size_t kept = start + static_cast<size_t>(keep_from) * bytes;
    strided_copy(y.data + kept, one, x.data + kept, one, shape, bytes);
    if (upper)
      fill_elements(y.data + start, zero.data(), bytes, edge);
    else
      fill_elements(y.data + start + static_cast<size_t>(edge) * bytes, zero.data(), bytes,
                    cols - edge);
  }
  return {};
}

// --- reverse_sequence
// -----------------------------------------------------------------------------

Status infer_reverse_sequence(InferContext& ctx) {
  const auto& attrs = ctx.attrs<ReverseSequenceAttrs>();
  if (attrs.batch_axis == attrs.time_axis)
    return ctx.bad_value("batch_axis and time_axis must be 0 and 1");
  if (const auto& x = ctx.shape(0)) {
    const Dim& batch = (*x)[static_cast<size_t>(attrs.batch_axis)];
    if (ctx.shape(1)) EC_CHECK_OK(merge_dims(ctx, batch, (*ctx.shape(1))[0], "batch"));
    const auto lengths = ctx.int_values(1);
    const Dim& time = (*x)[static_cast<size_t>(attrs.time_axis)];
    if (lengths && time.is_static())
      for (const int64_t length : *lengths)
        if (length < 0 || length > time.size())
          return ctx.bad_value("sequence length " + std::to_string(length) + " is outside 0 to " +
                               time.text());
  }
  ctx.set(0, ctx.dtype(0), ctx.shape(0));
  return {};
}

Status reverse_sequence(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  const MutableView& y = ctx.output(0);
  const auto& attrs = ctx.attrs<ReverseSequenceAttrs>();
  const std::vector<int64_t> strides = row_major_strides(x.shape);
  const std::vector<int64_t> lengths = read_ints(ctx, 1);
  const int64_t batch_stride = strides[static_cast<size_t>(attrs.batch_axis)];
  const int64_t time_stride = strides[static_cast<size_t>(attrs.time_axis)];
  const int64_t time = x.shape[static_cast<size_t>(attrs.time_axis)];
  const int64_t inner = count_elements(x.shape.subspan(2));
  const size_t bytes = element_size(x.dtype);
  if (x.count() == 0) return {};
  const auto at = [&](int64_t elements) { return static_cast<size_t>(elements) * bytes; };
  for (size_t b = 0; b < lengths.size(); ++b) {
    const int64_t length = lengths[b], base = static_cast<int64_t>(b) * batch_stride;
    if (length < 0 || length > time)
      return ctx.fail("sequence length " + std::to_string(length) + " is outside 0 to " +
                      std::to_string(time));
    const int64_t to[] = {time_stride, 1}, back[] = {-time_stride, 1};
    const int64_t head[] = {length, inner}, tail[] = {time - length, inner};
    if (length > 0)
      strided_copy(y.data + at(base), to, x.data + at(base + (length - 1) * time_stride), back,
                   head, bytes);
    if (length < time)
      strided_copy(y.data + at(base + length * time_stride), to,
                   x.data + at(base + length * time_stride), to, tail, bytes);
  }
  return {};
}

}  // namespace

constexpr Rule kTransposeRules[] = {rule::permutation("perm", "x")};
EC_OP_DEF(Transpose, .signature = "(x) -> y",
          .summary =
              "Dimension i of the result is dimension perm[i] of x; without perm the order "
              "is reversed.",
          .rules = kTransposeRules, .infer = infer_transpose, .reference = transpose,
          .quant = QuantRule::SameAsInput, .layout = LayoutRule::Fixed);
constexpr Rule kConcatRules[] = {rule::axis("axis", "inputs")};
EC_OP_DEF(Concat, .signature = "(inputs...) -> y",
          .summary = "The inputs one after another along axis.", .rules = kConcatRules,
          .infer = infer_concat, .reference = concat, .quantized = quantized::concat,
          .quant = QuantRule::SameAsInput, .layout = LayoutRule::AxisAttr);
constexpr Rule kSplitRules[] = {rule::integers("split"), rule::not_negative("split"),
                                rule::axis("axis", "x")};
EC_OP_DEF(Split, .signature = "(x, split?) -> (outputs...)",
          .summary =
              "Cuts x along axis into pieces of the given sizes, or into equal pieces with "
              "the last one smaller.",
          .rules = kSplitRules, .infer = infer_split, .reference = split,
          .quant = QuantRule::SameAsInput, .layout = LayoutRule::AxisAttr);
constexpr Rule kTileRules[] = {rule::integers("repeats"), rule::rank("repeats", 1),
                               rule::not_negative("repeats")};
EC_OP_DEF(Tile, .signature = "(x, repeats) -> y",
          .summary = "x repeated repeats[i] times along each dimension i.", .rules = kTileRules,
          .infer = infer_tile, .reference = tile, .quant = QuantRule::SameAsInput,
          .layout = LayoutRule::AxisAttr);
constexpr Rule kTriluRules[] = {rule::min_rank("x", 2), rule::integers("k"),
                                rule::one_element("k")};
EC_OP_DEF(Trilu, .signature = "(x, k?) -> y",
          .summary =
              "The upper or lower triangle of the last two dimensions from diagonal k; the "
              "other elements are zero.",
          .rules = kTriluRules, .infer = infer_trilu, .reference = trilu,
          .quant = QuantRule::SameAsInput, .layout = LayoutRule::Fixed);
constexpr Rule kReverseSequenceRules[] = {rule::min_rank("x", 2),
                                          rule::integers("sequence_lengths"),
                                          rule::rank("sequence_lengths", 1),
                                          rule::not_negative("sequence_lengths"),
                                          rule::between("batch_axis", 0, 1),
                                          rule::between("time_axis", 0, 1)};
EC_OP_DEF(ReverseSequence, .signature = "(x, sequence_lengths) -> y",
          .summary = "Reverses the first sequence_lengths[b] steps of each batch entry b.",
          .rules = kReverseSequenceRules, .infer = infer_reverse_sequence,
          .reference = reverse_sequence, .quant = QuantRule::SameAsInput,
          .layout = LayoutRule::Fixed);

}  // namespace ec::ops
