#include "report/summary.h"

#include <gtest/gtest.h>

#include "edgecompiler/report.h"
#include "ops/attrs.h"

namespace ec {
namespace {

TEST(Summary, CountsEverythingOnce) {
  Graph graph("net");
  graph.metadata()["producer"] = "test";
  const float weights[12] = {};
  Tensor* x = graph.add_input("x", TensorType(DType::F32, {Dim::symbol("batch"), 3}));
  Tensor* w = graph.add_constant<float>("w", {3, 4}, weights);
  Tensor* a = *graph.add_single(OpKind::MatMul, {x, w}, MatMulAttrs{}, Location("fc1", "MatMul"));
  Tensor* b = *graph.add_single(OpKind::Relu, {a}, {}, Location("act", "Relu"));
  Tensor* c = *graph.add_single(OpKind::MatMul, {x, w}, MatMulAttrs{}, Location("fc2", "MatMul"));
  graph.set_quant(b, QuantParams{{0.5f}, {3}, -1});
  graph.add_output("y", b);
  graph.add_output("z", c);

  const ModelSummary s = summarize(graph);
  EXPECT_EQ(s.name, "net");
  ASSERT_EQ(s.inputs.size(), 1u);
  EXPECT_EQ(dims_text(s.inputs[0]), "batchx3");
  ASSERT_EQ(s.outputs.size(), 2u);
  EXPECT_EQ(s.outputs[0].name, "y");
  ASSERT_TRUE(s.outputs[0].quant.has_value());
  EXPECT_EQ(s.operations, 3);
  ASSERT_EQ(s.ops.size(), 2u);
  EXPECT_EQ(s.ops[0].name, "matmul");  // most frequent first
  EXPECT_EQ(s.ops[0].count, 2);
  EXPECT_EQ(s.parameters, 12);
  EXPECT_EQ(s.parameter_bytes, 48);
  EXPECT_EQ(s.macs_unknown, 2);
  EXPECT_EQ(s.open_dims, std::vector<std::string>{"batch"});
  EXPECT_EQ(s.quant.tensors, 1);
  ASSERT_EQ(s.layers.size(), 3u);
  EXPECT_EQ(s.layers[0].name, "fc1");
  EXPECT_EQ(s.layers[0].parameters, 12);
  EXPECT_EQ(s.layers[2].parameters, 0);  // the shared weights count where they are read first

  const std::string json = to_json(s);
  EXPECT_NE(json.find(R"("shape":["batch",3])"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("metadata":{"producer":"test"})"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("macs":null)"), std::string::npos) << json;  // of a layer with open sizes
}

TEST(Summary, ShapesAsText) {
  InterfaceSummary value{"x", "f32", {}, {}};
  EXPECT_EQ(dims_text(value), "any rank");
  value.dims.emplace();
  EXPECT_EQ(dims_text(value), "scalar");
  value.dims = {"1", "?", "3"};
  EXPECT_EQ(dims_text(value), "1x?x3");
}

// The name of an open size stands in the types of all layers that follow from it.
TEST(Summary, LongNamesOfSizesAreCut) {
  Graph graph;
  const Dim open = Dim::symbol(std::string(5000, 'n'));
  Tensor* x = graph.add_input("x", TensorType(DType::F32, {open, open}));
  graph.add_output("y", *graph.add_single(OpKind::Relu, {x}));
  EXPECT_LT(summarize(graph).layers.at(0).output_type.size(), 300u);
  PlacementReport report;
  OpPlacement row;
  row.output_type = x->type().text();
  report.add(row);
  EXPECT_LT(report.operations.at(0).output_type.size(), 300u);
}

TEST(Summary, TextThatIsNoUtf8GivesValidJson) {
  Graph graph("bad \xff\xfe name");
  graph.add_output("y", graph.add_input("x", TensorType(DType::F32, {2})));
  EXPECT_EQ(to_json(summarize(graph)).find('\xff'), std::string::npos);
}

}  // namespace
}  // namespace ec
