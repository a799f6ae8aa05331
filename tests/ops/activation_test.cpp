#include <gtest/gtest.h>

#include <limits>

#include "ops/op_case.h"

namespace ec::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

void expect_map(OpKind kind, const std::vector<double>& x, const std::vector<double>& y,
                Attrs attrs = {}) {
  const auto n = static_cast<int64_t>(x.size());
  expect_case({kind, {f32({n}, x)}, {f32({n}, y)}, attrs});
  expect_case({kind, {tensor(DType::F64, {1, n}, x)}, {tensor(DType::F64, {1, n}, y)}, attrs});
  expect_case({kind, {tensor(DType::F16, {n}, x)}, {tensor(DType::F16, {n}, y)}, attrs, 2e-3});
}

TEST(Activation, WithoutAttributes) {
  expect_map(OpKind::Relu, {-1, 0, 2, kNan, kInf}, {0, 0, 2, kNan, kInf});
  expect_case({OpKind::Relu, {i32({3}, {-5, 0, 7})}, {i32({3}, {0, 0, 7})}});
  expect_map(OpKind::Sigmoid, {0, 1, -2, 500, -500},
             {0.5, 0.7310585786300049, 0.11920292202211755, 1, 0});
  expect_map(OpKind::Softplus, {0, 1, -2, 500},
             {0.6931471805599453, 1.3132616875182228, 0.1269280110429725, 500});
  expect_map(OpKind::Softsign, {0, 1, -3}, {0, 0.5, -0.75});
  expect_map(OpKind::Mish, {0, 1, -2}, {0, 0.8650983882673103, -0.25250148269344});
  expect_map(OpKind::HardSwish, {-4, -3, 0, 1, 4}, {0, 0, 0, 2.0 / 3, 4});
}

TEST(Activation, WithAttributes) {
  expect_map(OpKind::Silu, {0, 1, -2}, {0, 0.7310585786300049, -0.2384058440442351});
  expect_map(OpKind::Silu, {1, -2}, {0.8807970779778823, -0.03597241992418312}, SiluAttrs{2.0f});
  expect_map(OpKind::Gelu, {0, 1, -2}, {0, 0.8413447460685429, -0.04550026389635842});
  expect_map(OpKind::Gelu, {0, 1, -2}, {0, 0.8411919906082768, -0.04540230591222494},
             GeluAttrs{GeluForm::Tanh});
  expect_map(OpKind::Elu, {2, 0, -1}, {2, 0, -1.2642411176571153}, AlphaAttrs{2.0f});
  expect_map(OpKind::Celu, {2, 0, -1}, {2, 0, -0.786938680574733}, AlphaAttrs{2.0f});
  expect_map(OpKind::Selu, {1, -1}, {1.0507009873554805, -1.1113307378125625});
  expect_map(OpKind::LeakyRelu, {3, -2}, {3, -0.5}, LeakyReluAttrs{0.25f});
  expect_map(OpKind::ThresholdedRelu, {1, 2, 2.5, -3}, {0, 0, 2.5, 0}, AlphaAttrs{2.0f});
  expect_map(OpKind::HardSigmoid, {-2, 0, 1, 3}, {0, 0.5, 0.75, 1}, HardSigmoidAttrs{0.25f, 0.5f});
  expect_map(OpKind::Shrink, {-2, -0.5, 0.5, 2}, {-1.5, 0, 0, 1.5}, ShrinkAttrs{0.5f, 1.0f});
  expect_case({OpKind::Shrink,
               {i8({4}, {-3, -1, 1, 3})},
               {i8({4}, {-2, 0, 0, 2})},
               ShrinkAttrs{1.0f, 1.5f}});
}

TEST(Clip, Bounds) {
  const Value x = f32({5}, {-3, -1, 0.5, 2, kNan});
  const Value low = scalar(DType::F32, -1.5), high = scalar(DType::F32, 1);
  expect_case({OpKind::Clip, {x, low, high}, {f32({5}, {-1.5, -1, 0.5, 1, kNan})}});
  expect_case({OpKind::Clip, {x, kAbsent, high}, {f32({5}, {-3, -1, 0.5, 1, kNan})}});
  expect_case({OpKind::Clip, {x, low}, {f32({5}, {-1.5, -1, 0.5, 2, kNan})}});
  expect_case({OpKind::Clip, {x}, {x}});
  // Crossed bounds: the upper one wins.
  expect_case({OpKind::Clip, {f32({2}, {0, 5}), high, low}, {f32({2}, {-1.5, -1.5})}});
  expect_case({OpKind::Clip,
               {u8({3}, {0, 100, 255}), scalar(DType::U8, 10), u8({1}, {200})},
               {u8({3}, {10, 100, 200})}});
}

TEST(Clip, Inference) {
  const Known shape = Known::shape_tensor({sym("N"), 3, 9});
  expect_dims(OpKind::Clip, {shape, i64({}, {0})}, {}, "[N,3,9]");
  expect_dims(OpKind::Clip, {shape, i64({}, {4}), i64({}, {8})}, {}, "[?,4,8]");
  expect_dims(OpKind::Clip, {shape, typed(DType::I64, {})}, {}, "none");
  expect_infer_error(OpKind::Clip, {typed(DType::F32, {2}), typed(DType::F32, {2})}, {},
                     Code::ShapeMismatch, "one element");
  expect_infer_error(OpKind::Clip, {typed(DType::F32, {2}), typed(DType::F64, {})}, {},
                     Code::TypeMismatch, "element type");
}

TEST(Prelu, Broadcast) {
  const Value x = ramp(DType::F32, {1, 2, 3}, -3);
  expect_case(
      {OpKind::Prelu, {x, f32({2, 1}, {0.5, 2})}, {f32({1, 2, 3}, {-1.5, -1, -0.5, 0, 1, 2})}});
  expect_case({OpKind::Prelu, {x, f32({3}, {1, 2, 3})}, {f32({1, 2, 3}, {-3, -4, -3, 0, 1, 2})}});
  expect_case({OpKind::Prelu, {i32({2}, {-4, 4}), i32({1}, {3})}, {i32({2}, {-12, 4})}});
  expect_case({OpKind::Prelu, {u8({2}, {4, 200}), u8({1}, {3})}, {u8({2}, {4, 200})}});
  expect_types(OpKind::Prelu, {typed(DType::F32, {sym("N"), 4, 5}), typed(DType::F32, {4, 1})}, {},
               {"f32[N,4,5]"});
  expect_infer_error(OpKind::Prelu, {typed(DType::F32, {1, 4}), typed(DType::F32, {3, 4})}, {},
                     Code::ShapeMismatch, "broadcast");
  expect_infer_error(OpKind::Prelu, {typed(DType::F32, {4}), typed(DType::F32, {1, 4})}, {},
                     Code::ShapeMismatch, "broadcast");
}

}  // namespace
}  // namespace ec::test
