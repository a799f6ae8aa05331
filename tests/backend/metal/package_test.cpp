// Packages as a whole: graphs are written, read back and run; names, types, versions and constants
// are those of the format.
#include <set>

#include "backend/metal/package.h"
#include "backend/metal/place.h"
#include "formats/coreml/package.h"
#include "passes/harness.h"

namespace ec::metal {
namespace {

struct Written {
  CoremlProgram program;
  std::vector<ArtifactFile> files;
  const coreml::Function& main() const { return program.model.program->functions.at("main"); }
  std::string kinds() const {
    std::string kinds;
    for (const coreml::Operation& op : main().block.operations)
      if (op.type != "const") kinds += (kinds.empty() ? "" : " ") + op.type;
    return kinds;
  }
  const coreml::Operation* find(std::string_view type) const {
    for (const coreml::Operation& op : main().block.operations)
      if (op.type == type) return &op;
    return nullptr;
  }
};

Written write(const Graph& graph, CoremlWriteOptions options = {}) {
  DiagnosticSink sink;
  auto program = write_coreml(graph, options, sink);
  if (!program.ok()) {
    ADD_FAILURE() << program.error().message();
    return {};
  }
  Written written{std::move(*program), {}};
  written.files = package_files(written.program, "m.mlpackage");
  return written;
}

// Writes the graph, reads the package and compares the results of both.
Written round_trip(std::string_view text) {
  const auto graph = test::graph_from(text);
  Written written = write(*graph);
  if (written.files.empty()) return written;
  auto read = read_package(written.files);
  EXPECT_TRUE(read.ok()) << read.error().message() << "\n" << text;
  if (read.ok()) test::expect_same_results(*graph, *read->front());
  return written;
}

std::string one(std::string_view op, std::string_view type = "f32[1,4,6,6]") {
  return "graph @g(%x: " + std::string(type) + ") -> (y = %y) { %y = " + std::string(op) + " }";
}

TEST(CoremlPackage, ElementwiseOperationsComeBack) {
  for (const std::string_view op :
       {"abs",  "exp",  "floor", "ceil", "round",      "sign",     "sin",      "cos",
        "tanh", "atan", "erf",   "relu", "sigmoid",    "softplus", "softsign", "neg",
        "sinh", "cosh", "silu",  "gelu", "leaky_relu", "elu",      "identity", "hard_sigmoid"})
    round_trip(one(std::string(op) + "(%x)"));
  for (const std::string_view op : {"add", "sub", "mul", "div", "max", "min", "squared_difference"})
    round_trip("graph @g(%x: f32[2,3], %z: f32[3]) -> (y = %y) { %y = " + std::string(op) +
               "(%x, %z) }");
  // Packages give no truth values.
  for (const std::string_view op :
       {"less", "less_or_equal", "greater", "greater_or_equal", "equal"})
    round_trip("graph @g(%x: f32[2,3], %z: f32[3]) -> (y = %y) { %t = " + std::string(op) +
               "(%x, %z) %y = cast(%t) {to=f32} }");
}

// A channel shuffle behind a concatenation is one operation.
TEST(CoremlPackage, ShuffledConcatenationsInterleave) {
  const auto shuffle = [](std::string_view perm, std::string_view outputs = "(y = %y)") {
    return "graph @g(%a: f32[1,3,2,2], %b: f32[1,3,2,2]) -> " + std::string(outputs) +
           " { %c = concat(%a, %b) {axis=1} %s = const i64[5] dense[1,2,3,2,2] "
           "%t = const i64[4] dense[1,6,2,2] %d = reshape(%c, %s) %e = transpose(%d) {perm=[" +
           std::string(perm) + "]} %y = reshape(%e, %t) }";
  };
  EXPECT_EQ(round_trip(shuffle("0,2,1,3,4")).kinds(), "concat");
  // Not where a result on the way is read too, or the sizes are others.
  EXPECT_EQ(round_trip(shuffle("0,2,1,3,4", "(y = %y, c = %c)")).kinds(),
            "concat reshape transpose reshape");
  EXPECT_EQ(round_trip(shuffle("0,2,1,4,3")).kinds(), "concat reshape transpose reshape");
}

// Bytes are read as what they are by `cast` and `dequantize` alone.
TEST(CoremlPackage, BytesOfQuantizeAreCast) {
  const Written written = round_trip(R"(graph @g(%x: f32[3,4]) -> (y = %y) {
    %s = const f32[] splat(0.05) %z = const u8[] splat(3)
    %q = quantize(%x, %s, %z) {dtype=u8} %y = cast(%q) {to=i32}
  })");
  EXPECT_EQ(written.kinds(), "quantize cast");
}

TEST(CoremlPackage, WhatProgramsComputeOnFloatsAloneIsRefusedForIntegers) {
  for (const std::string_view text :
       {"graph @g(%x: i32[1,2,4,4]) -> (y = %y) { %w = const i32[3,2,1,1] splat(2) "
        "%y = conv(%x, %w) }",
        "graph @g(%x: f32[1,2,4,4,4]) -> (y = %y) { %y = lp_pool(%x) {kernel=[2,2,2]} }"}) {
    const auto graph = test::graph_from(text);
    DiagnosticSink sink;
    EXPECT_FALSE(write_coreml(*graph, {}, sink).ok()) << text;
  }
}

TEST(CoremlPackage, ReductionsComeBack) {
  for (const std::string_view op :
       {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "reduce_l1",
        "reduce_l2", "reduce_log_sum_exp", "reduce_sum_square"})
    for (const std::string_view keep : {"true", "false"})
      round_trip("graph @g(%x: f32[2,3,4]) -> (y = %y) { %a = const i64[2] dense[0,-1] %y = " +
                 std::string(op) + "(%x, %a) {keep_dims=" + std::string(keep) + "} }");
  round_trip(one("softmax(%x) {axis=1}"));
  round_trip(
      "graph @g(%x: f32[2,5]) -> (y = %y) { %a = const i64[] dense[1] "
      "%y = cum_sum(%x, %a) {reverse=true} }");
}

TEST(CoremlPackage, WindowsComeBack) {
  for (const std::string_view attrs :
       {"{}", "{pads=[1,0,1,2]}", "{strides=[2,2], pads=[1,1,1,1]}", "{dilations=[2,1]}"}) {
    round_trip(
        "graph @g(%x: f32[1,4,6,6]) -> (y = %y) { %w = const f32[6,4,3,3] splat(0) "
        "%wb = const f32[6] splat(0) %y = conv(%x, %w, %wb) " +
        std::string(attrs) + " }");
    if (attrs.find("dilations") != std::string_view::npos) continue;
    const std::string pool = std::string(attrs == "{}" ? "{kernel=[3,3]}" : "{kernel=[3,3], ") +
                             std::string(attrs == "{}" ? "" : attrs.substr(1));
    round_trip(one("max_pool(%x) " + pool));
    round_trip(one("avg_pool(%x) " + pool));
  }
  round_trip(
      "graph @g(%x: f32[1,4,6,6]) -> (y = %y) { %w = const f32[4,1,3,3] splat(0) "
      "%y = conv(%x, %w) {groups=4} }");
  round_trip(
      "graph @g(%x: f32[1,4,5,5]) -> (y = %y) { %w = const f32[4,3,3,3] splat(0) "
      "%y = conv_transpose(%x, %w) {strides=[2,2], pads=[1,1,1,1], output_padding=[1,1]} }");
  round_trip(one("max_pool(%x) {kernel=[3,3], strides=[2,2], ceil_mode=true}"));
  round_trip(one("global_avg_pool(%x)"));
}

TEST(CoremlPackage, MovementComesBack) {
  round_trip(one("transpose(%x) {perm=[0,2,3,1]}"));
  round_trip(
      "graph @g(%x: f32[2,6]) -> (y = %y) { %s = const i64[3] dense[2,2,3] "
      "%y = reshape(%x, %s) }");
  round_trip(
      "graph @g(%x: f32[2,6]) -> (y = %y) { %b = const i64[1] dense[-1] %e = const i64[1] "
      "dense[-9] "
      "%a = const i64[1] dense[1] %s = const i64[1] dense[-2] %y = slice(%x, %b, %e, %a, %s) }");
  round_trip(
      "graph @g(%x: f32[2,6]) -> (y = %y) { %b = const i64[1] dense[1] %e = const i64[1] dense[-1] "
      "%a = const i64[1] dense[1] %y = slice(%x, %b, %e, %a) }");
  round_trip("graph @g(%x: f32[2,6]) -> (y = %y, z = %z) { %y, %z = split(%x) {axis=1} }");
  round_trip("graph @g(%x: f32[2,6]) -> (y = %y) { %y = concat(%x, %x) {axis=0} }");
  round_trip(
      "graph @g(%x: f32[1,2,6,6]) -> (y = %y) { %p = const i64[8] dense[0,0,1,2,0,0,3,0] "
      "%v = const f32[] splat(1.5) %y = pad(%x, %p, %v) }");
  round_trip(
      "graph @g(%x: f32[2,6]) -> (y = %y) { %r = const i64[2] dense[2,1] %y = tile(%x, %r) }");
  round_trip(
      "graph @g(%x: f32[2,6]) -> (y = %y) { %i = const i64[3] dense[0,-1,2] "
      "%y = gather(%x, %i) {axis=1} }");
  round_trip(one("depth_to_space(%x) {block=2, order=crd}"));
  round_trip(one("depth_to_space(%x) {block=2}"));
  round_trip(one("space_to_depth(%x) {block=2}"));
}

TEST(CoremlPackage, LayersAndResizesComeBack) {
  const Written layer = round_trip(
      "graph @g(%x: f32[2,5]) -> (y = %y) { %w = const f32[3,5] splat(0) %wb = const f32[3] "
      "splat(0) %y = matmul(%x, %w, %wb) {transpose_b=true} }");
  EXPECT_EQ(layer.kinds(), "linear");
  const Written product =
      round_trip("graph @g(%x: f32[2,5], %z: f32[5,3]) -> (y = %y) { %y = matmul(%x, %z) }");
  EXPECT_EQ(product.kinds(), "matmul");
  for (const std::string_view attrs :
       {"{mode=linear, coordinates=half_pixel}", "{mode=linear, coordinates=align_corners}",
        "{mode=linear, coordinates=asymmetric}",
        "{mode=nearest, coordinates=asymmetric, nearest=floor}"})
    round_trip(
        "graph @g(%x: f32[1,2,4,5]) -> (y = %y) { %s = const i64[4] dense[1,2,8,10] "
        "%y = resize(%x, _, _, %s) " +
        std::string(attrs) + " }");
  round_trip(
      "graph @g(%x: f32[2,3,4]) -> (y = %y) { %wg = const f32[4] splat(0) "
      "%wb = const f32[4] splat(0) %y = layer_norm(%x, %wg, %wb) {axis=2} }");
  round_trip(
      "graph @g(%x: f32[7,2,3]) -> (y = %y, h = %h, c = %c) { %w = const f32[2,16,3] splat(0)"
      " %wr = const f32[2,16,4] splat(0) %wb = const f32[2,32] splat(0) "
      "%y, %h, %c = lstm(%x, %w, %wr, %wb) {hidden_size=4, direction=bidirectional} }");
}

TEST(CoremlPackage, NamesAreIdentifiersAndUnique) {
  const auto graph =
      test::graph_from(R"(graph @g(%"input.1": f32[2]) -> ("a/b" = %y, "state" = %z) {
    %y = relu(%"input.1") %z = relu(%y)
  })");
  const Written written = write(*graph);
  ASSERT_EQ(written.main().inputs.size(), 1u);
  EXPECT_EQ(written.main().inputs[0].name, "input_1");
  EXPECT_EQ(written.program.model.interface.inputs[0].name, "input_1");
  EXPECT_EQ(written.main().block.outputs, (std::vector<std::string>{"a_b", "state_"}));
  EXPECT_EQ(written.program.summary.renamed.size(), 3u);
  std::set<std::string> seen{"input_1"};
  for (const coreml::Operation& op : written.main().block.operations) {
    EXPECT_NE(op.attribute("name"), nullptr) << op.type;
    for (const coreml::NamedType& output : op.outputs)
      EXPECT_TRUE(seen.insert(output.name).second) << output.name;
  }
}

TEST(CoremlPackage, OutputsAreOperationsOfTheirOwn) {
  const Written written = round_trip(
      "graph @g(%x: f32[2]) -> (a = %y, b = %y, c = %x, d = %k) { %k = const f32[2] splat(3) "
      "%y = relu(%x) }");
  EXPECT_EQ(written.main().block.outputs, (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_EQ(written.kinds(), "relu identity identity identity");
}

TEST(CoremlPackage, TheOldestSystemThatServesIsChosen) {
  const Written plain = write(*test::graph_from(one("relu(%x)")));
  EXPECT_EQ(plain.program.model.specification_version, kCoremlIos16);
  EXPECT_EQ(plain.main().opset, "CoreML6");
  EXPECT_TRUE(plain.program.summary.version_reason.empty());
  constexpr std::string_view kRounded = R"(graph @g(%x: f32[1,4]) -> (y = %y) {
    %s = const f32[] splat(0.5) %z = const u8[] dense[3]
    %q = quantize(%x, %s, %z) {dtype=u8} %y = dequantize(%q, %s, %z)
  })";
  const Written rounded = round_trip(kRounded);
  EXPECT_EQ(rounded.program.model.specification_version, kCoremlIos17);
  EXPECT_NE(rounded.program.summary.version_reason.find("8 bits"), std::string::npos);
  // An older system refuses by name.
  DiagnosticSink sink;
  CoremlWriteOptions old;
  old.highest_version = kCoremlIos16;
  const auto refused = write_coreml(*test::graph_from(kRounded), old, sink);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::NotOnTarget);
}

TEST(CoremlPackage, WeightsOfEightBitsAreUnpackedByTheCompiler) {
  const Written written = round_trip(R"(graph @g(%x: f32[1,4,3,3]) -> (y = %y) {
    %q = const i8[2,4,1,1] dense[1,2,3,4,-5,-6,-7,-8] %s = const f32[2] dense[0.5,0.25]
    %w = dequantize(%q, %s) {axis=0} %y = conv(%x, %w)
  })");
  EXPECT_EQ(written.kinds(), "constexpr_affine_dequantize conv");
  EXPECT_EQ(written.program.model.specification_version, kCoremlIos16);
}

TEST(CoremlPackage, WeightsOfFourBitsNeedANewerSystem) {
  const Written blocks = round_trip(R"(graph @g(%x: f32[2,4]) -> (y = %y) {
    %q = const i4[3,4] dense[1,2,-3,4,-5,6,7,-8,0,1,2,3] %s = const f32[3,2] dense[1,2,3,4,5,6]
    %w = dequantize(%q, %s) {axis=1, block_size=2} %y = matmul(%x, %w) {transpose_b=true}
  })");
  EXPECT_EQ(blocks.kinds(), "constexpr_blockwise_shift_scale linear");
  EXPECT_EQ(blocks.program.model.specification_version, kCoremlIos18);
  const Written channels = round_trip(R"(graph @g(%x: f32[2,4]) -> (y = %y) {
    %q = const u4[3,4] dense[1,2,3,4,5,6,7,8,0,1,2,15] %s = const f32[3] dense[1,2,3]
    %z = const u4[3] dense[8,7,6]
    %w = dequantize(%q, %s, %z) {axis=0} %y = matmul(%x, %w) {transpose_b=true}
  })");
  EXPECT_EQ(channels.kinds(), "constexpr_blockwise_shift_scale linear");
}

TEST(CoremlPackage, EverythingThatCannotBeWrittenIsTold) {
  DiagnosticSink sink;
  const auto refused =
      write_coreml(*test::graph_from("graph @g(%x: i32[2,2], %f: f32[2,2]) -> (y = %y, z = %z) {"
                                     " %y = bitwise_not(%x) %z = det(%f) }"),
                   {}, sink);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(sink.error_count(), 2u);
}

TEST(CoremlPackage, NumbersBeyond32BitsAreRefused) {
  DiagnosticSink sink;
  const auto refused = write_coreml(
      *test::graph_from("graph @g(%x: i64[2]) -> (y = %y) { %k = const i64[2] dense[1,5000000000] "
                        "%s = add(%x, %k) %y = cast(%s) {to=i32} }"),
      {}, sink);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::NotOnTarget);
}

TEST(CoremlPackage, TheSameGraphGivesTheSameBytes) {
  const auto graph = test::graph_from(
      "graph @g(%x: f32[2,5]) -> (y = %y) { %w = const f32[3,5] splat(0) "
      "%y = matmul(%x, %w) {transpose_b=true} }");
  const Written a = write(*graph), b = write(*graph->clone());
  ASSERT_EQ(a.files.size(), 3u);
  for (size_t i = 0; i < a.files.size(); ++i)
    EXPECT_EQ(Blob::joined(a.files[i].parts), Blob::joined(b.files[i].parts));
}

}  // namespace
}  // namespace ec::metal
