#include "driver/jobs.h"

#include <gtest/gtest.h>

#include "support/file.h"
#include "temporary_directory.h"

namespace ec {
namespace {

Result<PlacementReport> check_text(std::string_view text, const Options& options = {}) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(write_file(directory / "m.ecir", text).ok());
  DiagnosticSink sink;
  return check_model(default_registry(), directory / "m.ecir", options, sink);
}

TEST(Check, NativeAndReferenceWithReasonAndFix) {
  const auto report = check_text(
      "ecir 1\ngraph @m(%x: f32[2,2], %d: f64[2,3]) -> (a = %1, b = %2, c = %3) {\n"
      "  %1 = relu(%x) : f32[2,2] loc(\"fast\" : \"Relu\")\n"
      "  %2 = relu(%d) : f64[2,3] loc(\"wide\" : \"Relu\")\n"
      "  %3 = det(%x) : f32[] loc(\"rare\" : \"Det\")\n}\n");
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_EQ(report->native, 1);
  EXPECT_EQ(report->reference, 2);
  EXPECT_EQ(report->unsupported, 0);
  for (const OpPlacement& row : report->operations) {
    if (row.name == "fast") {
      EXPECT_EQ(row.placement, Placement::Native);
      EXPECT_TRUE(row.reason.empty());
      continue;
    }
    EXPECT_EQ(row.placement, Placement::Reference) << row.name;
    EXPECT_FALSE(row.fix.empty());
    EXPECT_NE(row.reason.find(row.name == "wide" ? "f64" : "no fast kernel for det"),
              std::string::npos)
        << row.reason;
  }
}

TEST(Check, OpenSizesAreSaid) {
  const std::string_view text =
      "ecir 1\ngraph @m(%x: f32[tokens,3]) -> (a = %1) {\n  %1 = relu(%x) : f32[tokens,3]\n}\n";
  const auto open = check_text(text);
  ASSERT_TRUE(open.ok());
  EXPECT_TRUE(open->shapes_open);
  EXPECT_FALSE(check_text(text, {{"dim", SizesByName{{"tokens", 2}}}})->shapes_open);
}

Result<CheckReport> check_all_text(std::string_view text, const Options& options,
                                   DiagnosticSink& sink) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(write_file(directory / "m.ecir", text).ok());
  return check_all_targets(default_registry(), directory / "m.ecir", options, sink);
}

constexpr std::string_view kRelu =
    "ecir 1\ngraph @m(%x: f32[n,3]) -> (a = %1) {\n  %1 = relu(%x) : f32[n,3]\n}\n";

TEST(Check, EveryTargetOnOneReading) {
  DiagnosticSink sink;
  const auto report = check_all_text(kRelu, {}, sink);
  ASSERT_TRUE(report.ok()) << report.error().message();
  ASSERT_EQ(report->targets.size(), default_registry().backends().size());
  for (size_t i = 0; i < report->targets.size(); ++i) {
    EXPECT_EQ(report->targets[i].target, default_registry().backends()[i]->info().name);
    EXPECT_TRUE(report->targets[i].runs());
    EXPECT_EQ(report->targets[i].operations.size(), 1u);
  }
  EXPECT_EQ(sink.diagnostics().size(), 1u);  // the open batch, once for all targets
  EXPECT_TRUE(refuse_untaken(*report, /*strict=*/true).ok());  // the CPU runs everything itself
}

TEST(Check, ATargetThatRefusesIsAnEntry) {
  DiagnosticSink sink;
  // The first target has no integers.
  const auto report = check_all_text(kRelu, {{"quantize", "dynamic"}}, sink);
  ASSERT_TRUE(report.ok()) << report.error().message();
  ASSERT_TRUE(report->targets[0].refused.has_value());
  EXPECT_FALSE(report->targets[0].refused->message.empty());
  EXPECT_FALSE(report->targets[0].runs());
  EXPECT_TRUE(report->targets[1].runs());
  EXPECT_FALSE(sink.has_errors());
  EXPECT_TRUE(refuse_untaken(*report, false).ok());
}

TEST(Check, WhereAllRefuseTheFirstReasonIsTheError) {
  DiagnosticSink sink;
  EXPECT_EQ(check_all_text("no model", {}, sink).error().code(),
            check_text("no model").error().code());
  EXPECT_EQ(sink.error_count(), 1u);
  CheckReport none{"m", {}};
  none.targets.resize(2);
  none.targets[0].refused = Refusal{"EC1001", "no", "hint"};
  none.targets[1].unsupported = 1;
  EXPECT_EQ(refuse_untaken(none, false).error().code(), Code::NotOnTarget);
  EXPECT_EQ(refuse_untaken(none, false).error().diagnostic().notes.size(), 2u);
}

TEST(Check, AbsentTargetIsAnError) {
  EXPECT_EQ(check_text("ecir 1\n", {{"target", "aipu"}}).error().code(), Code::UnknownTarget);
}

}  // namespace
}  // namespace ec
