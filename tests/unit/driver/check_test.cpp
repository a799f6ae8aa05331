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

TEST(Check, AbsentTargetIsAnError) {
  EXPECT_EQ(check_text("ecir 1\n", {{"target", "metal"}}).error().code(), Code::UnknownTarget);
}

}  // namespace
}  // namespace ec
