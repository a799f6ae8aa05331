// Packages with open sizes: the interface, the operations that compute shapes, and results at
// several sizes.
#include "backend/metal/flexible.h"

#include "backend/metal/compute_units.h"
#include "backend/metal/package.h"
#include "backend/metal/place.h"
#include "passes/harness.h"
#include "runtime/same_results.h"

namespace ec::metal {
namespace {

struct Written {
  CoremlProgram program;
  std::string kinds;
};

// Legalises, writes and reads the graph, and compares both with these shapes.
Written round_trip(std::string_view text, const std::vector<GivenShapes>& shapes,
                   CoremlWriteOptions options = {}) {
  test::Outcome legal = test::optimise(text, "legalise-mil", {.compare = false});
  DiagnosticSink sink;
  auto program = write_coreml(*legal.after, options, sink);
  if (!program.ok()) {
    ADD_FAILURE() << program.error().message() << "\n" << text;
    return {};
  }
  auto read = read_package(package_files(*program, "m.mlpackage"));
  if (!read.ok()) {
    ADD_FAILURE() << read.error().message() << "\n" << text;
    return {};
  }
  const auto check = check_same_results(*test::graph_from(text), *read, shapes);
  EXPECT_TRUE(check.ok() && check->ran)
      << (check.ok() ? check->reason : check.error().message()) << "\n"
      << text;
  if (check.ok()) {
    EXPECT_EQ(check->shapes.size(), shapes.size()) << check->reason << "\n" << text;
  }
  Written written{std::move(*program), {}};
  for (const coreml::Operation& op :
       written.program.model.program->functions.at("main").block.operations)
    if (op.type != "const") written.kinds += (written.kinds.empty() ? "" : " ") + op.type;
  return written;
}

std::string one(std::string_view op, std::string_view type) {
  return "graph @g(%x: " + std::string(type) + ") -> (y = %y) { %y = " + std::string(op) + " }";
}

const std::vector<GivenShapes> kImages{{{"x", {1, 4, 6, 6}}}, {{"x", {1, 4, 9, 13}}}};

TEST(FlexiblePackages, WindowsOfOpenSizes) {
  constexpr std::string_view kType = "f32[1,4,h,w]";
  for (const char* op :
       {"max_pool(%x) {kernel=[3,3], strides=[2,2], pads=[1,1,1,1]}",
        "max_pool(%x) {kernel=[3,3], strides=[2,2], ceil_mode=true}",
        "max_pool(%x) {kernel=[2,2], strides=[2,2], auto_pad=same_upper}",
        "avg_pool(%x) {kernel=[3,3], strides=[2,2], pads=[1,1,1,1]}", "global_avg_pool(%x)"})
    round_trip(one(op, kType), kImages);
  for (const char* attrs : {"{strides=[2,2], pads=[1,1,1,1], output_padding=[1,1]}",
                            "{strides=[2,2], auto_pad=same_upper}", "{}"})
    round_trip(
        "graph @g(%x: f32[1,4,h,w]) -> (y = %y) { %w = const f32[4,3,3,3] splat(0) "
        "%y = conv_transpose(%x, %w) " +
            std::string(attrs) + " }",
        kImages);
}

TEST(FlexiblePackages, ResizesByFactorsAndToOtherSizes) {
  constexpr std::string_view kScales =
      "graph @g(%x: f32[1,4,h,w]) -> (y = %y) { %s = const f32[4] "
      "dense[1,1,2,3] %y = resize(%x, _, %s) ";
  const Written nearest =
      round_trip(std::string(kScales) + "{coordinates=asymmetric, nearest=floor} }", kImages);
  EXPECT_EQ(nearest.kinds, "upsample_nearest_neighbor");
  for (const char* coordinates : {"half_pixel", "align_corners", "asymmetric"})
    EXPECT_EQ(round_trip(std::string(kScales) + "{mode=linear, coordinates=" + coordinates + "} }",
                         kImages)
                  .kinds,
              "upsample_bilinear");
  const Written other = round_trip(
      R"(graph @g(%x: f32[1,4,h,w], %z: f32[1,2,a,b]) -> (y = %y) {
    %c = shape(%x) {end=2} %d = shape(%z) {start=2} %s = concat(%c, %d) {axis=0}
    %y = resize(%x, _, _, %s) {mode=linear, coordinates=half_pixel} })",
      {{{"x", {1, 4, 6, 6}}, {"z", {1, 2, 9, 4}}}, {{"x", {1, 4, 3, 8}}, {"z", {1, 2, 6, 30}}}});
  EXPECT_NE(other.kinds.find("resize"), std::string::npos);
  EXPECT_EQ(other.program.summary.version, kCoremlIos17);
}

TEST(FlexiblePackages, ViewsAndSlices) {
  const std::vector<GivenShapes> rows{{{"x", {2, 5, 12}}}, {{"x", {3, 7, 12}}}};
  round_trip(R"(graph @g(%x: f32[n,l,12]) -> (y = %y) {
    %s = const i64[4] dense[0,0,3,4] %y = reshape(%x, %s) })",
             rows);
  round_trip(one("flatten(%x) {axis=1}", "f32[n,l,12]"), rows);
  round_trip(R"(graph @g(%x: f32[n,l,12]) -> (y = %y) {
    %b = const i64[1] dense[0] %e = const i64[1] dense[6] %a = const i64[1] dense[1]
    %y = slice(%x, %b, %e, %a) })",
             rows);
  round_trip(R"(graph @g(%x: f32[n,l,12]) -> (y = %y) {
    %i = const i64[] dense[-1] %y = gather(%x, %i) {axis=1} })",
             rows);
  round_trip(R"(graph @g(%x: f32[n,l,12]) -> (y = %y) {
    %t = const f32[1,9,12] splat(0.5) %e = shape(%x) {start=1, end=2}
    %b = const i64[1] dense[0] %a = const i64[1] dense[1] %p = slice(%t, %b, %e, %a)
    %y = add(%x, %p) })",
             rows);
}

TEST(FlexiblePackages, BroadcastsAndMasks) {
  const std::vector<GivenShapes> rows{{{"x", {1, 5}}}, {{"x", {1, 9}}}};
  const Written expand = round_trip(R"(graph @g(%x: f32[1,l]) -> (y = %y) {
    %l = shape(%x) {start=1} %t = concat(%l, %l) {axis=0} %y = expand(%x, %t) })",
                                    rows);
  EXPECT_EQ(expand.kinds.find("tile"), std::string::npos);
  round_trip(R"(graph @g(%x: f32[1,l]) -> (y = %y) {
    %l = shape(%x) {start=1} %t = concat(%l, %l) {axis=0} %v = const f32[] dense[1]
    %o = fill(%t, %v) %m = trilu(%o) {upper=false} %z = const f32[] dense[0] %c = equal(%m, %z)
    %n = const f32[] dense[-9] %y = where(%c, %n, %x) })",
             rows);
}

TEST(FlexiblePackages, AttentionOverOpenLengths) {
  const std::vector<GivenShapes> heads{{{"q", {1, 2, 5, 4}}}, {{"q", {1, 2, 9, 4}}}};
  for (const char* attrs : {"{}", "{causal=true}", "{scale=0.3}"})
    round_trip("graph @g(%q: f32[1,2,l,4]) -> (y = %y) { %y = attention(%q, %q, %q) " +
                   std::string(attrs) + " }",
               heads);
  round_trip(
      "graph @g(%q: f32[n,l,8]) -> (y = %y) { %y = attention(%q, %q, %q) {q_heads=2, kv_heads=2} }",
      {{{"q", {1, 5, 8}}}, {{"q", {2, 3, 8}}}});
}

TEST(FlexiblePackages, RecurrentLayersOfOpenLengthAndBatch) {
  for (const char* direction : {"forward", "bidirectional"}) {
    const std::string d = direction[0] == 'b' ? "2" : "1";
    round_trip("graph @g(%x: f32[l,n,3]) -> (y = %y) { %w = const f32[" + d +
                   ",8,3] splat(0) %wr = const f32[" + d +
                   ",8,2] splat(0) %y, %h, %c = lstm(%x, %w, %wr) {hidden_size=2, direction=" +
                   direction + "} }",
               {{{"x", {5, 1, 3}}}, {{"x", {2, 3, 3}}}});
  }
}

TEST(FlexiblePackages, NormalisationsOfOpenSizes) {
  round_trip(R"(graph @g(%x: f32[1,4,h,w]) -> (y = %y) { %ws = const f32[4] splat(0)
    %wb = const f32[4] splat(0) %y = group_norm(%x, %ws, %wb) {groups=2} })",
             kImages);
  const Written layer = round_trip(R"(graph @g(%x: f32[1,4,l,12]) -> (y = %y) {
    %ws = const f32[12] splat(0) %wb = const f32[12] splat(0) %y = layer_norm(%x, %ws, %wb) })",
                                   {{{"x", {1, 4, 5, 12}}}, {{"x", {1, 4, 2, 12}}}});
  EXPECT_EQ(layer.kinds, "layer_norm");
}

TEST(FlexiblePackages, TheInterfaceSaysWhatIsTaken) {
  const std::string text = one("relu(%x)", "f32[1,4,h,w]");
  CoremlWriteOptions options;
  options.flexible = {{"x", {1, 4, 6, 6}, {{1, 1}, {4, 4}, {2, 9}, {6, 13}}, {}}};
  const Written ranges = round_trip(text, kImages, options);
  const coreml::Feature& in = ranges.program.model.interface.inputs.at(0);
  EXPECT_EQ(in.shape, (std::vector<int64_t>{1, 4, 6, 6}));
  ASSERT_EQ(in.shape_range.size(), 4u);
  EXPECT_EQ(in.shape_range[2].upper, 9);
  EXPECT_TRUE(in.enumerated_shapes.empty());
  EXPECT_TRUE(ranges.program.model.interface.outputs.at(0).shape.empty());
  options.flexible = {{"x", {1, 4, 6, 6}, {}, {{1, 4, 6, 6}, {1, 4, 9, 13}}}};
  const Written listed = round_trip(text, kImages, options);
  EXPECT_EQ(listed.program.model.interface.inputs.at(0).enumerated_shapes.size(), 2u);
  EXPECT_TRUE(listed.program.model.interface.inputs.at(0).shape_range.empty());
}

TEST(FlexiblePackages, ListsOfSeveralInputsNeedANewerSystem) {
  const auto graph =
      test::graph_from("graph @g(%x: f32[1,l], %z: f32[1,l]) -> (y = %y) { %y = add(%x, %z) }");
  CoremlWriteOptions options;
  options.flexible = {{"x", {1, 2}, {}, {{1, 2}, {1, 4}}}, {"z", {1, 2}, {}, {{1, 2}, {1, 4}}}};
  DiagnosticSink sink;
  const auto program = write_coreml(*graph, options, sink);
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(program->summary.version, kCoremlIos18);
  options.highest_version = kCoremlIos17;
  EXPECT_FALSE(write_coreml(*graph, options, sink).ok());
}

TEST(FlexiblePackages, ImagesHaveRangesOfTheirOwn) {
  const auto graph = test::graph_from(one("relu(%x)", "f32[1,3,h,w]"));
  CoremlWriteOptions options;
  options.images = {{"x", coreml::ColorSpace::Rgb}};
  options.flexible = {{"x", {1, 3, 6, 8}, {{1, 1}, {3, 3}, {2, 9}, {6, 13}}, {}}};
  DiagnosticSink sink;
  const auto program = write_coreml(*graph, options, sink);
  ASSERT_TRUE(program.ok());
  const coreml::Feature& image = program->model.interface.inputs.at(0);
  EXPECT_EQ(image.width, 8);
  ASSERT_TRUE(image.size_range.has_value());
  EXPECT_EQ(image.size_range->first.upper, 13);  // width
  EXPECT_EQ(image.size_range->second.upper, 9);  // height
}

TEST(FlexiblePackages, TheSelfCheckRunsAtOtherSizes) {
  auto graph = test::graph_from(one("relu(%x)", "f32[1,h]"));
  EXPECT_TRUE(checked_shapes(*graph).empty());
  set_flexible_input(*graph, {"x", {1, 8}, {{{1, 1}, {2, 16}}, {}}});
  const auto near = checked_shapes(*graph);
  ASSERT_EQ(near.size(), 3u);
  EXPECT_EQ(near[1].at("x")[1], 2);
  EXPECT_EQ(near[2].at("x")[1], 16);
  set_flexible_input(*graph, {"x", {1, 8}, {{{1, 1}, {2, 4000}}, {}}});
  EXPECT_EQ(checked_shapes(*graph).size(), 2u);  // the largest would take too long
}

TEST(FlexiblePackages, RangesStayOffTheNeuralEngine) {
  const auto graph = test::graph_from(one("relu(%x)", "f16[1,3,8,8]"));
  OpPlacement listed, ranged;
  predict_unit(*graph->topological()[0], ComputeUnits::All, listed, false);
  predict_unit(*graph->topological()[0], ComputeUnits::All, ranged, true);
  EXPECT_EQ(listed.status, kOnNeuralEngine);
  EXPECT_EQ(ranged.status, kOnGpu);
  EXPECT_NE(ranged.fix.find("--flexible-shape"), std::string::npos);
}

}  // namespace
}  // namespace ec::metal
