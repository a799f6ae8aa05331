// Sizes that stay open: what users may write, which dimensions follow, and what is refused.
#include "frontend/flexible_shapes.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace ec {
namespace {

std::unique_ptr<Graph> graph_of(std::string_view text) {
  auto graph = parse(std::string(text));
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().message());
  return std::move(*graph);
}

constexpr std::string_view kTwoInputs = R"(graph @g(%a: f32[N,length,4], %b: f32[N,length,4])
  -> (y = %y) { %y = add(%a, %b) })";

struct Bound {
  std::unique_ptr<Graph> graph;
  Status status;
  DiagnosticSink sink;
  std::string type(size_t i) const { return graph->inputs()[i]->type().text(); }
  std::string said(const std::string& key) const {
    const auto found = graph->metadata().find(key);
    return found == graph->metadata().end() ? "" : found->second;
  }
};

Bound open_up(std::string_view text, const std::vector<std::string>& shapes,
              const std::vector<std::string>& dims = {}, const ShapesByName& given = {},
              const SizesByName& given_dims = {}) {
  Bound bound;
  bound.graph = graph_of(text);
  Result<FlexibleShapes> flexible = parse_flexible_shapes(shapes, dims);
  if (!flexible.ok()) {
    bound.status = std::move(flexible).error();
    return bound;
  }
  // As the importer does with what is no default.
  ImportOptions options;
  options.input_shapes = given;
  options.dims = given_dims;
  leave_open(*flexible, options);
  bound.status = bind_shapes(*bound.graph, options.input_shapes, bound.sink);
  if (!bound.status.ok()) return bound;
  bound.status = bind_flexible_shapes(*bound.graph, *flexible, {}, given, given_dims, bound.sink);
  return bound;
}

TEST(FlexibleShapes, TextsComeBack) {
  for (const char* text : {"1x3x224..448x224..448", "1x3x224x224,1x3x320x320", "1..8x20"}) {
    const auto shape = parse_flexible_shape(text);
    ASSERT_TRUE(shape.ok()) << text;
    EXPECT_EQ(shape->text(), text);
  }
}

TEST(FlexibleShapes, OtherTextsAreRefused) {
  for (const char* text : {"", "1x3x?x4", "1x0..3", "1x5..3", "1x-1", "1x3,1x3x4", "1x1..3,1x4",
                           "1x3..", "1x..3", "1x3000000000", "ax3"})
    EXPECT_FALSE(parse_flexible_shape(text).ok()) << text;
  EXPECT_FALSE(parse_flexible_shapes({"x:1..2", "x:1..3"}, {}).ok());
  for (const char* text : {"n", "n=", "=1..3", "n=3..1", "n=1..2,3", "n=?"})
    EXPECT_FALSE(parse_flexible_shapes({}, {text}).ok()) << text;
  std::string many = "x:1";
  for (int i = 2; i < 200; ++i) many += "," + std::to_string(i);
  EXPECT_FALSE(parse_flexible_shapes({many}, {}).ok());
}

TEST(FlexibleShapes, TheOthersAreBoundAsAlways) {
  const Bound bound = open_up(kTwoInputs, {}, {"length=2..16"});
  ASSERT_TRUE(bound.status.ok()) << bound.status.error().message();
  EXPECT_EQ(bound.type(0), "f32[1,length,4]");
  EXPECT_EQ(bound.said("flexible_shape.b"), "1x2..16x4");
  EXPECT_EQ(bound.said("default_shape.b"), "1x2x4");
  ASSERT_EQ(bound.sink.diagnostics().size(), 1u);  // the batch is taken as 1
}

TEST(FlexibleShapes, DimensionsOfOneNameFollow) {
  const Bound bound = open_up(kTwoInputs, {"a:1x2..16x4"}, {}, {{"a", {1, 8, 4}}});
  ASSERT_TRUE(bound.status.ok()) << bound.status.error().message();
  EXPECT_EQ(bound.type(1), "f32[1,length,4]");
  EXPECT_EQ(bound.said("default_shape.a"), "1x8x4");
  EXPECT_EQ(bound.said("default_shape.b"), "1x8x4");
  EXPECT_EQ(bound.said("flexible_shape.b"), "1x2..16x4");
  EXPECT_EQ(open_up(kTwoInputs, {}, {"length=2..16"}, {}, {{"length", 5}}).said("default_shape.a"),
            "1x5x4");
}

TEST(FlexibleShapes, ListsOfAllInputsGoTogether) {
  const Bound bound = open_up(kTwoInputs, {"a:1x4x4,2x8x4"}, {}, {{"a", {2, 8, 4}}});
  ASSERT_TRUE(bound.status.ok()) << bound.status.error().message();
  EXPECT_EQ(bound.said("flexible_shape.b"), "1x4x4,2x8x4");
  EXPECT_EQ(bound.said("default_shape.a"), "2x8x4");
  const auto all = admitted_shapes(flexible_inputs(*bound.graph));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].at("b"), (std::vector<int64_t>{1, 4, 4}));
}

TEST(FlexibleShapes, RangesAreTriedAtBothEnds) {
  const Bound bound = open_up(kTwoInputs, {"a:1..3x2..16x4"}, {}, {{"a", {2, 8, 4}}});
  ASSERT_TRUE(bound.status.ok()) << bound.status.error().message();
  const auto all = admitted_shapes(flexible_inputs(*bound.graph));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].at("a"), (std::vector<int64_t>{2, 8, 4}));
  EXPECT_EQ(all[1].at("b"), (std::vector<int64_t>{1, 2, 4}));
  EXPECT_EQ(all[2].at("a"), (std::vector<int64_t>{3, 16, 4}));
}

TEST(FlexibleShapes, SizesWithoutNamesGetOne) {
  const Bound bound =
      open_up("graph @g(%x: f32[1,?,?]) -> (y = %y) { %y = relu(%x) }", {"x:1x2..4x3..6"});
  ASSERT_TRUE(bound.status.ok()) << bound.status.error().message();
  EXPECT_EQ(bound.type(0), "f32[1,x_1,x_2]");
  EXPECT_EQ(bound.graph->outputs()[0]->type().text(), "f32[1,x_1,x_2]");
}

TEST(FlexibleShapes, WhatDoesNotFitTheModelIsRefused) {
  const auto refused = [](std::vector<std::string> shapes, std::vector<std::string> dims = {},
                          ShapesByName given = {}) {
    const Bound bound = open_up(kTwoInputs, shapes, dims, given);
    return !bound.status.ok() && bound.status.error().code() == Code::BadShapeOption &&
           !bound.status.error().diagnostic().hint.empty();
  };
  EXPECT_TRUE(refused({"c:1x2..4x4"}));                             // no such input
  EXPECT_TRUE(refused({"1x2..4x4"}));                               // two inputs
  EXPECT_TRUE(refused({"a:1x2..4"}));                               // another rank
  EXPECT_TRUE(refused({"a:1x2x4..5"}));                             // fixed in the model
  EXPECT_TRUE(refused({"a:1x2..4x4", "b:1x3..4x4"}));               // one size, two ranges
  EXPECT_TRUE(refused({}, {"lenght=1..4"}));                        // misspelt
  EXPECT_TRUE(refused({"a:1x2..4x4"}, {}, {{"a", {1, 9, 4}}}));     // a default outside
  EXPECT_TRUE(refused({"a:1x2x4,1x4x4"}, {}, {{"a", {1, 3, 4}}}));  // a default not listed
  EXPECT_TRUE(refused({"a:1x2x4,1x4x4"}, {"N=1,2,3"}));             // lists of other lengths
}

TEST(FlexibleShapes, SizesThatTheModelCannotTakeAreRefused) {
  constexpr std::string_view kHalved = R"(graph @g(%x: f32[1,2,size,size]) -> (y = %y) {
    %w = const f32[2,2,3,3] splat(0) %y = conv(%x, %w) })";
  EXPECT_TRUE(open_up(kHalved, {"x:1x2x3..9x3..9"}).status.ok());
  const Bound small = open_up(kHalved, {"x:1x2x1..9x1..9"});
  ASSERT_FALSE(small.status.ok());
  EXPECT_EQ(small.status.error().code(), Code::BadShapeOption);
}

TEST(FlexibleShapes, SizesBetweenThatTheModelCannotTakeAreTold) {
  const Bound bound = open_up(R"(graph @g(%x: f32[1,2,size]) -> (y = %y) {
    %p = max_pool(%x) {kernel=[2], strides=[2]}
    %s = const f32[3] dense[1,1,2] %u = resize(%p, _, %s) {coordinates=asymmetric, nearest=floor}
    %y = concat(%u, %x) {axis=1} })",
                              {"x:1x2x4..8"});
  ASSERT_TRUE(bound.status.ok()) << bound.status.error().message();
  ASSERT_EQ(bound.sink.diagnostics().size(), 1u);
  EXPECT_EQ(bound.sink.diagnostics()[0].severity, Severity::Warning);
}

}  // namespace
}  // namespace ec
