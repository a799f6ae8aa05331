#include "frontend/output_names.h"

#include <gtest/gtest.h>

namespace ec {
namespace {

TEST(OutputNames, AreUniqueAndNotEmpty) {
  Graph graph("g");
  Tensor* x = graph.add_input("x", TensorType(DType::F32, Shape{2}));
  for (const char* name : {"a", "", "a", "a_2", "a", "output", ""}) graph.add_output(name, x);
  make_output_names_unique(graph);
  EXPECT_EQ(graph.output_names(),
            (std::vector<std::string>{"a", "output_2", "a_3", "a_2", "a_4", "output", "output_3"}));
}

}  // namespace
}  // namespace ec
