// Structure of imported graphs: names, shapes, options, order, captures, functions.
#include <gtest/gtest.h>

#include <fstream>

#include "model_builder.h"
#include "ops/kernel.h"
#include "ops/op_def.h"

namespace ec::onnx {
namespace {

std::vector<float> run(const ec::Graph& graph, const std::vector<Value>& inputs) {
  auto outputs = interpret(graph, inputs);
  EXPECT_TRUE(outputs.ok()) << format_diagnostic(outputs.error().diagnostic());
  if (!outputs.ok()) return {};
  const auto values = (*outputs)[0].as<float>();
  return {values.begin(), values.end()};
}

Value floats(std::vector<int64_t> shape, std::vector<float> values) {
  return Value::of<float>(std::move(shape), std::span<const float>(values));
}

TEST(OnnxImport, NodesOutOfOrderAreSorted) {
  ModelBuilder m;
  m.input("x", {2}).node("Neg", {"a"}, {"y"}, {}, "last").node("Relu", {"x"}, {"a"}, {}, "first");
  m.output("y");
  const Imported imported = import_bytes(m.bytes());
  ASSERT_NE(imported.graph, nullptr) << imported.text();
  EXPECT_EQ(run(*imported.graph, {floats({2}, {-1, 2})}), (std::vector<float>{-0.0f, -2}));
  EXPECT_TRUE(verify(*imported.graph).empty());
}

TEST(OnnxImport, NamesAndLocationsAreKept) {
  ModelBuilder m;
  m.input("x", {2}).node("Relu", {"x"}, {"hidden"}, {}, "layer/relu");
  m.node("Neg", {"hidden"}, {"y"}).output("y");
  const Imported imported = import_bytes(m.bytes());
  ASSERT_NE(imported.graph, nullptr) << imported.text();
  const ec::Tensor* hidden = imported.graph->find_tensor("hidden");
  ASSERT_NE(hidden, nullptr);
  EXPECT_EQ(hidden->producer()->location().name(), "layer/relu");
  EXPECT_EQ(hidden->producer()->location().op_type, "Relu");
  // A node without a name is called after its type and first output.
  EXPECT_EQ(imported.graph->outputs()[0]->producer()->location().name(), "Neg_y");
  EXPECT_EQ(imported.graph->metadata().at("source_format"), "onnx");
  EXPECT_EQ(imported.graph->metadata().at("onnx.opsets"), "ai.onnx:17");
}

TEST(OnnxImport, InitializersThatAreAlsoInputsAreConstants) {
  ModelBuilder m;
  m.input("x", {2}).input("w", {2}).constant<float>("w", DataType::Float, {2}, {3, 4});
  m.node("Mul", {"x", "w"}, {"y"}).output("y");
  const Imported imported = import_bytes(m.bytes());
  ASSERT_NE(imported.graph, nullptr) << imported.text();
  ASSERT_EQ(imported.graph->inputs().size(), 1u);
  EXPECT_EQ(run(*imported.graph, {floats({2}, {1, 2})}), (std::vector<float>{3, 8}));
}

TEST(OnnxImport, WeightsAreViewsOfTheFile) {
  ModelBuilder m;
  const std::vector<float> weights(4096, 1.5f);
  m.input("x", {4096}).constant<float>("w", DataType::Float, {4096}, weights);
  m.node("Add", {"x", "w"}, {"y"}).output("y");
  const Blob file = as_blob(m.bytes());
  DiagnosticSink sink;
  auto graph = import_onnx(file, "m.onnx", {}, sink);
  ASSERT_TRUE(graph.ok());
  const auto bytes = (*graph)->find_tensor("w")->raw_data().bytes();
  EXPECT_GE(bytes.data(), file.bytes().data());
  EXPECT_LE(bytes.data() + bytes.size(), file.bytes().data() + file.size());
}

// --- shapes -------------------------------------------------------------------------------------

ModelBuilder dynamic_model() {
  ModelBuilder m;
  m.open_input("image", std::vector<Dimension>{{{}, "batch"}, {3, {}}, {{}, "size"}, {}});
  m.open_input("other", std::vector<Dimension>{{{}, "batch"}});
  m.node("Relu", {"image"}, {"y"}).node("Relu", {"other"}, {"z"}).output("y").output("z");
  return m;
}

TEST(OnnxShapes, NamedAndUnnamedDimensionsBecomeSymbols) {
  const Imported imported = import_bytes(dynamic_model().bytes());
  ASSERT_NE(imported.graph, nullptr) << imported.text();
  const Shape& image = *imported.graph->inputs()[0]->shape();
  EXPECT_EQ(image[0].symbol_name(), "batch");
  EXPECT_EQ(image[1], Dim(3));
  EXPECT_TRUE(image[3].is_symbol());
  EXPECT_TRUE(image[0].same_size((*imported.graph->inputs()[1]->shape())[0]));
}

TEST(OnnxImport, RealSignalsMayLackTheDimensionOfTheirParts) {
  for (const std::vector<int64_t>& signal : {std::vector<int64_t>{2, 64}, {2, 64, 1}}) {
    ModelBuilder m;
    m.input("x", signal).constant<int64_t>("step", DataType::Int64, {}, {8});
    m.constant<int64_t>("length", DataType::Int64, {}, {16});
    m.node("STFT", {"x", "step", "", "length"}, {"y"}).output("y");
    const Imported imported = import_bytes(m.bytes());
    ASSERT_NE(imported.graph, nullptr) << imported.text();
    EXPECT_EQ(imported.graph->outputs()[0]->shape()->sizes(), (std::vector<int64_t>{2, 7, 9, 2}));
  }
}

TEST(OnnxShapes, PlaceholdersOfConvertersNameNothing) {
  for (const char* name : {"?", "*", "-1", "None"}) {
    ModelBuilder m;
    m.open_input("x", std::vector<Dimension>{{{}, name}, {3, {}}, {{}, name}});
    m.node("Relu", {"x"}, {"y"}).output("y");
    const Imported imported = import_bytes(m.bytes());
    ASSERT_NE(imported.graph, nullptr) << imported.text();
    const Shape& shape = *imported.graph->inputs()[0]->shape();
    EXPECT_TRUE(shape[0].is_symbol());
    EXPECT_FALSE(shape[0].same_size(shape[2])) << name;
  }
}

TEST(OnnxShapes, OptionsFixDimensions) {
  ImportOptions options;
  options.dims["batch"] = 2;
  options.input_shapes["image"] = {-1, 3, 8, 9};
  const Imported imported = import_bytes(dynamic_model().bytes(), options);
  ASSERT_NE(imported.graph, nullptr) << imported.text();
  EXPECT_EQ(imported.graph->outputs()[0]->shape()->text(), "[2,3,8,9]");
  EXPECT_EQ(imported.graph->outputs()[1]->shape()->text(), "[2]");
}

TEST(OnnxShapes, ASizeGivenForASymbolHoldsEverywhere) {
  ImportOptions options;
  options.input_shapes["image"] = {4, 3, 8, 8};
  const Imported imported = import_bytes(dynamic_model().bytes(), options);
  ASSERT_NE(imported.graph, nullptr);
  EXPECT_EQ(imported.graph->inputs()[1]->shape()->text(), "[4]");
}

TEST(OnnxShapes, OptionsThatDoNotFitAreErrors) {
  const auto fault = [](const ImportOptions& options) {
    const Imported imported = import_bytes(dynamic_model().bytes(), options);
    EXPECT_EQ(imported.graph, nullptr);
    EXPECT_TRUE(imported.has(Code::BadShapeOption)) << imported.text();
    EXPECT_FALSE(imported.errors()[0].hint.empty());
  };
  ImportOptions options;
  options.dims["bacth"] = 1;
  fault(options);
  options = {};
  options.input_shapes["image"] = {1, 4, 8, 8};  // contradicts the fixed 3
  fault(options);
  options = {};
  options.input_shapes["image"] = {1, 3, 8};
  fault(options);
  options = {};
  options.input_shapes["picture"] = {1};
  fault(options);
  options = {};
  options.input_shapes["image"] = {1, 3, 8, 8};
  options.input_shapes["other"] = {2};  // the same symbol, another size
  fault(options);
}

// --- control flow -------------------------------------------------------------------------------

TEST(OnnxControlFlow, CapturesAreOperandsThroughAllLevels) {
  // if (c) { if (c) x + w else x } else { -x }: x and c are captured, w is repeated.
  ModelBuilder inner_then, inner_else, outer_then, outer_else;
  inner_then.node("Add", {"x", "w"}, {"it"}).output("it");
  inner_else.node("Identity", {"x"}, {"ie"}).output("ie");
  AttributeList inner;
  inner.add_graph("then_branch", inner_then.graph_bytes());
  inner.add_graph("else_branch", inner_else.graph_bytes());
  outer_then.node("If", {"c"}, {"ot"}, inner).output("ot");
  outer_else.node("Neg", {"x"}, {"oe"}).output("oe");
  AttributeList outer;
  outer.add_graph("then_branch", outer_then.graph_bytes());
  outer.add_graph("else_branch", outer_else.graph_bytes());
  ModelBuilder m;
  m.input("x", {2}).input("c", {}, DataType::Bool);
  m.constant<float>("w", DataType::Float, {2}, {10, 20}).node("If", {"c"}, {"y"}, outer, "if");
  m.output("y");
  const Imported imported = import_bytes(m.bytes());
  ASSERT_NE(imported.graph, nullptr) << imported.text();
  EXPECT_TRUE(verify(*imported.graph).empty());
  const Operation* op = imported.graph->outputs()[0]->producer();
  EXPECT_EQ(op->kind(), OpKind::If);
  const bool yes = true, no = false;
  const Value on = Value::of<bool>({}, std::span(&yes, 1)),
              off = Value::of<bool>({}, std::span(&no, 1));
  const Value x = floats({2}, {1, 2});
  EXPECT_EQ(run(*imported.graph, {x, on}), (std::vector<float>{11, 22}));
  EXPECT_EQ(run(*imported.graph, {x, off}), (std::vector<float>{-1, -2}));
}

TEST(OnnxControlFlow, LoopWithGrowingState) {
  // s = concat(s, i) three times, from an empty start.
  ModelBuilder body;
  AttributeList axis, axes, to;
  axis.add("axis", int64_t{0});
  to.add("to", static_cast<int64_t>(DataType::Float));
  body.input("i", {}, DataType::Int64).input("go", {}, DataType::Bool).input("s", {0});
  body.constant<int64_t>("zero", DataType::Int64, {1}, {0});
  body.node("Cast", {"i"}, {"f"}, to).node("Unsqueeze", {"f", "zero"}, {"u"});
  body.node("Concat", {"s", "u"}, {"t"}, axis).node("Identity", {"go"}, {"g"});
  body.output("g").output("t");
  AttributeList loop;
  loop.add_graph("body", body.graph_bytes());
  ModelBuilder m;
  m.constant<int64_t>("n", DataType::Int64, {}, {3}).input("start", {1});
  m.node("Loop", {"n", "", "start"}, {"y"}, loop).output("y");
  const Imported imported = import_bytes(m.bytes());
  ASSERT_NE(imported.graph, nullptr) << imported.text();
  EXPECT_EQ(run(*imported.graph, {floats({1}, {9})}), (std::vector<float>{9, 0, 1, 2}));
}

TEST(OnnxControlFlow, FaultsInBodiesAreReportedOnce) {
  ModelBuilder body;
  body.input("i", {}, DataType::Int64).input("go", {}, DataType::Bool).input("s", {2});
  body.node("Relux", {"s"}, {"t"}, {}, "inside").node("Identity", {"go"}, {"g"});
  body.output("g").output("t");
  AttributeList loop;
  loop.add_graph("body", body.graph_bytes());
  ModelBuilder m;
  m.constant<int64_t>("n", DataType::Int64, {}, {3}).input("start", {2});
  m.node("Loop", {"n", "", "start"}, {"y"}, loop, "loop").output("y");
  const Imported imported = import_bytes(m.bytes());
  ASSERT_EQ(imported.errors().size(), 1u) << imported.text();
  EXPECT_EQ(imported.errors()[0].node, "inside");
}

// --- external data ------------------------------------------------------------------------------

class OnnxExternalData : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(testing::TempDir()) /
            ("onnx_external_" + std::to_string(testing::UnitTest::GetInstance()->random_seed()) +
             testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(root_ / "model");
    std::ofstream(root_ / "secret.bin", std::ios::binary) << std::string(64, 's');
    const float values[] = {0, 1, 2, 3};
    std::ofstream data(root_ / "model" / "w.bin", std::ios::binary);
    data.write(reinterpret_cast<const char*>(values), sizeof values);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  Imported import_external(std::string_view location, uint64_t offset, size_t length) {
    ModelBuilder m;
    m.input("x", {2}).external("w", {2}, location, offset, length);
    m.node("Add", {"x", "w"}, {"y"}).output("y");
    return import_bytes(m.bytes(), {}, root_ / "model" / "m.onnx");
  }

  std::filesystem::path root_;
};

TEST_F(OnnxExternalData, IsReadAtItsOffset) {
  const Imported imported = import_external("w.bin", 8, 8);
  ASSERT_NE(imported.graph, nullptr) << imported.text();
  EXPECT_EQ(run(*imported.graph, {floats({2}, {10, 10})}), (std::vector<float>{12, 13}));
}

TEST_F(OnnxExternalData, MissingFileIsNamed) {
  const Imported imported = import_external("v.bin", 0, 8);
  ASSERT_TRUE(imported.has(Code::ExternalDataMissing)) << imported.text();
  EXPECT_NE(imported.errors()[0].hint.find("v.bin"), std::string::npos);
}

TEST_F(OnnxExternalData, PathsThatLeaveTheFolderAreRefused) {
  std::filesystem::create_symlink(root_ / "secret.bin", root_ / "model" / "link.bin");
  std::filesystem::create_directory_symlink(root_, root_ / "model" / "up");
  for (const std::string& location :
       {std::string("../secret.bin"), (root_ / "secret.bin").string(), std::string("link.bin"),
        std::string("up/secret.bin"), std::string("a/../../secret.bin"),
        std::string("w.bin\0x", 7)}) {
    const Imported imported = import_external(location, 0, 8);
    EXPECT_TRUE(imported.has(Code::ExternalDataInvalid)) << location << "\n" << imported.text();
  }
}

TEST_F(OnnxExternalData, RangesOutsideTheFileAreRefused) {
  EXPECT_TRUE(import_external("w.bin", 12, 8).has(Code::ExternalDataInvalid));
  EXPECT_TRUE(import_external("w.bin", uint64_t{1} << 62, 8).has(Code::ExternalDataInvalid));
  EXPECT_TRUE(import_external("w.bin", 0, 4).has(Code::BadTensorData));
}

}  // namespace
}  // namespace ec::onnx
