#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/op_case.h"

namespace ec::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

void expect_pair(OpKind kind, DType dtype, const std::vector<double>& a,
                 const std::vector<double>& b, const std::vector<double>& y, Attrs attrs = {}) {
  const auto n = static_cast<int64_t>(a.size());
  expect_case(
      {kind, {tensor(dtype, {n}, a), tensor(dtype, {n}, b)}, {tensor(dtype, {n}, y)}, attrs});
}

TEST(Binary, FloatArithmetic) {
  for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
    expect_pair(OpKind::Add, dtype, {1, -2, kInf}, {0.5, 2, -kInf}, {1.5, 0, kNan});
    expect_pair(OpKind::Sub, dtype, {1, -2, 3}, {0.5, 2, kNan}, {0.5, -4, kNan});
    expect_pair(OpKind::Mul, dtype, {1.5, -2, 0}, {0.5, 2, kInf}, {0.75, -4, kNan});
    expect_pair(OpKind::Div, dtype, {1, -3, 0}, {0, 2, 0}, {kInf, -1.5, kNan});
    expect_pair(OpKind::Max, dtype, {1, kNan, 2}, {3, 1, kNan}, {3, kNan, kNan});
    expect_pair(OpKind::Min, dtype, {1, kNan, 2}, {3, 1, kNan}, {1, kNan, kNan});
    expect_pair(OpKind::Pow, dtype, {2, 4, -2, 9}, {3, 0.5, 2, 0}, {8, 2, 4, 1});
  }
}

TEST(Binary, IntegerArithmetic) {
  expect_pair(OpKind::Add, DType::U8, {250, 1}, {10, 2}, {4, 3});
  expect_pair(OpKind::Sub, DType::U8, {1, 5}, {2, 5}, {255, 0});
  expect_pair(OpKind::Mul, DType::I8, {100, -3}, {2, 5}, {-56, -15});
  expect_pair(OpKind::Div, DType::I32, {-7, 7, -2147483648.0}, {2, -2, -1},
              {-3, -3, -2147483648.0});
  expect_pair(OpKind::Div, DType::U16, {7, 65535}, {2, 256}, {3, 255});
  expect_pair(OpKind::Max, DType::I64, {-7, 7}, {2, -2}, {2, 7});
  expect_pair(OpKind::Min, DType::U32, {7, 4294967295.0}, {2, 9}, {2, 9});
  const int64_t low[] = {INT64_MIN}, minus_one[] = {-1};
  expect_case({OpKind::Div,
               {Value::of<int64_t>({1}, low), Value::of<int64_t>({1}, minus_one)},
               {Value::of<int64_t>({1}, low)}});
  const uint64_t big[] = {UINT64_MAX - 1}, two[] = {2}, half[] = {UINT64_MAX / 2};
  expect_case({OpKind::Div,
               {Value::of<uint64_t>({1}, big), Value::of<uint64_t>({1}, two)},
               {Value::of<uint64_t>({1}, half)}});
  expect_run_error(OpKind::Div, {i32({2}, {1, 2}), i32({2}, {1, 0})}, {}, "by zero");
  expect_run_error(OpKind::Mod, {u8({2}, {1, 2}), u8({1}, {0})}, ModAttrs{}, "by zero");
  expect_case({OpKind::Div, {i32({0}, {}), i32({1}, {0})}, {i32({0}, {})}});
}

TEST(Binary, Remainders) {
  expect_pair(OpKind::Mod, DType::I32, {-4, 7, 5, 4, -7, 8}, {2, -3, 8, -2, 3, 5},
              {0, -2, 5, 0, 2, 3});
  expect_pair(OpKind::Mod, DType::I32, {-4, 7, 5, 4, -7, 8}, {2, -3, 8, -2, 3, 5},
              {0, 1, 5, 0, -1, 3}, ModAttrs{.fmod = true});
  expect_pair(OpKind::Mod, DType::F32, {-4.3, 7.2, 5.0, 0, 1}, {2.1, -3.4, kInf, 3, 0},
              {2.0, -3.0, 5.0, 0, kNan});
  expect_pair(OpKind::Mod, DType::F32, {-4.25, 7.25}, {2.0, -3.5}, {-0.25, 0.25},
              ModAttrs{.fmod = true});
}

TEST(Binary, Powers) {
  const auto power = [](Value a, Value b, Value y) { expect_case({OpKind::Pow, {a, b}, {y}}); };
  power(i32({4}, {2, -3, 0, -1}), i32({4}, {10, 3, 0, -3}), i32({4}, {1024, -27, 1, -1}));
  power(i32({2}, {2, 7}), i32({2}, {-1, 40}), i32({2}, {0, -142118463}));  // wraps at 32 bits
  power(f32({2}, {2, 3}), i64({1}, {3}), f32({2}, {8, 27}));
  power(i64({2}, {4, 9}), f32({1}, {0.5}), i64({2}, {2, 3}));
  power(f32({3}, {1, -3, kInf}), f32({}, {2}), f32({3}, {1, 9, kInf}));
  power(f32({1}, {3}), f32({2, 1}, {2, 3}), f32({2, 1}, {9, 27}));
}

TEST(Binary, LogicAndBits) {
  const Value a = boolean({4}, {0, 0, 1, 1}), b = boolean({4}, {0, 1, 0, 1});
  expect_case({OpKind::And, {a, b}, {boolean({4}, {0, 0, 0, 1})}});
  expect_case({OpKind::Or, {a, b}, {boolean({4}, {0, 1, 1, 1})}});
  expect_case({OpKind::Xor, {a, b}, {boolean({4}, {0, 1, 1, 0})}});
  expect_pair(OpKind::BitwiseAnd, DType::I32, {12, -1}, {10, 7}, {8, 7});
  expect_pair(OpKind::BitwiseOr, DType::U8, {12, 1}, {10, 128}, {14, 129});
  expect_pair(OpKind::BitwiseXor, DType::I8, {12, -1}, {10, 1}, {6, -2});
  expect_pair(OpKind::BitShift, DType::U8, {16, 255, 1, 3}, {1, 4, 8, 7}, {32, 240, 0, 128});
  expect_pair(OpKind::BitShift, DType::I8, {-128, -8, 64, -1}, {1, 9, 2, -1}, {-64, -1, 16, -1},
              BitShiftAttrs{.left = false});
  expect_pair(OpKind::BitShift, DType::I8, {64, 3, 5}, {1, 100, -1}, {-128, 0, 0});
  const uint64_t x[] = {UINT64_MAX, 1}, by[] = {63, UINT64_MAX}, right[] = {1, 0};
  expect_case({OpKind::BitShift,
               {Value::of<uint64_t>({2}, x), Value::of<uint64_t>({2}, by)},
               {Value::of<uint64_t>({2}, right)},
               BitShiftAttrs{.left = false}});
}

TEST(Binary, Comparisons) {
  const Value a = f32({4}, {1, 2, 3, kNan}), b = f32({4}, {2, 2, 2, kNan});
  expect_case({OpKind::Equal, {a, b}, {boolean({4}, {0, 1, 0, 0})}});
  expect_case({OpKind::Less, {a, b}, {boolean({4}, {1, 0, 0, 0})}});
  expect_case({OpKind::LessOrEqual, {a, b}, {boolean({4}, {1, 1, 0, 0})}});
  expect_case({OpKind::Greater, {a, b}, {boolean({4}, {0, 0, 1, 0})}});
  expect_case({OpKind::GreaterOrEqual, {a, b}, {boolean({4}, {0, 1, 1, 0})}});
  expect_case(
      {OpKind::Equal, {boolean({2}, {1, 0}), boolean({2}, {1, 1})}, {boolean({2}, {1, 0})}});
  const uint64_t big[] = {UINT64_MAX}, one[] = {1};
  expect_case({OpKind::Less,
               {Value::of<uint64_t>({1}, one), Value::of<uint64_t>({1}, big)},
               {boolean({1}, {1})}});
}

// Every way operands can repeat, against the sum written out by index.
TEST(Binary, BroadcastForms) {
  const std::vector<std::pair<Sizes, Sizes>> forms = {
      {{2, 3, 4}, {2, 3, 4}}, {{2, 3, 4}, {}},        {{}, {2, 3, 4}},     {{2, 3, 4}, {4}},
      {{3, 1}, {2, 3, 4}},    {{2, 1, 4}, {3, 1}},    {{2, 1, 1}, {3, 4}}, {{1, 3, 1}, {2, 1, 4}},
      {{2, 3, 4}, {1, 1, 1}}, {{5, 1, 3}, {5, 2, 1}}, {{0, 3}, {1}},       {{1, 1}, {1}}};
  for (const auto& [sa, sb] : forms) {
    const Value a = ramp(DType::F32, sa), b = ramp(DType::F32, sb, 100, 100);
    const size_t rank = std::max(sa.size(), sb.size());
    const auto size_at = [&](const Sizes& s, size_t d) {
      return d + s.size() >= rank ? s[d + s.size() - rank] : int64_t{1};
    };
    Sizes target(rank);
    for (size_t d = 0; d < rank; ++d) {
      const int64_t x = size_at(sa, d), y = size_at(sb, d);
      target[d] = x == 1 ? y : x;
    }
    const int64_t total = count_elements(target);
    std::vector<double> expected;
    for (int64_t i = 0; i < total; ++i) {
      int64_t rest = i, at_a = 0, at_b = 0, step_a = 1, step_b = 1;
      for (size_t d = rank; d-- > 0;) {
        const int64_t index = rest % target[d];
        rest /= target[d];
        if (size_at(sa, d) > 1) at_a += index * step_a;
        if (size_at(sb, d) > 1) at_b += index * step_b;
        step_a *= size_at(sa, d);
        step_b *= size_at(sb, d);
      }
      expected.push_back(static_cast<double>(at_a) + 100.0 * static_cast<double>(at_b + 1));
    }
    SCOPED_TRACE(a.type().text() + " " + b.type().text());
    expect_case({OpKind::Add, {a, b}, {f32(target, expected)}});
  }
}

TEST(ElementwiseBinary, ParametersDoNotMixWithFloats) {
  // Max compares what is stored; an operand of another type is compared with nothing.
  TensorType stored(DType::U8, Shape{2});
  stored.quant = QuantParams{{0.5f}, {128}, -1};
  expect_infer_error(OpKind::Max, {stored, typed(DType::F32, {2})}, {}, Code::TypeMismatch,
                     "element types");
}

TEST(Where, Broadcast) {
  for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::U8, DType::Bool})
    expect_case({OpKind::Where,
                 {boolean({2, 1}, {1, 0}), tensor(dtype, {2}, {1, 0}), tensor(dtype, {}, {1})},
                 {tensor(dtype, {2, 2}, {1, 0, 1, 1})}});
  expect_infer_error(OpKind::Where,
                     {typed(DType::I32, {2}), typed(DType::F32, {2}), typed(DType::F32, {2})}, {},
                     Code::TypeMismatch, "boolean");
  expect_infer_error(OpKind::Where,
                     {typed(DType::Bool, {2}), typed(DType::F32, {2}), typed(DType::F16, {2})}, {},
                     Code::TypeMismatch, "element types");
  expect_infer_error(OpKind::Where,
                     {typed(DType::Bool, {2}), typed(DType::F32, {3}), typed(DType::F32, {1})}, {},
                     Code::ShapeMismatch, "broadcast");
}

TEST(Binary, Inference) {
  expect_types(OpKind::Add, {typed(DType::F32, {sym("N"), 3}), typed(DType::F32, {1, 3})}, {},
               {"f32[N,3]"});
  expect_types(OpKind::Mul, {typed(DType::F32, {sym("N"), 1}), typed(DType::F32, {sym("N"), 8})},
               {}, {"f32[N,8]"});
  expect_types(OpKind::Less, {typed(DType::F32, {sym("A")}), typed(DType::F32, {sym("B")})}, {},
               {"bool[?]"});
  expect_types(OpKind::Pow, {typed(DType::F16, {sym("A"), 2}), typed(DType::I32, {})}, {},
               {"f16[A,2]"});
  expect_infer_error(OpKind::Add, {typed(DType::F32, {2}), typed(DType::F32, {3})}, {},
                     Code::ShapeMismatch, "broadcast");
  expect_infer_error(OpKind::Add, {typed(DType::F32, {2}), typed(DType::F64, {2})}, {},
                     Code::TypeMismatch, "element types");
  expect_infer_error(OpKind::Add, {typed(DType::Bool, {2}), typed(DType::Bool, {2})}, {},
                     Code::TypeMismatch, "numeric");
  expect_infer_error(OpKind::And, {typed(DType::U8, {2}), typed(DType::U8, {2})}, {},
                     Code::TypeMismatch, "boolean");
  expect_infer_error(OpKind::BitShift, {typed(DType::F32, {2}), typed(DType::F32, {2})}, {},
                     Code::TypeMismatch, "integer");
}

TEST(Binary, ShapeArithmetic) {
  const Known shape = Known::shape_tensor({sym("N"), 3, 8, Dim::unknown()});
  const auto ints = [](std::vector<double> v) { return i64({static_cast<int64_t>(v.size())}, v); };
  expect_dims(OpKind::Add, {shape, ints({0, 1, -9, 0})}, {}, "[N,4,?,?]");
  expect_dims(OpKind::Sub, {shape, shape}, {}, "[0,0,0,?]");
  expect_dims(OpKind::Sub, {shape, ints({1})}, {}, "[?,2,7,?]");
  expect_dims(OpKind::Mul, {ints({1}), shape}, {}, "[N,3,8,?]");
  expect_dims(OpKind::Mul, {shape, ints({2, 2, 2, 0})}, {}, "[?,6,16,0]");
  expect_dims(OpKind::Div, {shape, ints({1, 2, 0, 1})}, {}, "[N,1,?,?]");
  expect_dims(OpKind::Mod, {shape, ints({1, 2, 3, 2})}, {}, "[0,1,2,?]");
  expect_dims(OpKind::Max, {shape, ints({0, 5, -1, 1})}, {}, "[N,5,8,?]");
  expect_dims(OpKind::Min, {shape, ints({0, 5, -1, 1})}, {}, "[0,3,?,?]");
  expect_dims(OpKind::Equal, {shape, ints({-1, 3, 4, 1})}, {}, "[0,1,0,?]");
  expect_dims(OpKind::Less, {shape, ints({0, 4, 8, 1})}, {}, "[0,1,0,?]");
  expect_dims(OpKind::LessOrEqual, {shape, shape}, {}, "[1,1,1,?]");
  expect_dims(OpKind::Greater, {shape, ints({-1, 3, 4, 1})}, {}, "[1,0,1,?]");
  expect_dims(OpKind::GreaterOrEqual, {shape, ints({0, 4, 8, 1})}, {}, "[1,0,1,?]");
  expect_dims(OpKind::Mul, {shape, typed(DType::I64, {4})}, {}, "none");
  // Products that leave the range are not known.
  expect_dims(OpKind::Mul, {Known::shape_tensor({INT64_MAX, 2}), ints({2})}, {}, "[?,4]");
  // What exporters write for expand: where(shape == -1, ones, shape).
  expect_dims(OpKind::Where, {boolean({4}, {0, 1, 0, 1}), ints({1}), shape}, {}, "[N,1,8,1]");
}

}  // namespace
}  // namespace ec::test
