// Attention as one operation of programs, and where it stays products.
#include "backend/metal/package.h"
#include "backend/metal/place.h"
#include "passes/harness.h"
#include "writer/coreml/coreml.h"

namespace ec::metal {
namespace {

constexpr std::string_view kWhole = "legalise-mil{attention=whole}";

// Legalises, writes, reads back and compares; the operations of the program.
std::string written_kinds(std::string_view text, std::string_view pipeline = kWhole) {
  const test::Outcome outcome = test::optimise(text, pipeline);
  DiagnosticSink sink;
  CoremlWriteOptions options;
  options.lowest_version = kCoremlIos18;
  auto program = write_coreml(*outcome.after, options, sink);
  EXPECT_TRUE(program.ok()) << program.error().message();
  if (!program.ok()) return {};
  auto read = read_package(package_files(*program, "m.mlpackage"));
  EXPECT_TRUE(read.ok()) << read.error().message();
  if (read.ok()) test::expect_same_results(*outcome.before, *read->front());
  std::string kinds;
  for (const coreml::Operation& op : program->model.program->functions.at("main").block.operations)
    if (op.type != "const") kinds += (kinds.empty() ? "" : " ") + op.type;
  return kinds;
}

std::string four(std::string_view operands, std::string_view attrs) {
  return "graph @g(%q: f32[2,4,3,8], %k: f32[2,4,5,8], %v: f32[2,4,5,6]" +
         std::string(operands.empty() ? "" : ", %m: ") + std::string(operands) +
         ") -> (y = %y) { %y = attention(%q, %k, %v" + (operands.empty() ? "" : ", %m") + ") " +
         std::string(attrs) + " }";
}

TEST(CoremlAttention, PlainFormsStayOneOperation) {
  EXPECT_EQ(written_kinds(four("", "")), "scaled_dot_product_attention");
  EXPECT_EQ(written_kinds(four("f32[3,5]", "")), "scaled_dot_product_attention");
  EXPECT_EQ(written_kinds("graph @g(%q: f32[2,3,8], %k: f32[2,5,8], %v: f32[2,5,6]) -> (y = %y) {"
                          " %y = attention(%q, %k, %v) {q_heads=1, kv_heads=1} }"),
            "scaled_dot_product_attention");
}

TEST(CoremlAttention, OtherFactorsMoveToTheQueries) {
  EXPECT_EQ(written_kinds(four("", "{scale=0.5}")), "mul scaled_dot_product_attention");
}

TEST(CoremlAttention, PositionsBecomeAMask) {
  EXPECT_EQ(written_kinds(four("", "{causal=true}")), "scaled_dot_product_attention");
  // A window that leaves a query nothing has no result in programs.
  EXPECT_EQ(written_kinds(four("", "{left_window=0, right_window=0}")),
            "scaled_dot_product_attention");
  EXPECT_EQ(written_kinds("graph @g(%q: f32[1,1,3,4], %k: f32[1,1,2,4], %v: f32[1,1,2,4]) -> (y = "
                          "%y) { %y = attention(%q, %k, %v) {left_window=0, right_window=0} }")
                .find("scaled_dot_product_attention"),
            std::string::npos);
}

TEST(CoremlAttention, HeadsThatServeSeveralQueriesAreRepeated) {
  EXPECT_EQ(written_kinds("graph @g(%q: f32[1,4,3,8], %k: f32[1,2,5,8], %v: f32[1,2,5,8]) -> (y = "
                          "%y) { %y = attention(%q, %k, %v) }"),
            "gather gather scaled_dot_product_attention");
  EXPECT_EQ(written_kinds("graph @g(%q: f32[1,3,8], %k: f32[1,5,8], %v: f32[1,5,8]) -> (y = %y) {"
                          " %y = attention(%q, %k, %v) {q_heads=2, kv_heads=2} }"),
            "reshape transpose reshape transpose reshape transpose scaled_dot_product_attention "
            "transpose reshape");
}

TEST(CoremlAttention, CachesAreJoined) {
  const std::string kinds = written_kinds(R"(graph @g(%q: f32[1,2,1,4], %k: f32[1,2,1,4],
      %v: f32[1,2,1,4], %pk: f32[1,2,3,4], %pv: f32[1,2,3,4]) -> (y = %y, nk = %nk, nv = %nv) {
    %y, %nk, %nv = attention(%q, %k, %v, _, %pk, %pv)
  })");
  EXPECT_NE(kinds.find("concat concat scaled_dot_product_attention"), std::string::npos) << kinds;
}

TEST(CoremlAttention, RowsThatMayHideAllKeysBecomeZeros) {
  const std::string kinds = written_kinds(R"(graph @g(%q: f32[1,1,3,4], %k: f32[1,1,5,4],
      %v: f32[1,1,5,4], %f: f32[3,5]) -> (y = %y) {
    %limit = const f32[] splat(0.8) %m = greater(%f, %limit) %y = attention(%q, %k, %v, %m)
  })");
  EXPECT_NE(kinds.find("logical_or"), std::string::npos) << kinds;
  EXPECT_NE(kinds.find("select"), std::string::npos) << kinds;
}

TEST(CoremlAttention, SoftcapsStayProducts) {
  const std::string kinds = written_kinds(four("", "{softcap=2}"));
  EXPECT_EQ(kinds.find("attention"), std::string::npos);
  EXPECT_NE(kinds.find("softmax"), std::string::npos);
}

TEST(CoremlAttention, ProductsAroundASoftmaxAreFound) {
  EXPECT_EQ(
      written_kinds(R"(graph @g(%q: f32[1,2,3,4], %k: f32[1,2,5,4], %v: f32[1,2,5,4]) -> (y = %y) {
    %p = matmul(%q, %k) {transpose_b=true} %h = const f32[] splat(0.5) %s = mul(%p, %h)
    %w = softmax(%s) {axis=3} %y = matmul(%w, %v)
  })",
                    "to-metal-ios18"),
      "scaled_dot_product_attention");
}

TEST(CoremlAttention, OlderSystemsGetProducts) {
  const test::Outcome outcome = test::optimise(four("", ""), "legalise-mil");
  EXPECT_EQ(outcome.count(OpKind::Attention), 0);
}

}  // namespace
}  // namespace ec::metal
