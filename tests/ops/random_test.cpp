#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/convert.h"
#include "ops/op_case.h"

namespace ec::test {
namespace {

std::vector<double> draw(OpKind kind, const std::vector<Operand>& inputs, Attrs attrs) {
  const auto got = run_op(kind, inputs, std::move(attrs));
  EXPECT_TRUE(got.ok());
  if (!got.ok()) return {};
  std::vector<double> values(static_cast<size_t>(count_elements((*got)[0].shape)));
  load<double>((*got)[0].view(), values);
  return values;
}

double mean_of(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}
double deviation_of(const std::vector<double>& x) {
  const double mean = mean_of(x);
  double sum = 0;
  for (const double v : x) sum += (v - mean) * (v - mean);
  return std::sqrt(sum / static_cast<double>(x.size()));
}

TEST(Random, Uniform) {
  const RandomUniformAttrs attrs{.low = -1.0f, .high = 3.0f, .seed = 7};
  const auto x = draw(OpKind::RandomUniform, {i64({2}, {100, 100})}, attrs);
  ASSERT_EQ(x.size(), 10000u);
  EXPECT_NEAR(mean_of(x), 1.0, 0.05);
  EXPECT_NEAR(deviation_of(x), 4 / std::sqrt(12.0), 0.03);
  EXPECT_GE(*std::min_element(x.begin(), x.end()), -1.0);
  EXPECT_LT(*std::max_element(x.begin(), x.end()), 3.0);
  EXPECT_EQ(x, draw(OpKind::RandomUniform, {i64({2}, {100, 100})}, attrs));
  EXPECT_NE(x, draw(OpKind::RandomUniform, {i64({2}, {100, 100})},
                    RandomUniformAttrs{.low = -1.0f, .high = 3.0f, .seed = 8}));
}

TEST(Random, Normal) {
  const auto x = draw(OpKind::RandomNormal, {i64({1}, {20000})},
                      RandomNormalAttrs{.dtype = DType::F64, .mean = 2.0f, .scale = 0.5f});
  EXPECT_NEAR(mean_of(x), 2.0, 0.02);
  EXPECT_NEAR(deviation_of(x), 0.5, 0.02);
  const auto tail = std::count_if(x.begin(), x.end(), [](double v) { return v > 3.0; });
  EXPECT_NEAR(static_cast<double>(tail) / 20000, 0.02275, 0.005);
}

TEST(Random, Bernoulli) {
  expect_case({OpKind::Bernoulli,
               {f32({3}, {0, 1, 1})},
               {boolean({3}, {0, 1, 1})},
               BernoulliAttrs{.dtype = DType::Bool}});
  const auto x =
      draw(OpKind::Bernoulli, {tensor(DType::F32, {10000}, std::vector<double>(10000, 0.25))},
           BernoulliAttrs{});
  EXPECT_NEAR(mean_of(x), 0.25, 0.02);
}

TEST(Random, Multinomial) {
  // Probabilities 1/4 and 3/4 in the first row, certainty in the second.
  const Value x = f32({2, 2}, {0, std::log(3.0), 0, -1e9});
  const auto draws = draw(OpKind::Multinomial, {x}, MultinomialAttrs{.sample_size = 10000});
  ASSERT_EQ(draws.size(), 20000u);
  EXPECT_NEAR(mean_of({draws.begin(), draws.begin() + 10000}), 0.75, 0.02);
  EXPECT_EQ(mean_of({draws.begin() + 10000, draws.end()}), 0.0);
  expect_types(OpKind::Multinomial, {typed(DType::F32, {sym("N"), 5})},
               MultinomialAttrs{.dtype = DType::I64, .sample_size = 3}, {"i64[N,3]"});
  expect_infer_error(OpKind::Multinomial, {typed(DType::F32, {2})}, MultinomialAttrs{},
                     Code::ShapeMismatch, "rank 2");
  expect_infer_error(OpKind::Multinomial, {typed(DType::F32, {2, 2})},
                     MultinomialAttrs{.sample_size = 0}, Code::BadValue, "sample_size 0");
  expect_run_error(OpKind::Multinomial, {f32({1, 0}, {})}, MultinomialAttrs{}, "no classes");
}

TEST(Random, Inference) {
  expect_types(OpKind::RandomUniform, {Known::shape_tensor({sym("N"), 3})}, RandomUniformAttrs{},
               {"f32[N,3]"});
  expect_types(OpKind::RandomNormal, {typed(DType::I64, {2})},
               RandomNormalAttrs{.dtype = DType::F16}, {"f16[?,?]"});
  expect_types(OpKind::RandomNormal, {typed(DType::I64, {sym("R")})}, RandomNormalAttrs{},
               {"f32[*]"});
  expect_infer_error(OpKind::RandomUniform, {i64({2}, {2, -1})}, RandomUniformAttrs{},
                     Code::BadValue, "negative");
  expect_infer_error(OpKind::RandomUniform, {i64({1}, {2})},
                     RandomUniformAttrs{.dtype = DType::I32}, Code::TypeMismatch, "i32");
  // More elements than memory has: refused, not tried.
  expect_run_error(OpKind::RandomUniform, {i64({3}, {4194304, 4194304, 4194304})},
                   RandomUniformAttrs{}, "too large");
}

TEST(Dropout, InferenceIsIdentity) {
  const Value x = f32({4}, {1, 2, 3, 4});
  expect_case({OpKind::Dropout, {x}, {x, boolean({4}, {1, 1, 1, 1})}});
  expect_case({OpKind::Dropout, {x, scalar(DType::F32, 0.75)}, {x}});
  expect_case({OpKind::Dropout, {x, scalar(DType::F32, 0.75), scalar(DType::Bool, 0)}, {x}});
  expect_case({OpKind::Dropout, {x, scalar(DType::F32, 0), scalar(DType::Bool, 1)}, {x}});
}

TEST(Dropout, Training) {
  const Value x = tensor(DType::F32, {10000}, std::vector<double>(10000, 1.0));
  const auto y = draw(OpKind::Dropout, {x, scalar(DType::F32, 0.75), scalar(DType::Bool, 1)}, {});
  EXPECT_NEAR(mean_of(y), 1.0, 0.1);
  EXPECT_TRUE(std::all_of(y.begin(), y.end(), [](double v) { return v == 0.0 || v == 4.0; }));
  expect_run_error(OpKind::Dropout, {x, scalar(DType::F32, 1), scalar(DType::Bool, 1)}, {},
                   "ratio");
}

}  // namespace
}  // namespace ec::test
