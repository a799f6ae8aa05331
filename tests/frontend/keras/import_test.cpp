// Files of Keras 2.12, 2.21 and 3.15 (../tensorflow/gen_models.py) give the outputs that Keras
// gave, and files that cannot be read are refused by the names of their layers.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "formats/npy/npy.h"
#include "frontend/keras/keras.h"
#include "ops/kernel.h"
#include "temporary_directory.h"

namespace ec {
namespace {

std::string path_of(const std::string& name) { return std::string(EC_KERAS_MODELS) + "/" + name; }

Result<std::unique_ptr<Graph>> import(const std::string& name, DiagnosticSink& sink,
                                      const ImportOptions& options = {}) {
  return keras_frontend().import_file(path_of(name), options, sink);
}

Value value_of(const npy::Array& array, const Tensor& input) {
  return Value(input.dtype(), array.shape, array.data);
}

class KerasModel : public ::testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(KerasModel, GivesTheOutputsOfKeras) {
  const auto& [file, data] = GetParam();
  DiagnosticSink sink;
  ImportOptions options;
  options.dims["batch"] = 2;
  const auto graph = import(file, sink, options);
  for (const Diagnostic& d : sink.diagnostics()) ADD_FAILURE() << d.node << ": " << d.message;
  ASSERT_TRUE(graph.ok());
  EXPECT_TRUE(verify(**graph).empty());
  std::vector<Value> inputs;
  for (size_t i = 0; i < (*graph)->inputs().size(); ++i) {
    const auto array = npy::load_from_npz(path_of(data), "in" + std::to_string(i));
    ASSERT_TRUE(array.ok());
    inputs.push_back(value_of(*array, *(*graph)->inputs()[i]));
  }
  const auto outputs = interpret(**graph, inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.error().message();
  for (size_t i = 0; i < outputs->size(); ++i) {
    const auto wanted = npy::load_from_npz(path_of(data), "out" + std::to_string(i));
    ASSERT_TRUE(wanted.ok());
    EXPECT_EQ((*outputs)[i].shape, wanted->shape);
    const auto got = (*outputs)[i].as<float>();
    const auto* values = reinterpret_cast<const float*>(wanted->data.bytes().data());
    for (size_t k = 0; k < got.size(); ++k) ASSERT_NEAR(got[k], values[k], 1e-5f) << k;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Files, KerasModel,
    ::testing::Values(std::pair("cnn_k3.keras", "cnn.npz"), std::pair("cnn_k3.h5", "cnn.npz"),
                      std::pair("cnn_k2.h5", "cnn.npz"), std::pair("multi_k3.keras", "multi.npz"),
                      std::pair("multi_k2.h5", "multi.npz"), std::pair("lstm_k3.keras", "lstm.npz"),
                      std::pair("gru_k3.keras", "gru.npz"), std::pair("gru_k2.h5", "gru.npz"),
                      std::pair("attn_k3.keras", "attn.npz"),
                      std::pair("prep_k3.keras", "prep.npz"),
                      std::pair("old_k212.keras", "old.npz"),
                      std::pair("int8_k3.keras", "int8.npz"), std::pair("qat_k2.h5", "qat.npz")),
    [](const auto& test) {
      std::string name = test.param.first;
      std::ranges::replace(name, '.', '_');
      return name;
    });

TEST(KerasImport, NamesOperationsAfterLayers) {
  DiagnosticSink sink;
  const auto graph = import("multi_k3.keras", sink);
  ASSERT_TRUE(graph.ok());
  bool nested = false;
  for (const Operation* op : (*graph)->topological())
    nested |= op->location().name() == "backbone/inner_conv";
  EXPECT_TRUE(nested);
  EXPECT_EQ((*graph)->inputs()[0]->name(), "img");
  EXPECT_EQ((*graph)->inputs()[0]->type().text(), "f32[batch,8,8,3]");
}

// Kernels are in the graph's order alone: `inspect` counted those of convolutions twice.
TEST(KerasImport, HoldsWeightsOnce) {
  for (const char* name : {"cnn_k3.keras", "cnn_k2.h5", "lstm_k3.keras"}) {
    DiagnosticSink sink;
    const auto graph = import(name, sink);
    ASSERT_TRUE(graph.ok()) << name;
    for (const Tensor* tensor : (*graph)->tensors())
      EXPECT_FALSE(tensor->is_constant() && (*graph)->is_unused(tensor)) << tensor->name();
  }
}

// The checksum of the weights is made while they are read; who leaves them does not see damage.
TEST(KerasImport, TellsADamagedWeight) {
  std::ifstream in(path_of("cnn_k3.keras"), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const size_t weights = bytes.find("\x89HDF");
  ASSERT_NE(weights, std::string::npos);
  // The middle of the file lies in the weights.
  const size_t at = bytes.size() / 2;
  ASSERT_GT(at, weights);
  bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
  const TemporaryDirectory folder;
  std::ofstream(folder / "damaged.keras", std::ios::binary) << bytes;
  for (const bool leave : {false, true}) {
    DiagnosticSink sink;
    ImportOptions options;
    options.leave_weights = leave;
    const auto graph = keras_frontend().import_file(folder / "damaged.keras", options, sink);
    EXPECT_EQ(graph.ok(), leave);
    if (!leave) {
      EXPECT_EQ(sink.first_error().code(), Code::CorruptFile);
    }
  }
}

TEST(KerasImport, KeepsTrainedRanges) {
  DiagnosticSink sink;
  const auto graph = import("qat_k2.h5", sink);
  ASSERT_TRUE(graph.ok());
  size_t steps = 0;
  for (const Operation* op : (*graph)->topological()) steps += op->kind() == OpKind::Quantize;
  EXPECT_GE(steps, 8u);
}

TEST(KerasImport, RefusesPythonCodeByName) {
  DiagnosticSink sink;
  EXPECT_FALSE(import("reject_lambda.keras", sink).ok());
  ASSERT_TRUE(sink.has_errors());
  EXPECT_EQ(sink.first_error().code(), Code::UnsupportedOp);
  EXPECT_NE(sink.first_error().message().find("'lambda'"), std::string::npos);
  EXPECT_NE(sink.first_error().diagnostic().hint.find("model.export"), std::string::npos);
}

TEST(KerasImport, KeepsLayersThatItDoesNotKnowForThoseWhoLook) {
  DiagnosticSink sink;
  KeptOperations kept(KeptOperations::Scope::Unsupported);
  ImportOptions options;
  options.kept = &kept;
  const auto graph = keras_frontend().import_file(path_of("reject_lambda.keras"), options, sink);
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  ASSERT_EQ(kept.operations().size(), 1u);
  EXPECT_EQ(kept.operations()[0].problem.node, "lambda");
  EXPECT_EQ(kept.operations()[0].problem.op_type, "Lambda");
  EXPECT_NE(kept.operations()[0].problem.hint.find("model.export"), std::string::npos);
  size_t custom = 0, others = 0;
  for (const Operation* op : (*graph)->topological())
    ++(op->kind() == OpKind::Custom ? custom : others);
  EXPECT_EQ(custom, 1u);
  EXPECT_GT(others, 0u);
}

TEST(KerasImport, RefusesSubclassedModels) {
  DiagnosticSink sink;
  EXPECT_FALSE(import("reject_subclass.keras", sink).ok());
  EXPECT_NE(sink.first_error().message().find("demo>Net"), std::string::npos);
}

}  // namespace
}  // namespace ec
