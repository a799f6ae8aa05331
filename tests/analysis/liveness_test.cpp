#include "analysis/liveness.h"

#include <gtest/gtest.h>

#include "ops/attrs.h"

namespace ec {
namespace {

// x -> relu -> a -> neg -> b -> add(b, a) -> c; abs(x) -> d is not needed.
struct Diamond {
  Graph graph;
  Tensor *x, *a, *b, *c, *d;
  std::vector<const Operation*> order;

  Diamond() {
    x = graph.add_input("x", TensorType(DType::F32, Shape{3}));
    a = graph.add_single(OpKind::Relu, {x}).value();
    b = graph.add_single(OpKind::Neg, {a}).value();
    d = graph.add_single(OpKind::Abs, {x}).value();
    c = graph.add_single(OpKind::Add, {b, a}).value();
    graph.add_output("c", c);
    const auto all = graph.topological();
    order.assign(all.begin(), all.end());
  }
};

TEST(Liveness, DropsWhatNoOutputNeeds) {
  Diamond g;
  const std::vector<const Operation*> live = live_operations(g.graph, g.order);
  EXPECT_EQ(live,
            (std::vector<const Operation*>{g.a->producer(), g.b->producer(), g.c->producer()}));
}

TEST(Liveness, RangesRunFromProducerToLastReader) {
  Diamond g;
  const auto ranges = live_ranges(g.graph, live_operations(g.graph, g.order));
  const auto range = [&](const Tensor* tensor) {
    return std::pair(ranges[tensor->id()].first, ranges[tensor->id()].last);
  };
  EXPECT_EQ(range(g.x), std::pair(LiveRange::kNever, int64_t{0}));
  EXPECT_EQ(range(g.a), std::pair(int64_t{0}, int64_t{2}));
  EXPECT_EQ(range(g.b), std::pair(int64_t{1}, int64_t{2}));
  EXPECT_EQ(range(g.c), std::pair(int64_t{2}, LiveRange::kForever));
  EXPECT_EQ(range(g.d), std::pair(LiveRange::kNever, LiveRange::kNever));
}

TEST(Liveness, JoinedRangesCoverBoth) {
  LiveRange range{4, 6};
  range.join({2, 5});
  EXPECT_EQ(range.first, 2);
  EXPECT_EQ(range.last, 6);
  range.join({LiveRange::kNever, 9});
  EXPECT_EQ(range.first, 2);
  EXPECT_EQ(range.last, 9);
}

}  // namespace
}  // namespace ec
