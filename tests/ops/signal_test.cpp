#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ops/fourier.h"
#include "ops/op_case.h"

namespace ec::test {
namespace {

// Every way of computing agrees with the definition.
TEST(Fourier, AgreesWithTheDefinition) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> number(-1.0, 1.0);
  for (const size_t n : {1u, 2u, 3u, 8u, 12u, 30u, 31u, 37u, 62u, 64u, 74u, 97u}) {
    std::vector<Complex> signal(n);
    for (Complex& x : signal) x = {number(random), number(random)};
    std::vector<Complex> spectrum = signal;
    FourierTransform(n, false).run(spectrum);
    for (size_t k = 0; k < n; ++k) {
      Complex expected;
      for (size_t i = 0; i < n; ++i)
        expected +=
            signal[i] * std::polar(1.0, -2.0 * std::acos(-1.0) * static_cast<double>(i * k % n) /
                                            static_cast<double>(n));
      EXPECT_LT(std::abs(spectrum[k] - expected), 1e-11) << n << " " << k;
    }
    FourierTransform(n, true).run(spectrum);
    for (size_t i = 0; i < n; ++i)
      EXPECT_LT(std::abs(spectrum[i] - signal[i]), 1e-12) << n << " " << i;
  }
}

TEST(Dft, Inference) {
  const Dim n = sym("N"), t = sym("T");
  DftAttrs attrs;
  expect_types(OpKind::Dft, {typed(DType::F32, {n, t, 1})}, attrs, {"f32[N,T,2]"});
  expect_types(OpKind::Dft, {typed(DType::F32, {n, t, 1}), i64({}, {16})}, attrs, {"f32[N,16,2]"});
  expect_types(OpKind::Dft,
               {typed(DType::F32, {n, t, 1}), typed(DType::I64, {}), typed(DType::I64, {})}, attrs,
               {"f32[?,?,2]"});
  expect_types(OpKind::Dft, {typed(DType::F32, {n, t, 1}), kAbsent, i64({}, {0})}, attrs,
               {"f32[N,T,2]"});
  attrs.onesided = true;
  expect_types(OpKind::Dft, {typed(DType::F32, {n, 9, 1})}, attrs, {"f32[N,5,2]"});
  expect_infer_error(OpKind::Dft, {typed(DType::F32, {n, 9, 2})}, attrs, Code::ShapeMismatch,
                     "real input");
  attrs.inverse = true;
  expect_types(OpKind::Dft, {typed(DType::F32, {n, 5, 2})}, attrs, {"f32[N,8,1]"});
  expect_infer_error(OpKind::Dft, {typed(DType::F32, {n, 5, 1})}, attrs, Code::ShapeMismatch,
                     "complex input");
  expect_infer_error(OpKind::Dft, {typed(DType::F32, {n, 1, 2})}, attrs, Code::ShapeMismatch,
                     "too few");
}

TEST(Dft, Errors) {
  const auto x = typed(DType::F32, {2, 8, 1});
  expect_infer_error(OpKind::Dft, {x, kAbsent, i64({}, {2})}, {}, Code::BadValue, "last dimension");
  expect_infer_error(OpKind::Dft, {x, kAbsent, i64({}, {3})}, {}, Code::BadValue, "axis 3");
  expect_infer_error(OpKind::Dft, {x, i64({}, {0})}, {}, Code::BadValue, "length 0");
  expect_infer_error(OpKind::Dft, {x, i64({}, {1e18})}, {}, Code::BadValue, "out of range");
  expect_infer_error(OpKind::Dft, {typed(DType::F32, {2, 8, 3})}, {}, Code::ShapeMismatch, "real");
  expect_infer_error(OpKind::Dft, {typed(DType::F32, {8})}, {}, Code::ShapeMismatch, "rank 2");
  expect_infer_error(OpKind::Dft, {typed(DType::I32, {8, 1})}, {}, Code::TypeMismatch, "i32");
}

TEST(Stft, InferenceAndErrors) {
  const Dim n = sym("N"), t = sym("T");
  const auto step = i64({}, {4});
  expect_types(OpKind::Stft, {typed(DType::F32, {n, 32, 1}), step, typed(DType::F32, {16})}, {},
               {"f32[N,5,9,2]"});
  expect_types(OpKind::Stft, {typed(DType::F32, {n, t, 1}), step, kAbsent, i64({}, {16})}, {},
               {"f32[N,?,9,2]"});
  expect_infer_error(OpKind::Stft, {typed(DType::F32, {1, 8, 1}), step, typed(DType::F32, {16})},
                     {}, Code::ShapeMismatch, "shorter");
  expect_infer_error(OpKind::Stft,
                     {typed(DType::F32, {1, 32, 1}), i64({}, {0}), typed(DType::F32, {16})}, {},
                     Code::BadValue, "step 0");
  expect_infer_error(OpKind::Stft,
                     {typed(DType::F32, {1, 32, 1}), step, typed(DType::F32, {16}), i64({}, {8})},
                     {}, Code::ShapeMismatch, "16");
  expect_infer_error(OpKind::Stft, {typed(DType::F32, {1, 32, 2}), step, typed(DType::F32, {16})},
                     {}, Code::ShapeMismatch, "real input");
  expect_infer_error(OpKind::Stft, {typed(DType::F32, {1, 32, 1}), step, typed(DType::F32, {0})},
                     {}, Code::ShapeMismatch, "empty");
}

TEST(Windows, InferenceAndErrors) {
  expect_types(OpKind::HannWindow, {i64({}, {16})}, {}, {"f32[16]"});
  expect_types(OpKind::HammingWindow, {Known::dim_scalar(sym("N"))}, {}, {"f32[N]"});
  expect_infer_error(OpKind::BlackmanWindow, {i64({}, {-1})}, {}, Code::BadValue, "-1");
  WindowAttrs symmetric;
  symmetric.periodic = false;
  expect_case({OpKind::HannWindow, {i64({}, {1})}, {f32({1}, {1})}, symmetric});
  expect_case({OpKind::HannWindow, {i64({}, {0})}, {f32({0}, {})}, symmetric});
  const auto hz = [](double v) { return f32({}, {v}); };
  expect_types(OpKind::MelWeightMatrix,
               {i64({}, {8}), i64({}, {16}), i64({}, {8000}), hz(0), hz(4000)}, {}, {"f32[9,8]"});
  expect_infer_error(OpKind::MelWeightMatrix,
                     {i64({}, {8}), i64({}, {16}), i64({}, {0}), hz(0), hz(4000)}, {},
                     Code::BadValue, "rate");
  expect_run_error(OpKind::MelWeightMatrix,
                   {i64({}, {8}), i64({}, {16}), i64({}, {8000}), hz(-1000), hz(4000)}, {},
                   "edges");
  // Beyond the spectrum filters are cut off.
  EXPECT_TRUE(
      run_op(OpKind::MelWeightMatrix, {i64({}, {2}), i64({}, {4}), i64({}, {10}), hz(0), hz(1e30)})
          .ok());
}

}  // namespace
}  // namespace ec::test
