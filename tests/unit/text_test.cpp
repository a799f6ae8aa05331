#include "ir/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "ops/attrs.h"
#include "ops/op_def.h"
#include "temporary_directory.h"

namespace ec {
namespace {

// A graph with symbols, quantisation, odd names, absent operands and every constant form.
std::unique_ptr<Graph> rich_graph() {
  auto graph = std::make_unique<Graph>("rich graph");
  graph->metadata()["producer"] = "quote \" and \n newline";
  Tensor* x = graph->add_input(
      "in:0", TensorType(DType::F32, Shape{Dim::symbol("batch"), Dim::symbol("N+1"), 8, 8}));
  std::vector<float> weights(1000);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = std::sin(static_cast<float>(i)) * 1e-3f;
  graph->add_constant<float>("big", Shape{10, 100}, weights);
  const std::vector<float> special = {0.1f, -0.0f, INFINITY, -INFINITY, 1e-45f};
  graph->add_constant<float>("special", Shape{5}, special);
  const std::vector<float> with_nan = {NAN, 1.0f};
  graph->add_constant<float>("nan", Shape{2}, with_nan);
  const std::vector<uint64_t> wide = {UINT64_MAX, 0};
  graph->add_constant<uint64_t>("wide", Shape{2}, wide);
  graph->add_constant("none", TensorType(DType::F16, Shape{0, 3}), Blob());
  const std::vector<int8_t> ones(100, 1);
  Tensor* splat = graph->add_constant<int8_t>("splat", Shape{100}, ones);
  graph->set_quant(splat, QuantParams{{0.5f}, {-3}, -1});
  Tensor* six = graph->add_scalar("six", DType::F32, 6);

  OpSpec clip;
  clip.location = Location("layer/clip \"1\"", "Clip");
  clip.location.merge(Location("merged"));
  Tensor* clipped = graph->add(OpKind::Clip, {x, nullptr, six}, std::move(clip)).value()->output();
  Tensor* leaky =
      graph->add_single(OpKind::LeakyRelu, {clipped}, LeakyReluAttrs{.alpha = 0.3f}).value();
  Tensor* half = graph->add_single(OpKind::Cast, {leaky}, CastAttrs{.to = DType::F16}).value();
  graph->set_quant(half, QuantParams{{0.25f, 0.5f, 1, 2, 3, 4, 5, 6}, {0, 1, 2, 3, 4, 5, 6, 7}, 2});
  graph->add_output("result", half);
  graph->add_output("again", half);
  return graph;
}

std::string parse_error(const std::string& text) {
  auto parsed = parse(text);
  return parsed.ok() ? "" : parsed.error().message();
}

TEST(Text, PrintsAndParsesBackToAnEqualGraph) {
  const auto graph = rich_graph();
  const std::string text = print(*graph);
  auto parsed = parse(text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message() << "\n" << text;
  EXPECT_TRUE(**parsed == *graph) << text << print(**parsed);
  EXPECT_EQ(print(**parsed), text);
}

TEST(Text, ClonePrintsTheSame) {
  const auto graph = rich_graph();
  EXPECT_EQ(print(*graph->clone()), print(*graph));
}

TEST(Text, DefaultsAreNotPrinted) {
  Graph graph;
  Tensor* x = graph.add_input("x", TensorType(DType::F32, Shape{2}));
  graph.add_output("y", graph.add_single(OpKind::LeakyRelu, {x}, LeakyReluAttrs{}).value());
  EXPECT_NE(print(graph).find("leaky_relu(%x) : f32[2]"), std::string::npos) << print(graph);
}

TEST(Text, SavedFormLoadsAgainWithWeights) {
  const auto graph = rich_graph();
  const TemporaryDirectory directory;
  const auto path = directory / "saved.ecir";
  ASSERT_TRUE(save_ecir(*graph, path).ok());
  auto loaded = load_ecir(path);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message();
  EXPECT_TRUE(**loaded == *graph);
  EXPECT_TRUE((*loaded)->find_tensor("big")->raw_data().is_aligned(64));
}

TEST(Text, SavedFormRefusesABlobOutsideTheFile) {
  const TemporaryDirectory directory;
  const auto path = directory / "bad.ecir";
  std::ofstream(path) << "ecir 1 data=00000000000000000128\ngraph @g() -> () {\n %w = const "
                         "f32[1000] blob(64, 4000)\n}\n";
  auto loaded = load_ecir(path);
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.error().message().find("outside"), std::string::npos)
      << loaded.error().message();
  EXPECT_EQ(loaded.error().diagnostic().file, path.string());
}

TEST(Text, ErrorsNameTheirPlace) {
  EXPECT_EQ(parse_error("graph @g(%x: f32[2]) -> (y = %y) {\n  %y = rellu(%x) : f32[2]\n}"),
            "line 2, column 8: unknown operation 'rellu'");
  EXPECT_EQ(parse_error("graph @g() -> (y = %z) {\n}"), "line 1, column 20: undefined tensor %z");
  EXPECT_EQ(parse_error("graph @g(%x: f32[2]) -> (y = %y) {\n  %y = relu(%x) : f32[3]\n}"),
            "line 2, column 8: result 0 is written as f32[3], inference says f32[2]");
  EXPECT_NE(parse_error("graph @g(%x: f32[2]) -> () {\n  %x = relu(%x) : f32[2]\n}")
                .find("defined twice"),
            std::string::npos);
}

TEST(Text, HostileTextIsRefused) {
  EXPECT_FALSE(parse_error("").empty());
  EXPECT_FALSE(parse_error("graph @g(").empty());
  EXPECT_FALSE(parse_error("graph @\"unclosed").empty());
  EXPECT_FALSE(parse_error("graph @g() -> () {\n %w = const f32[4294967296,4294967296] splat(0)\n}")
                   .empty());
  EXPECT_FALSE(parse_error("graph @g() -> () {\n %w = const f32[1000000000] splat(0)\n}").empty());
  EXPECT_FALSE(parse_error("graph @g() -> () {\n %w = const f32[2] dense[1]\n}").empty());
  EXPECT_FALSE(parse_error("graph @g() -> () {\n %w = const i8[2] dense[99999999999999999999,1]\n}")
                   .empty());
  EXPECT_NE(parse_error("graph @g(%x: i8[2] q(0.5:4294967296)) -> () {\n}").find("zero point"),
            std::string::npos);
}

}  // namespace
}  // namespace ec
