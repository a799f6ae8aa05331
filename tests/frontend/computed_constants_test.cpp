// What many operations compute of one constant may not take more memory than the model justifies.
#include "frontend/computed_constants.h"

#include <gtest/gtest.h>

#include "frontend/graph_builder.h"
#include "support/budget.h"

namespace ec {
namespace {

TEST(ComputedConstants, StayOperationsBeyondTheBudget) {
  Graph graph("g");
  const std::vector<float> values(1000, 1.0F);
  Tensor* c = graph.add_constant<float>("c", Shape{1000}, values);
  Budget budget({.computed = 20'000});
  const BudgetScope scope(budget);
  GraphBuilder builder(graph, {});
  int constants = 0;
  for (int i = 0; i < 10; ++i) {
    Tensor* joined = builder.concat({c, c}, 0);
    EXPECT_EQ(joined->is_constant(), joined->producer() == nullptr);
    constants += joined->is_constant() ? 1 : 0;
  }
  EXPECT_TRUE(builder.ok());
  EXPECT_EQ(constants, 2);  // of 8,000 bytes each
  EXPECT_FALSE(budget.stopped());
}

}  // namespace
}  // namespace ec
