#include "quantize/calibration/labels.h"

#include <gtest/gtest.h>

#include "quantize/measure/accuracy.h"
#include "quantize/measure/classification.h"
#include "support/file.h"
#include "temporary_directory.h"

namespace ec::quantize {
namespace {

class NamedSamples final : public SampleSource {
 public:
  explicit NamedSamples(std::vector<std::string> names) : names_(std::move(names)) {}
  size_t size() const override { return names_.size(); }
  std::string name(size_t index) const override { return names_[index]; }
  Result<std::vector<Value>> read(size_t) override { return std::vector<Value>(); }

 private:
  std::vector<std::string> names_;
};

std::vector<int64_t> folder_labels(std::vector<std::string> names) {
  return labels_of_folders(NamedSamples(std::move(names)), "set").of_sample;
}

TEST(Labels, FoldersCountInAlphabeticalOrder) {
  using L = std::vector<int64_t>;
  EXPECT_EQ(folder_labels({"set/dog/1.png", "set/cat/1.png", "set/cat/deep/2.png"}), (L{1, 0, 0}));
  EXPECT_EQ(folder_labels({"set/10/a.png", "set/2/a.png"}), (L{10, 2}));
  EXPECT_EQ(folder_labels({"set/007/a.npy[3]"}), (L{7}));
  EXPECT_EQ(folder_labels({"set/cat/1.png", "set/1.png"}), L{});
  EXPECT_EQ(folder_labels({}), L{});
}

// Tells classes as files with labels beside their arrays do.
class LabelledSamples final : public SampleSource {
 public:
  explicit LabelledSamples(std::vector<std::optional<int64_t>> labels)
      : labels_(std::move(labels)) {}
  size_t size() const override { return labels_.size(); }
  std::string name(size_t index) const override { return "sample " + std::to_string(index); }
  Result<std::optional<int64_t>> label(size_t index) override { return labels_[index]; }
  Result<std::vector<Value>> read(size_t) override { return std::vector<Value>(); }

 private:
  std::vector<std::optional<int64_t>> labels_;
};

TEST(Labels, BesideTheSamples) {
  const auto of = [](std::vector<std::optional<int64_t>> labels) {
    LabelledSamples samples(std::move(labels));
    return labels_of_samples(samples);
  };
  EXPECT_EQ(of({3, 0, 7})->of_sample, (std::vector<int64_t>{3, 0, 7}));
  const auto none = of({std::nullopt, std::nullopt});
  EXPECT_TRUE(none.ok() && none->of_sample.empty() && none->source.empty());
  const auto some = of({1, std::nullopt, 2});
  ASSERT_FALSE(some.ok());
  EXPECT_EQ(some.error().diagnostic().file, "sample 1");
  EXPECT_FALSE(of({1, -1}).ok());
  EXPECT_FALSE(of({int64_t{1} << 40}).ok());
  NamedSamples silent({"a.png"});
  EXPECT_TRUE(labels_of_samples(silent)->of_sample.empty());
}

TEST(Labels, AreIntegersOfAnyWidth) {
  const uint8_t bytes[] = {4, 200};
  const auto narrow = label_values({'u', 1, {2}, Blob::copy_of(std::span<const uint8_t>(bytes))});
  ASSERT_TRUE(narrow.ok());
  EXPECT_EQ(*narrow, (std::vector<int64_t>{4, 200}));
  const int64_t one = 5;
  EXPECT_EQ(*label_values({'i', 8, {}, Blob::copy_of(std::span<const int64_t>(&one, 1))}),
            (std::vector<int64_t>{5}));
  const float real = 1;
  EXPECT_FALSE(label_values({'f', 4, {1}, Blob::copy_of(std::span<const float>(&real, 1))}).ok());
}

class LabelFileTest : public ::testing::Test {
 protected:
  Result<Labels> read(const std::string& text) {
    const auto path = directory_ / "labels.txt";
    EXPECT_TRUE(write_file(path, std::string_view(text)).ok());
    EC_TRY(file_, read_label_file(path));
    return labels_of_lines(file_.lines, path);
  }
  TemporaryDirectory directory_;
  LabelFile file_;
};

TEST_F(LabelFileTest, TheLastSeparatorCounts) {
  const auto labels = read("# comment\nmy dog.png\t3\r\na,b.png,4\nwith space.png 5\n");
  ASSERT_TRUE(labels.ok()) << labels.error().message();
  EXPECT_EQ(labels->of_sample, (std::vector<int64_t>{3, 4, 5}));
  EXPECT_EQ(file_.lines[0].path, "my dog.png");
  EXPECT_EQ(file_.lines[1].path, "a,b.png");
  EXPECT_EQ(file_.lines[2].path, "with space.png");
}

TEST_F(LabelFileTest, NamesCountInAlphabeticalOrder) {
  const auto labels = read("path,label\nx.png,zebra\ny.png,ant\n");
  ASSERT_TRUE(labels.ok());
  EXPECT_EQ(labels->of_sample, (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(labels->names, (std::vector<std::string>{"ant", "zebra"}));
}

TEST_F(LabelFileTest, FaultsNameTheLine) {
  for (const char* text : {"a.png 1\nb.png two\n", "a.png 1\nb.png -2\n", "a.png 1\nb.png,\n"}) {
    const auto labels = read(text);
    ASSERT_FALSE(labels.ok()) << text;
    EXPECT_EQ(labels.error().code(), Code::BadCalibrationData);
    EXPECT_TRUE(labels.error().diagnostic().file.ends_with("labels.txt:2")) << text;
  }
  EXPECT_FALSE(read("# nothing\n").ok());
}

TEST(Classification, CountsTheRankOfTheLabel) {
  ClassificationScore score;
  const float scores[] = {0.1f, 0.9f, 0.9f, 0.3f, 0.2f, 0.25f, 0.05f};
  score.add(scores, 1);  // first of two equal ones
  score.add(scores, 2);
  score.add(scores, 4);
  score.add(scores, 6);
  EXPECT_DOUBLE_EQ(score.top1(), 0.25);
  EXPECT_DOUBLE_EQ(score.top5(), 0.75);
  EXPECT_EQ(score.confusion().at({6, 1}), 1);
  const float broken[] = {std::numeric_limits<float>::quiet_NaN(), 1.0f};
  ClassificationScore none;
  none.add(broken, 0);
  EXPECT_EQ(none.top1(), 0.0);
  EXPECT_EQ(none.top5(), 0.0);
}

TEST(ChangedAnswers, ChanceOfADifference) {
  const auto chance = [](int64_t right, int64_t wrong) {
    return ChangedAnswers{right, wrong}.chance();
  };
  EXPECT_EQ(chance(0, 0), 1);
  EXPECT_NEAR(chance(10, 10), 1, 1e-12);
  EXPECT_NEAR(chance(0, 1), 1, 1e-12);
  EXPECT_NEAR(chance(5, 0), 2.0 / 32, 1e-12);
  EXPECT_NEAR(chance(1, 4), 2.0 * 6 / 32, 1e-12);
  EXPECT_LT(chance(20, 51), 0.001);
  EXPECT_NEAR(chance(40000, 40100), 0.73, 0.01);  // no overflow
  ChangedAnswers changed;
  for (const auto& [right, before] :
       {std::pair(true, true), {true, false}, {false, true}, {false, true}, {false, false}})
    changed.add(right, before);
  EXPECT_EQ(changed.put_right, 1);
  EXPECT_EQ(changed.put_wrong, 2);
}

TEST(Preprocessing, TextReadsBack) {
  Preprocessing p;
  p.mean = {0.485, 0.456, 0.406};
  p.std = {0.229};
  p.pixel_range = 1;
  p.color = ColorOrder::Bgr;
  p.shorter_side = 256;
  const auto again = parse_preprocessing(p.text());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->text(), p.text());
  EXPECT_EQ(again->mean, p.mean);
  EXPECT_EQ(again->shorter_side, 256);
  for (const char* text : {"resize sideways", "color hsv", "pixels 0 to 7", "mean x", "nonsense"})
    EXPECT_FALSE(parse_preprocessing(text)) << text;
}

}  // namespace
}  // namespace ec::quantize
