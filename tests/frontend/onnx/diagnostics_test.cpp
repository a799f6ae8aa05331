// What a user sees when a model is wrong: everything at once, each with a code, a place and a hint.
#include <gtest/gtest.h>

#include "model_builder.h"

namespace ec::onnx {
namespace {

TEST(OnnxDiagnostics, SixFaultsGiveSixDiagnostics) {
  AttributeList bad_axis;
  bad_axis.add("axis", std::string_view("last"));
  ModelBuilder m;
  m.input("x", {1, 4}).constant<float>("w", DataType::Float, {3, 5}, std::vector<float>(15));
  m.node("Relux", {"x"}, {"a"}, {}, "unknown_op");
  m.node("Relu", {"x", "x"}, {"b"}, {}, "arity");
  m.node("Softmax", {"x"}, {"c"}, bad_axis, "attribute");
  m.node("Relu", {"xx"}, {"d"}, {}, "undefined");
  m.node("Add", {"f", "x"}, {"e"}, {}, "cycle_1");
  m.node("Relu", {"e"}, {"f"}, {}, "cycle_2");
  m.node("MatMul", {"x", "w"}, {"g"}, {}, "shape");
  // Consumers of what failed are no faults of their own.
  m.node("Concat", {"a", "b"}, {"h"}, {}, "consumer");
  for (const char* name : {"a", "b", "c", "d", "e", "g", "h"}) m.output(name);
  const Imported imported = import_bytes(m.bytes());
  EXPECT_EQ(imported.graph, nullptr);
  const std::vector<Diagnostic> errors = imported.errors();
  ASSERT_EQ(errors.size(), 6u) << imported.text();
  std::map<std::string, Code> found;
  for (const Diagnostic& d : errors) {
    EXPECT_FALSE(d.node.empty()) << format_diagnostic(d);
    EXPECT_FALSE(d.hint.empty()) << format_diagnostic(d);
    EXPECT_EQ(d.file, "test.onnx");
    found[d.node] = d.code;
  }
  EXPECT_EQ(found["unknown_op"], Code::UnsupportedOp);
  EXPECT_EQ(found["arity"], Code::BadArity);
  EXPECT_EQ(found["attribute"], Code::BadAttribute);
  EXPECT_EQ(found["undefined"], Code::UndefinedName);
  EXPECT_EQ(found["cycle_1"], Code::CyclicGraph);
  EXPECT_EQ(found["shape"], Code::ShapeMismatch);
}

TEST(OnnxDiagnostics, UnknownOperatorsAreListedOnceWithNearNames) {
  ModelBuilder m;
  m.input("x", {2});
  m.node("Sigmoidd", {"x"}, {"a"}, {}, "first").node("Sigmoidd", {"a"}, {"b"}, {}, "second");
  m.node("Fancy", {"x"}, {"c"}, {}, "third", "my.domain").output("b").output("c");
  const Imported imported = import_bytes(m.bytes());
  const auto errors = imported.errors();
  ASSERT_EQ(errors.size(), 2u) << imported.text();
  EXPECT_EQ(errors[0].node, "first");
  EXPECT_NE(errors[0].hint.find("Sigmoid"), std::string::npos);
  ASSERT_EQ(errors[0].notes.size(), 1u);
  EXPECT_EQ(errors[1].node, "third");
  EXPECT_NE(errors[1].message.find("my.domain"), std::string::npos);
}

TEST(OnnxDiagnostics, NewerOpsetSaysWhatIsSupported) {
  ModelBuilder m(kNewestOnnxOpset + 1);
  m.input("x", {2}).node("Relu", {"x"}, {"y"}).output("y");
  const Imported imported = import_bytes(m.bytes());
  ASSERT_EQ(imported.errors().size(), 1u) << imported.text();
  EXPECT_EQ(imported.errors()[0].code, Code::UnsupportedOpset);
  EXPECT_NE(imported.errors()[0].message.find("1 to " + std::to_string(kNewestOnnxOpset)),
            std::string::npos);
}

TEST(OnnxDiagnostics, OperatorNewerThanTheDeclaredOpset) {
  ModelBuilder m(13);
  m.input("x", {2}).node("Gelu", {"x"}, {"y"}, {}, "g").output("y");
  const Imported imported = import_bytes(m.bytes());
  ASSERT_EQ(imported.errors().size(), 1u) << imported.text();
  EXPECT_NE(imported.errors()[0].message.find("since version 20"), std::string::npos);
}

TEST(OnnxDiagnostics, NamesDefinedTwice) {
  ModelBuilder m;
  m.input("x", {2}).node("Relu", {"x"}, {"y"}, {}, "a").node("Abs", {"x"}, {"y"}, {}, "b");
  m.output("y");
  const Imported imported = import_bytes(m.bytes());
  ASSERT_EQ(imported.errors().size(), 1u) << imported.text();
  EXPECT_EQ(imported.errors()[0].code, Code::DuplicateName);
  EXPECT_EQ(imported.errors()[0].node, "b");
}

TEST(OnnxDiagnostics, UndefinedOutput) {
  ModelBuilder m;
  m.input("input", {2}).node("Relu", {"input"}, {"result"}).output("resutl");
  const Imported imported = import_bytes(m.bytes());
  ASSERT_EQ(imported.errors().size(), 1u);
  EXPECT_EQ(imported.errors()[0].code, Code::UndefinedName);
  EXPECT_NE(imported.errors()[0].hint.find("result"), std::string::npos);
}

TEST(OnnxDiagnostics, StringTensorsAreRefused) {
  ModelBuilder m;
  m.input("x", {2}, DataType::String).node("Identity", {"x"}, {"y"}).output("y");
  EXPECT_TRUE(import_bytes(m.bytes()).has(Code::UnsupportedType));
}

TEST(OnnxDiagnostics, DeclaredOutputThatDiffersIsAWarning) {
  ModelBuilder m;
  m.input("x", {2, 3}).node("Relu", {"x"}, {"y"}).output("y", {3, 2});
  const Imported imported = import_bytes(m.bytes());
  ASSERT_NE(imported.graph, nullptr) << imported.text();
  ASSERT_EQ(imported.sink.diagnostics().size(), 1u);
  EXPECT_EQ(imported.sink.diagnostics()[0].severity, Severity::Warning);
  EXPECT_EQ(imported.graph->outputs()[0]->shape()->text(), "[2,3]");
}

TEST(OnnxDiagnostics, UnknownAttributeIsAWarning) {
  AttributeList attributes;
  attributes.add("alhpa", 0.5f);
  ModelBuilder m;
  m.input("x", {2}).node("LeakyRelu", {"x"}, {"y"}, attributes, "n").output("y");
  const Imported imported = import_bytes(m.bytes());
  ASSERT_NE(imported.graph, nullptr);
  ASSERT_EQ(imported.sink.diagnostics().size(), 1u);
  EXPECT_EQ(imported.sink.diagnostics()[0].severity, Severity::Warning);
  EXPECT_EQ(imported.sink.diagnostics()[0].node, "n");
}

TEST(OnnxDiagnostics, ErrorsBeyondTheLimitAreCounted) {
  ModelBuilder m;
  m.input("x", {2});
  for (int i = 0; i < 400; ++i)
    m.node("Relu", {"nothing" + std::to_string(i)}, {"y" + std::to_string(i)});
  m.output("y0");
  const Imported imported = import_bytes(m.bytes());
  EXPECT_EQ(imported.errors().size(), DiagnosticSink::kMaxErrors);
  EXPECT_GT(imported.sink.error_count(), DiagnosticSink::kMaxErrors);
}

}  // namespace
}  // namespace ec::onnx
