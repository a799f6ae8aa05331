// Moving elements: transposition, joining, cutting, padding, repeating.
#include <algorithm>

#include "frontend/moved_elements.h"
#include "frontend/tensorflow/limits.h"
#include "frontend/tensorflow/table.h"

namespace ec::tf {
namespace {

Status transpose(OpContext& ctx) {
  EC_TRY(std::vector<int64_t> perm, ctx.need_ints(1, "perm"));
  EC_TRY(size_t rank, ctx.rank());
  if (ctx.is_complex()) --rank;
  if (perm.size() != rank)
    return ctx.fail(Code::ShapeMismatch, "perm has " + std::to_string(perm.size()) + " numbers");
  for (int64_t& axis : perm) {
    EC_TRY(axis, ctx.axis(axis, rank));
  }
  if (ctx.is_complex()) perm.push_back(static_cast<int64_t>(rank));
  EC_TRY(ec::Tensor * y, ctx.transpose(ctx.in(0), std::move(perm)));
  return ctx.set(0, y, ctx.is_complex());
}

Status join(OpContext& ctx, size_t first, size_t count, size_t axis_input) {
  EC_TRY(const int64_t given, ctx.need_int(axis_input, "axis"));
  EC_TRY(size_t rank, ctx.rank(first));
  const bool complex = ctx.is_complex(first);
  if (complex) --rank;
  EC_TRY(const int64_t axis, ctx.axis(given, rank));
  std::vector<ec::Tensor*> parts;
  for (size_t i = first; i < first + count; ++i) {
    if (ctx.is_complex(i) != complex) return ctx.fail(Code::TypeMismatch, "types differ");
    parts.push_back(ctx.in(i));
  }
  if (parts.size() == 1) return ctx.set(0, parts[0], complex);
  EC_TRY(ec::Tensor * y, ctx.concat(std::move(parts), axis));
  return ctx.set(0, y, complex);
}

Status concat_v2(OpContext& ctx) {
  return join(ctx, 0, ctx.num_inputs() - 1, ctx.num_inputs() - 1);
}
Status concat(OpContext& ctx) { return join(ctx, 1, ctx.num_inputs() - 1, 0); }

Status set_all(OpContext& ctx, const std::vector<ec::Tensor*>& parts) {
  for (size_t i = 0; i < parts.size(); ++i) EC_CHECK_OK(ctx.set(i, parts[i]));
  return {};
}

Result<size_t> number_of_parts(const OpContext& ctx, std::string_view name) {
  const int64_t count = ctx.attr_int(name);
  if (count < 1 || count > static_cast<int64_t>(kMaxParts))
    return ctx.fail(Code::BadAttribute, std::to_string(count) + " parts");
  return static_cast<size_t>(count);
}

Status split(OpContext& ctx) {
  EC_TRY(const int64_t given, ctx.need_int(0, "axis"));
  EC_TRY(const size_t rank, ctx.rank(1));
  AxisAttrs attrs;
  EC_TRY(attrs.axis, ctx.axis(given, rank));
  EC_TRY(const size_t count, number_of_parts(ctx, "num_split"));
  const Dim& size = (*ctx.in(1)->shape())[static_cast<size_t>(attrs.axis)];
  const auto parts = static_cast<int64_t>(count);
  if (size.is_static() && size.size() % parts != 0)
    return ctx.fail(Code::ShapeMismatch, "a dimension of " + size.text() + " cannot be cut into " +
                                             std::to_string(parts) + " equal parts");
  if (count == 1) return ctx.set(0, ctx.in(1));
  EC_TRY(const std::vector<ec::Tensor*> results,
         ctx.add_many(OpKind::Split, {ctx.in(1)}, attrs, count));
  return set_all(ctx, results);
}

Status split_v(OpContext& ctx) {
  EC_TRY(std::vector<int64_t> sizes, ctx.need_ints(1, "size_splits"));
  EC_TRY(const int64_t given, ctx.need_int(2, "axis"));
  EC_TRY(const size_t rank, ctx.rank());
  AxisAttrs attrs;
  EC_TRY(attrs.axis, ctx.axis(given, rank));
  if (sizes.empty() || sizes.size() > kMaxParts)
    return ctx.fail(Code::BadValue, std::to_string(sizes.size()) + " parts");
  // One size may be -1: what the others leave.
  const auto open = std::find(sizes.begin(), sizes.end(), -1);
  if (open != sizes.end()) {
    const Dim& size = (*ctx.in(0)->shape())[static_cast<size_t>(attrs.axis)];
    if (!size.is_static()) return ctx.fail(Code::DynamicShape, "the size to cut has to be known");
    int64_t rest = size.size();
    for (const int64_t part : sizes) rest -= std::clamp<int64_t>(part, 0, int64_t{1} << 40);
    *open = rest;
  }
  EC_TRY(const std::vector<ec::Tensor*> results,
         ctx.add_many(OpKind::Split, {ctx.in(0), ctx.ints(sizes)}, attrs, sizes.size()));
  return set_all(ctx, results);
}

Status pack(OpContext& ctx) {
  EC_TRY(const size_t rank, ctx.rank());
  EC_TRY(const int64_t axis, ctx.axis(ctx.attr_int("axis"), rank + 1));
  std::vector<ec::Tensor*> parts;
  for (size_t i = 0; i < ctx.num_inputs(); ++i) {
    EC_TRY(ec::Tensor * part, ctx.unsqueeze(ctx.in(i), {axis}));
    parts.push_back(part);
  }
  EC_TRY(ec::Tensor * y,
         parts.size() == 1 ? Result<ec::Tensor*>(parts[0]) : ctx.concat(std::move(parts), axis));
  return ctx.set(0, y);
}

Status unpack(OpContext& ctx) {
  EC_TRY(const size_t rank, ctx.rank());
  AxisAttrs attrs;
  EC_TRY(attrs.axis, ctx.axis(ctx.attr_int("axis"), rank));
  EC_TRY(const size_t count, number_of_parts(ctx, "num"));
  std::vector<ec::Tensor*> parts{ctx.in(0)};
  if (count > 1) {
    EC_TRY(parts, ctx.add_many(OpKind::Split, {ctx.in(0), ctx.ints(std::vector<int64_t>(count, 1))},
                               attrs, count));
  }
  for (size_t i = 0; i < count; ++i) {
    EC_TRY(ec::Tensor * part, ctx.squeeze(parts[i], {attrs.axis}));
    EC_CHECK_OK(ctx.set(i, part));
  }
  return {};
}

// --- padding ------------------------------------------------------------------------------------

Status pad(OpContext& ctx) {
  EC_TRY(ec::Tensor * pads, pads_of(ctx));
  return ctx.finish(OpKind::Pad, {ctx.in(0), pads, ctx.in(2)}, PadAttrs{});
}

Status mirror_pad(OpContext& ctx) {
  EC_TRY(ec::Tensor * y, mirrored(ctx, ctx.attr_text("mode") != "REFLECT"));
  return ctx.set(0, y);
}

// The position of every number of a permutation.
Status invert_permutation(OpContext& ctx) {
  EC_TRY(const std::vector<int64_t> perm, ctx.need_ints(0, "x"));
  std::vector<int64_t> inverse(perm.size(), -1);
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] < 0 || perm[i] >= static_cast<int64_t>(perm.size()))
      return ctx.fail(Code::BadValue, "x is no permutation");
    inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  }
  EC_TRY(ec::Tensor * y, ctx.cast(ctx.ints(inverse), ctx.dtype()));
  return ctx.set(0, y);
}

// The elements between `lower` diagonals below and `upper` diagonals above the main one; negative:
// all of that side.
Status matrix_band_part(OpContext& ctx) {
  EC_TRY(const int64_t lower, ctx.need_int(1, "num_lower"));
  EC_TRY(const int64_t upper, ctx.need_int(2, "num_upper"));
  ec::Tensor* x = ctx.in(0);
  if (lower >= 0) {
    TriluAttrs attrs;
    attrs.upper = true;
    EC_TRY(x,
           ctx.add(OpKind::Trilu, {x, ctx.scalar(DType::I64, static_cast<double>(-lower))}, attrs));
  }
  if (upper >= 0) {
    TriluAttrs attrs;
    attrs.upper = false;
    EC_TRY(x,
           ctx.add(OpKind::Trilu, {x, ctx.scalar(DType::I64, static_cast<double>(upper))}, attrs));
  }
  return ctx.set(0, x);
}

constexpr Arity k1{1, 1}, k2{2, 2}, k3{3, 3};
constexpr Takes kC = Takes::Complex;

constexpr OpRow kRows[] = {
    {"Transpose", k2, transpose, kC},
    {"ConcatV2", {2, kMany}, concat_v2, kC},
    {"Concat", {2, kMany}, concat, kC},
    {"Split", k2, split},
    {"SplitV", k3, split_v},
    {"Pack", {1, kMany}, pack},
    {"Unpack", k1, unpack},
    {"Tile", k2, tile},
    {"Pad", k2, pad},
    {"PadV2", k3, pad},
    {"MirrorPad", k2, mirror_pad},
    {"InvertPermutation", k1, invert_permutation},
    {"MatrixBandPart", k3, matrix_band_part},
};

}  // namespace

const std::span<const OpRow> kMovementRows = kRows;

}  // namespace ec::tf
