// Values of inputs that are no data.
#include "frontend/input_value.h"

#include <gtest/gtest.h>

namespace ec {
namespace {

std::string round_trip(std::string_view text) {
  const auto value = parse_input_value(text);
  return value.ok() ? input_value_text(*value) : "error";
}

TEST(InputValue, Texts) {
  EXPECT_EQ(round_trip("16000"), "16000");
  EXPECT_EQ(round_trip("-0.5"), "-0.5");
  EXPECT_EQ(round_trip("2.0"), "2.0");
  EXPECT_EQ(round_trip("True"), "true");
  EXPECT_EQ(round_trip("None"), "none");
  EXPECT_EQ(round_trip("hann"), "\"hann\"");
  EXPECT_EQ(round_trip("'16000'"), "\"16000\"");
  EXPECT_EQ(round_trip("[1, 2.5, [true]]"), "[1, 2.5, [true]]");
  EXPECT_EQ(round_trip("[]"), "[]");
  for (const char* bad : {"[1, 2", "\"open", "[1,,2]", "[1] 2"})
    EXPECT_EQ(round_trip(bad), "error");
  EXPECT_EQ(round_trip(std::string(100, '[')), "error");
}

Result<Tensor*> constant(Graph& graph, const TensorType& type, std::string_view text) {
  return add_input_constant(graph, "v", type, *parse_input_value(text));
}

TEST(InputValue, BecomesAConstantOfTheInputsType) {
  Graph graph;
  const auto scalar = constant(graph, TensorType(DType::I64, Shape{}), "16000");
  ASSERT_TRUE(scalar.ok());
  EXPECT_EQ((*scalar)->values<int64_t>()[0], 16000);
  const auto filled = constant(graph, TensorType(DType::F32, Shape{Dim::symbol("N"), 2}), "3");
  ASSERT_TRUE(filled.ok());
  EXPECT_EQ((*filled)->type().text(), "f32[1,2]");
  EXPECT_EQ((*filled)->values<float>()[1], 3.0f);
  const auto list =
      constant(graph, TensorType(DType::I32, Shape{Dim::symbol("N"), 2}), "[1,2,3,4]");
  ASSERT_TRUE(list.ok());
  EXPECT_EQ((*list)->type().text(), "i32[2,2]");
}

TEST(InputValue, ThatDoesNotFitIsRefused) {
  Graph graph;
  EXPECT_FALSE(constant(graph, TensorType(DType::I8, Shape{}), "300").ok());
  EXPECT_FALSE(constant(graph, TensorType(DType::I64, Shape{}), "0.5").ok());
  EXPECT_FALSE(constant(graph, TensorType(DType::F32, Shape{3}), "[1,2]").ok());
  EXPECT_FALSE(constant(graph, TensorType(DType::F32, Shape{}), "text").ok());
  EXPECT_FALSE(constant(graph, TensorType(DType::F32, Shape{Dim::symbol("N"), 3}), "[1,2]").ok());
}

TEST(InputValue, TakesAnInputOutOfTheInterface) {
  Graph graph;
  Tensor* x = graph.add_input("x", TensorType(DType::F32, Shape{2}));
  Tensor* k = graph.add_input("k", TensorType(DType::F32, Shape{}));
  graph.add_output("y", graph.add_single(OpKind::Mul, {x, k}).value());
  DiagnosticSink sink;
  bind_input_values(graph, {{"k", *parse_input_value("2")}}, sink);
  EXPECT_FALSE(sink.has_errors());
  ASSERT_EQ(graph.inputs().size(), 1u);
  ASSERT_NE(graph.find_tensor("k"), nullptr);
  EXPECT_TRUE(graph.find_tensor("k")->is_constant());
  EXPECT_TRUE(verify(graph).empty());
  bind_input_values(graph, {{"q", *parse_input_value("2")}}, sink);
  EXPECT_EQ(sink.first_error().code(), Code::UnknownInput);
}

}  // namespace
}  // namespace ec
