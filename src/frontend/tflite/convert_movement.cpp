// Moving elements: transposition, joining, cutting, padding, repeating.
#include <algorithm>

#include "frontend/moved_elements.h"
#include "frontend/tflite/table.h"

namespace ec::tflite {
namespace {

Status transpose(OpContext& ctx) {
  EC_TRY(std::vector<int64_t> perm, ctx.need_ints(1, "perm"));
  EC_TRY(const size_t rank, ctx.rank());
  for (int64_t& axis : perm) {
    EC_TRY(axis, ctx.axis(axis, rank));
  }
  TransposeAttrs attrs;
  attrs.perm = std::move(perm);
  return ctx.finish(OpKind::Transpose, {ctx.in(0)}, attrs);
}

Status concatenation(OpContext& ctx) {
  const auto& options = ctx.options<ConcatenationOptions>();
  for (size_t i = 0; i < ctx.num_inputs(); ++i)
    if (!ctx.has(i)) return ctx.fail(Code::BadArity, "an input is missing");
  EC_TRY(const size_t rank, ctx.rank());
  AxisAttrs attrs;
  EC_TRY(attrs.axis, ctx.axis(options.axis(), rank));
  return ctx.finish_activated(OpKind::Concat, ctx.tensors(), attrs,
                              options.fused_activation_function());
}

Status set_all(OpContext& ctx, Operation* op) {
  for (size_t i = 0; i < op->outputs().size(); ++i) EC_CHECK_OK(ctx.set(i, op->output(i)));
  return {};
}

Status split(OpContext& ctx) {
  EC_TRY(const int64_t given, ctx.need_int(0, "axis"));
  EC_TRY(const size_t rank, ctx.rank(1));
  AxisAttrs attrs;
  EC_TRY(attrs.axis, ctx.axis(given, rank));
  const Dim& size = (*ctx.in(1)->shape())[static_cast<size_t>(attrs.axis)];
  const auto parts = static_cast<int64_t>(ctx.num_outputs());
  if (size.is_static() && size.size() % parts != 0)
    return ctx.fail(Code::ShapeMismatch, "a dimension of " + size.text() + " cannot be cut into " +
                                             std::to_string(parts) + " equal parts");
  EC_TRY(Operation * op, ctx.add_op(OpKind::Split, {ctx.in(1)}, attrs, ctx.num_outputs()));
  return set_all(ctx, op);
}

Status split_v(OpContext& ctx) {
  EC_TRY(std::vector<int64_t> sizes, ctx.need_ints(1, "size_splits"));
  EC_TRY(const int64_t given, ctx.need_int(2, "axis"));
  EC_TRY(const size_t rank, ctx.rank());
  AxisAttrs attrs;
  EC_TRY(attrs.axis, ctx.axis(given, rank));
  // One size may be -1: what the others leave.
  const auto open = std::find(sizes.begin(), sizes.end(), -1);
  if (open != sizes.end()) {
    const Dim& size = (*ctx.in(0)->shape())[static_cast<size_t>(attrs.axis)];
    if (!size.is_static()) return ctx.fail(Code::DynamicShape, "the size to cut has to be known");
    int64_t rest = size.size();
    for (const int64_t part : sizes) rest -= std::clamp<int64_t>(part, 0, int64_t{1} << 40);
    *open = rest;
  }
  EC_TRY(Operation * op,
         ctx.add_op(OpKind::Split, {ctx.in(0), ctx.ints(sizes)}, attrs, ctx.num_outputs()));
  return set_all(ctx, op);
}

Status pack(OpContext& ctx) {
  EC_TRY(const size_t rank, ctx.rank());
  AxisAttrs attrs;
  EC_TRY(attrs.axis, ctx.axis(ctx.options<PackOptions>().axis(), rank + 1));
  std::vector<ec::Tensor*> parts;
  for (size_t i = 0; i < ctx.num_inputs(); ++i) {
    if (!ctx.has(i)) return ctx.fail(Code::BadArity, "an input is missing");
    EC_TRY(ec::Tensor * part, ctx.unsqueeze(ctx.in(i), std::vector<int64_t>{attrs.axis}));
    parts.push_back(part);
  }
  return ctx.finish(OpKind::Concat, std::move(parts), attrs);
}

Status unpack(OpContext& ctx) {
  EC_TRY(const size_t rank, ctx.rank());
  AxisAttrs attrs;
  EC_TRY(attrs.axis, ctx.axis(ctx.options<UnpackOptions>().axis(), rank));
  const Dim& size = (*ctx.in(0)->shape())[static_cast<size_t>(attrs.axis)];
  const auto parts = static_cast<int64_t>(ctx.num_outputs());
  if (size.is_static() && size.size() != parts)
    return ctx.fail(Code::ShapeMismatch, "a dimension of " + size.text() + " gives " + size.text() +
                                             " results, the operator has " + std::to_string(parts));
  EC_TRY(
      Operation * op,
      ctx.add_op(OpKind::Split, {ctx.in(0), ctx.ints(std::vector<int64_t>(ctx.num_outputs(), 1))},
                 attrs, ctx.num_outputs()));
  for (size_t i = 0; i < ctx.num_outputs(); ++i) {
    EC_TRY(ec::Tensor * part, ctx.squeeze(op->output(i), std::vector<int64_t>{attrs.axis}));
    EC_CHECK_OK(ctx.set(i, part));
  }
  return {};
}

// --- padding ------------------------------------------------------------------------------------

// Zeros, or what the third input says; stored zero of a quantised tensor is its zero point.
Status pad(OpContext& ctx) {
  EC_TRY(ec::Tensor * pads, pads_of(ctx));
  ec::Tensor* value = ctx.in(2);
  const auto& quant = ctx.in(0)->type().quant;
  if (value == nullptr && quant) value = ctx.scalar(ctx.dtype(), double(quant->zero_points[0]));
  if (value != nullptr) {
    EC_TRY(const size_t rank,
           value->shape() ? Result<size_t>(value->shape()->rank()) : ctx.rank(2));
    if (rank != 0) {
      EC_TRY(value, ctx.reshape(value, std::vector<int64_t>{}));
    }
  }
  return ctx.finish(OpKind::Pad, {ctx.in(0), pads, value}, PadAttrs{});
}

Status mirror_pad(OpContext& ctx) {
  EC_TRY(ec::Tensor * y,
         mirrored(ctx, ctx.options<MirrorPadOptions>().mode() != MirrorPadMode::REFLECT));
  return ctx.set(0, y);
}

// dilate(x, dilations, padding value): value between the elements, none after the last.
Status dilate(OpContext& ctx) {
  EC_TRY(const std::vector<int64_t> factors, ctx.need_ints(1, "dilations"));
  EC_TRY(const size_t rank, ctx.rank());
  if (factors.size() != rank) return ctx.fail(Code::ShapeMismatch, "dilations do not fit");
  ec::Tensor* x = ctx.in(0);
  for (size_t d = 0; d < rank; ++d) {
    const Dim size = (*ctx.in(0)->shape())[d];
    if (factors[d] < 1 || factors[d] > (1 << 24) || !size.is_static())
      return ctx.fail(Code::BadValue, "dilation " + std::to_string(factors[d]) +
                                          " of a dimension of " + size.text());
    if (factors[d] == 1 || size.size() == 0) continue;
    // Each element becomes a row of itself and the values after it; the last row is cut.
    const auto axis = static_cast<int64_t>(d);
    EC_TRY(x, ctx.unsqueeze(x, std::vector<int64_t>{axis + 1}));
    EC_TRY(x,
           ctx.add(OpKind::Pad, {x, ctx.ints({0, factors[d] - 1}), ctx.in(2), ctx.ints({axis + 1})},
                   PadAttrs{}));
    std::vector<int64_t> shape;
    for (const Dim& dim : *x->shape()) {
      if (!dim.is_static()) return ctx.fail(Code::DynamicShape, "all sizes have to be known");
      shape.push_back(dim.size());
    }
    shape[d] *= shape[d + 1];
    shape.erase(shape.begin() + axis + 1);
    EC_TRY(x, ctx.reshape(x, shape));
    EC_TRY(x, ctx.add(OpKind::Slice,
                      {x, ctx.ints({0}), ctx.ints({shape[d] - factors[d] + 1}), ctx.ints({axis})}));
  }
  return ctx.set(0, x);
}

Status reverse_sequence(OpContext& ctx) {
  const auto& options = ctx.options<ReverseSequenceOptions>();
  EC_TRY(const size_t rank, ctx.rank());
  ReverseSequenceAttrs attrs;
  EC_TRY(attrs.time_axis, ctx.axis(options.seq_dim(), rank));
  EC_TRY(attrs.batch_axis, ctx.axis(options.batch_dim(), rank));
  return ctx.finish(OpKind::ReverseSequence, {ctx.in(0), ctx.in(1)}, attrs);
}

constexpr Arity k1{1, 1}, k2{2, 2}, k3{3, 3}, kAny{1, kMany};

constexpr OpRow kRows[] = {
    {BuiltinOperator::TRANSPOSE, k2, k1, transpose},
    {BuiltinOperator::CONCATENATION, kAny, k1, concatenation},
    {BuiltinOperator::SPLIT, k2, kAny, split},
    {BuiltinOperator::SPLIT_V, k3, kAny, split_v},
    {BuiltinOperator::PACK, kAny, k1, pack},
    {BuiltinOperator::UNPACK, k1, kAny, unpack},
    {BuiltinOperator::TILE, k2, k1, tile},
    {BuiltinOperator::PAD, k2, k1, pad},
    {BuiltinOperator::PADV2, k3, k1, pad},
    {BuiltinOperator::MIRROR_PAD, k2, k1, mirror_pad},
    {BuiltinOperator::DILATE, k3, k1, dilate},
    {BuiltinOperator::REVERSE_SEQUENCE, k2, k1, reverse_sequence},
};

}  // namespace

const std::span<const OpRow> kMovementRows = kRows;

}  // namespace ec::tflite
