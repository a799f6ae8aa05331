// Complex numbers: the Fourier transform that makes them, and the operators that take them.
#include <cmath>

#include "frontend/tflite/import_harness.h"

namespace ec::tflite::testing {
namespace {

constexpr auto kComplex = TensorType::COMPLEX64;

// x [1, 4] -> RFFT2D [1, 3] -> `reader` -> y.
ModelSpec spectrum_model(BuiltinOperator reader, std::vector<int32_t> lengths = {1, 4}) {
  SubgraphSpec graph;
  graph.tensors = {
      {.name = "x", .shape = {1, 4}},
      {.name = "n", .shape = {2}, .type = TensorType::INT32, .data = bytes_of<int32_t>(lengths)},
      {.name = "f", .shape = {1, 3}, .type = kComplex},
      {.name = "y", .shape = {1, 3}}};
  graph.inputs = {0};
  graph.outputs = {3};
  graph.operators = {{BuiltinOperator::RFFT2D, {0, 1}, {2}}, {reader, {2}, {3}}};
  return {.subgraphs = {graph}};
}

void expect_near(const Floats& got, const Floats& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6f) << i;
}

Floats spectrum(BuiltinOperator reader) {
  const auto imported = import(spectrum_model(reader));
  if (imported->graph == nullptr) return {};
  return run(*imported->graph, {floats({1, 4}, {1, 2, 3, 4})});
}

TEST(TfliteComplex, PartsAndMagnitudeOfATransform) {
  // 10, -2 + 2i, -2
  expect_near(spectrum(BuiltinOperator::REAL), {10, -2, -2});
  expect_near(spectrum(BuiltinOperator::IMAG), {0, 2, 0});
  expect_near(spectrum(BuiltinOperator::CAST), {10, -2, -2});
  expect_near(spectrum(BuiltinOperator::COMPLEX_ABS), {10, std::sqrt(8.0f), 2});
}

TEST(TfliteComplex, RowsArePaddedAndColumnsTransformed) {
  ModelSpec spec = spectrum_model(BuiltinOperator::REAL, {2, 4});
  spec.subgraphs[0].tensors[2].shape = spec.subgraphs[0].tensors[3].shape = {2, 3};
  const auto imported = import(spec);
  ASSERT_NE(imported->graph, nullptr);
  // The second row is zeros: both frequencies along the columns are the first row's transform.
  expect_near(run(*imported->graph, {floats({1, 4}, {1, 2, 3, 4})}), {10, -2, -2, 10, -2, -2});
}

// Dimensions of complex tensors do not count the parts.
TEST(TfliteComplex, ViewsKeepTheParts) {
  ModelSpec spec = spectrum_model(BuiltinOperator::COMPLEX_ABS);
  SubgraphSpec& graph = spec.subgraphs[0];
  graph.tensors[3].shape = {3};
  graph.tensors.push_back({.name = "flat", .shape = {3}, .type = kComplex});
  graph.operators[1].inputs = {4};
  graph.operators.insert(
      graph.operators.begin() + 1,
      {BuiltinOperator::SQUEEZE, {2}, {4}, BuiltinOptions::SqueezeOptions, options([](Fbb& fbb) {
         return CreateSqueezeOptions(fbb, fbb.CreateVector(std::vector<int32_t>{-2}));
       })});
  const auto imported = import(spec);
  ASSERT_NE(imported->graph, nullptr);
  EXPECT_EQ(imported->graph->outputs()[0]->type().text(), "f32[3]");
  expect_near(run(*imported->graph, {floats({1, 4}, {1, 1, 1, 1})}), {4, 0, 0});
}

TEST(TfliteComplex, ProductsOfInputs) {
  SubgraphSpec graph;
  graph.tensors = {{.name = "a", .shape = {2}, .type = kComplex},
                   {.name = "b", .shape = {1}, .type = kComplex, .data = bytes_of<float>({0, 1})},
                   {.name = "y", .shape = {2}, .type = kComplex}};
  graph.inputs = {0};
  graph.outputs = {2};
  graph.operators = {{BuiltinOperator::MUL, {0, 1}, {2}}};
  const auto imported = import({.subgraphs = {graph}});
  ASSERT_NE(imported->graph, nullptr);
  EXPECT_EQ(imported->graph->inputs()[0]->type().text(), "f32[2,2]");
  // (1 + 2i) i = -2 + i, (3 - i) i = 1 + 3i
  EXPECT_EQ(run(*imported->graph, {floats({2, 2}, {1, 2, 3, -1})}), (Floats{-2, 1, 1, 3}));
}

TEST(TfliteComplex, OtherOperatorsRefuseThem) {
  EXPECT_EQ(error_of(spectrum_model(BuiltinOperator::ABS)), Code::UnsupportedOpForm);
  ModelSpec spec = spectrum_model(BuiltinOperator::REAL);
  spec.subgraphs[0].operators[0].code = BuiltinOperator::ATAN2;  // gives no complex numbers
  EXPECT_EQ(error_of(spec), Code::UnsupportedOpForm);
  EXPECT_EQ(error_of(spectrum_model(BuiltinOperator::REAL, {1, 0})), Code::BadValue);
  EXPECT_EQ(error_of(spectrum_model(BuiltinOperator::REAL, {1, 1 << 30})), Code::BadValue);
}

}  // namespace
}  // namespace ec::tflite::testing
