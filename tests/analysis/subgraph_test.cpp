#include "analysis/subgraph.h"

#include <gtest/gtest.h>

#include "ops/attrs.h"

namespace ec {
namespace {

// shape(x) -> s; reshape(y, s) -> z; relu(z) -> r.
struct Reshaped {
  Graph graph{"whole"};
  Tensor *x, *y, *s, *z, *r;

  Reshaped() {
    x = graph.add_input("x", TensorType(DType::F32, Shape({Dim::symbol("N"), Dim(4)})));
    y = graph.add_input("y", TensorType(DType::F32, Shape({Dim::unknown()})));
    s = graph.add_single(OpKind::Shape, {x}).value();
    z = graph.add_single(OpKind::Reshape, {y, s}).value();
    r = graph.add_single(OpKind::Relu, {z}).value();
    graph.add_output("r", r);
  }
};

TEST(Subgraph, OutsideOperandsComeOnceInOrder) {
  Reshaped g;
  const std::vector<const Operation*> operations = {g.z->producer(), g.r->producer()};
  EXPECT_EQ(outside_operands(operations, std::vector<Tensor*>{g.r, g.x, g.y}),
            (std::vector<Tensor*>{g.y, g.s, g.x}));
  EXPECT_EQ(outside_operands(operations, {}, std::vector<Tensor*>{g.y}),
            (std::vector<Tensor*>{g.s}));
}

TEST(Subgraph, KeepsWhatIsKnownOfOpenSizes) {
  Reshaped g;
  ASSERT_TRUE(g.s->dim_values());
  // The sizes come from outside in the second piece and are computed in the first.
  const std::vector<const Operation*> first = {g.s->producer()};
  const std::vector<SubgraphOutput> sizes = {{"sizes", g.s}};
  const auto head = extract_subgraph("head", first, std::vector<Tensor*>{g.x}, sizes);
  ASSERT_TRUE(head.ok());
  EXPECT_EQ((*head)->outputs()[0]->dim_values(), g.s->dim_values());

  const std::vector<const Operation*> second = {g.z->producer(), g.r->producer()};
  const std::vector<SubgraphOutput> results = {{"r", g.r}};
  const auto tail = extract_subgraph("tail", second, std::vector<Tensor*>{g.y, g.s}, results);
  ASSERT_TRUE(tail.ok());
  EXPECT_EQ((*tail)->name(), "tail");
  EXPECT_EQ((*tail)->inputs()[1]->dim_values(), g.s->dim_values());
  EXPECT_EQ((*tail)->outputs()[0]->type(), g.r->type());
  EXPECT_TRUE(verify(**tail).empty());
}

TEST(Subgraph, RefusesWhatIsNotGiven) {
  Reshaped g;
  const std::vector<const Operation*> operations = {g.r->producer()};
  const std::vector<SubgraphOutput> results = {{"r", g.r}};
  EXPECT_FALSE(extract_subgraph("piece", operations, {}, results).ok());
}

}  // namespace
}  // namespace ec
