// One rule decides which activations an operator of TFLite takes along (ops/clamp.h). Legalising,
// the integer rules and the writer all follow it, at each of its boundaries.
#include <gtest/gtest.h>

#include <cmath>

#include "backend/tflite/integer_rules.h"
#include "formats/tflite/schema.h"
#include "ops/attrs.h"
#include "ops/clamp.h"
#include "passes/harness.h"
#include "writer/tflite/tflite.h"

namespace ec {
namespace {

using Code = tflite::ActivationFunctionType;

struct Case {
  const char* name;
  Activation activation;
  float low, high;
  std::optional<FusedClamp> clamp;
};

constexpr float kInf = INFINITY;
constexpr auto kClip = Activation::Clip;

const Case kCases[] = {
    {"none", Activation::None, 0, 0, FusedClamp::None},
    {"relu", Activation::Relu, 0, 0, FusedClamp::Relu},
    {"relu6", Activation::Relu6, 0, 0, FusedClamp::Relu6},
    {"sigmoid", Activation::Sigmoid, 0, 0, std::nullopt},
    {"leaky_relu", Activation::LeakyRelu, 0, 0, std::nullopt},
    {"from_0", kClip, 0, kInf, FusedClamp::Relu},
    {"from_minus_0", kClip, -0.0f, kInf, FusedClamp::Relu},
    {"from_0_to_6", kClip, 0, 6, FusedClamp::Relu6},
    {"from_minus_1_to_1", kClip, -1, 1, FusedClamp::ReluN1To1},
    {"from_0_to_1", kClip, 0, 1, std::nullopt},
    {"below_6", kClip, 0, 5.9999995f, std::nullopt},
    {"above_6", kClip, 0, 6.0000005f, std::nullopt},
    {"no_low_bound", kClip, -kInf, 6, std::nullopt},
    {"no_bounds", kClip, -kInf, kInf, std::nullopt},
    {"high_bound_minus_infinity", kClip, 0, -kInf, std::nullopt},
    {"low_bound_infinity", kClip, kInf, kInf, std::nullopt},
    {"low_bound_not_a_number", kClip, NAN, 6, std::nullopt},
    {"high_bound_not_a_number", kClip, 0, NAN, std::nullopt},
    {"wrong_order", kClip, 6, 0, std::nullopt},
    {"wrong_order_around_0", kClip, 1, -1, std::nullopt},
};

class FusedActivation : public testing::TestWithParam<Case> {
 protected:
  static std::unique_ptr<Graph> conv() {
    return test::graph_from(R"(graph @g(%x: f32[1,4,4,2]) -> (y = %y) {
      %w = const f32[3,1,1,2] splat(1)
      %y = conv(%x, %w) {layout=nhwc}
    })");
  }
  // The activation as an attribute of the convolution.
  static std::unique_ptr<Graph> inside() {
    std::unique_ptr<Graph> graph = conv();
    Operation* op = graph->outputs()[0]->producer();
    auto attrs = op->attrs_as<ConvAttrs>();
    attrs.activation = GetParam().activation;
    attrs.act_alpha = GetParam().low;
    attrs.act_beta = GetParam().high;
    graph->set_attrs(op, Attrs(attrs));
    return graph;
  }
  // A relu or clip behind the convolution; null for other activations.
  static std::unique_ptr<Graph> behind() {
    const Case& c = GetParam();
    std::unique_ptr<Graph> graph = conv();
    std::vector<Tensor*> operands = {graph->outputs()[0]};
    if (c.activation == kClip)
      for (const float bound : {c.low, c.high})
        operands.push_back(graph->add_constant<float>("", Shape{}, std::span(&bound, 1)));
    else if (c.activation != Activation::Relu)
      return nullptr;
    const OpKind kind = c.activation == kClip ? OpKind::Clip : OpKind::Relu;
    graph->set_output(0, *graph->add_single(kind, operands, {}));
    return graph;
  }
  // The field of the first operator in the file; nothing where the graph cannot be written.
  struct Written {
    std::optional<Code> code;
    size_t operators = 0;
  };
  static Written write(const Graph& graph) {
    DiagnosticSink sink;
    const auto bytes = encode_tflite(graph, {}, sink);
    if (!bytes.ok()) return {};
    const auto& operators =
        *tflite::GetModel(bytes->bytes().data())->subgraphs()->Get(0)->operators();
    const auto* options = operators.Get(0)->builtin_options_as_Conv2DOptions();
    return {options->fused_activation_function(), operators.size()};
  }
  static Code code_of(FusedClamp clamp) {
    constexpr Code kCodes[] = {Code::NONE, Code::RELU, Code::RELU6, Code::RELU_N1_TO_1};
    return kCodes[static_cast<size_t>(clamp)];
  }
};

TEST_P(FusedActivation, Rule) {
  const Case& c = GetParam();
  EXPECT_EQ(fused_clamp(c.activation, c.low, c.high), c.clamp);
  if (const auto graph = behind()) {
    EXPECT_EQ(fused_clamp(*graph->outputs()[0]->producer()), c.clamp);
  }
}

TEST_P(FusedActivation, IntegerRulesFollow) {
  const auto graph = inside();
  const Operation& op = *graph->outputs()[0]->producer();
  for (const auto width : {quantize::Width::Narrow, quantize::Width::Wide})
    EXPECT_EQ(quantize::tflite_spec().describe(op, width).integer, GetParam().clamp.has_value());
}

TEST_P(FusedActivation, LegalisationSplitsOffTheOthers) {
  // What becomes of bounds that are no numbers is nobody's promise.
  const bool ordered = !std::isnan(GetParam().low) && !std::isnan(GetParam().high);
  const auto out = test::optimise(inside(), "legalise-tflite", {.compare = ordered});
  const auto& attrs = out.only(OpKind::Conv).attrs_as<ConvAttrs>();
  EXPECT_EQ(attrs.activation, GetParam().clamp ? GetParam().activation : Activation::None);
}

TEST_P(FusedActivation, WriterFollows) {
  const Case& c = GetParam();
  const Written attribute = write(*inside());
  const auto code = c.clamp ? std::optional(code_of(*c.clamp)) : std::nullopt;
  EXPECT_EQ(attribute.code, code);
  const auto graph = behind();
  if (graph == nullptr) return;
  const Written operation = write(*graph);
  EXPECT_EQ(operation.code, code_of(c.clamp.value_or(FusedClamp::None)));
  EXPECT_EQ(operation.operators == 1, c.clamp.has_value());
}

INSTANTIATE_TEST_SUITE_P(Boundaries, FusedActivation, testing::ValuesIn(kCases),
                         [](const auto& tested) { return std::string(tested.param.name); });

// Bounds that are absent are infinite, and those of other element types count as well.
TEST(FusedClamp, OfClipsWithOtherOperands) {
  const auto clamp = [](const std::string& type, const std::string& operands) {
    const auto graph =
        test::graph_from("graph @g(%x: " + type + "[2], %bound: " + type +
                         "[]) -> (y = %y) { %zero = const " + type + "[] splat(0) %six = const " +
                         type + "[] splat(6) %y = clip(%x, " + operands + ") }");
    return fused_clamp(*graph->outputs()[0]->producer());
  };
  EXPECT_EQ(clamp("f32", "%zero"), FusedClamp::Relu);
  EXPECT_EQ(clamp("f32", "_, %six"), std::nullopt);
  EXPECT_EQ(clamp("f32", "%zero, %bound"), std::nullopt);
  EXPECT_EQ(clamp("i32", "%zero, %six"), FusedClamp::Relu6);
  EXPECT_EQ(clamp("f16", "%zero, %six"), FusedClamp::Relu6);
}

}  // namespace
}  // namespace ec
