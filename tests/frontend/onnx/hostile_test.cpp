// Files that lie: every one ends in a clear error, quickly and in little memory.
#include <gtest/gtest.h>

#include <protozero/pbf_writer.hpp>

#include "formats/onnx/decode.h"
#include "formats/onnx/fields.h"
#include "model_builder.h"

namespace ec::onnx {
namespace {

std::string small_model() {
  ModelBuilder m;
  m.input("x", {2, 3}).constant<float>("w", DataType::Float, {3, 2}, {1, 2, 3, 4, 5, 6});
  m.node("MatMul", {"x", "w"}, {"h"}).node("Relu", {"h"}, {"y"}).output("y");
  return m.bytes();
}

TEST(OnnxHostile, EveryTruncationIsHandled) {
  const std::string whole = small_model();
  for (size_t n = 0; n < whole.size(); ++n) {
    const Imported imported = import_bytes(whole.substr(0, n));
    EXPECT_EQ(imported.graph == nullptr, imported.sink.has_errors());
  }
}

TEST(OnnxHostile, EveryByteChangedIsHandled) {
  const std::string whole = small_model();
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(bytes[i] ^ change);
      const Imported imported = import_bytes(bytes);
      EXPECT_EQ(imported.graph == nullptr, imported.sink.has_errors());
    }
  }
}

TEST(OnnxHostile, AMillionEmptyNodesAreRefused) {
  std::string nodes;
  for (int i = 0; i < 1'000'000; ++i) nodes += std::string("\x0a\x00", 2);
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_int64(field::model::kIrVersion, 8);
  writer.add_message(field::model::kGraph, nodes);
  EXPECT_TRUE(import_bytes(bytes).has(Code::TooLarge));
}

TEST(OnnxHostile, AMillionEmptyInitializersAreRefused) {
  std::string tensors;
  for (int i = 0; i < 1'500'000; ++i) tensors += std::string("\x2a\x00", 2);
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_int64(field::model::kIrVersion, 8);
  writer.add_message(field::model::kGraph, tensors);
  EXPECT_TRUE(import_bytes(bytes).sink.has_errors());
}

TEST(OnnxHostile, DeepNestingIsRefused) {
  std::string graph;
  {
    ModelBuilder leaf;
    leaf.node("Identity", {"x"}, {"y"}).output("y");
    graph = leaf.graph_bytes();
  }
  for (int i = 0; i < 500; ++i) {
    AttributeList branches;
    branches.add_graph("then_branch", graph);
    branches.add_graph("else_branch", "");
    ModelBuilder level;
    level.node("If", {"c"}, {"y"}, branches).output("y");
    graph = level.graph_bytes();
  }
  AttributeList branches;
  branches.add_graph("then_branch", graph);
  branches.add_graph("else_branch", graph);
  ModelBuilder m;
  m.input("x", {1}).input("c", {}, DataType::Bool).node("If", {"c"}, {"y"}, branches).output("y");
  EXPECT_TRUE(import_bytes(m.bytes()).sink.has_errors());
}

std::string model_with_functions(const std::vector<std::string>& functions) {
  ModelBuilder m;
  m.input("x", {1}).node("f0", {"x"}, {"y"}, {}, "call", "local").import("local", 1).output("y");
  std::string bytes = m.bytes();
  protozero::pbf_writer writer(bytes);
  for (const std::string& function : functions)
    writer.add_message(field::model::kFunctions, function);
  return bytes;
}

std::string function(const std::string& name, const std::vector<std::string>& callees,
                     const std::string& domain = "local") {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_string(field::function::kName, name);
  writer.add_string(field::function::kDomain, "local");
  writer.add_string(field::function::kInput, "x");
  writer.add_string(field::function::kOutput, "y");
  std::string value = "x";
  for (size_t i = 0; i < callees.size(); ++i) {
    const std::string next = i + 1 == callees.size() ? "y" : "t" + std::to_string(i);
    writer.add_message(field::function::kNode,
                       encode_node({"", callees[i], domain, {value}, {next}, {}}));
    value = next;
  }
  std::string opset;
  protozero::pbf_writer entry(opset);
  entry.add_string(field::opset::kDomain, domain);
  entry.add_int64(field::opset::kVersion, 1);
  writer.add_message(field::function::kOpsetImport, opset);
  return bytes;
}

TEST(OnnxHostile, RecursiveFunctionsAreRefused) {
  EXPECT_TRUE(import_bytes(model_with_functions({function("f0", {"f0"})})).has(Code::TooDeep));
  EXPECT_TRUE(import_bytes(model_with_functions({function("f0", {"f1"}), function("f1", {"f0"})}))
                  .has(Code::TooDeep));
}

TEST(OnnxHostile, FunctionsThatDoubleAreRefused) {
  // f0 calls f1 twice, f1 calls f2 twice, ...: 2^40 calls.
  std::vector<std::string> functions;
  for (int i = 0; i < 40; ++i) {
    const std::string next = "f" + std::to_string(i + 1);
    functions.push_back(function("f" + std::to_string(i), {next, next}));
  }
  functions.push_back(function("f40", {"Neg"}, ""));
  EXPECT_TRUE(import_bytes(model_with_functions(functions)).has(Code::TooLarge));
}

std::string tensor(std::vector<int64_t> dims, int type, const std::string& raw) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  for (const int64_t d : dims) writer.add_int64(field::tensor::kDims, d);
  writer.add_int32(field::tensor::kDataType, type);
  writer.add_string(field::tensor::kName, "w");
  writer.add_bytes(field::tensor::kRawData, raw);
  return bytes;
}

Imported import_tensor(const std::string& message) {
  ModelBuilder m;
  m.raw_constant(message).node("Identity", {"w"}, {"y"}).output("y");
  return import_bytes(m.bytes());
}

TEST(OnnxHostile, TensorsWithWrongSizesAreRefused) {
  EXPECT_TRUE(import_tensor(tensor({2}, 1, "abc")).has(Code::BadTensorData));
  EXPECT_TRUE(import_tensor(tensor({-1}, 1, "")).has(Code::BadTensorData));
  EXPECT_TRUE(import_tensor(tensor({int64_t{1} << 62, 4}, 1, "")).has(Code::BadTensorData));
  EXPECT_TRUE(import_tensor(tensor({int64_t{1} << 62}, 11, "")).has(Code::BadTensorData));
  EXPECT_TRUE(import_tensor(tensor({1}, 99, "abcd")).has(Code::BadTensorData));
  EXPECT_TRUE(import_tensor(tensor({1}, 0, "abcd")).has(Code::BadTensorData));
  EXPECT_TRUE(import_tensor(tensor({1}, 8, "abcd")).has(Code::UnsupportedType));
  EXPECT_TRUE(import_tensor(tensor(std::vector<int64_t>(100, 1), 1, "abcd")).has(Code::TooLarge));
  EXPECT_NE(import_tensor(tensor({1}, 1, "abcd")).graph, nullptr);
}

TEST(OnnxHostile, BooleansAreMadeZeroOrOne) {
  const Imported imported = import_tensor(tensor({3}, 9, std::string("\x00\x07\x01", 3)));
  ASSERT_NE(imported.graph, nullptr);
  const auto bytes = imported.graph->outputs()[0]->raw_data().bytes();
  EXPECT_EQ(bytes[0], std::byte{0});
  EXPECT_EQ(bytes[1], std::byte{1});
  EXPECT_EQ(bytes[2], std::byte{1});
}

TEST(OnnxHostile, FilesThatAreSomethingElse) {
  EXPECT_TRUE(import_bytes("").sink.has_errors());
  EXPECT_TRUE(import_bytes("hello").sink.has_errors());
  EXPECT_TRUE(import_bytes(std::string(1000, '\0')).sink.has_errors());
  EXPECT_TRUE(import_bytes(std::string(1000, '\xff')).sink.has_errors());
}

TEST(OnnxDecode, PackedAndUnpackedListsAreTheSame) {
  std::string packed, unpacked;
  {
    protozero::pbf_writer w(packed);
    const int64_t values[] = {1, -2, 300};
    w.add_packed_int64(field::attribute::kInts, std::begin(values), std::end(values));
  }
  {
    protozero::pbf_writer w(unpacked);
    for (const int64_t v : {1, -2, 300}) w.add_int64(field::attribute::kInts, v);
  }
  Attribute a, b;
  a.message = packed;
  b.message = unpacked;
  EXPECT_EQ(*attribute_ints(a), (std::vector<int64_t>{1, -2, 300}));
  EXPECT_EQ(*attribute_ints(b), *attribute_ints(a));
}

}  // namespace
}  // namespace ec::onnx
