// Packages of coremltools 9.0 (gen_models.py) give the outputs that an evaluation of their
// operators one by one gave, and what cannot be read is refused by name.
#include <gtest/gtest.h>

#include <cmath>

#include "formats/npy/npy.h"
#include "frontend/coreml/coreml.h"
#include "ops/convert.h"
#include "ops/kernel.h"

namespace ec {
namespace {

std::string path_of(const std::string& name) { return std::string(EC_COREML_MODELS) + "/" + name; }

Result<std::unique_ptr<Graph>> import(const std::string& name, DiagnosticSink& sink,
                                      const ImportOptions& options = {}) {
  return coreml_frontend().import_file(path_of(name), options, sink);
}

std::vector<double> doubles(DType dtype, std::span<const int64_t> shape, const Blob& data) {
  const Blob aligned = data.aligned();
  std::vector<double> values(static_cast<size_t>(count_elements(shape)));
  load<double>(ConstView{dtype, shape, aligned.bytes().data(), nullptr}, values);
  return values;
}

DType dtype_of(const npy::Array& array) {
  if (array.kind == 'f') return array.item_size == 2 ? DType::F16 : DType::F32;
  return array.item_size == 2 ? DType::U16 : DType::I32;
}

// An array as the input of a graph, in its element type.
Value as_input(const npy::Array& array, const Tensor& input) {
  const std::vector<double> values = doubles(dtype_of(array), array.shape, array.data);
  Buffer buffer = Buffer::allocate(values.size() * element_size(input.dtype()));
  store<double>(MutableView{input.dtype(), array.shape, buffer.data(), nullptr}, values);
  return Value(input.dtype(), array.shape, std::move(buffer).to_blob());
}

struct Case {
  std::string name;
  double tolerance;
};
class CoremlPackage : public ::testing::TestWithParam<Case> {};

TEST_P(CoremlPackage, GivesTheOutputsOfItsOperators) {
  const auto& [name, tolerance] = GetParam();
  DiagnosticSink sink;
  const auto graph = import(name + ".mlpackage", sink);
  for (const Diagnostic& d : sink.diagnostics()) ADD_FAILURE() << d.node << ": " << d.message;
  ASSERT_TRUE(graph.ok());
  EXPECT_TRUE(verify(**graph).empty());
  std::vector<Value> inputs;
  for (size_t i = 0; i < (*graph)->inputs().size(); ++i) {
    const auto array = npy::load_from_npz(path_of(name + ".npz"), "in" + std::to_string(i));
    ASSERT_TRUE(array.ok());
    inputs.push_back(as_input(*array, *(*graph)->inputs()[i]));
  }
  const auto outputs = interpret(**graph, inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.error().message();
  for (size_t i = 0; i < outputs->size(); ++i) {
    const auto array = npy::load_from_npz(path_of(name + ".npz"), "out" + std::to_string(i));
    ASSERT_TRUE(array.ok());
    const Value& got = (*outputs)[i];
    EXPECT_EQ(got.shape, array->shape);
    const auto values = doubles(got.dtype, got.shape, got.data);
    const auto wanted = doubles(dtype_of(*array), array->shape, array->data);
    ASSERT_EQ(values.size(), wanted.size());
    for (size_t k = 0; k < values.size(); ++k)
      ASSERT_NEAR(values[k], wanted[k], tolerance * (1 + std::abs(wanted[k]))) << i << ", " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, CoremlPackage,
                         ::testing::Values(Case{"cnn_ios15", 2e-3}, Case{"recurrent_ios16", 2e-3},
                                           Case{"attention_ios18", 2e-3},
                                           Case{"resizes_ios17", 1e-3}, Case{"int8_ios16", 1e-3},
                                           Case{"palette_ios16", 1e-3}, Case{"sparse_ios16", 1e-3},
                                           Case{"int4_ios18", 1e-3}, Case{"palette_ios18", 1e-3},
                                           Case{"sparse_palette_ios18", 1e-3},
                                           Case{"sparse_int8_ios18", 1e-3},
                                           Case{"w8a8_ios17", 1e-3}, Case{"control_ios16", 1e-6}),
                         [](const auto& test) { return test.param.name; });

const Operation* find(const Graph& graph, OpKind kind) {
  for (const Operation* op : graph.topological())
    if (op->kind() == kind) return op;
  return nullptr;
}

TEST(CoremlImport, KeepsIntegersOfStoredWeights) {
  DiagnosticSink sink;
  const auto int8 = import("int8_ios16.mlpackage", sink);
  ASSERT_TRUE(int8.ok());
  const Operation* scaled = find(**int8, OpKind::Dequantize);
  ASSERT_NE(scaled, nullptr);
  EXPECT_EQ(scaled->input(0)->dtype(), DType::U8);
  const auto int4 = import("int4_ios18.mlpackage", sink);
  ASSERT_TRUE(int4.ok());
  scaled = find(**int4, OpKind::Dequantize);
  ASSERT_NE(scaled, nullptr);
  EXPECT_EQ(scaled->input(0)->dtype(), DType::I4);
  EXPECT_EQ(scaled->attrs_as<DequantizeAttrs>().block_size, 4);
}

TEST(CoremlImport, GivesProbabilitiesOfClassifiersAndTheNamesOfClasses) {
  DiagnosticSink sink;
  const auto graph = import("image_classifier_ios15.mlpackage", sink);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ((*graph)->output_names(), std::vector<std::string>{"classLabel_probs"});
  EXPECT_EQ((*graph)->metadata().at("coreml.classes"), "cat\ndog\nbird\nfish");
  EXPECT_EQ((*graph)->metadata().at("coreml.input.image"), "RGB image, 8 wide, 8 high");
  EXPECT_EQ((*graph)->inputs()[0]->type().text(), "f32[1,3,8,8]");
}

TEST(CoremlImport, LeavesFlexibleSizesOpenWithTheirDefault) {
  DiagnosticSink sink;
  const auto graph = import("flexible_ios16.mlpackage", sink);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ((*graph)->inputs()[0]->type().text(), "f16[1,3,x_dim2,x_dim3]");
  EXPECT_EQ((*graph)->metadata().at("default_shape.x"), "1x3x8x8");
  EXPECT_EQ((*graph)->metadata().at("coreml.sizes.x"), "1x3x8x8 or 1x3x12x16");
  ImportOptions options;
  options.input_shapes["x"] = {1, 3, 12, 16};
  const auto fixed = import("flexible_ios16.mlpackage", sink, options);
  ASSERT_TRUE(fixed.ok());
  EXPECT_EQ((*fixed)->inputs()[0]->type().text(), "f16[1,3,12,16]");
}

TEST(CoremlImport, KeepsState) {
  DiagnosticSink sink;
  const auto graph = import("state_ios18.mlpackage", sink);
  ASSERT_TRUE(graph.ok());
  ASSERT_NE(find(**graph, OpKind::ReadState), nullptr);
  ASSERT_NE(find(**graph, OpKind::WriteState), nullptr);
  EXPECT_EQ(find(**graph, OpKind::ReadState)->attrs_as<StateAttrs>().name, "sum");
  EXPECT_EQ((*graph)->inputs().size(), 1u);
}

TEST(CoremlImport, ChoosesAFunction) {
  const auto factor = [](const std::string& signature) {
    DiagnosticSink sink;
    ImportOptions options;
    options.part.signature = signature;
    const auto graph = import("functions_ios18.mlpackage", sink, options);
    EXPECT_TRUE(graph.ok());
    if (!graph.ok()) return 0.0f;
    const std::vector<float> ones(4, 1.0f);
    const std::vector<Value> inputs = {
        Value(DType::F32, {1, 4}, Blob::copy_of(std::span<const float>(ones)))};
    const auto outputs = interpret(**graph, inputs);
    EXPECT_TRUE(outputs.ok());
    return outputs.ok() ? outputs->front().as<float>()[0] : 0.0f;
  };
  EXPECT_EQ(factor(""), 2.0f);
  EXPECT_EQ(factor("triple"), 3.0f);
  DiagnosticSink sink;
  ImportOptions options;
  options.part.signature = "quadruple";
  const auto graph = import("functions_ios18.mlpackage", sink, options);
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code(), Code::UnknownInput);
  ASSERT_EQ(sink.diagnostics().size(), 1u);
  EXPECT_EQ(sink.diagnostics()[0].notes, std::vector<std::string>{"functions: 'double', 'triple'"});
}

TEST(CoremlImport, RefusesOtherKindsOfModelsByName) {
  DiagnosticSink sink;
  const auto source = ModelSource::open(path_of("reject_network.mlmodel"));
  ASSERT_TRUE(source.ok());
  EXPECT_GE(coreml_frontend().probe(*source), 90);
  const auto graph = import("reject_network.mlmodel", sink);
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code(), Code::UnsupportedFormat);
  EXPECT_NE(graph.error().message().find("'neuralNetwork'"), std::string::npos);
}

TEST(CoremlImport, RefusesAModelFileWhoseWeightsLieElsewhere) {
  DiagnosticSink sink;
  const auto graph = import("cnn_ios15.mlpackage/Data/com.apple.CoreML/model.mlmodel", sink);
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code(), Code::ExternalDataMissing);
}

TEST(CoremlImport, ReadsAModelFileThatHoldsAllOfItself) {
  DiagnosticSink sink;
  const auto graph = import("state_ios18.mlpackage/Data/com.apple.CoreML/model.mlmodel", sink);
  for (const Diagnostic& d : sink.diagnostics()) ADD_FAILURE() << d.message;
  EXPECT_TRUE(graph.ok());
}

}  // namespace
}  // namespace ec
