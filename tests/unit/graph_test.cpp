#include "ir/graph.h"

#include <gtest/gtest.h>

#include "ops/op_def.h"

namespace ec {
namespace {

TEST(OpTable, EveryOpHasNameAndSignature) {
  for (const OpDef* def : all_ops()) {
    EXPECT_FALSE(def->name.empty());
    EXPECT_NE(def->signature.find("->"), std::string_view::npos) << def->name;
    EXPECT_NE(def->infer, nullptr) << def->name;
    EXPECT_EQ(find_op(def->name), def);
  }
}

TEST(Graph, NamesAreUnique) {
  Graph graph;
  Tensor* a = graph.add_input("x", TensorType(DType::F32, Shape{1}));
  Tensor* b = graph.add_input("x", TensorType(DType::F32, Shape{1}));
  EXPECT_EQ(a->name(), "x");
  EXPECT_NE(b->name(), "x");
  EXPECT_EQ(graph.find_tensor("x"), a);
}

}  // namespace
}  // namespace ec
