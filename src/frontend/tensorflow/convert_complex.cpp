// Complex numbers and the Fourier transforms that make them.
#include "frontend/tensorflow/complex.h"
#include "frontend/tensorflow/table.h"

namespace ec::tf {

Result<ec::Tensor*> complex_part(OpContext& ctx, ec::Tensor* x, ComplexPart part) {
  if (!x->shape()) return ctx.fail(Code::DynamicShape, "the rank of the numbers is not known");
  return ctx.gather(x, ctx.scalar(DType::I64, static_cast<double>(part)),
                    static_cast<int64_t>(x->shape()->rank()) - 1);
}

Result<ec::Tensor*> complex_number(OpContext& ctx, ec::Tensor* real, ec::Tensor* imaginary) {
  EC_TRY(real, ctx.unsqueeze(real, {-1}));
  EC_TRY(imaginary, ctx.unsqueeze(imaginary, {-1}));
  return ctx.concat({real, imaginary}, -1);
}

Status complex_mul(OpContext& ctx) {
  // A real factor scales both parts.
  for (size_t i = 0; i < 2; ++i) {
    if (ctx.is_complex(i)) continue;
    EC_TRY(ec::Tensor * factor, ctx.unsqueeze(ctx.in(i), {-1}));
    EC_TRY(ec::Tensor * y, ctx.add(OpKind::Mul, {ctx.in(1 - i), factor}));
    return ctx.set(0, y, true);
  }
  EC_TRY(ec::Tensor * y, complex_product(ctx));
  return ctx.set(0, y, true);
}

namespace {

Status need_complex(const OpContext& ctx) {
  if (ctx.is_complex()) return {};
  return ctx.fail(Code::TypeMismatch, "complex numbers are needed");
}

template <ComplexPart kPart>
Status part(OpContext& ctx) {
  if (!ctx.is_complex() && kPart == ComplexPart::Real) return ctx.set(0, ctx.in(0));
  EC_CHECK_OK(need_complex(ctx));
  EC_TRY(ec::Tensor * y, complex_part(ctx, ctx.in(0), kPart));
  return ctx.set(0, y);
}

Status magnitude(OpContext& ctx) {
  EC_CHECK_OK(need_complex(ctx));
  ReduceAttrs attrs;
  attrs.keep_dims = false;
  return ctx.finish(OpKind::ReduceL2, {ctx.in(0), ctx.ints({-1})}, attrs);
}

Status angle(OpContext& ctx) {
  EC_CHECK_OK(need_complex(ctx));
  EC_TRY(ec::Tensor * real, complex_part(ctx, ctx.in(0), ComplexPart::Real));
  EC_TRY(ec::Tensor * imaginary, complex_part(ctx, ctx.in(0), ComplexPart::Imaginary));
  return ctx.finish(OpKind::Atan2, {imaginary, real});
}

Status complex(OpContext& ctx) {
  EC_TRY(ec::Tensor * y, complex_number(ctx, ctx.in(0), ctx.in(1)));
  return ctx.set(0, y, true);
}

Status conj(OpContext& ctx) {
  if (!ctx.is_complex()) return ctx.set(0, ctx.in(0));
  const std::vector<float> signs = {1.0f, -1.0f};
  ec::Tensor* factors =
      ctx.graph().add_constant<float>("", Shape{2}, std::span<const float>(signs));
  EC_TRY(factors, ctx.cast(factors, ctx.dtype()));
  EC_TRY(ec::Tensor * y, ctx.add(OpKind::Mul, {ctx.in(0), factors}));
  return ctx.set(0, y, true);
}

// The length of the transform of one dimension; null: as long as the input.
Result<ec::Tensor*> length(OpContext& ctx, size_t which, size_t dims) {
  if (ctx.num_inputs() < 2) return static_cast<ec::Tensor*>(nullptr);
  EC_TRY(const std::vector<int64_t> lengths, ctx.need_ints(1, "fft_length"));
  if (lengths.size() != dims)
    return ctx.fail(Code::ShapeMismatch,
                    "fft_length has " + std::to_string(lengths.size()) + " numbers");
  if (lengths[which] < 1 || lengths[which] > (1 << 24))
    return ctx.fail(Code::BadValue, "a transform length is " + std::to_string(lengths[which]));
  return ctx.scalar(DType::I64, static_cast<double>(lengths[which]));
}

// Transforms of the last dimensions; the parts come behind them.
template <int kDims>
Status fft(OpContext& ctx) {
  EC_CHECK_OK(need_complex(ctx));
  ec::Tensor* x = ctx.in(0);
  const bool inverse = ctx.source().op.starts_with("I");
  for (int d = 0; d < kDims; ++d) {
    DftAttrs attrs;
    attrs.inverse = inverse;
    EC_TRY(x, ctx.add(OpKind::Dft, {x, nullptr, ctx.scalar(DType::I64, -2 - d)}, attrs));
  }
  return ctx.set(0, x, true);
}

// Real numbers: half of the frequencies of the last dimension are enough.
template <int kDims>
Status rfft(OpContext& ctx) {
  if (ctx.is_complex()) return ctx.fail(Code::TypeMismatch, "real numbers are needed");
  EC_TRY(ec::Tensor * x, ctx.unsqueeze(ctx.in(0), {-1}));
  DftAttrs half;
  half.onesided = true;
  EC_TRY(ec::Tensor * last, length(ctx, kDims - 1, kDims));
  EC_TRY(x, ctx.add(OpKind::Dft, {x, last, ctx.scalar(DType::I64, -2)}, half));
  for (int d = 1; d < kDims; ++d) {
    EC_TRY(ec::Tensor * own, length(ctx, static_cast<size_t>(kDims - 1 - d), kDims));
    EC_TRY(x, ctx.add(OpKind::Dft, {x, own, ctx.scalar(DType::I64, -2 - d)}, DftAttrs{}));
  }
  return ctx.set(0, x, true);
}

// The other half of the frequencies mirrors the first: joined, then transformed back.
Status irfft(OpContext& ctx) {
  EC_CHECK_OK(need_complex(ctx));
  EC_TRY(const size_t rank, ctx.rank());
  EC_TRY(const std::vector<int64_t> lengths, ctx.need_ints(1, "fft_length"));
  if (lengths.size() != 1 || lengths[0] < 1 || lengths[0] > (1 << 24) || rank < 2)
    return ctx.fail(Code::BadValue, "fft_length has to be one positive number");
  const int64_t axis = static_cast<int64_t>(rank) - 2, count = lengths[0], kept = count / 2 + 1;
  const Dim& have = (*ctx.in(0)->shape())[static_cast<size_t>(axis)];
  if (!have.is_static())
    return ctx.fail(Code::DynamicShape, "the number of frequencies has to be known");
  ec::Tensor* x = ctx.in(0);
  if (have.size() > kept) {
    EC_TRY(x, ctx.slice(x, axis, 0, kept));
  } else if (have.size() < kept) {
    EC_TRY(x,
           ctx.add(OpKind::Pad, {x, ctx.ints({0, kept - have.size()}), nullptr, ctx.ints({axis})},
                   PadAttrs{}));
  }
  std::vector<ec::Tensor*> parts{x};
  if (count - kept > 0) {
    const std::vector<float> signs = {1.0f, -1.0f};
    ec::Tensor* factors =
        ctx.graph().add_constant<float>("", Shape{2}, std::span<const float>(signs));
    EC_TRY(ec::Tensor * mirrored,
           ctx.add(OpKind::Slice,
                   {x, ctx.ints({count - kept}), ctx.ints({0}), ctx.ints({axis}), ctx.ints({-1})}));
    EC_TRY(mirrored, ctx.add(OpKind::Mul, {mirrored, factors}));
    parts.push_back(mirrored);
  }
  EC_TRY(x, ctx.concat(std::move(parts), axis));
  DftAttrs attrs;
  attrs.inverse = true;
  EC_TRY(x, ctx.add(OpKind::Dft, {x, nullptr, ctx.scalar(DType::I64, -2)}, attrs));
  EC_TRY(x, complex_part(ctx, x, ComplexPart::Real));
  return ctx.set(0, x);
}

constexpr Arity k1{1, 1}, k2{2, 2};
constexpr Takes kC = Takes::Complex;

constexpr OpRow kRows[] = {
    {"Real", k1, part<ComplexPart::Real>, kC},
    {"Imag", k1, part<ComplexPart::Imaginary>, kC},
    {"ComplexAbs", k1, magnitude, kC},
    {"Angle", k1, angle, kC},
    {"Complex", k2, complex},
    {"Conj", k1, conj, kC},
    {"FFT", k1, fft<1>, kC},
    {"FFT2D", k1, fft<2>, kC},
    {"IFFT", k1, fft<1>, kC},
    {"IFFT2D", k1, fft<2>, kC},
    {"RFFT", k2, rfft<1>, kC},
    {"RFFT2D", k2, rfft<2>, kC},
    {"IRFFT", k2, irfft, kC},
};

}  // namespace

const std::span<const OpRow> kComplexRows = kRows;

}  // namespace ec::tf
