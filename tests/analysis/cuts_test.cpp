#include "analysis/cuts.h"

#include <gtest/gtest.h>

#include "ops/attrs.h"

namespace ec {
namespace {

TEST(Cuts, TellWhatCrossesThem) {
  // x -> relu -> a -> neg -> b -> add(b, a) -> c -> abs -> d
  Graph graph;
  Tensor* x = graph.add_input("x", TensorType(DType::F32, Shape{3}));
  Tensor* a = graph.add_single(OpKind::Relu, {x}).value();
  Tensor* b = graph.add_single(OpKind::Neg, {a}).value();
  Tensor* c = graph.add_single(OpKind::Add, {b, a}).value();
  Tensor* d = graph.add_single(OpKind::Abs, {c}).value();
  graph.add_output("d", d);

  const Cuts cuts(graph);
  ASSERT_EQ(cuts.order().size(), 4U);
  EXPECT_EQ(cuts.crossing(1), std::vector<Tensor*>{a});
  EXPECT_EQ(cuts.crossing(2), (std::vector<Tensor*>{a, b}));
  EXPECT_EQ(cuts.crossing(3), std::vector<Tensor*>{c});
  EXPECT_TRUE(cuts.is_crossed(2));
  EXPECT_FALSE(cuts.inputs_cross(1));
  EXPECT_TRUE(cuts.is_piece(0, 2));
  // Operation 1 alone does not make `a`, which is needed behind it.
  EXPECT_FALSE(cuts.is_piece(1, 2));
  EXPECT_TRUE(cuts.is_piece(1, 3));
  EXPECT_TRUE(cuts.is_piece(3, 4));
}

TEST(Cuts, InputsThatAreReadLateCrossEverythingBefore) {
  Graph graph;
  const TensorType type(DType::F32, Shape{3});
  Tensor* x = graph.add_input("x", type);
  Tensor* late = graph.add_input("late", type);
  Tensor* a = graph.add_single(OpKind::Relu, {x}).value();
  Tensor* b = graph.add_single(OpKind::Add, {a, late}).value();
  Tensor* c = graph.add_single(OpKind::Neg, {b}).value();
  graph.add_output("c", c);
  const Cuts cuts(graph);
  EXPECT_TRUE(cuts.inputs_cross(1));
  EXPECT_FALSE(cuts.inputs_cross(2));
  EXPECT_EQ(cuts.crossing(1), (std::vector<Tensor*>{late, a}));
  EXPECT_TRUE(cuts.is_piece(0, 1));
  EXPECT_TRUE(cuts.is_piece(1, 2));
}

}  // namespace
}  // namespace ec
