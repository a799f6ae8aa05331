// The public functions: plain types, failures as exceptions.
#include <gtest/gtest.h>

#include "edgecompiler/compile.h"
#include "edgecompiler/evaluate.h"
#include "edgecompiler/session.h"
#include "edgecompiler/version.h"
#include "formats/npy/npy.h"
#include "support/file.h"
#include "temporary_directory.h"

namespace ec {
namespace {

constexpr std::string_view kModel =
    "ecir 1\ngraph @m(%x: f32[n,2]) -> (y = %2) {\n"
    "  %1 = relu(%x) : f32[n,2]\n  %2 = neg(%1) : f32[n,2]\n  %3 = exp(%x) : f32[n,2]\n}\n";

class Api : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(write_file(model_, kModel).ok()); }
  const TemporaryDirectory directory_;
  const std::filesystem::path model_ = directory_ / "m.ecir";
};

TEST_F(Api, CompileWritesTheTargetsFile) {
  const CompileResult result = compile(model_.string(), {{"output", directory_.path().string()}});
  EXPECT_EQ(result.output_path, (directory_ / "m_cpu.ecir").string());
  EXPECT_EQ(result.target, "cpu");
  EXPECT_TRUE(std::filesystem::exists(result.output_path));
  EXPECT_EQ(result.report.before.operations, 3);
  EXPECT_EQ(result.report.output.string(), result.output_path);
  ASSERT_EQ(result.report.artifacts.size(), 1u);
  EXPECT_EQ(result.report.artifacts[0].sha256, result.report.output_sha256);
  ASSERT_TRUE(result.report.provenance.has_value());
  EXPECT_EQ(result.report.provenance->source_sha256.size(), 64u);
  EXPECT_NE(to_json(result.report).find("\"operations_before\":3"), std::string::npos);
  ASSERT_EQ(result.warnings.size(), 1u);  // the open batch became 1
  EXPECT_EQ(result.warnings[0].severity, "remark");
}

TEST_F(Api, OptimizeInspectCheck) {
  const CompileResult result =
      optimize(model_.string(), {{"output", (directory_ / "o.ecir").string()}});
  EXPECT_EQ(result.report.after.operations, 2);
  EXPECT_GT(result.report.milliseconds("import"), 0);
  EXPECT_EQ(inspect(model_.string()).format, "ecir");
  const CheckReport one = check(model_.string(), {{"target", "tflite"}});
  ASSERT_EQ(one.targets.size(), 1u);
  EXPECT_EQ(one.targets[0].target, "tflite");
  EXPECT_TRUE(one.targets[0].runs());
  const CheckReport all = check(model_.string());
  EXPECT_GT(all.targets.size(), 1u);
  EXPECT_EQ(all.targets[0].target, "cpu");
}

TEST_F(Api, EvaluateScoresAgainstLabels) {
  const float x[] = {1, -1, -1, 1, 3, 2};
  ASSERT_TRUE(
      npy::save(directory_ / "x.npy", {'f', 4, {3, 2}, Blob::copy_of(std::span<const float>(x))})
          .ok());
  ASSERT_TRUE(write_file(directory_ / "labels.txt", std::string_view("1\n0\n0\n")).ok());
  Options what{{"data", (directory_ / "x.npy").string()}};
  EXPECT_THROW(evaluate(model_.string(), what), BackendError);  // nothing to compare with
  what.set("labels", (directory_ / "labels.txt").string());
  // -relu: the smaller element wins; of the last pair that is the second one.
  const EvaluateReport report = evaluate(model_.string(), what);
  EXPECT_EQ(report.samples, 3);
  ASSERT_TRUE(report.model.top1.has_value());
  EXPECT_NEAR(*report.model.top1, 2.0 / 3, 1e-9);
}

TEST_F(Api, SessionRuns) {
  InferenceSession session(model_.string());
  const float x[] = {1, -1, 2, -2};
  const auto outputs = session.run({{"x", "f32", {2, 2}, x, sizeof x}});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].name, "y");
  EXPECT_EQ(outputs[0].as<float>()[0], -1.0f);
  EXPECT_EQ(outputs[0].as<float>()[1], 0.0f);
  session.close();
  EXPECT_THROW(session.run({{"x", "f32", {2, 2}, x, sizeof x}}), RuntimeError);
}

TEST_F(Api, SessionsOfModelsInMemory) {
  InferenceSession session(kModel.data(), kModel.size());
  const float x[] = {1, -1};
  EXPECT_EQ(session.run({{"x", "f32", {1, 2}, x, sizeof x}})[0].as<float>()[0], -1.0f);
}

TEST_F(Api, FailuresCarryCodeAndHint) {
  try {
    compile((directory_ / "missing.onnx").string());
    FAIL() << "no exception";
  } catch (const ModelError& e) {
    EXPECT_EQ(e.code(), "EC1001");
    EXPECT_FALSE(e.hint().empty());
    EXPECT_EQ(e.diagnostics().size(), 1u);
  }
  EXPECT_THROW(compile(model_.string(), {{"target", "aipu"}}), BackendError);
  EXPECT_THROW(inspect(model_.string(), {{"dim", SizesByName{{"m", 3}}}}), ModelError);
  EXPECT_THROW(compile(model_.string(), {{"passes", "no-such-pass"}}), Exception);
  EXPECT_THROW(compile(model_.string(), {{"no-such-option", 1}}), Exception);
}

TEST(Version, IsThatOfTheProject) { EXPECT_STREQ(version(), EC_PROJECT_VERSION); }

}  // namespace
}  // namespace ec
