#include "passes/manager.h"

#include <filesystem>

#include "driver/registry.h"
#include "passes/harness.h"
#include "temporary_directory.h"

namespace ec {
namespace {

// Back ends bring their own.
const PassRegistry& passes() { return default_registry().passes(); }

constexpr std::string_view kTwoRelus = R"(graph @g(%x: f32[2,3]) -> (y = %c) {
  %a = abs(%x) loc("first" : "Abs")
  %b = abs(%x) loc("second" : "Abs")
  %c = sin(%a)
  %d = sin(%b)
})";

TEST(Pipeline, ParsesNamesOptionsAndGroups) {
  auto items = passes().parse("fold-constants, fixpoint(infer-shapes,eliminate-dead-code)");
  ASSERT_TRUE(items.ok());
  ASSERT_EQ(items->size(), 2u);
  EXPECT_EQ((*items)[0].name, "fold-constants");
  EXPECT_EQ((*items)[1].group.size(), 2u);
  EXPECT_EQ(pipeline_text(*items), "fold-constants,fixpoint(infer-shapes,eliminate-dead-code)");
}

TEST(Pipeline, EveryNamedPipelineParses) {
  for (const NamedPipeline* pipeline : passes().pipelines()) {
    auto items = passes().parse(pipeline->name);
    EXPECT_TRUE(items.ok()) << pipeline->name << ": " << items.error().message();
    EXPECT_FALSE(pipeline->summary.empty());
  }
}

TEST(Pipeline, UnknownPassNamesTheNearest) {
  auto items = passes().parse("fold-constant");
  ASSERT_FALSE(items.ok());
  EXPECT_EQ(items.error().code(), Code::Usage);
  EXPECT_NE(items.error().diagnostic().hint.find("fold-constants"), std::string::npos);
}

TEST(Pipeline, RefusesBadText) {
  for (const char* text :
       {"fold-constants,,infer-shapes", "fold-constants{a", "fixpoint(", ",",
        "fixpoint fold-constants", "fold-constants{nothing=1}", "none{a=1}", "fold-constants)"})
    EXPECT_FALSE(passes().parse(text).ok()) << text;
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "fixpoint(";
  EXPECT_FALSE(passes().parse(deep).ok());
}

TEST(Manager, ReportsChangesPerPass) {
  const auto outcome = test::optimise(kTwoRelus, "common-subexpressions,eliminate-dead-code");
  EXPECT_EQ(outcome.report.find("common-subexpressions")->stats.changes, 2);
  EXPECT_EQ(outcome.report.operations_before, 4u);
  EXPECT_EQ(outcome.report.operations_after, 2u);
  EXPECT_GE(outcome.report.milliseconds, 0);
}

TEST(Manager, LeavesOutDisabledPasses) {
  auto graph = test::graph_from(kTwoRelus);
  PassContext context;
  PassManagerOptions options;
  options.disabled = {"common-subexpressions"};
  auto report = PassManager(options).run(*graph, "common-subexpressions", context);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(graph->num_operations(), 4u);
  EXPECT_EQ(report->find("common-subexpressions"), nullptr);
  options.disabled = {"no-such-pass"};
  EXPECT_FALSE(PassManager(options).run(*graph, "none", context).ok());
}

TEST(Manager, StopsAfterTheNamedPass) {
  auto graph = test::graph_from(kTwoRelus);
  PassContext context;
  PassManagerOptions options;
  options.stop_after = "common-subexpressions";
  ASSERT_TRUE(
      PassManager(options)
          .run(*graph, "fixpoint(common-subexpressions,eliminate-dead-code),infer-shapes", context)
          .ok());
  EXPECT_EQ(graph->num_operations(), 2u);
}

TEST(Manager, PrintsAndDumps) {
  auto graph = test::graph_from(kTwoRelus);
  const TemporaryDirectory directory;
  PassContext context;
  PassManagerOptions options;
  std::string printed;
  options.print = [&](std::string_view text) { printed += text; };
  options.print_after = {"all"};
  options.dump_directory = directory.path();
  ASSERT_TRUE(PassManager(options).run(*graph, "common-subexpressions", context).ok());
  EXPECT_NE(printed.find("// after common-subexpressions"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(directory / "000-input.ecir"));
  EXPECT_TRUE(std::filesystem::exists(directory / "001-common-subexpressions.ecir"));
}

TEST(Registry, EveryPassIsDocumented) {
  for (const PassInfo* info : passes().passes()) {
    EXPECT_FALSE(info->summary.empty()) << info->name;
    EXPECT_FALSE(info->details.empty()) << info->name;
    auto pass = passes().make_pass(info->name, {});
    ASSERT_TRUE(pass.ok());
    EXPECT_EQ((*pass)->name(), info->name);
  }
}

}  // namespace
}  // namespace ec
