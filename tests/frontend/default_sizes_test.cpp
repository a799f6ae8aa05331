// Sizes for what a model leaves open: which dimension stands for the batch, and where other sizes
// come from.
#include "frontend/default_sizes.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace ec {
namespace {

// A graph with these inputs whose outputs are their relus.
std::unique_ptr<Graph> graph_of(const std::vector<std::string>& types) {
  std::string inputs, outputs, body;
  for (size_t i = 0; i < types.size(); ++i) {
    const std::string n = std::to_string(i);
    inputs += (i > 0 ? ", %x" : "%x") + n + ": " + types[i];
    outputs += (i > 0 ? ", y" : "y") + n + " = %y" + n;
    body += "  %y" + n + " = relu(%x" + n + ")\n";
  }
  auto graph = parse("graph @g(" + inputs + ") -> (" + outputs + ") {\n" + body + "}");
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().message());
  return std::move(*graph);
}

bool is_batch(const std::vector<std::string>& types, size_t input = 0, size_t axis = 0) {
  return stands_for_batch(*graph_of(types), input, axis);
}

TEST(BatchRule, NamesThatSayIt) {
  for (const char* name : {"N", "n", "batch", "Batch", "batch_size", "batchSize", "bs", "b",
                           "input_batch_dim", "\"batch-size\""})
    EXPECT_TRUE(is_batch({std::string("f32[") + name + ",8]"})) << name;
  EXPECT_TRUE(is_batch({"f32[batch]"}));               // the name is enough
  EXPECT_TRUE(is_batch({"f32[time,batch,8]"}, 0, 1));  // time first
  EXPECT_FALSE(is_batch({"f32[8,N]"}, 0, 1));          // a letter alone is not, behind the first
}

TEST(BatchRule, NamesOfOtherCounts) {
  for (const char* name :
       {"seq", "sequence_length", "num_tokens", "M", "height", "points", "T", "\"batch*seq\"", "s"})
    EXPECT_FALSE(is_batch({std::string("f32[") + name + ",3,8,8]"})) << name;
}

TEST(BatchRule, UnnamedDimensions) {
  EXPECT_TRUE(is_batch({"f32[\"?0\",3,8,8]"}));
  EXPECT_TRUE(is_batch({"f32[?,3,8,8]"}));
  EXPECT_TRUE(is_batch({"f32[s77,3,8,8]"}));
  EXPECT_TRUE(is_batch({"f32[x0_dim0,16,16,3]"}));
  EXPECT_TRUE(is_batch({"f32[unk__12,16,8]"}));
  EXPECT_TRUE(is_batch({"f32[\"DynamicDimension.0\",3,224,224]"}));     // Paddle2ONNX
  EXPECT_TRUE(is_batch({"f32[\"p2o.DynamicDimension.0\",3,48,640]"}));  // its older form
  EXPECT_FALSE(is_batch({"f32[\"DynamicDimension.0\",3,\"DynamicDimension.1\",8]"}, 0, 2));
  EXPECT_FALSE(is_batch({"f32[\"?0\",3,\"?1\",8]"}, 0, 2));
  EXPECT_FALSE(is_batch({"f32[\"?0\"]"}));  // a count of tokens, perhaps
}

TEST(BatchRule, UnnamedRowsOfTwoDimensions) {
  EXPECT_TRUE(is_batch({"f32[\"?0\",784]"}));
  EXPECT_TRUE(is_batch({"f32[\"?0\",784]", "f32[\"?1\",10]"}, 1));
  EXPECT_FALSE(is_batch({"f32[\"?0\",\"?1\"]"}));  // [batch, sequence] or [sequence, features]
  EXPECT_FALSE(is_batch({"f32[\"?0\",784]", "f32[10]"}));  // not all inputs have it
  // The first dimension of the input is gone in the output: the model computes with it.
  auto summed = parse(R"(graph @g(%x: f32["?0",8]) -> (y = %y) {
    %a = const i64[1] dense[0]
    %y = reduce_sum(%x, %a) {keep_dims=false}
  })");
  ASSERT_TRUE(summed.ok()) << summed.error().message();
  EXPECT_FALSE(stands_for_batch(**summed, 0, 0));
}

TEST(DefaultSizes, TheBatchIsOneWithARemark) {
  auto graph = graph_of({"f32[N,3,8,8]", "f32[N,4]"});
  DiagnosticSink sink;
  ASSERT_TRUE(bind_default_sizes(*graph, {}, sink).ok());
  EXPECT_EQ(graph->outputs()[0]->type().text(), "f32[1,3,8,8]");
  EXPECT_EQ(graph->outputs()[1]->type().text(), "f32[1,4]");  // bound together
  ASSERT_EQ(sink.diagnostics().size(), 1u);                   // said once
  const Diagnostic& remark = sink.diagnostics()[0];
  EXPECT_EQ(remark.severity, Severity::Remark);
  EXPECT_NE(remark.message.find("'x0'"), std::string::npos) << remark.message;
  EXPECT_NE(remark.hint.find("--dim N="), std::string::npos) << remark.hint;
}

TEST(DefaultSizes, OtherSizesComeFromDataOrAreAskedFor) {
  const std::vector<std::string> types = {"f32[N,3,height,width]", "f32[tokens]"};
  auto graph = graph_of(types);
  DiagnosticSink sink;
  const Status status = bind_default_sizes(*graph, {}, sink);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::DynamicShape);
  const std::string text = format_diagnostic(status.error().diagnostic());
  for (const char* part : {"'x0'", "'x1'", "--dim height=?", "--dim width=?", "--dim tokens=?"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  EXPECT_EQ(text.find("--dim N"), std::string::npos) << text;
  graph = graph_of(types);
  DiagnosticSink second;
  ASSERT_TRUE(bind_default_sizes(*graph, {{"x0", {2, 3, 64, 48}}, {"x1", {7}}}, second).ok());
  EXPECT_EQ(graph->inputs()[0]->type().text(), "f32[2,3,64,48]");
  EXPECT_EQ(graph->inputs()[1]->type().text(), "f32[7]");
  EXPECT_TRUE(second.diagnostics().empty());
}

TEST(DefaultSizes, DataThatContradictsTheModelIsNoHelp) {
  auto graph = graph_of({"f32[N,3,height,8]"});
  DiagnosticSink sink;
  EXPECT_FALSE(bind_default_sizes(*graph, {{"x0", {1, 4, 16, 8}}}, sink).ok());
}

TEST(DefaultSizes, TheFilesOwnShapeNeedsNoRemark) {
  auto graph = graph_of({"f32[x0_dim0,x0_dim1]"});
  graph->metadata()["default_shape.x0"] = "4x96";
  DiagnosticSink sink;
  ASSERT_TRUE(bind_default_sizes(*graph, {}, sink).ok());
  EXPECT_EQ(graph->inputs()[0]->type().text(), "f32[4,96]");
  EXPECT_TRUE(sink.diagnostics().empty());
  EXPECT_TRUE(graph->metadata().empty());
}

TEST(DefaultSizes, UnnamedSizesAreAskedForByShape) {
  auto graph = graph_of({"f32[\"?0\",3,\"?1\",8]"});
  DiagnosticSink sink;
  const Status status = bind_default_sizes(*graph, {}, sink);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().diagnostic().hint.find("--input-shape x0:1x3x?x8"), std::string::npos)
      << status.error().diagnostic().hint;
}

// What a model writes to a state may turn out not to fit when the sizes of its inputs are known.
TEST(DefaultSizes, StatesKeepTheirSizes) {
  const auto graph = parse(R"(graph @g(%x: f32[2,n]) -> (y = %s) {
  %zeros = const f32[2,3] dense[0,0,0,0,0,0]
  %s = read_state(%zeros) {name="s"} : f32[2,3]
  %w = write_state(%x) {name="s"} : f32[2,n]
})");
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  for (const int64_t size : {3, 4}) {
    const std::unique_ptr<Graph> bound = (*graph)->clone();
    DiagnosticSink sink;
    const Status status = bind_shapes(*bound, {{"x", {2, size}}}, sink);
    EXPECT_EQ(status.ok(), size == 3);
    EXPECT_EQ(verify(*bound).empty(), size == 3);
    if (!status.ok()) {
      EXPECT_EQ(status.error().code(), Code::TypeMismatch);
    }
  }
}

}  // namespace
}  // namespace ec
