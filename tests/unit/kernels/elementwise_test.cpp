#include "runtime/kernels/elementwise.h"

#include <functional>

#include "unit/kernels/kernel_test_util.h"

namespace ec::kernels {
namespace {

struct UnaryCase {
  UnaryOp op;
  float alpha, beta;
  float low, high;
  std::function<double(double)> want;
};

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

std::vector<UnaryCase> unary_cases() {
  return {
      {UnaryOp::Identity, 0, 0, -5, 5, [](double x) { return x; }},
      {UnaryOp::Clamp, -1, 2, -5, 5, [](double x) { return std::clamp(x, -1.0, 2.0); }},
      {UnaryOp::LeakyRelu, 0.25F, 0, -5, 5, [](double x) { return x < 0 ? 0.25 * x : x; }},
      {UnaryOp::Elu, 1.5F, 0, -9, 5, [](double x) { return x < 0 ? 1.5 * std::expm1(x) : x; }},
      {UnaryOp::HardSigmoid, 0.25F, 0.5F, -5, 5,
       [](double x) { return std::clamp(0.25 * x + 0.5, 0.0, 1.0); }},
      {UnaryOp::HardSwish, 0, 0, -5, 5,
       [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {UnaryOp::Sigmoid, 0, 0, -80, 80, sigmoid},
      {UnaryOp::Silu, 0, 0, -60, 60, [](double x) { return x * sigmoid(x); }},
      {UnaryOp::Tanh, 0, 0, -12, 12, [](double x) { return std::tanh(x); }},
      {UnaryOp::Exp, 0, 0, -80, 80, [](double x) { return std::exp(x); }},
      {UnaryOp::Log, 0, 0, 1e-3F, 1e3F, [](double x) { return std::log(x); }},
      {UnaryOp::Erf, 0, 0, -6, 6, [](double x) { return std::erf(x); }},
      {UnaryOp::Gelu, 0, 0, -5, 5,
       [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }},
      {UnaryOp::GeluTanh, 0, 0, -4, 4,
       [](double x) {
         return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
       }},
      {UnaryOp::Softplus, 0, 0, -50, 50, [](double x) { return std::log1p(std::exp(x)); }},
      {UnaryOp::Mish, 0, 0, -20, 30,
       [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {UnaryOp::Sqrt, 0, 0, 0, 100, [](double x) { return std::sqrt(x); }},
      {UnaryOp::Rsqrt, 0, 0, 0.01F, 100, [](double x) { return 1 / std::sqrt(x); }},
      {UnaryOp::Reciprocal, 0, 0, 0.01F, 100, [](double x) { return 1 / x; }},
      {UnaryOp::Neg, 0, 0, -5, 5, [](double x) { return -x; }},
      {UnaryOp::Abs, 0, 0, -5, 5, [](double x) { return std::fabs(x); }},
      {UnaryOp::Square, 0, 0, -5, 5, [](double x) { return x * x; }},
      {UnaryOp::Floor, 0, 0, -5, 5, [](double x) { return std::floor(x); }},
      {UnaryOp::Ceil, 0, 0, -5, 5, [](double x) { return std::ceil(x); }},
      {UnaryOp::Affine, 2, 3, -5, 5, [](double x) { return 2 * x + 3; }},
  };
}

// Relative to each value, not to the largest: the functions keep their digits near zero too.
TEST(Unary, MatchesTheMathLibrary) {
  ASSERT_EQ(unary_cases().size(), static_cast<size_t>(UnaryOp::kCount));
  for (const UnaryCase& c : unary_cases()) {
    Random random(11);
    std::vector<float> x = random.floats(40011, c.low, c.high);
    x[1] = 1e-4F;
    x[2] = c.low < 0 ? -1e-4F : 1e-3F;
    for (const Isa isa : available_isas()) {
      ThreadPool pool(2);
      Guarded y(static_cast<int64_t>(x.size()));
      run_unary(kernel_table(isa), c.op, x.data(), y.data(), static_cast<int64_t>(x.size()),
                c.alpha, c.beta, pool);
      EXPECT_TRUE(y.intact());
      const std::vector<float> got = y.values();
      for (size_t i = 0; i < x.size(); ++i) {
        const double want = c.want(static_cast<double>(x[i]));
        ASSERT_NEAR(static_cast<double>(got[i]), want, 1e-5 * std::fabs(want) + 1e-30)
            << "op " << static_cast<int>(c.op) << " isa " << isa_name(isa) << " x " << x[i];
      }
    }
  }
}

TEST(Unary, SpecialValues) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Isa isa : available_isas()) {
    const KernelTable& table = kernel_table(isa);
    const auto at = [&table](UnaryOp op, float x) {
      float y = 0.0F;
      table.unary[static_cast<size_t>(op)](&x, &y, 1, 1.0F, 1.0F);
      return y;
    };
    EXPECT_EQ(at(UnaryOp::Exp, kInf), kInf);
    EXPECT_EQ(at(UnaryOp::Exp, 89.0F), kInf);
    EXPECT_EQ(at(UnaryOp::Exp, -kInf), 0.0F);
    EXPECT_EQ(at(UnaryOp::Exp, 0.0F), 1.0F);
    EXPECT_TRUE(std::isnan(at(UnaryOp::Exp, nan)));
    EXPECT_EQ(at(UnaryOp::Sigmoid, kInf), 1.0F);
    EXPECT_LT(at(UnaryOp::Sigmoid, -kInf), 1e-37F);
    EXPECT_TRUE(std::isnan(at(UnaryOp::Sigmoid, nan)));
    EXPECT_EQ(at(UnaryOp::Tanh, kInf), 1.0F);
    EXPECT_EQ(at(UnaryOp::Tanh, -kInf), -1.0F);
    EXPECT_TRUE(std::isnan(at(UnaryOp::Tanh, nan)));
    EXPECT_EQ(at(UnaryOp::Erf, kInf), 1.0F);
    EXPECT_EQ(at(UnaryOp::Erf, -kInf), -1.0F);
    EXPECT_TRUE(std::isnan(at(UnaryOp::Erf, nan)));
    EXPECT_TRUE(std::isnan(at(UnaryOp::Gelu, nan)));
    EXPECT_TRUE(std::isnan(at(UnaryOp::Clamp, nan)));
  }
}

struct BinaryCase {
  std::vector<int64_t> a, b, y;
};

TEST(Binary, BroadcastsLikeNumpy) {
  const BinaryCase all[] = {
      {{5, 7}, {5, 7}, {5, 7}},
      {{3, 40000}, {3, 40000}, {3, 40000}},
      {{2, 3, 19}, {19}, {2, 3, 19}},
      {{19}, {2, 3, 19}, {2, 3, 19}},
      {{2, 3, 19}, {1}, {2, 3, 19}},
      {{}, {4, 5}, {4, 5}},
      {{2, 6, 5, 4}, {1, 6, 1, 1}, {2, 6, 5, 4}},
      {{2, 5, 4, 33}, {2, 1, 1, 33}, {2, 5, 4, 33}},
      {{4, 1}, {1, 5}, {4, 5}},
      {{3, 1, 4}, {2, 1}, {3, 2, 4}},
      {{2, 1, 3, 1, 2}, {4, 1, 5, 1}, {2, 4, 3, 5, 2}},
      {{0, 3}, {1, 3}, {0, 3}},
  };
  const std::function<double(double, double)> fns[] = {
      [](double a, double b) { return a + b; },
      [](double a, double b) { return a - b; },
      [](double a, double b) { return a * b; },
      [](double a, double b) { return a / b; },
      [](double a, double b) { return std::min(a, b); },
      [](double a, double b) { return std::max(a, b); }};
  for (const BinaryCase& c : all) {
    const auto count = [](const std::vector<int64_t>& s) {
      int64_t n = 1;
      for (const int64_t d : s) n *= d;
      return n;
    };
    Random random(5);
    const std::vector<float> a = random.floats(count(c.a) + 1, 0.5F, 2.0F);
    const std::vector<float> b = random.floats(count(c.b) + 1, 0.5F, 2.0F);
    const auto index = [&c](int64_t flat, const std::vector<int64_t>& shape) {
      int64_t at = 0;
      int64_t step = 1;
      for (size_t i = 0; i < shape.size(); ++i) {
        const int64_t out = c.y[c.y.size() - 1 - i];
        const int64_t dim = shape[shape.size() - 1 - i];
        if (dim != 1) at += flat % out * step;
        step *= dim;
        flat /= out;
      }
      return static_cast<size_t>(at);
    };
    for (size_t op = 0; op < static_cast<size_t>(BinaryOp::kCount); ++op) {
      std::vector<double> want(static_cast<size_t>(count(c.y)));
      for (size_t i = 0; i < want.size(); ++i) {
        const auto flat = static_cast<int64_t>(i);
        want[i] = fns[op](static_cast<double>(a[index(flat, c.a)]),
                          static_cast<double>(b[index(flat, c.b)]));
      }
      for (const Isa isa : available_isas()) {
        ThreadPool pool(2);
        Guarded y(count(c.y));
        BinaryPlan(c.a, c.b).run(kernel_table(isa), static_cast<BinaryOp>(op), a.data(), b.data(),
                                 y.data(), pool);
        EXPECT_TRUE(y.intact());
        expect_close(y.values(), want, "binary", 1e-6);
      }
    }
  }
}

TEST(Binary, MinMaxKeepNotANumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float a[] = {nan, 1.0F};
  const float b[] = {1.0F, nan};
  for (const Isa isa : available_isas()) {
    for (const BinaryOp op : {BinaryOp::Min, BinaryOp::Max}) {
      float y[2] = {};
      kernel_table(isa).binary[static_cast<size_t>(op)].vv(a, b, y, 2);
      EXPECT_TRUE(std::isnan(y[0]));
      EXPECT_TRUE(std::isnan(y[1]));
    }
  }
}

}  // namespace
}  // namespace ec::kernels
