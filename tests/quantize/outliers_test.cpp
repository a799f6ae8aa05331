#include "quantize/calibration/outliers.h"

#include <gtest/gtest.h>

namespace ec::quantize {
namespace {

TEST(Outliers, OneAbsurdSampleIsFound) {
  EXPECT_EQ(absurd_magnitudes({1, 0.5, 1e30, 2}), (std::vector<size_t>{2}));
  EXPECT_EQ(absurd_magnitudes({3e4, 2e4, 3e4, 1e12}), (std::vector<size_t>{3}));
}

TEST(Outliers, RealDifferencesAreNot) {
  EXPECT_TRUE(absurd_magnitudes({1, 100, 3000, 0.01}).empty());
  EXPECT_TRUE(absurd_magnitudes({0, 0, 0, 0, 300}).empty());  // mostly silence
  EXPECT_TRUE(absurd_magnitudes({1, 1e30}).empty());          // which of them is wrong?
  EXPECT_TRUE(absurd_magnitudes({}).empty());
}

std::unique_ptr<SampleSource> samples_of(const std::vector<float>& largest) {
  std::vector<std::vector<Value>> samples;
  for (const float v : largest) {
    const float values[] = {0, v};
    samples.push_back({Value::of<float>({2}, std::span<const float>(values))});
  }
  const std::vector<ModelInput> inputs{{"x", TensorType(DType::F32, Shape{2})}};
  auto source = samples_in_memory(std::move(samples), inputs);
  EXPECT_TRUE(source.ok());
  return std::move(*source);
}

TEST(Outliers, TheSampleIsLeftOutAndNamed) {
  const auto source = samples_of({1, 2, 1e30F, 3});
  DiagnosticSink sink;
  const auto rest = without_outliers(*source, sink);
  ASSERT_TRUE(rest.ok());
  ASSERT_NE(*rest, nullptr);
  ASSERT_EQ((*rest)->size(), 3u);
  EXPECT_EQ((*rest)->name(2), "sample 3");
  ASSERT_EQ(sink.diagnostics().size(), 1u);
  EXPECT_EQ(sink.diagnostics()[0].code, Code::DoubtfulCalibration);
  EXPECT_NE(sink.diagnostics()[0].message.find("'sample 2'"), std::string::npos);
}

TEST(Outliers, SoundSamplesStayAsTheyAre) {
  const auto source = samples_of({1, 2, 3});
  DiagnosticSink sink;
  const auto rest = without_outliers(*source, sink);
  ASSERT_TRUE(rest.ok());
  EXPECT_EQ(*rest, nullptr);
  EXPECT_TRUE(sink.diagnostics().empty());
}

}  // namespace
}  // namespace ec::quantize
