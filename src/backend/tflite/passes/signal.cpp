// Fourier transforms: in the form of RFFT2D where it can do them, else as products with constant
// matrices of sines and cosines.
#include <cmath>
#include <numbers>

#include "backend/tflite/passes/rules.h"
#include "backend/tflite/passes/spectrum.h"
#include "passes/replacement.h"
#include "passes/tables.h"

namespace ec::passes {
namespace {

// Beyond this the matrices are larger than most models.
constexpr int64_t kMaxLength = 4096;

// cos or sin(2 pi i k / n) as [bins, length]: rows are what linear layers take.
Tensor* wave(Replacement& p, double (*function)(double), int64_t length, int64_t bins,
             double factor) {
  std::vector<float> values;
  for (int64_t k = 0; k < bins; ++k)
    for (int64_t i = 0; i < length; ++i) {
      const double turn = static_cast<double>(i * k % length) / static_cast<double>(length);
      values.push_back(static_cast<float>(factor * function(2 * std::numbers::pi * turn)));
    }
  return p.floats(Shape{bins, length}, values);
}

// A complex tensor as two, the transformed dimension last.
struct Complex {
  Tensor *real = nullptr, *imaginary = nullptr;  // imaginary null: 0
};

Complex transform(Replacement& p, Complex x, int64_t length, int64_t bins, bool inverse) {
  const double factor = inverse ? 1.0 / static_cast<double>(length) : 1.0;
  Tensor* cosine = wave(p, std::cos, length, bins, factor);
  // e^-i... forward, e^+i... back.
  Tensor* sine = wave(p, std::sin, length, bins, inverse ? factor : -factor);
  const auto product = [&p](Tensor* a, Tensor* b) {
    return p.op(OpKind::MatMul, {a, b}, MatMulAttrs{.transpose_b = true});
  };
  Complex y{product(x.real, cosine), product(x.real, sine)};
  if (x.imaginary != nullptr) {
    Tensor* minus = product(x.imaginary, sine);
    Tensor* plus = product(x.imaginary, cosine);
    y = {p.sub(y.real, minus), p.add(y.imaginary, plus)};
  }
  return y;
}

// [..., n] twice as [..., n, 2].
Tensor* joined(Replacement& p, const Complex& x) {
  if (!p.ok()) return nullptr;
  std::vector<int64_t> sizes = x.real->shape()->sizes();
  sizes.push_back(1);
  const auto axis = static_cast<int64_t>(sizes.size()) - 1;
  return p.concat({p.sized(x.real, sizes), p.sized(x.imaginary, sizes)}, axis);
}

// A transform of real numbers along another dimension than the last but one.
Result<bool> turn_to_rows(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<DftAttrs>();
  const auto shape = static_shape(op->input(0)), out = static_shape(op->output());
  const auto given = op->input(2) == nullptr ? std::nullopt : scalar_value(op->input(2));
  if (!is_plain(op) || !shape || !out || !given || !attrs.onesided || attrs.inverse) return false;
  const int64_t axis = positive_axis(static_cast<int64_t>(*given), shape->size());
  const auto rows = static_cast<int64_t>(shape->size()) - 2;
  const auto wanted = op->input(1) == nullptr ? std::nullopt : scalar_value(op->input(1));
  const int64_t length =
      wanted ? static_cast<int64_t>(*wanted) : (*shape)[static_cast<size_t>(axis)];
  if (axis >= rows || !is_row_length(length) || (op->input(1) != nullptr && !wanted)) return false;
  Replacement p(r, op);
  Perm perm = identity_perm(shape->size());
  std::swap(perm[static_cast<size_t>(axis)], perm[static_cast<size_t>(rows)]);
  Tensor* y =
      p.op(OpKind::Dft, {p.transpose(op->input(0), perm), op->input(1), r.scalar(DType::I64, -2)},
           attrs);
  return p.replace(p.transpose(y, perm));
}

// dft(x [..., 1 or 2], length?, axis?)
Result<bool> dft_as_products(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<DftAttrs>();
  const auto shape = static_shape(op->input(0)), out = static_shape(op->output());
  const auto given = op->input(2) == nullptr ? std::optional(-2.0) : scalar_value(op->input(2));
  if (!is_plain(op) || !shape || !out || !given || op->output()->dtype() != DType::F32)
    return false;
  if (attrs.onesided && attrs.inverse) return false;  // real results from half of the bins
  const size_t rank = shape->size();
  const int64_t axis = positive_axis(static_cast<int64_t>(*given), rank);
  const auto wanted = op->input(1) == nullptr ? std::nullopt : scalar_value(op->input(1));
  if (op->input(1) != nullptr && !wanted) return false;
  const int64_t size = (*shape)[static_cast<size_t>(axis)];
  const int64_t length = wanted ? static_cast<int64_t>(*wanted) : size;
  if (axis + 1 == static_cast<int64_t>(rank) || length < 1 || length > kMaxLength) return false;
  Replacement p(r, op);
  Tensor* x = op->input(0);
  if (length < size) x = p.slice(x, axis, 0, length);
  if (length > size) {
    std::vector<int64_t> pads(2 * rank, 0);
    pads[rank + static_cast<size_t>(axis)] = length - size;
    x = p.pad(x, pads);
  }
  // The dimension of real and imaginary values comes first, the transformed one last.
  Perm perm{static_cast<int64_t>(rank) - 1};
  for (int64_t d = 0; d + 1 < static_cast<int64_t>(rank); ++d)
    if (d != axis) perm.push_back(d);
  perm.push_back(axis);
  x = p.transpose(x, perm);
  if (!p.ok()) return p.replace(nullptr);
  std::vector<int64_t> sizes = x->shape()->sizes();
  sizes.erase(sizes.begin());
  const bool complex = shape->back() == 2;
  Complex parts{p.sized(complex ? p.slice(x, 0, 0, 1) : x, sizes), nullptr};
  if (complex) parts.imaginary = p.sized(p.slice(x, 0, 1, 2), sizes);
  const int64_t bins = (*out)[static_cast<size_t>(axis)];
  Tensor* y = joined(p, transform(p, parts, length, bins, attrs.inverse));
  // From [others..., bins, 2] back: the dimension to its old position.
  Perm back;
  for (int64_t d = 0; d + 2 < static_cast<int64_t>(rank); ++d) back.push_back(d);
  back.insert(back.begin() + axis, static_cast<int64_t>(rank) - 2);
  back.push_back(static_cast<int64_t>(rank) - 1);
  return p.replace(p.transpose(y, back));
}

// All but the forms of RFFT2D.
Result<bool> expand_dft(Rewriter& r, Operation* op) {
  if (is_row_transform(op) || is_column_transform(op)) return false;
  EC_TRY(const bool turned, turn_to_rows(r, op));
  return turned ? Result<bool>(true) : dft_as_products(r, op);
}

// stft(signal [batch, length, 1], step, window?, frame length?): frames gathered, then transformed.
Result<bool> expand_stft(Rewriter& r, Operation* op) {
  const auto shape = static_shape(op->input(0)), out = static_shape(op->output());
  const auto step = scalar_value(op->input(1));
  if (!is_plain(op) || !shape || !out || !step || op->output()->dtype() != DType::F32) return false;
  if (shape->size() == 3 && shape->back() != 1) return false;
  const Tensor *window = op->input(2), *size = op->input(3);
  std::optional<double> length = scalar_value(size);
  if (size == nullptr && window != nullptr && static_shape(window))
    length = static_cast<double>((*static_shape(window))[0]);
  if (!length || *length < 1 || *length > kMaxLength) return false;
  if (*step < 1 || *step > INT32_MAX) return false;
  const auto n = static_cast<int64_t>(*length);
  const int64_t frames = (*out)[1], bins = (*out)[2];
  if (!fits_table(frames, n)) return false;
  std::vector<int32_t> indices;
  for (int64_t f = 0; f < frames; ++f)
    for (int64_t i = 0; i < n; ++i)
      indices.push_back(static_cast<int32_t>(f * static_cast<int64_t>(*step) + i));
  Replacement p(r, op);
  Tensor* signal = p.sized(op->input(0), {(*shape)[0], (*shape)[1]});
  Tensor* at =
      r.graph().add_constant<int32_t>("", Shape{frames, n}, std::span<const int32_t>(indices));
  Tensor* x = p.op(OpKind::Gather, {signal, at}, GatherAttrs{.axis = 1});
  if (window != nullptr) x = p.mul(x, op->input(2));
  if (op->attrs_as<StftAttrs>().onesided && is_row_length(n)) {
    x = p.sized(x, {(*shape)[0], frames, n, 1});
    return p.replace(p.op(OpKind::Dft, {x, nullptr, r.scalar(DType::I64, -2)},
                          DftAttrs{.inverse = false, .onesided = true}));
  }
  return p.replace(joined(p, transform(p, {x, nullptr}, n, bins, false)));
}

constexpr RewriteRule kRules[] = {
    {OpKind::Dft, expand_dft, "Fourier transforms"},
    {OpKind::Stft, expand_stft, "Fourier transforms"},
};

// For targets without RFFT2D.
constexpr RewriteRule kProducts[] = {
    {OpKind::Dft, dft_as_products, "Fourier transforms"},
    {OpKind::Stft, expand_stft, "Fourier transforms"},
};

}  // namespace

const std::span<const RewriteRule> kTfliteSignal = kRules, kFourierProducts = kProducts;

}  // namespace ec::passes
