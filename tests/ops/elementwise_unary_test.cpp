#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/op_case.h"

namespace ec::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// x and f(x), elements of one float tensor.
void expect_map(OpKind kind, const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<int64_t>(x.size());
  expect_case({kind, {f32({n}, x)}, {f32({n}, y)}});
  expect_case({kind, {tensor(DType::F64, {n, 1}, x)}, {tensor(DType::F64, {n, 1}, y)}});
  expect_case({kind, {tensor(DType::F16, {n}, x)}, {tensor(DType::F16, {n}, y)}, {}, 2e-3});
  expect_case({kind, {tensor(DType::BF16, {n}, x)}, {tensor(DType::BF16, {n}, y)}, {}, 2e-2});
}

TEST(ElementwiseUnary, Transcendental) {
  const double pi = std::acos(-1.0);
  expect_map(OpKind::Exp, {0, 1, -1, -kInf}, {1, 2.718281828459045, 0.36787944117144233, 0});
  expect_map(OpKind::Log, {1, 8, 0, -1}, {0, 2.0794415416798357, -kInf, kNan});
  expect_map(OpKind::Sqrt, {0, 4, 2, -1}, {0, 2, 1.4142135623730951, kNan});
  expect_map(OpKind::Rsqrt, {4, 0.25, 0}, {0.5, 2, kInf});
  expect_map(OpKind::Reciprocal, {4, -0.5, 0}, {0.25, -2, kInf});
  expect_map(OpKind::Sin, {0, 0.5, -2}, {0, 0.479425538604203, -0.9092974268256817});
  expect_map(OpKind::Cos, {0, 0.5, -2}, {1, 0.8775825618903728, -0.4161468365471424});
  expect_map(OpKind::Tan, {0, 0.5, -1}, {0, 0.5463024898437905, -1.557407724654902});
  expect_map(OpKind::Asin, {0, 1, -0.5}, {0, pi / 2, -0.5235987755982989});
  expect_map(OpKind::Acos, {1, 0, -0.5}, {0, pi / 2, 2.0943951023931957});
  expect_map(OpKind::Atan, {0, 1, -kInf}, {0, pi / 4, -pi / 2});
  expect_map(OpKind::Sinh, {0, 1, -0.5}, {0, 1.1752011936438014, -0.5210953054937474});
  expect_map(OpKind::Cosh, {0, 1, -0.5}, {1, 1.5430806348152437, 1.1276259652063807});
  expect_map(OpKind::Tanh, {0, 1, -kInf}, {0, 0.7615941559557649, -1});
  expect_map(OpKind::Asinh, {0, 1, -2}, {0, 0.881373587019543, -1.4436354751788103});
  expect_map(OpKind::Acosh, {1, 2, 0}, {0, 1.3169578969248166, kNan});
  expect_map(OpKind::Atanh, {0, 0.5, 1}, {0, 0.5493061443340549, kInf});
  expect_map(OpKind::Erf, {0, 0.5, -1}, {0, 0.5204998778130465, -0.8427007929497148});
}

TEST(ElementwiseUnary, Rounding) {
  const std::vector<double> x = {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.75, kInf, kNan};
  expect_map(OpKind::Floor, x, {-3, -2, -1, 0, 1, 2, 2, kInf, kNan});
  expect_map(OpKind::Ceil, x, {-2, -1, -0.0, 1, 2, 3, 3, kInf, kNan});
  expect_map(OpKind::Round, x, {-2, -2, -0.0, 0, 2, 2, 3, kInf, kNan});
}

TEST(ElementwiseUnary, SignedNumbers) {
  expect_map(OpKind::Abs, {-1.5, 0, 2, -kInf, kNan}, {1.5, 0, 2, kInf, kNan});
  expect_map(OpKind::Neg, {-1.5, 2, kInf, kNan}, {1.5, -2, -kInf, kNan});
  expect_map(OpKind::Sign, {-1.5, 0, 2, kInf, kNan}, {-1, 0, 1, 1, kNan});
  expect_case({OpKind::Abs, {i8({3}, {-128, -3, 5})}, {i8({3}, {-128, 3, 5})}});
  expect_case({OpKind::Neg, {i32({3}, {-2147483648.0, 1, 0})}, {i32({3}, {-2147483648.0, -1, 0})}});
  expect_case({OpKind::Sign, {i64({3}, {-7, 0, 9})}, {i64({3}, {-1, 0, 1})}});
  expect_case({OpKind::Sign, {u8({2}, {0, 200})}, {u8({2}, {0, 1})}});
  const int64_t lowest[] = {INT64_MIN};
  const Value min = Value::of<int64_t>({1}, lowest);
  expect_case({OpKind::Abs, {min}, {min}});
  expect_case({OpKind::Neg, {min}, {min}});
  expect_case({OpKind::Identity, {min}, {min}});
}

TEST(ElementwiseUnary, LogicAndBits) {
  expect_case({OpKind::Not, {boolean({2}, {0, 1})}, {boolean({2}, {1, 0})}});
  expect_case({OpKind::BitwiseNot, {u8({2}, {0, 0xf0})}, {u8({2}, {255, 15})}});
  expect_case({OpKind::BitwiseNot, {i32({2}, {0, 5})}, {i32({2}, {-1, -6})}});
  const uint64_t big[] = {1};
  const uint64_t inverse[] = {UINT64_MAX - 1};
  expect_case(
      {OpKind::BitwiseNot, {Value::of<uint64_t>({1}, big)}, {Value::of<uint64_t>({1}, inverse)}});
  const Value x = f32({4}, {1, kNan, kInf, -kInf});
  expect_case({OpKind::IsNan, {x}, {boolean({4}, {0, 1, 0, 0})}});
  expect_case({OpKind::IsInf, {x}, {boolean({4}, {0, 0, 1, 1})}});
  expect_case({OpKind::IsInf,
               {x},
               {boolean({4}, {0, 0, 0, 1})},
               IsInfAttrs{.detect_positive = false, .detect_negative = true}});
}

TEST(ElementwiseUnary, Inference) {
  expect_types(OpKind::Exp, {typed(DType::F16, {sym("N"), 3})}, {}, {"f16[N,3]"});
  expect_types(OpKind::IsNan, {unranked(DType::F32)}, {}, {"bool[*]"});
  expect_infer_error(OpKind::Exp, {typed(DType::I32, {3})}, {}, Code::TypeMismatch,
                     "floating point");
  expect_infer_error(OpKind::Not, {typed(DType::I32, {3})}, {}, Code::TypeMismatch, "boolean");
  expect_infer_error(OpKind::BitwiseNot, {typed(DType::F32, {3})}, {}, Code::TypeMismatch,
                     "integer");
  const Known shape = Known::shape_tensor({sym("N"), 3, Dim::unknown()});
  expect_dims(OpKind::Identity, {shape}, {}, "[N,3,?]");
  expect_dims(OpKind::Abs, {i64({2}, {-3, 4})}, {}, "[3,4]");
  expect_dims(OpKind::Neg, {i64({2}, {-3, 4})}, {}, "[3,?]");
  expect_dims(OpKind::Neg, {shape}, {}, "none");
}

TEST(Cast, ByValue) {
  expect_case({OpKind::Cast,
               {f32({6}, {1.9, -1.9, 300, -300, kNan, kInf})},
               {i8({6}, {1, -1, 127, -128, 0, 127})},
               CastAttrs{.to = DType::I8}});
  expect_case({OpKind::Cast,
               {tensor(DType::I16, {2}, {200, -56})},
               {i8({2}, {-56, -56})},
               CastAttrs{.to = DType::I8}});
  expect_case({OpKind::Cast,
               {f32({4}, {0, -0.0, 0.25, kNan})},
               {boolean({4}, {0, 0, 1, 1})},
               CastAttrs{.to = DType::Bool}});
  expect_case({OpKind::Cast, {boolean({2}, {0, 1})}, {f32({2}, {0, 1})}, CastAttrs{}});
  expect_case({OpKind::Cast,
               {f32({3}, {7, 8, -9})},
               {tensor(DType::I4, {3}, {7, -8, 7})},
               CastAttrs{.to = DType::I4}});
  expect_case({OpKind::Cast,
               {f32({2}, {1e6, -1e6})},
               {tensor(DType::F16, {2}, {kInf, -kInf})},
               CastAttrs{.to = DType::F16}});
}

// 1 + 2^-11 + 2^-40 lies above the tie of two halves; rounding through float would lose that.
TEST(Cast, DoubleToHalfRoundsOnce) {
  const double x = 1.0 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40);
  const uint16_t bits[] = {0x3c01};
  const auto got =
      run_op(OpKind::Cast, {tensor(DType::F64, {1}, {x})}, CastAttrs{.to = DType::F16});
  ASSERT_TRUE(got.ok());
  EXPECT_EQ((*got)[0].as<uint16_t>()[0], bits[0]);
}

TEST(Cast, SmallFloats) {
  const Value x = f32({5}, {448, 500, kInf, kNan, -0.0});
  const auto bytes = [&](CastAttrs attrs) {
    const auto got = run_op(OpKind::Cast, {x}, attrs);
    EXPECT_TRUE(got.ok());
    const auto view = (*got)[0].as<uint8_t>();
    return std::vector<int>(view.begin(), view.end());
  };
  EXPECT_EQ(bytes({.to = DType::F8E4M3FN}), (std::vector<int>{0x7e, 0x7e, 0x7e, 0x7f, 0x80}));
  EXPECT_EQ(bytes({.to = DType::F8E4M3FN, .saturate = false}),
            (std::vector<int>{0x7e, 0x7f, 0x7f, 0x7f, 0x80}));
  EXPECT_EQ(bytes({.to = DType::F8E5M2, .saturate = false}),
            (std::vector<int>{0x5f, 0x60, 0x7c, 0x7e, 0x80}));
  EXPECT_EQ(bytes({.to = DType::F8E4M3FNUZ}), (std::vector<int>{0x7f, 0x7f, 0x7f, 0x80, 0}));
}

TEST(Cast, ScaleFormat) {
  const Value x = f32({4}, {1.0, 1.25, 1.5, 1.75});
  const auto bytes = [&](const char* mode) {
    const auto got = run_op(OpKind::Cast, {x}, CastAttrs{.to = DType::F8E8M0, .round_mode = mode});
    EXPECT_TRUE(got.ok());
    const auto view = (*got)[0].as<uint8_t>();
    return std::vector<int>(view.begin(), view.end());
  };
  EXPECT_EQ(bytes("up"), (std::vector<int>{127, 128, 128, 128}));
  EXPECT_EQ(bytes("down"), (std::vector<int>{127, 127, 127, 127}));
  EXPECT_EQ(bytes("nearest"), (std::vector<int>{127, 127, 128, 128}));
  expect_infer_error(OpKind::Cast, {typed(DType::F32, {1})},
                     CastAttrs{.to = DType::F8E8M0, .round_mode = "odd"}, Code::BadValue, "odd");
}

TEST(Cast, Inference) {
  expect_types(OpKind::Cast, {typed(DType::F32, {sym("N"), 2})}, CastAttrs{.to = DType::I32},
               {"i32[N,2]"});
  const Known shape = Known::shape_tensor({sym("N"), 3});
  expect_dims(OpKind::Cast, {shape}, CastAttrs{.to = DType::I32}, "[N,3]");
  expect_dims(OpKind::Cast, {shape}, CastAttrs{.to = DType::Bool}, "[?,1]");
  expect_dims(OpKind::Cast, {shape}, CastAttrs{.to = DType::F32}, "none");
  expect_dims(OpKind::Cast, {Known::shape_tensor({int64_t{1} << 40, 3})},
              CastAttrs{.to = DType::I32}, "[?,3]");
}

TEST(BitCast, KeepsBits) {
  const int32_t bits[] = {0x3f800000, INT32_MIN};
  expect_case({OpKind::BitCast,
               {Value::of<int32_t>({2}, bits)},
               {f32({2}, {1.0, -0.0})},
               BitCastAttrs{.to = DType::F32}});
  expect_case({OpKind::BitCast,
               {tensor(DType::U4, {3}, {7, 8, 15})},
               {tensor(DType::I4, {3}, {7, -8, -1})},
               BitCastAttrs{.to = DType::I4}});
  expect_case({OpKind::BitCast,
               {tensor(DType::I4, {2}, {-8, 3})},
               {tensor(DType::U4, {2}, {8, 3})},
               BitCastAttrs{.to = DType::U4}});
  expect_infer_error(OpKind::BitCast, {typed(DType::I32, {3})}, BitCastAttrs{.to = DType::F16},
                     Code::TypeMismatch, "widths differ");
}

}  // namespace
}  // namespace ec::test
