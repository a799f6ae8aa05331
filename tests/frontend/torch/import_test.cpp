// Archives of PyTorch (models/) with the results that PyTorch gave, run with the reference kernels.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "formats/npy/npy.h"
#include "frontend/torch/script/script.h"
#include "runtime/session.h"

namespace ec {
namespace {

std::filesystem::path model(const std::string& name) {
  return std::filesystem::path(EC_TORCH_MODELS) / name;
}

std::string message_of(const Error& error) { return format_diagnostic(error.diagnostic()); }

Result<std::unique_ptr<Graph>> import(const std::string& name,
                                      std::map<std::string, std::vector<int64_t>> shapes = {}) {
  DiagnosticSink sink;
  ImportOptions options;
  options.input_shapes = std::move(shapes);
  return torchscript_frontend().import_file(model(name + ".pt"), options, sink);
}

DType dtype_of(const npy::Array& array) {
  if (array.kind == 'b') return DType::Bool;
  if (array.kind == 'f') return DType::F32;
  return array.item_size == 4 ? DType::I32 : DType::I64;
}

Value load_value(const std::string& name, const std::string& array_name) {
  auto array = npy::load_from_npz(model(name + ".npz"), array_name);
  EXPECT_TRUE(array.ok()) << array_name;
  return Value(dtype_of(*array), array->shape, array->data.aligned());
}

void expect_near(const Value& got, const Value& want, double tolerance, const std::string& label) {
  ASSERT_EQ(got.type().text(), want.type().text()) << label;
  if (got.dtype != DType::F32) {
    EXPECT_TRUE(got.data == want.data) << label;
    return;
  }
  const auto a = got.as<float>(), b = want.as<float>();
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_LE(std::fabs(a[i] - b[i]), tolerance) << label << " element " << i;
}

// Runs the model on in0 with its own shape and compares every output.
void expect_recorded(const std::string& name, double tolerance) {
  const Value input = load_value(name, "in0");
  auto graph = import(name, {{"0", input.shape}});
  ASSERT_TRUE(graph.ok()) << message_of(graph.error());
  SessionOptions options;
  options.reference = true;
  auto session = Session::create(std::move(*graph), options);
  ASSERT_TRUE(session.ok()) << message_of(session.error());
  const NamedValue inputs[] = {{(*session)->inputs()[0].name, input}};
  auto outputs = (*session)->run(inputs);
  ASSERT_TRUE(outputs.ok()) << message_of(outputs.error());
  const auto names = npy::npz_names(model(name + ".npz"));
  ASSERT_TRUE(names.ok());
  const auto expected = std::count_if(names->begin(), names->end(),
                                      [](const std::string& n) { return n.starts_with("out"); });
  ASSERT_EQ(outputs->size(), static_cast<size_t>(expected));
  for (size_t i = 0; i < outputs->size(); ++i) {
    const std::string label = "out" + std::to_string(i);
    expect_near((*outputs)[i], load_value(name, label), tolerance, name + " " + label);
  }
}

TEST(TorchScript, Scripted) { expect_recorded("convnet_scripted", 1e-5); }
TEST(TorchScript, Traced) { expect_recorded("visionops_traced", 1e-5); }
TEST(TorchScript, MixedTypesAndIndexInputs) { expect_recorded("mixed_traced", 1e-4); }
TEST(TorchScript, WritesThroughViews) {
  expect_recorded("views_scripted", 1e-6);
  expect_recorded("views_traced", 1e-6);
}
TEST(TorchScript, EnumsClassesAndContainers) { expect_recorded("language_scripted", 1e-5); }
TEST(TorchScript, Quantized) { expect_recorded("quantized_scripted", 0.01); }

TEST(TorchScript, OperationsAreNamedByTheirModules) {
  const auto graph = import("convnet_scripted", {{"0", {1, 3, 16, 16}}});
  ASSERT_TRUE(graph.ok()) << message_of(graph.error());
  std::vector<std::string> names;
  for (const Operation* op : (*graph)->topological())
    if (op->kind() == OpKind::Conv) names.emplace_back(op->location().name());
  EXPECT_EQ(names, (std::vector<std::string>{"conv1", "conv2"}));
}

TEST(TorchScript, BranchOnValuesBecomesIf) {
  const auto graph = import("control_scripted", {{"x", {2, 4}}});
  ASSERT_TRUE(graph.ok()) << message_of(graph.error());
  int branches = 0;
  for (const Operation* op : (*graph)->topological()) branches += op->kind() == OpKind::If;
  EXPECT_EQ(branches, 3);  // in a loop of three
  EXPECT_TRUE(verify(**graph).empty());
}

TEST(TorchScript, LoopOnValuesNamesThePythonLine) {
  const auto graph = import("loop_scripted", {{"x", {3, 4}}});
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code(), Code::DataDependent);
  const std::string text = message_of(graph.error());
  EXPECT_NE(text.find("data_loop.py line 11"), std::string::npos) << text;
  EXPECT_NE(text.find("while bool(x.sum() > 1.0)"), std::string::npos) << text;
  EXPECT_NE(text.find("torch.jit.trace"), std::string::npos) << text;
  EXPECT_NE(text.find("torch.export"), std::string::npos) << text;
}

}  // namespace
}  // namespace ec
