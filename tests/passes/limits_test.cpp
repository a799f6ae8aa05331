// Folding and rewriting end by their limits.
#include "passes/harness.h"
#include "passes/rewriter.h"
#include "passes/settle.h"
#include "support/budget.h"

namespace ec {
namespace {

// A rule that finds its own result again.
Result<bool> negate_again(Rewriter& rewriter, Operation* op) {
  EC_TRY(Tensor * result, rewriter.add(OpKind::Neg, {op->input(0)}, NoAttrs{}, {op}));
  rewriter.replace(op, result);
  return true;
}
constexpr RewriteRule kEndless[] = {{OpKind::Neg, negate_again, "negated"}};

std::unique_ptr<Graph> negation() {
  return test::graph_from("graph @g(%x: f32[2]) -> (y = %y) {\n %y = neg(%x)\n}");
}

TEST(Settle, EndlessRulesAreEndedAndTheGraphStaysRight) {
  auto graph = negation();
  const auto before = graph->clone();
  PassContext context;
  const auto stats = apply_rules(*graph, context, kEndless);
  ASSERT_TRUE(stats.ok());
  EXPECT_EQ(stats->changes, most_rewrites(1));
  test::expect_same_results(*before, *graph, {});
}

class EndlessPass final : public RulePass {
 public:
  EndlessPass() : RulePass("endless", kEndless) {}
};

TEST(Settle, TheManagerNamesThePass) {
  static const PassInfo info{.name = "endless",
                             .summary = "s",
                             .details = "d",
                             .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
                               return std::make_unique<EndlessPass>();
                             }};
  PassRegistry registry = PassRegistry::built_in();
  ASSERT_TRUE(registry.add(info).ok());
  auto graph = negation();
  DiagnosticSink sink;
  PassContext context;
  context.sink = &sink;
  ASSERT_TRUE(PassManager({}, registry).run(*graph, "endless", context).ok());
  ASSERT_EQ(sink.diagnostics().size(), 1u);
  EXPECT_EQ(sink.diagnostics()[0].code, Code::NotSettled);
  EXPECT_EQ(sink.diagnostics()[0].severity, Severity::Warning);
  EXPECT_NE(sink.diagnostics()[0].message.find("'endless'"), std::string::npos);
}

TEST(Settle, ACancelledJobStopsRewriting) {
  auto graph = negation();
  PassContext context;
  Budget budget;
  const BudgetScope scope(budget);
  budget.cancel();
  EXPECT_EQ(apply_rules(*graph, context, kEndless).error().code(), Code::Interrupted);
}

size_t constant_bytes(const Graph& graph) {
  size_t bytes = 0;
  for (const Tensor* tensor : graph.tensors())
    if (tensor->is_constant()) bytes += tensor->raw_data().size();
  return bytes;
}

// Each concat doubles the one before, 40 times: every operand is read twice.
std::string doubling(int times) {
  std::string text = "graph @g(%x: f32[1]) -> (y = %c" + std::to_string(times) +
                     ") {\n  %c0 = const f32[1024] splat(1)\n";
  for (int i = 0; i < times; ++i)
    text += "  %c" + std::to_string(i + 1) + " = concat(%c" + std::to_string(i) + ", %c" +
            std::to_string(i) + ") {axis=0}\n";
  return text + "}";
}

TEST(FoldLimits, AnOperandReadTwiceCountsOnce) {
  auto graph = test::graph_from(doubling(24));
  PassContext context;
  ASSERT_TRUE(PassManager().run(*graph, "fold-constants", context).ok());
  EXPECT_LE(constant_bytes(*graph), size_t{16} << 20);
  EXPECT_LE(context.fold_growth_bytes, context.fold.max_growth_bytes);
  EXPECT_GT(graph->num_operations(), 0u);
}

TEST(FoldLimits, ASharedOperandIsNotFreed) {
  // 20 results of 4 MB from one constant of 4 MB: each adds 4 MB.
  std::string text = "graph @g(%x: f32[1]) -> (";
  for (int i = 0; i < 20; ++i)
    text += (i > 0 ? ", y" : "y") + std::to_string(i) + " = %r" + std::to_string(i);
  text += ") {\n  %c = const f32[1048576] splat(1)\n";
  for (int i = 0; i < 20; ++i)
    text += "  %k" + std::to_string(i) + " = const f32[] splat(" + std::to_string(i) + ")\n  %r" +
            std::to_string(i) + " = add(%c, %k" + std::to_string(i) + ")\n";
  auto graph = test::graph_from(text + "}");
  PassContext context;
  ASSERT_TRUE(PassManager().run(*graph, "fold-constants", context).ok());
  EXPECT_LE(constant_bytes(*graph), (size_t{16} + 8) << 20);
  EXPECT_EQ(graph->num_operations(), 16u);
}

TEST(FoldLimits, WhatTakesLongIsLeftToTheRun) {
  // 1 x 1 x 2000 x 2000 outputs of 1000 x 1000 taps each.
  auto graph = test::graph_from(R"(graph @g(%x: f32[1]) -> (y = %y) {
    %c = const f32[1,1,1000,1000] splat(1)
    %y = max_pool(%c) {kernel=[999,999], pads=[499,499,499,499]}
  })");
  PassContext context;
  ASSERT_TRUE(PassManager().run(*graph, "fold-constants", context).ok());
  EXPECT_EQ(graph->num_operations(), 1u);
}

TEST(FoldLimits, TheJobsShareIsUsedUpOnce) {
  // Each product is 32 million operations.
  std::string text = "graph @g(%x: f32[1]) -> (";
  for (int i = 0; i < 8; ++i)
    text += (i > 0 ? ", y" : "y") + std::to_string(i) + " = %r" + std::to_string(i);
  text += ") {\n  %c = const f32[320,320] splat(1)\n";
  for (int i = 0; i < 8; ++i)
    text += "  %k" + std::to_string(i) + " = const f32[320,320] splat(" + std::to_string(i) +
            ")\n  %r" + std::to_string(i) + " = matmul(%c, %k" + std::to_string(i) + ")\n";
  auto graph = test::graph_from(text + "}");
  PassContext context;
  Budget budget({.fold_work = 100'000'000});
  const BudgetScope scope(budget);
  ASSERT_TRUE(PassManager().run(*graph, "fold-constants", context).ok());
  EXPECT_GE(graph->num_operations(), 5u);
  EXPECT_LT(graph->num_operations(), 8u);
}

}  // namespace
}  // namespace ec
