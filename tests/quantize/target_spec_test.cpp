// A target is its description: the integer schemes of other devices, written as TargetSpecs, go
// through the same strategies.
#include "quantize/target/target_spec.h"

#include <string>

#include "ops/attrs.h"
#include "quantize/quantized_text.h"

namespace ec::quantize {
namespace {

constexpr OperandRole kPlain = OperandRole::Plain, kActivation = OperandRole::Activation,
                      kWeights = OperandRole::Weights, kBias = OperandRole::Bias;

OpRule rule(std::vector<OperandRole> operands, ResultRule result = ResultRule::Calibrated) {
  OpRule made;
  made.integer = true;
  made.operands = std::move(operands);
  made.result = result;
  return made;
}
OpRule weighted(std::vector<OperandRole> operands, int32_t axis) {
  OpRule made = rule(std::move(operands));
  made.weights_axis = axis;
  return made;
}
OpRule no() {
  OpRule made;
  made.reason = "no integer form";
  return made;
}

const char* const kNetwork =
    "graph @g(%x: f32[1,8,8,4]) -> (y = %y) {\n"
    "  %w = const f32[8,3,3,4] splat(0.5) %b = const f32[8] splat(0.25)\n"
    "  %wd = const f32[8,3,3,1] splat(0.5)\n"
    "  %c = conv(%x, %w, %b) {layout=nhwc, pads=[1,1,1,1], activation=relu}\n"
    "  %d = conv(%c, %wd) {layout=nhwc, groups=8, pads=[1,1,1,1]}\n"
    "  %s = sigmoid(%d)\n"
    "  %j = concat(%c, %d) {axis=3}\n"
    "  %k = concat(%j, %s) {axis=3}\n"
    "  %y = max_pool(%k) {kernel=[2,2], strides=[2,2], layout=nhwc}\n}";

Quantized through(const TargetSpec& spec, std::string_view strategy = "ptq",
                  GraphForm form = GraphForm::Integer) {
  QuantizeRequest request = plain_request();
  request.target = &spec;
  request.form = form;
  return quantize_text(test::graph_from(kNetwork), request, strategy);
}

bool same(const Quantized& q, const char* a, const char* b) {
  return q.type(a).quant == q.type(b).quant;
}

// Core ML W8A8: symmetric activations per tensor, weights per channel, biases as they are, in
// quantize-dequantize pairs around float operations.
TEST(TargetSpec, CoreMl) {
  const TargetSpec spec{
      .name = "coreml", .symmetric = true, .describe = [](const Operation& op, Width) {
        switch (op.kind()) {
          case OpKind::Conv:
            return weighted({kActivation, kWeights, kPlain}, 0);
          case OpKind::Concat:
          case OpKind::MaxPool:
            return rule({kActivation}, ResultRule::SameScale);
          default:
            return no();
        }
      }};
  const Quantized q = through(spec);
  EXPECT_EQ(q.type("c").quant->zero_points[0], 0);  // also behind a relu
  EXPECT_EQ(q.type("w").quant->scales.size(), 8u);
  EXPECT_EQ(q.type("b").dtype, DType::F32);
  EXPECT_EQ(q.type("s").dtype, DType::F32);
  EXPECT_TRUE(same(q, "c", "j") && same(q, "k", "y"));
  // The form that its files have.
  const Quantized pairs = through(spec, "ptq", GraphForm::Simulated);
  EXPECT_EQ(pairs.type("c").dtype, DType::F32);
  EXPECT_EQ(pairs.type("w").dtype, DType::I8);
  EXPECT_GT(pairs.count(OpKind::Quantize), 3);
  EXPECT_GT(pairs.result.report.accuracy.outputs[0].error.sqnr_db(), 25);
}

// TOSA: sigmoid is a table with any scales; 16-bit activations have biases of 48 bits.
TEST(TargetSpec, Tosa) {
  const TargetSpec spec{.name = "tosa",
                        .has_wide = true,
                        .integers_only = true,
                        .io_type = "int8",
                        .describe = [](const Operation& op, Width) {
                          switch (op.kind()) {
                            case OpKind::Conv:
                              return weighted({kActivation, kWeights, kBias}, 0);
                            case OpKind::Sigmoid:
                              return rule({kActivation});
                            case OpKind::Concat:
                            case OpKind::MaxPool:
                              return rule({kActivation}, ResultRule::SameScale);
                            default:
                              return no();
                          }
                        }};
  const Quantized narrow = through(spec);
  EXPECT_EQ(narrow.result.report.float_ops, 0);
  EXPECT_NE(narrow.type("c").quant->zero_points[0], 0);  // affine
  EXPECT_EQ(narrow.type("b").dtype, DType::I32);
  EXPECT_FLOAT_EQ(narrow.type("b").quant->scales[0],
                  narrow.graph().find_tensor("w")->type().quant->scales[0] *
                      narrow.graph().find_tensor("x_quantized")->type().quant->scales[0]);
  EXPECT_TRUE(same(narrow, "s", "y"));  // calibrated, so that it can join the others
  const Quantized wide = through(spec, "a16w8");
  EXPECT_EQ(wide.type("c").dtype, DType::I16);
  EXPECT_EQ(wide.type("c").quant->zero_points[0], 0);
  EXPECT_EQ(wide.type("w").dtype, DType::I8);
  EXPECT_EQ(wide.type("b").dtype, DType::I64);
}

// The AIPU's default scheme: affine per tensor, weights per channel but for depthwise ones, and a
// sigmoid with a prescribed range.
TEST(TargetSpec, Aipu) {
  const TargetSpec spec{
      .name = "aipu", .integers_only = true, .describe = [](const Operation& op, Width) {
        switch (op.kind()) {
          case OpKind::Conv: {
            const bool depthwise = op.attrs_as<ConvAttrs>().groups > 1;
            return weighted({kActivation, kWeights, kBias}, depthwise ? -1 : 0);
          }
          case OpKind::Sigmoid: {
            OpRule made = rule({kActivation}, ResultRule::Fixed);
            made.fixed = QuantParams{{1.0f / 256}, {-128}, -1};
            return made;
          }
          case OpKind::Concat:
          case OpKind::MaxPool:
            return rule({kActivation}, ResultRule::SameScale);
          default:
            return no();
        }
      }};
  const Quantized q = through(spec);
  EXPECT_EQ(q.type("w").quant->scales.size(), 8u);
  EXPECT_EQ(q.type("wd").quant->scales.size(), 1u);
  EXPECT_EQ(q.type("s").quant->scales[0], 1.0f / 256);
  EXPECT_TRUE(same(q, "c", "d") && same(q, "d", "j") && same(q, "j", "y"));
  EXPECT_FALSE(same(q, "s", "k"));  // requantised on the way in
}

// The AIPU's hybrid scheme: what depthwise layers read has a scale and a zero point per channel.
OpRule describe_aipu(const Operation& op, bool hybrid) {
  switch (op.kind()) {
    case OpKind::Conv: {
      const bool depthwise = op.attrs_as<ConvAttrs>().groups > 1;
      OpRule made = weighted({kActivation, kWeights, kBias}, 0);
      made.channel_wise_input = hybrid && depthwise;
      made.fuses_activation = true;
      return made;
    }
    case OpKind::Relu:
    case OpKind::Add:
      return rule({kActivation});
    default:
      return no();
  }
}

// The depthwise layer makes channels alike that are up to 200 times apart in front of it.
std::string uneven() {
  std::string weights;
  for (const char* one : {"0.25", "5", "0.025", "1"})
    for (int tap = 0; tap < 9; ++tap) weights += (weights.empty() ? "" : ",") + std::string(one);
  return "graph @g(%x: f32[1,8,8,4]) -> (y = %y) {\n"
         "  %k = const f32[4,1,1,4] dense[1,0.5,0,0, 0,0.05,0.02,0, 0,0,10,0.5, 0.25,0,0,0.3]\n"
         "  %b = const f32[4] dense[0.5,0.01,1,-0.1]\n"
         "  %kd = const f32[4,3,3,1] dense[" +
         weights +
         "] %bd = const f32[4] dense[0.1,0.2,0.3,0.4]\n"
         "  %v = const f32[4,1,1,4] splat(0.5)\n"
         "  %c = conv(%x, %k, %b) {layout=nhwc}\n"
         "  %r = relu(%c)\n"
         "  %d = conv(%r, %kd, %bd) {layout=nhwc, groups=4, pads=[1,1,1,1]}\n"
         "  %y = conv(%d, %v) {layout=nhwc}\n}";
}

TEST(TargetSpec, AipuHybrid) {
  const TargetSpec whole{.name = "aipu", .describe = [](const Operation& op, Width) {
                           return describe_aipu(op, false);
                         }};
  const TargetSpec hybrid{.name = "aipu", .describe = [](const Operation& op, Width) {
                            return describe_aipu(op, true);
                          }};
  const auto simulate = [](const TargetSpec& spec, const std::string& text) {
    QuantizeRequest request = plain_request();
    request.target = &spec;
    request.form = GraphForm::Simulated;
    return quantize_text(test::graph_from(text), request);
  };
  const auto scales = [](const Quantized& q, const char* quantized) {
    const Tensor* tensor = q.graph().find_tensor(quantized);
    return tensor == nullptr ? 0 : *tensor->producer()->input(1)->type().num_elements();
  };
  const Quantized one = simulate(whole, uneven()), each = simulate(hybrid, uneven());
  EXPECT_EQ(scales(one, "r_quantized"), 1);
  EXPECT_EQ(scales(each, "r_quantized"), 4);  // by channel, the relu in front of it too
  EXPECT_EQ(scales(each, "c_quantized"), 4);
  EXPECT_EQ(scales(each, "d_quantized"), 1);  // read by a layer that mixes channels
  EXPECT_EQ(scales(each, "x_quantized"), 1);
  EXPECT_EQ(each.graph().find_tensor("r_quantized")->producer()->attrs_as<QuantizeAttrs>().axis, 3);
  const auto sqnr = [](const Quantized& q, std::string_view tensor) {
    for (const LayerAccuracy& layer : q.result.report.accuracy.layers)
      if (layer.tensor == tensor) return layer.error.sqnr_db();
    return 0.0;
  };
  EXPECT_GT(sqnr(each, "d"), sqnr(one, "d") + 6);
  EXPECT_GT(sqnr(each, "d"), 35);

  // A reader that needs one scale for all keeps it.
  std::string both = uneven();
  both.replace(both.find("%y = conv(%d, %v)"), 17, "%z = add(%r, %d)\n  %y = conv(%z, %v)");
  EXPECT_EQ(scales(simulate(hybrid, both), "r_quantized"), 1);

  // Kernels have one scale for each activation.
  QuantizeRequest request = plain_request();
  request.target = &hybrid;
  const auto graph = test::graph_from(uneven());
  const auto samples = samples_in_memory(noise(*graph, 24), {{"x", graph->inputs()[0]->type()}});
  request.samples = samples->get();
  DiagnosticSink sink;
  const auto refused = strategy("ptq").run(*graph, request, sink);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::UnsupportedOpForm);
}

}  // namespace
}  // namespace ec::quantize
