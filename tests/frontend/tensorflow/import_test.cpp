// Models that TensorFlow and Keras wrote (models/), with the results that they gave, run with the
// reference kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "formats/npy/npy.h"
#include "frontend/tensorflow/graph_writer.h"
#include "frontend/tensorflow/tensorflow.h"
#include "ops/attrs.h"
#include "runtime/session.h"

namespace ec {
namespace {

using tf::testing::GraphWriter;

std::filesystem::path model(const std::string& name) {
  return std::filesystem::path(EC_TENSORFLOW_MODELS) / name;
}

std::string message_of(const Error& error) { return format_diagnostic(error.diagnostic()); }

Value load_value(const std::string& name, const std::string& array_name) {
  auto array = npy::load_from_npz(model(name + ".npz"), array_name);
  EXPECT_TRUE(array.ok()) << array_name;
  const DType dtype = array->kind == 'f' ? DType::F32 : DType::I32;
  return Value(dtype, array->shape, array->data.aligned());
}

void expect_near(const Value& got, const Value& want, const std::string& label) {
  ASSERT_EQ(got.type().text(), want.type().text()) << label;
  const auto a = got.as<float>(), b = want.as<float>();
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_LE(std::fabs(a[i] - b[i]), 1e-5) << label << " element " << i;
}

std::unique_ptr<Graph> import(const std::string& name, ImportOptions options = {}) {
  DiagnosticSink sink;
  auto graph = tensorflow_frontend().import_file(model(name), options, sink);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : message_of(graph.error()));
  if (!graph.ok()) return nullptr;
  EXPECT_TRUE(verify(**graph).empty()) << name;
  return std::move(*graph);
}

size_t count(const Graph& graph, OpKind kind) {
  size_t found = 0;
  for (const Operation* op : graph.topological()) found += op->kind() == kind ? 1 : 0;
  return found;
}

// Runs the model on in0... and compares every output.
void expect_recorded(const std::string& name, const std::string& data) {
  const auto names = npy::npz_names(model(data + ".npz"));
  ASSERT_TRUE(names.ok());
  std::vector<Value> inputs, outputs;
  ImportOptions options;
  for (size_t i = 0; i < names->size(); ++i) {
    const std::string in = "in" + std::to_string(i), out = "out" + std::to_string(i);
    if (std::find(names->begin(), names->end(), in) != names->end()) {
      inputs.push_back(load_value(data, in));
      options.input_shapes[std::to_string(i)] = inputs.back().shape;
    }
    if (std::find(names->begin(), names->end(), out) != names->end())
      outputs.push_back(load_value(data, out));
  }
  auto graph = import(name, options);
  ASSERT_NE(graph, nullptr);
  SessionOptions run;
  run.reference = true;
  auto session = Session::create(std::move(graph), run);
  ASSERT_TRUE(session.ok()) << message_of(session.error());
  std::vector<NamedValue> named;
  for (size_t i = 0; i < inputs.size(); ++i)
    named.push_back({(*session)->inputs()[i].name, inputs[i]});
  auto results = (*session)->run(named);
  ASSERT_TRUE(results.ok()) << message_of(results.error());
  ASSERT_EQ(results->size(), outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    expect_near((*results)[i], outputs[i], name + " output " + std::to_string(i));
}

TEST(Tensorflow, FrozenGraph) { expect_recorded("cnn_k3_frozen.pb", "cnn"); }
TEST(Tensorflow, SavedModelOfKeras3) { expect_recorded("cnn_k3_export", "cnn"); }
TEST(Tensorflow, SavedModelOfKeras2) { expect_recorded("cnn_k2_export", "cnn"); }
TEST(Tensorflow, SavedModelOfTensorflow1) { expect_recorded("tf1_saved", "tf1"); }
TEST(Tensorflow, VariablesByTheObjectGraphAlone) { expect_recorded("multi_k3_saved", "multi"); }
TEST(Tensorflow, Attention) { expect_recorded("attn_k3_export", "attn"); }
TEST(Tensorflow, Lstm) {
  expect_recorded("lstm_k3_export", "lstm");
  expect_recorded("lstm_k2_export", "lstm");
}
TEST(Tensorflow, Gru) { expect_recorded("gru_k3_export", "gru"); }
TEST(Tensorflow, TrainedQuantisation) { expect_recorded("qat_k2_export", "qat"); }

TEST(Tensorflow, LoopsOfRecurrentLayersBecomeOneOperation) {
  for (const char* name : {"lstm_k3_export", "lstm_k2_export"}) {
    const auto graph = import(name);
    ASSERT_NE(graph, nullptr);
    EXPECT_EQ(count(*graph, OpKind::Lstm), 2u) << name;
    EXPECT_EQ(count(*graph, OpKind::Loop), 0u) << name;
  }
  const auto gru = import("gru_k3_export");
  ASSERT_NE(gru, nullptr);
  EXPECT_EQ(count(*gru, OpKind::Gru), 2u);
  EXPECT_EQ(count(*gru, OpKind::Loop), 0u);
}

TEST(Tensorflow, DilatedConvolutionsAreOneOperation) {
  const auto graph = import("cnn_k3_frozen.pb");
  ASSERT_NE(graph, nullptr);
  bool dilated = false;
  for (const Operation* op : graph->topological())
    if (op->kind() == OpKind::Conv)
      dilated = dilated || op->attrs_as<ConvAttrs>().dilations == std::vector<int64_t>{2, 2};
  EXPECT_TRUE(dilated);
  EXPECT_EQ(count(*graph, OpKind::BatchToSpace), 0u);
}

TEST(Tensorflow, TrainedWeightsAreIntegersBeforeDequantize) {
  const auto graph = import("qat_k2_export");
  ASSERT_NE(graph, nullptr);
  size_t layers = 0;
  for (const Operation* op : graph->topological()) {
    if (op->kind() != OpKind::Conv && op->kind() != OpKind::MatMul) continue;
    const Tensor* weights = op->input(1);
    while (weights->producer() != nullptr && weights->producer()->kind() == OpKind::Reshape)
      weights = weights->producer()->input(0);
    ASSERT_NE(weights->producer(), nullptr);
    EXPECT_EQ(weights->producer()->kind(), OpKind::Dequantize);
    EXPECT_TRUE(weights->producer()->input(0)->is_constant());
    EXPECT_EQ(weights->producer()->input(0)->dtype(), DType::I8);
    ++layers;
  }
  EXPECT_EQ(layers, 3u);
}

TEST(Tensorflow, OpenBatchAndNamesOfTheSignature) {
  const auto graph = import("cnn_k3_export");
  ASSERT_NE(graph, nullptr);
  ASSERT_EQ(graph->inputs().size(), 1u);
  EXPECT_EQ(graph->inputs()[0]->name(), "image");
  EXPECT_EQ(graph->inputs()[0]->type().text(), "f32[batch,16,16,3]");
  EXPECT_EQ(graph->output_names(), std::vector<std::string>{"output_0"});
  EXPECT_EQ(graph->metadata().at("tensorflow.signature"), "serving_default");
  bool stem = false;
  for (const Operation* op : graph->topological())
    stem = stem || op->location().name().find("stem_1/convolution") != std::string_view::npos;
  EXPECT_TRUE(stem);
}

TEST(Tensorflow, LoweredLoopsAreRefusedOnceWithAdvice) {
  DiagnosticSink sink;
  const auto graph = tensorflow_frontend().import_file(model("reject_loops.pb"), {}, sink);
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(sink.error_count(), 1u);
  const std::string text = message_of(graph.error());
  EXPECT_NE(text.find("lowered loops (Enter/Exit/Switch/Merge)"), std::string::npos) << text;
  EXPECT_NE(text.find("lower_control_flow=False"), std::string::npos) << text;
}

// --- graphs made here
// -----------------------------------------------------------------------------

TEST(Tensorflow, AllUnknownOperatorsAreListedWithTheirNodes) {
  GraphWriter writer;
  writer.input("x", {2, 3});
  writer.node("a", "Frobnicate", {"x"})
      .node("b", "Frobnicate", {"x"})
      .node("c", "StringJoin", {"x"});
  writer.node("sum", "AddV2", {"a", "b"}).node("all", "Mul", {"sum", "c"});
  DiagnosticSink sink;
  const auto graph = import_graph_def(writer.blob(), "made.pb", {}, sink);
  ASSERT_FALSE(graph.ok());
  ASSERT_EQ(sink.error_count(), 2u);
  EXPECT_EQ(sink.diagnostics()[0].code, Code::UnsupportedOp);
  EXPECT_EQ(sink.diagnostics()[0].node, "a");
  EXPECT_EQ(sink.diagnostics()[0].notes, std::vector<std::string>{"also at 'b'"});
  EXPECT_EQ(sink.diagnostics()[1].op_type, "StringJoin");
}

// `check` and `inspect` see the whole model: what is not known stays as a custom operation.
TEST(Tensorflow, UnknownOperatorsStayForThoseWhoLook) {
  GraphWriter writer;
  writer.input("x", {2, 3}).constant("w", {3, 4}, std::vector<float>(12, 1));
  writer.node("odd", "Frobnicate", {"x"}, {tf::testing::type_attr("T", 1)});
  writer.node("sum", "AddV2", {"odd", "odd:1"}).node("known", "MatMul", {"sum", "w"});
  for (const auto scope : {KeptOperations::Scope::Unsupported, KeptOperations::Scope::Everything}) {
    KeptOperations kept(scope);
    ImportOptions options;
    options.kept = &kept;
    DiagnosticSink sink;
    const auto graph = import_graph_def(writer.blob(), "made.pb", options, sink);
    ASSERT_TRUE(graph.ok()) << message_of(graph.error());
    EXPECT_TRUE(verify(**graph).empty());
    ASSERT_EQ(kept.operations().size(), 1u);
    EXPECT_EQ(kept.operations()[0].problem.node, "odd");
    EXPECT_EQ(kept.operations()[0].problem.op_type, "Frobnicate");
    EXPECT_EQ(kept.operations()[0].problem.code, Code::UnsupportedOp);
    EXPECT_FALSE(kept.operations()[0].unjudged);
    ASSERT_EQ(count(**graph, OpKind::Custom), 1u);
    EXPECT_EQ(count(**graph, OpKind::MatMul), 1u);
    for (const Operation* op : (*graph)->topological())
      if (op->kind() == OpKind::Custom) {
        EXPECT_EQ(op->outputs().size(), 2u);
      }
  }
}

// A form that is not supported is kept without what its conversion had begun, a fault of the file
// only where whatever can be parsed is asked for.
TEST(Tensorflow, NodesThatFailStayForThoseWhoLook) {
  GraphWriter writer;
  writer.input("x", {2, 3}).constant("w", {5, 4}, std::vector<float>(20, 1));
  writer.node("wrong", "MatMul", {"x", "w"}, {tf::testing::type_attr("T", 1)});
  writer.node("y", "Neg", {"wrong"});
  ImportOptions options;
  DiagnosticSink sink;
  KeptOperations unsupported(KeptOperations::Scope::Unsupported);
  options.kept = &unsupported;
  EXPECT_FALSE(import_graph_def(writer.blob(), "made.pb", options, sink).ok());
  KeptOperations everything(KeptOperations::Scope::Everything);
  options.kept = &everything;
  const auto graph = import_graph_def(writer.blob(), "made.pb", options, sink);
  ASSERT_TRUE(graph.ok()) << message_of(graph.error());
  EXPECT_EQ(count(**graph, OpKind::Custom), 1u);
  EXPECT_EQ(count(**graph, OpKind::Neg), 1u);
  EXPECT_EQ(count(**graph, OpKind::MatMul), 0u);
}

TEST(Tensorflow, NamesOfBillionsOfResultsAreRefused) {
  GraphWriter writer;
  writer.input("x", {2});
  writer.node("odd", "Frobnicate", {"x"}).node("y", "Neg", {"odd:4000000000"});
  KeptOperations kept(KeptOperations::Scope::Everything);
  ImportOptions options;
  options.kept = &kept;
  DiagnosticSink sink;
  EXPECT_FALSE(import_graph_def(writer.blob(), "made.pb", options, sink).ok());
}

TEST(Tensorflow, InputsAndOutputsAreFound) {
  GraphWriter writer;
  writer.input("unused", {1}).input("x", {-1, 2}).constant("w", {2, 2}, {1, 2, 3, 4});
  writer.node("y", "MatMul", {"x", "w"}).node("quiet", "NoOp", {"^y"});
  // A copy of weights that a control edge alone names, as frozen recurrent layers have them.
  writer.node("copy", "Identity", {"w"}, {tf::testing::type_attr("T", 1)});
  writer.node("after", "NoOp", {"^copy"});
  DiagnosticSink sink;
  const auto graph = import_graph_def(writer.blob(), "made.pb", {}, sink);
  ASSERT_TRUE(graph.ok()) << message_of(graph.error());
  ASSERT_EQ((*graph)->inputs().size(), 1u);
  EXPECT_EQ((*graph)->inputs()[0]->type().text(), "f32[batch,2]");
  EXPECT_EQ((*graph)->output_names(), std::vector<std::string>{"y"});
}

TEST(Tensorflow, InputsAndOutputsAreNamed) {
  GraphWriter writer;
  writer.input("x", {1, 2}).constant("w", {2, 2}, {1, 2, 3, 4});
  writer.node("y", "MatMul", {"x", "w"}, {tf::testing::type_attr("T", 1)}).node("z", "Neg", {"y"});
  ImportOptions options;
  options.part.outputs = {"y:0"};
  DiagnosticSink sink;
  auto graph = import_graph_def(writer.blob(), "made.pb", options, sink);
  ASSERT_TRUE(graph.ok()) << message_of(graph.error());
  EXPECT_EQ(count(**graph, OpKind::Neg), 0u);
  // From a node in the middle on.
  options.part = {"", {"y"}, {}};
  options.input_shapes[""] = {1, 2};
  graph = import_graph_def(writer.blob(), "made.pb", options, sink);
  ASSERT_TRUE(graph.ok()) << message_of(graph.error());
  EXPECT_EQ(count(**graph, OpKind::MatMul), 0u);
  ASSERT_EQ((*graph)->inputs().size(), 1u);
  EXPECT_EQ((*graph)->inputs()[0]->name(), "y");
  EXPECT_EQ((*graph)->inputs()[0]->type().text(), "f32[1,2]");
}

TEST(Tensorflow, NodesThatDoNotExistAreRefused) {
  GraphWriter writer;
  writer.input("signal", {1, 2}).node("result", "Neg", {"signal"});
  const auto refusal = [&](const ModelPart& part) {
    ImportOptions options;
    options.part = part;
    DiagnosticSink sink;
    const auto graph = import_graph_def(writer.blob(), "made.pb", options, sink);
    return graph.ok() ? "" : message_of(graph.error());
  };
  EXPECT_NE(refusal({"", {}, {"resul"}}).find("did you mean 'result'"), std::string::npos);
  EXPECT_NE(refusal({"", {"signals"}, {}}).find("did you mean 'signal'"), std::string::npos);
  EXPECT_NE(refusal({"serving_default", {}, {}}).find("has no signatures"), std::string::npos);
}

TEST(Tensorflow, SignaturesAreChosenByName) {
  const auto refusal = [](const ModelPart& part) {
    ImportOptions options;
    options.part = part;
    DiagnosticSink sink;
    const auto graph = tensorflow_frontend().import_file(model("signatures_saved"), options, sink);
    return graph.ok() ? "" : message_of(graph.error());
  };
  EXPECT_NE(refusal({}).find("--signature NAME"), std::string::npos);
  EXPECT_NE(refusal({"scales", {}, {}}).find("did you mean 'scale'"), std::string::npos);
  EXPECT_NE(refusal({"", {}, {"y"}}).find("this is a SavedModel"), std::string::npos);
  ImportOptions options;
  for (const auto& [signature, products] : {std::pair("project", 1u), std::pair("scale", 0u)}) {
    options.part.signature = signature;
    const auto graph = import("signatures_saved", options);
    ASSERT_NE(graph, nullptr);
    EXPECT_EQ(count(*graph, OpKind::MatMul), products) << signature;
    EXPECT_EQ(graph->metadata()["tensorflow.signatures"], "project,scale");
  }
}

TEST(Tensorflow, BranchesOfConstantConditionsAreChosen) {
  GraphWriter writer;
  writer.input("x", {2}).node("yes", "Const", {}, {tf::testing::tensor_attr("value", [] {
                                std::string tensor;
                                protozero::pbf_writer out(tensor);
                                out.add_int32(1, 10);
                                out.add_bytes(2, "");
                                out.add_int32(11, 1);
                                return tensor;
                              }())});
  writer.node("switch", "Switch", {"x", "yes"});
  writer.node("off", "Neg", {"switch"}).node("on", "Exp", {"switch:1"});
  writer.node("y", "Merge", {"off", "on"});
  DiagnosticSink sink;
  const auto graph = import_graph_def(writer.blob(), "made.pb", {}, sink);
  ASSERT_TRUE(graph.ok()) << message_of(graph.error());
  EXPECT_EQ(count(**graph, OpKind::Exp), 1u);
  EXPECT_EQ(count(**graph, OpKind::Neg), 0u);
}

TEST(Tensorflow, CyclesAreErrors) {
  GraphWriter writer;
  writer.input("x", {2}).node("a", "AddV2", {"x", "b"}).node("b", "Neg", {"a"});
  writer.node("y", "Neg", {"b"});
  DiagnosticSink sink;
  const auto graph = import_graph_def(writer.blob(), "made.pb", {}, sink);
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code(), Code::CyclicGraph);
}

// An image of 4 x 4 scaled to 2 x 2 by a kernel.
std::unique_ptr<Graph> scaled_image(const std::string& kernel, float translation) {
  GraphWriter writer;
  writer.input("x", {1, 4, 4, 3}).integers("size", {2}, {2, 2});
  writer.constant("scale", {2}, {0.5f, 0.5f}).constant("shift", {2}, {translation, 0});
  writer.node("y", "ScaleAndTranslate", {"x", "size", "scale", "shift"},
              {tf::testing::text_attr("kernel_type", kernel)});
  DiagnosticSink sink;
  auto graph = import_graph_def(writer.blob(), "made.pb", {}, sink);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : message_of(graph.error()));
  return graph.ok() ? std::move(*graph) : nullptr;
}

TEST(Tensorflow, ScalingIsAResizeWhereThatComputesTheSame) {
  for (const auto& [kernel, shift, resizes] :
       {std::tuple("triangle", 0.0f, 1u), std::tuple("keyscubic", 0.0f, 1u),
        std::tuple("triangle", 0.5f, 0u), std::tuple("lanczos3", 0.0f, 0u)}) {
    const auto graph = scaled_image(kernel, shift);
    ASSERT_NE(graph, nullptr) << kernel;
    EXPECT_EQ(count(*graph, OpKind::Resize), resizes) << kernel;
    EXPECT_EQ(count(*graph, OpKind::MatMul), resizes == 1 ? 0u : 2u) << kernel;
    EXPECT_EQ(graph->outputs()[0]->type().text(), "f32[1,2,2,3]") << kernel;
  }
}

TEST(Tensorflow, CombinedSuppressionHasResultsOfFixedSize) {
  GraphWriter writer;
  writer.input("boxes", {2, 9, 1, 4}).input("scores", {2, 9, 3});
  writer.integers("each", {}, {2}).integers("all", {}, {5});
  writer.constant("iou", {}, {0.5f}).constant("least", {}, {0.1f});
  writer.node("found", "CombinedNonMaxSuppression",
              {"boxes", "scores", "each", "all", "iou", "least"});
  for (const int i : {0, 1, 2, 3})
    writer.node("y" + std::to_string(i), "Identity", {"found:" + std::to_string(i)});
  DiagnosticSink sink;
  const auto graph = import_graph_def(writer.blob(), "made.pb", {}, sink);
  ASSERT_TRUE(graph.ok()) << message_of(graph.error());
  std::vector<std::string> types;
  for (const Tensor* output : (*graph)->outputs()) types.push_back(output->type().text());
  EXPECT_EQ(types, (std::vector<std::string>{"f32[2,5,4]", "f32[2,5]", "f32[2,5]", "i32[2]"}));
}

TEST(Tensorflow, PatchesThatDoNotOverlapAreBlocks) {
  for (const int64_t stride : {2, 1}) {
    GraphWriter writer;
    std::string list;
    for (const int64_t value : {int64_t{1}, stride, stride, int64_t{1}})
      protozero::pbf_writer(list).add_int64(3, value);
    std::string sizes;
    for (const int64_t value : {1, 2, 2, 1}) protozero::pbf_writer(sizes).add_int64(3, value);
    writer.input("x", {1, 4, 6, 3});
    writer.node("y", "ExtractImagePatches", {"x"},
                {{"ksizes", tf::testing::field(1, sizes)},
                 {"strides", tf::testing::field(1, list)},
                 tf::testing::text_attr("padding", "VALID")});
    DiagnosticSink sink;
    const auto graph = import_graph_def(writer.blob(), "made.pb", {}, sink);
    ASSERT_TRUE(graph.ok()) << message_of(graph.error());
    EXPECT_EQ(count(**graph, OpKind::SpaceToDepth), stride == 2 ? 1u : 0u);
    EXPECT_EQ(count(**graph, OpKind::Conv), stride == 2 ? 0u : 1u);
  }
}

}  // namespace
}  // namespace ec
