// Complex numbers and the Fourier transform that makes them.
#include "frontend/tflite/complex.h"
#include "frontend/tflite/table.h"

namespace ec::tflite {

namespace {

// The transform whose numbers x has with other dimensions; x itself where there is none. Operators
// that read numbers right behind their transform are written as operators again.
ec::Tensor* before_views(ec::Tensor* x) {
  ec::Tensor* source = x;
  const auto is_view = [](const Operation* op) {
    return op != nullptr && (op->kind() == OpKind::Squeeze || op->kind() == OpKind::Reshape ||
                             op->kind() == OpKind::Unsqueeze);
  };
  while (is_view(source->producer())) source = source->producer()->input(0);
  const bool is_transform = source->producer() != nullptr &&
                            source->producer()->kind() == OpKind::Dft && source->shape() &&
                            source->shape()->rank() > 0 && source->shape()->dims().back() == Dim(2);
  return is_transform && x->type().is_static() && x->shape()->rank() > 0 ? source : x;
}

// Result `y` of reading numbers from `source` instead of x, with the dimensions that x has.
Result<ec::Tensor*> behind_views(OpContext& ctx, const ec::Tensor* x, const ec::Tensor* source,
                                 ec::Tensor* y) {
  if (source == x) return y;
  std::vector<int64_t> sizes = x->shape()->sizes();
  sizes.pop_back();
  return ctx.reshape(y, sizes);
}

}  // namespace

Result<ec::Tensor*> complex_part(OpContext& ctx, ec::Tensor* x, ComplexPart part) {
  if (!x->shape()) return ctx.fail(Code::DynamicShape, "the rank of the numbers is not known");
  ec::Tensor* source = before_views(x);
  GatherAttrs attrs;
  attrs.axis = static_cast<int64_t>(source->shape()->rank()) - 1;
  EC_TRY(
      ec::Tensor * y,
      ctx.add(OpKind::Gather, {source, ctx.scalar(DType::I64, static_cast<double>(part))}, attrs));
  return behind_views(ctx, x, source, y);
}

Result<ec::Tensor*> complex_number(OpContext& ctx, ec::Tensor* real, ec::Tensor* imaginary) {
  std::vector<ec::Tensor*> parts{real, imaginary};
  for (ec::Tensor*& part : parts) {
    EC_TRY(part, ctx.unsqueeze(part, std::vector<int64_t>{-1}));
  }
  AxisAttrs last;
  last.axis = -1;
  return ctx.add(OpKind::Concat, std::move(parts), last);
}

Status complex_mul(OpContext& ctx) {
  for (size_t i = 0; i < 2; ++i)
    if (!ctx.is_complex_input(i) || !ctx.is_complex_output())
      return ctx.fail(Code::TypeMismatch, "complex numbers are multiplied with complex ones only");
  if (ctx.options<MulOptions>().fused_activation_function() != ActivationFunctionType::NONE)
    return ctx.fail(Code::BadAttribute, "complex numbers have no activation");
  EC_TRY(ec::Tensor * y, complex_product(ctx));
  return ctx.set(0, y);
}

namespace {

Status need_complex(const OpContext& ctx) {
  if (ctx.is_complex_input() && !ctx.is_complex_output()) return {};
  return ctx.fail(Code::TypeMismatch, "complex input and real output are needed");
}

template <ComplexPart kPart>
Status part(OpContext& ctx) {
  EC_CHECK_OK(need_complex(ctx));
  EC_TRY(ec::Tensor * y, complex_part(ctx, ctx.in(0), kPart));
  return ctx.set(0, y);
}

Status magnitude(OpContext& ctx) {
  EC_CHECK_OK(need_complex(ctx));
  ReduceAttrs attrs;
  attrs.keep_dims = false;
  ec::Tensor* source = before_views(ctx.in(0));
  EC_TRY(ec::Tensor * y, ctx.add(OpKind::ReduceL2, {source, ctx.ints({-1})}, attrs));
  EC_TRY(y, behind_views(ctx, ctx.in(0), source, y));
  return ctx.set(0, y);
}

// One number of the list of transform lengths, as dft takes it.
Result<ec::Tensor*> transform_length(OpContext& ctx, int64_t which) {
  if (const auto known = known_ints(ctx.in(1))) {
    if (known->size() != 2)
      return ctx.fail(Code::ShapeMismatch, "fft_length has to have two numbers");
    const int64_t length = (*known)[static_cast<size_t>(which)];
    if (length < 1 || length > (1 << 24))
      return ctx.fail(Code::BadValue, "a transform length is " + std::to_string(length));
    return ctx.scalar(DType::I64, static_cast<double>(length));
  }
  EC_TRY(ec::Tensor * lengths, ctx.cast(ctx.in(1), DType::I64));
  return ctx.add(OpKind::Gather, {lengths, ctx.scalar(DType::I64, static_cast<double>(which))},
                 GatherAttrs{});
}

// Rows first, of real numbers, so that half of the frequencies are enough; then columns.
Status rfft_2d(OpContext& ctx) {
  EC_TRY(const size_t rank, ctx.rank());
  if (rank < 2) return ctx.fail(Code::ShapeMismatch, "the input needs two dimensions or more");
  if (ctx.dtype() != DType::F32 || ctx.is_complex_input() || !ctx.is_complex_output())
    return ctx.fail(Code::TypeMismatch, "float32 input and complex64 output are needed");
  if (!is_integer(ctx.dtype(1)))
    return ctx.fail(Code::TypeMismatch, "fft_length has to be a list of integers");
  EC_TRY(ec::Tensor * rows, transform_length(ctx, 0));
  EC_TRY(ec::Tensor * columns, transform_length(ctx, 1));
  EC_TRY(ec::Tensor * x, ctx.unsqueeze(ctx.in(0), std::vector<int64_t>{-1}));
  DftAttrs attrs;
  attrs.onesided = true;
  EC_TRY(x, ctx.add(OpKind::Dft, {x, columns, ctx.scalar(DType::I64, -2)}, attrs));
  // A single row is its own transform.
  const Dim& height = (*x->shape())[rank - 2];
  if (height == Dim(1) && known_scalar(rows) == 1.0) return ctx.set(0, x);
  return ctx.finish(OpKind::Dft, {x, rows, ctx.scalar(DType::I64, -3)}, DftAttrs{});
}

constexpr Arity k1{1, 1}, k2{2, 2};

constexpr OpRow kRows[] = {
    {BuiltinOperator::RFFT2D, k2, k1, rfft_2d, false, true},
    {BuiltinOperator::REAL, k1, k1, part<ComplexPart::Real>, false, true},
    {BuiltinOperator::IMAG, k1, k1, part<ComplexPart::Imaginary>, false, true},
    {BuiltinOperator::COMPLEX_ABS, k1, k1, magnitude, false, true},
};

}  // namespace

const std::span<const OpRow> kComplexRows = kRows;

}  // namespace ec::tflite
