// quantize and dequantize as fast kernels against the reference kernels: every bit is the same, on
// each instruction set, with one and several threads.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "ops/attrs.h"
#include "runtime/session.h"

namespace ec {
namespace {

enum class Given : uint8_t { ByTensor, ByOperands };

struct Case {
  DType dtype;
  int32_t zero_point;
  Rounding rounding;
  Given given;
};

// Ties, what lies next to them, what no type holds, and anything else; in steps of the scale.
std::vector<float> values(float scale) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> result = {kInf, -kInf, std::nanf(""), 0.0f, -0.0f, 3e38f, -3e38f, 1e-40f};
  for (int k = -300; k <= 300; ++k)
    for (const float half : {static_cast<float>(k) + 0.5f, static_cast<float>(k * 217) + 0.5f})
      for (const float step : {half, std::nextafter(half, -kInf), std::nextafter(half, kInf)})
        result.push_back(step * scale);
  std::mt19937 engine(3);
  std::normal_distribution<float> normal(0, 70 * scale);
  // More than one task, and no multiple of any vector.
  while (result.size() < 40'003) result.push_back(normal(engine));
  return result;
}

Value run(const Graph& graph, const Value& input, const SessionOptions& options) {
  auto session = Session::create(graph.clone(), options);
  EXPECT_TRUE(session.ok()) << session.error().message();
  const std::vector<NamedValue> inputs{{"x", input}};
  const auto results = (*session)->run(inputs);
  EXPECT_TRUE(results.ok()) << results.error().message();
  for (const OpTiming& step : (*session)->timings()) EXPECT_EQ(step.fast, !options.reference);
  return results->front();
}

void expect_equal_bits(const Graph& graph, const Value& input) {
  SessionOptions options;
  options.reference = true;
  const Value wanted = run(graph, input, options);
  options.reference = false;
  for (const kernels::Isa isa : {kernels::Isa::Generic, kernels::Isa::Avx2, kernels::Isa::Avx512})
    for (const int threads : {1, 3}) {
      if (!kernels::isa_available(isa)) continue;
      options.threads = threads;
      options.isa = isa;
      EXPECT_TRUE(run(graph, input, options).data == wanted.data)
          << kernels::isa_name(isa) << ", " << threads << " threads";
    }
}

Tensor* zero_point_of(Graph& graph, DType dtype, int32_t value) {
  return graph.add_scalar("z", dtype, value);
}

class QuantizeKernels : public ::testing::TestWithParam<Case> {};

TEST_P(QuantizeKernels, Quantize) {
  const Case& c = GetParam();
  for (const float scale : {1.0f, 0.0173f}) {
    const std::vector<float> x = values(scale);
    const auto n = static_cast<int64_t>(x.size());
    Graph graph("case");
    std::vector<Tensor*> inputs{graph.add_input("x", TensorType(DType::F32, Shape{n}))};
    if (c.given == Given::ByOperands) {
      inputs.push_back(graph.add_scalar("s", DType::F32, static_cast<double>(scale)));
      inputs.push_back(zero_point_of(graph, c.dtype, c.zero_point));
    }
    QuantizeAttrs attrs;
    attrs.dtype = c.dtype;
    attrs.rounding = c.rounding;
    const auto y = graph.add_single(OpKind::Quantize, std::move(inputs), attrs);
    ASSERT_TRUE(y.ok()) << y.error().message();
    if (c.given == Given::ByTensor) graph.set_quant(*y, QuantParams{{scale}, {c.zero_point}, -1});
    graph.add_output("y", *y);
    expect_equal_bits(graph, Value::of<float>({n}, std::span<const float>(x)));
  }
}

TEST_P(QuantizeKernels, Dequantize) {
  const Case& c = GetParam();
  constexpr float kScale = 0.0173f;
  std::vector<int64_t> x;
  const auto last = static_cast<int64_t>(highest_integer(c.dtype));
  for (int64_t v = lowest_integer(c.dtype); v <= last; ++v) x.push_back(v);
  const auto n = static_cast<int64_t>(x.size());
  TensorType type(c.dtype, Shape{n});
  Graph graph("case");
  if (c.given == Given::ByTensor) type.quant = QuantParams{{kScale}, {c.zero_point}, -1};
  std::vector<Tensor*> inputs{graph.add_input("x", type)};
  if (c.given == Given::ByOperands) {
    inputs.push_back(graph.add_scalar("s", DType::F32, static_cast<double>(kScale)));
    inputs.push_back(zero_point_of(graph, c.dtype, c.zero_point));
  }
  const auto y = graph.add_single(OpKind::Dequantize, std::move(inputs), DequantizeAttrs{});
  ASSERT_TRUE(y.ok()) << y.error().message();
  graph.add_output("y", *y);
  const auto stored = [&](auto element) {
    const std::vector<decltype(element)> elements(x.begin(), x.end());
    return Value::of<decltype(element)>({n}, std::span<const decltype(element)>(elements));
  };
  expect_equal_bits(graph, c.dtype == DType::I8   ? stored(int8_t{})
                           : c.dtype == DType::U8 ? stored(uint8_t{})
                                                  : stored(int16_t{}));
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& [dtype, zero] :
       {std::pair{DType::I8, 0}, std::pair{DType::I8, -128}, std::pair{DType::I8, 117},
        std::pair{DType::U8, 3}, std::pair{DType::U8, 255}, std::pair{DType::I16, 0}})
    for (const Rounding rounding : {Rounding::HalfEven, Rounding::HalfAway})
      for (const Given given : {Given::ByTensor, Given::ByOperands})
        all.push_back({dtype, zero, rounding, given});
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, QuantizeKernels, ::testing::ValuesIn(cases()));

}  // namespace
}  // namespace ec
