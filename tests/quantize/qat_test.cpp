// Graphs that carry quantize-dequantize pairs: what becomes integer, and whether results stay those
// of the graph as it stands.
#include <fmt/format.h>

#include "ops/kernel.h"
#include "quantize/quantized_text.h"
#include "quantize/strategy/qat.h"

namespace ec::quantize {
namespace {

// A pair on %name with these parameters: the result is %name_r.
std::string pair(const std::string& name, float scale, int zero) {
  return fmt::format(
      "  %{0}_s = const f32[] splat({1}) %{0}_z = const i8[] splat({2})\n"
      "  %{0}_q = quantize(%{0}, %{0}_s, %{0}_z) {{dtype=i8}}\n"
      "  %{0}_r = dequantize(%{0}_q, %{0}_s, %{0}_z)\n",
      name, scale, zero);
}

// A graph of 256 elements whose last tensor is %y_r.
std::unique_ptr<Graph> graph_of(const std::string& body) {
  return test::graph_from("graph @g(%x: f32[1,256]) -> (out = %y_r) {\n" + body + "}");
}

struct Carried {
  QuantizeResult result;
  DiagnosticSink sink;
  int count(OpKind kind) const { return test::count_kind(*result.graph, kind); }
};

Carried run_qat(const Graph& graph, const TargetSpec& target = tflite_spec(),
                IoType io = IoType::Float) {
  Carried carried;
  QuantizeRequest request;
  request.target = &target;
  request.io = io;
  Result<QuantizeResult> result = strategy("qat").run(graph, request, carried.sink);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message());
  if (result.ok()) carried.result = std::move(*result);
  return carried;
}

// The largest difference over a ramp of all levels, in steps.
double difference(const Graph& graph, const Graph& made, double step) {
  std::vector<float> ramp;
  for (int i = 0; i < 256; ++i) ramp.push_back(static_cast<float>((i - 128) * 0.05));
  const Value x = Value::of<float>({1, 256}, std::span<const float>(ramp));
  const auto expected = interpret(graph, std::span(&x, 1)), got = interpret(made, std::span(&x, 1));
  EXPECT_TRUE(expected.ok() && got.ok());
  double worst = 0;
  const auto e = expected->at(0).as<float>(), g = got->at(0).as<float>();
  for (size_t i = 0; i < e.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(e[i] - g[i])) / step);
  return worst;
}

const std::string kGelu = pair("x", 0.05f, 0) +
                          "  %root = const f32[] splat(1.41421354) %one = const f32[] splat(1) "
                          "%half = const f32[] splat(0.5)\n"
                          "  %d = div(%x_r, %root) %e = erf(%d)\n" +
                          pair("e", 2.0f / 255, 0) + "  %a = add(%e_r, %one)\n" +
                          pair("a", 2.0f / 255, -128) + "  %m = mul(%x_r, %a_r)\n" +
                          pair("m", 0.052f, -121) + "  %y = mul(%m_r, %half)\n" +
                          pair("y", 0.026f, -121);

const std::string kHardSwish =
    pair("x", 0.05f, 0) +
    "  %three = const f32[] splat(3) %low = const f32[] splat(0) %six = const f32[] splat(6)\n"
    "  %a = add(%x_r, %three)\n" +
    pair("a", 0.05f, -60) + "  %c = clip(%a_r, %low, %six)\n" + pair("c", 6.0f / 255, -128) +
    "  %m = mul(%x_r, %c_r)\n" + pair("m", 0.16f, -116) + "  %y = div(%m_r, %six)\n" +
    pair("y", 0.16f / 6, -116);

// Integers with a scale of %name_s that are read with another one.
std::string unequal(const std::string& name, float scale, float other) {
  return fmt::format(
      "  %{0}_s = const f32[] splat({1}) %{0}_t = const f32[] splat({2}) %{0}_z = const i8[] "
      "splat(0)\n"
      "  %{0}_q = quantize(%{0}, %{0}_s, %{0}_z) {{dtype=i8}}\n"
      "  %{0}_r = dequantize(%{0}_q, %{0}_t, %{0}_z)\n",
      name, scale, other);
}

TEST(QatUnequalPairs, SumsWithOneScaleOfOneBecomeInteger) {
  // As Core ML's tools write a sum: the scales around it are divided by that of one operand.
  const std::string sum =
      pair("x", 0.05f, 0) + "  %half = const f32[] splat(0.5)\n" + "  %b = mul(%x_r, %half)\n" +
      pair("b", 0.025f, 0) + unequal("x_r", 0.05f, 0.05f / 0.025f) + unequal("b_r", 0.025f, 1.0f) +
      "  %c = add(%x_r_r, %b_r_r) %y = relu(%c)\n" + unequal("y", 0.08f / 0.025f, 0.08f);
  const auto graph = graph_of(sum);
  const Carried made = run_qat(*graph);
  EXPECT_EQ(made.result.report.float_ops, 0);
  EXPECT_EQ(made.count(OpKind::Add), 1);
  EXPECT_LE(difference(*graph, *made.result.graph, 0.08), 1.01);
}

TEST(QatUnequalPairs, OthersKeepTheirFactor) {
  const auto graph =
      graph_of(pair("x", 0.05f, 0) + "  %e = neg(%x_r)\n" + unequal("e", 0.05f, 0.2f) +
               "  %y = relu(%e_r)\n" + pair("y", 0.2f, 0));
  const Carried made = run_qat(*graph);
  EXPECT_LE(difference(*graph, *made.result.graph, 0.2), 1.01);
}

TEST(QatFunctions, GeluIsFoundThroughPairs) {
  const auto graph = graph_of(kGelu);
  const Carried made = run_qat(*graph);
  EXPECT_EQ(made.result.report.float_ops, 0);
  EXPECT_EQ(made.count(OpKind::Gelu), 1);
  EXPECT_EQ(made.count(OpKind::Erf), 0);
  EXPECT_LE(difference(*graph, *made.result.graph, 0.026), 1.01);
}

TEST(QatFunctions, HardSwishIsFoundThroughPairs) {
  const auto graph = graph_of(kHardSwish);
  const Carried made = run_qat(*graph);
  EXPECT_EQ(made.result.report.float_ops, 0);
  EXPECT_EQ(made.count(OpKind::HardSwish), 1);
  EXPECT_EQ(made.count(OpKind::Mul), 0);
  EXPECT_LE(difference(*graph, *made.result.graph, 0.16 / 6), 1.01);
}

// Within a step of hard swish for every argument, but another function: its parts are integers.
TEST(QatFunctions, SiluOverAWideRangeKeepsItsParts) {
  const auto graph =
      graph_of(pair("x", 3.5f, 0) + "  %s = sigmoid(%x_r)\n" + pair("s", 1.0f / 256, -128) +
               "  %y = mul(%x_r, %s_r)\n" + pair("y", 1.75f, -127));
  const Carried made = run_qat(*graph);
  EXPECT_EQ(made.result.report.float_ops, 0);
  EXPECT_EQ(made.count(OpKind::HardSwish), 0);
  EXPECT_EQ(made.count(OpKind::Sigmoid), 1);
  // A rounding in each of the two kernels.
  EXPECT_LE(difference(*graph, *made.result.graph, 1.75), 2.01);
}

TEST(QatFunctions, DevicesOfIntegersKeepThePartsThatTheyHave) {
  const auto graph = graph_of(kHardSwish);
  const Carried made = run_qat(*graph, coral_spec());
  EXPECT_EQ(made.result.report.float_ops, 0);
  EXPECT_EQ(made.count(OpKind::HardSwish), 0);
  EXPECT_LE(difference(*graph, *made.result.graph, 0.16 / 6), 2.01);
}

// Only the ends of a hard sigmoid are rounded.
TEST(QatFunctions, InnerValuesGetTheRangeThatTheLevelsHave) {
  const auto graph = graph_of(
      pair("x", 0.05f, 0) +
      "  %three = const f32[] splat(3) %low = const f32[] splat(0) %six = const f32[] splat(6)\n"
      "  %sixth = const f32[] splat(0.166666672)\n"
      "  %a = add(%x_r, %three) %c = clip(%a, %low, %six) %y = mul(%c, %sixth)\n" +
      pair("y", 1.0f / 255, -128));
  for (const TargetSpec* target : {&tflite_spec(), &coral_spec()}) {
    const Carried made = run_qat(*graph, *target);
    EXPECT_EQ(made.result.report.float_ops, 0);
    EXPECT_LE(difference(*graph, *made.result.graph, 1.0 / 255), 1.01);
  }
}

TEST(QatFunctions, AnotherFunctionIsLeftAsItIs) {
  std::string text = kGelu;
  text.replace(text.find("splat(1.41421354)"), 17, "splat(0.7)");
  const auto graph = graph_of(text);
  const Carried made = run_qat(*graph);
  EXPECT_EQ(made.count(OpKind::Gelu), 0);
  EXPECT_EQ(made.count(OpKind::Erf), 1);
  EXPECT_LE(difference(*graph, *made.result.graph, 0.026), 1.01);
}

TEST(QatFunctions, InnerValuesThatSomethingReadsStay) {
  std::string text = kGelu;
  text += "  %two = const f32[] splat(2) %t = mul(%e_r, %two)\n" + pair("t", 4.0f / 255, 0) +
          "  %w = add(%t_r, %y_r)\n" + pair("w", 0.04f, -100);
  const auto graph =
      test::graph_from("graph @g(%x: f32[1,256]) -> (y = %y_r, w = %w_r) {\n" + text + "}");
  EXPECT_EQ(run_qat(*graph).count(OpKind::Gelu), 0);
}

TEST(QatLift, WhatIsRoundedStaysRoundedBetweenFloats) {
  const auto graph = graph_of(pair("x", 0.05f, 0) + "  %s = sqrt(%x_r) %e = erf(%s)\n" +
                              pair("e", 0.1f, 0) + "  %y = cos(%e_r)\n" + pair("y", 0.01f, 0));
  const Carried made = run_qat(*graph);
  EXPECT_EQ(made.result.report.integer_ops, 0);
  EXPECT_LE(difference(*graph, *made.result.graph, 0.01), 1.01);
}

TEST(QatLift, SecondPairIsARequantisation) {
  const auto graph =
      graph_of(pair("x", 0.05f, 0) +
               "  %t = const f32[] splat(0.17) %v = const i8[] splat(3)\n"
               "  %x_2 = quantize(%x, %t, %v) {dtype=i8} %x_3 = dequantize(%x_2, %t, %v)\n"
               "  %y = add(%x_r, %x_3)\n" +
               pair("y", 0.1f, 0));
  const Carried made = run_qat(*graph);
  EXPECT_EQ(made.result.report.float_ops, 0);
  EXPECT_EQ(made.count(OpKind::Identity), 0);
  EXPECT_LE(difference(*graph, *made.result.graph, 0.1), 2.01);
}

TEST(QatLift, PairsOfOtherTypesBecomeArithmetic) {
  const auto graph = graph_of(
      pair("x", 0.05f, 0) +
      "  %t = const f32[] splat(0.3) %v = const u16[] splat(100)\n"
      "  %n = neg(%x_r) %n_2 = quantize(%n, %t, %v) {dtype=u16} %y = dequantize(%n_2, %t, %v)\n" +
      pair("y", 0.3f, 0));
  const Carried made = run_qat(*graph);
  EXPECT_EQ(made.count(OpKind::Round), 1);
  EXPECT_LE(difference(*graph, *made.result.graph, 0.3), 1.01);
}

TEST(QatLift, IntegersAtTheInterfaceCarryTheirParameters) {
  const auto graph = test::graph_from(
      "graph @g(%x: u8[1,4]) -> (out = %y_q) {\n"
      "  %s = const f32[] splat(0.05) %z = const u8[] splat(128)\n"
      "  %d = dequantize(%x, %s, %z) %y = relu(%d)\n" +
      pair("y", 0.05f, 0) + "}");
  const Carried made = run_qat(*graph);
  const Graph& integers = *made.result.graph;
  EXPECT_EQ(integers.inputs()[0]->type().quant, (QuantParams{{0.05f}, {128}, -1}));
  EXPECT_EQ(integers.outputs()[0]->type().quant, (QuantParams{{0.05f}, {0}, -1}));
  const std::vector<uint8_t> bytes{0, 127, 128, 255};
  const Value x = Value::of<uint8_t>({1, 4}, std::span<const uint8_t>(bytes));
  const auto got = interpret(integers, std::span(&x, 1));
  ASSERT_TRUE(got.ok()) << got.error().message();
  EXPECT_EQ(got->at(0).as<int8_t>()[2], 0);
  EXPECT_EQ(got->at(0).as<int8_t>()[3], 127);
}

TEST(QatAnalyse, MovementGivesItsParametersBackwards) {
  const auto graph = test::graph_from(
      "graph @g(%x: f32[1,4,2]) -> (out = %y_r) {\n"
      "  %b0 = const i64[1] splat(0) %b1 = const i64[1] splat(1) %b2 = const i64[1] splat(2)\n"
      "  %p = slice(%x, %b0, %b1, %b2) %q = slice(%x, %b1, %b2, %b2)\n"
      "  %y = concat(%q, %p) {axis=1}\n" +
      pair("y", 0.05f, 0) + "}");
  const Carried made = run_qat(*graph);
  EXPECT_EQ(made.result.report.float_ops, 0);
  EXPECT_EQ(made.result.report.integer_ops, 3);
}

// A split moves integers: parts that the model rounds with scales of their own are requantised.
TEST(QatAnalyse, PartsWithScalesOfTheirOwnAreRequantised) {
  const auto graph = graph_of(pair("x", 0.05f, 0) + "  %a, %b = split(%x_r) {axis=1}\n" +
                              pair("a", 0.07f, 5) + pair("b", 0.03f, -100) +
                              "  %y = concat(%b_r, %a_r) {axis=1}\n" + pair("y", 0.05f, 0));
  const Carried made = run_qat(*graph);
  EXPECT_EQ(made.result.report.float_ops, 0);
  EXPECT_LE(difference(*graph, *made.result.graph, 0.05), 1.01);
}

TEST(QatAnalyse, ReluOfRoundedNumbersNeedsNoRangeOfItsOwn) {
  const auto graph =
      graph_of(pair("x", 0.05f, 3) + "  %a = add(%x_r, %x_r)\n" + pair("a", 0.1f, 3) +
               "  %b = relu(%a_r) %y = sqrt(%b)\n" + pair("y", 0.02f, -128));
  const Carried made = run_qat(*graph);
  EXPECT_EQ(made.result.report.integer_ops, 2);
  EXPECT_EQ(made.result.report.float_ops, 1);
  EXPECT_LE(difference(*graph, *made.result.graph, 0.02), 1.01);
}

// As in quantised operators of ONNX Runtime, which move integers.
TEST(QatLift, MovementOfIntegersMovesRealNumbers) {
  const auto graph = test::graph_from(
      "graph @g(%x: f32[1,256]) -> (out = %y_r) {\n"
      "  %s = const f32[] splat(0.05) %z = const i8[] splat(0) %i = const i64[256] splat(7)\n"
      "  %q = quantize(%x, %s, %z) {dtype=i8} %p = gather(%q, %i) {axis=1}\n"
      "  %h, %k = split(%p) {axis=1} %d = dequantize(%h, %s, %z)\n"
      "  %e = dequantize(%k, %s, %z) %y = add(%d, %e)\n" +
      pair("y", 0.1f, 0) + "}");
  const Carried made = run_qat(*graph);
  EXPECT_EQ(made.result.report.float_ops, 0);
  EXPECT_LE(difference(*graph, *made.result.graph, 0.1), 1.01);
}

TEST(QatLift, WhatReadsIntegersReadsThoseThatCarryParameters) {
  const auto graph = test::graph_from(
      "graph @g(%x: f32[1,256]) -> (out = %y_r, best = %m) {\n" + pair("x", 0.05f, 0) +
      "  %m = arg_max(%x_q) {axis=1} %y = add(%x_r, %x_r)\n" + pair("y", 0.1f, 0) + "}");
  const Carried made = run_qat(*graph);
  ASSERT_NE(made.result.graph, nullptr);
  for (const Operation* op : made.result.graph->topological())
    if (op->kind() == OpKind::Quantize) {
      EXPECT_EQ(op->inputs().size(), 1u);
    }
  EXPECT_LE(difference(*graph, *made.result.graph, 0.1), 1.01);
}

TEST(QatAnalyse, OutputsWithoutRangeStayFloat) {
  const auto graph = test::graph_from("graph @g(%x: f32[1,4]) -> (out = %y) {\n" +
                                      pair("x", 0.05f, 0) + "  %y = sqrt(%x_r)\n}");
  const Carried made = run_qat(*graph, coral_spec(), IoType::Int8);
  ASSERT_NE(made.result.graph, nullptr);
  EXPECT_EQ(made.result.graph->outputs()[0]->dtype(), DType::F32);
  // What is rounded stays rounded, also at an input that no integer operation reads.
  EXPECT_EQ(made.count(OpKind::Quantize), 1);
  EXPECT_EQ(made.count(OpKind::Dequantize), 1);
}

}  // namespace
}  // namespace ec::quantize
