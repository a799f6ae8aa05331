#include "quantize/calibration/sample_source.h"

#include <gtest/gtest.h>

#include <set>

#include "formats/npy/npy.h"
#include "image_files.h"
#include "quantize/calibration/channels_last.h"
#include "support/file.h"
#include "temporary_directory.h"

namespace ec::quantize {
namespace {

namespace fs = std::filesystem;

class SampleSourceTest : public ::testing::Test {
 protected:
  fs::path path(const std::string& name) const { return directory_ / name; }
  void write(const std::string& name, const std::string& content) {
    fs::create_directories(path(name).parent_path());
    ASSERT_TRUE(write_file(path(name), std::string_view(content)).ok());
  }
  template <class T>
  void write_npy(const std::string& name, char kind, std::vector<int64_t> shape,
                 std::vector<T> values) {
    ASSERT_TRUE(npy::save(path(name), {kind, sizeof(T), std::move(shape),
                                       Blob::copy_of(std::span<const T>(values))})
                    .ok());
  }
  Result<std::unique_ptr<SampleSource>> open(const std::string& name,
                                             const std::vector<ModelInput>& inputs) {
    return open_samples(path(name).string(), inputs, {}, sink_);
  }
  Code code_of(const std::string& name, const std::vector<ModelInput>& inputs) {
    const auto source = open(name, inputs);
    if (!source.ok()) return source.error().code();
    for (size_t i = 0; i < (*source)->size(); ++i) {
      const auto sample = (*source)->read(i);
      if (!sample.ok()) return sample.error().code();
    }
    return Code{};
  }

  TemporaryDirectory directory_;
  DiagnosticSink sink_;
  const std::vector<ModelInput> image_{{"x", TensorType(DType::F32, Shape{1, 3, 4, 4})}};
  const std::vector<ModelInput> row_{{"x", TensorType(DType::F32, Shape{1, 2})}};
};

TEST_F(SampleSourceTest, FolderIsReadRecursivelyInOrder) {
  const test::Pixels pixels = test::gradient(4, 4);
  write("set/b/1.png", test::png_of(pixels));
  write("set/a/2.jpg", test::jpeg_of(pixels));
  write("set/a/1.bmp", test::bmp_of(pixels));
  write("set/a/.hidden.png", "no picture");
  write("set/readme.md", "text");
  const auto source = open("set", image_);
  ASSERT_TRUE(source.ok()) << source.error().message();
  ASSERT_EQ((*source)->size(), 3u);
  EXPECT_TRUE((*source)->name(0).ends_with("a/1.bmp"));
  EXPECT_TRUE((*source)->name(2).ends_with("b/1.png"));
  const auto sample = (*source)->read(2);
  ASSERT_TRUE(sample.ok());
  EXPECT_EQ(sample->at(0).shape, (std::vector<int64_t>{1, 3, 4, 4}));
  EXPECT_NEAR(sample->at(0).as<float>()[1], 50 / 255.0f, 1e-6f);
}

TEST_F(SampleSourceTest, RowsOfArraysAreSamples) {
  write_npy<float>("rows.npy", 'f', {3, 2}, {1, 2, 3, 4, 5, 6});
  const auto rows = open("rows.npy", row_);
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ((*rows)->size(), 3u);
  EXPECT_EQ((*rows)->read(2)->at(0).as<float>()[1], 6.0f);
  EXPECT_TRUE((*rows)->name(2).ends_with("rows.npy[2]"));
  write_npy<double>("one.npy", 'f', {1, 2}, {0.5, 2});
  EXPECT_EQ((*open("one.npy", row_))->read(0)->at(0).as<float>()[0], 0.5f);
  write_npy<float>("stack.npy", 'f', {2, 1, 2}, {1, 2, 3, 4});
  EXPECT_EQ((*open("stack.npy", row_))->size(), 2u);
  write_npy<float>("bare.npy", 'f', {2}, {1, 2});
  EXPECT_EQ((*open("bare.npy", row_))->size(), 1u);
}

TEST_F(SampleSourceTest, ListsNameTheInputs) {
  write_npy<float>("a.npy", 'f', {1, 2}, {1, 2});
  write_npy<int64_t>("b.npy", 'i', {1}, {7});
  write("list.txt", "# two inputs\ny=b.npy\tx=a.npy\n\n");
  const std::vector<ModelInput> two{{"x", TensorType(DType::F32, Shape{1, 2})},
                                    {"y", TensorType(DType::I32, Shape{1})}};
  const auto source = open("list.txt", two);
  ASSERT_TRUE(source.ok()) << source.error().message();
  const auto sample = (*source)->read(0);
  ASSERT_TRUE(sample.ok()) << sample.error().message();
  EXPECT_EQ(sample->at(0).as<float>()[1], 2.0f);
  EXPECT_EQ(sample->at(1).as<int32_t>()[0], 7);
  write("missing.txt", "x=a.npy\n");
  EXPECT_EQ(code_of("missing.txt", {two[0], two[1]}), Code::BadCalibrationData);
  write("unknown.txt", "z=a.npy\tx=a.npy\n");
  EXPECT_EQ(code_of("unknown.txt", two), Code::BadCalibrationData);
  EXPECT_EQ(code_of("a.npy", two), Code::BadCalibrationData);
}

TEST_F(SampleSourceTest, MessagesNameSampleInputGotAndExpected) {
  write_npy<float>("bad.npy", 'f', {1, 5}, {1, 2, 3, 4, 5});
  const auto source = open("bad.npy", row_);
  ASSERT_FALSE(source.ok());
  const std::string text = format_diagnostic(source.error().diagnostic());
  for (const char* part : {"bad.npy", "'x'", "f32[1,5]", "f32[1,2]"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
}

TEST_F(SampleSourceTest, BadDataIsRefused) {
  write_npy<uint8_t>("bytes.npy", 'u', {1, 2}, {1, 2});
  EXPECT_EQ(code_of("bytes.npy", row_), Code::BadCalibrationData);
  write_npy<float>("nan.npy", 'f', {1, 2}, {1, std::numeric_limits<float>::quiet_NaN()});
  EXPECT_EQ(code_of("nan.npy", row_), Code::BadCalibrationData);
  write("broken.npy", "\x93NUMPY");
  EXPECT_EQ(code_of("broken.npy", row_), Code::BadArrayFile);
  write("broken.jpg", "no picture");
  EXPECT_EQ(code_of("broken.jpg", image_), Code::BadImageFile);
  write("empty.jpg", "");
  EXPECT_EQ(code_of("empty.jpg", image_), Code::EmptyFile);
  fs::create_directories(path("empty"));
  EXPECT_EQ(code_of("empty", image_), Code::BadCalibrationData);
  write("gone.txt", "nothing.jpg\n");
  EXPECT_EQ(code_of("gone.txt", image_), Code::FileNotFound);
  write("blank.txt", "# nothing\n");
  EXPECT_EQ(code_of("blank.txt", image_), Code::BadCalibrationData);
  EXPECT_EQ(code_of("absent", image_), Code::FileNotFound);
  write("x.jpg", test::jpeg_of(test::gradient(8, 8)));
  EXPECT_EQ(code_of("x.jpg", row_), Code::BadCalibrationData);  // not an image input
}

TEST_F(SampleSourceTest, NoDataIsAnErrorThatSaysWhatToPass) {
  const auto none = open_samples("", image_, {}, sink_);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code(), Code::CalibrationDataNeeded);
  EXPECT_NE(none.error().diagnostic().hint.find("--calibration-data"), std::string::npos);
}

TEST_F(SampleSourceTest, RandomWarnsAndRepeats) {
  const auto source = open_samples("random", image_, {}, sink_);
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(sink_.diagnostics().at(0).severity, Severity::Warning);
  const auto a = (*source)->read(3), b = (*source)->read(3), c = (*source)->read(4);
  EXPECT_EQ(a->at(0).data, b->at(0).data);
  EXPECT_FALSE(a->at(0).data == c->at(0).data);
}

TEST_F(SampleSourceTest, ValuesInMemoryAreChecked) {
  const float good[] = {1, 2};
  std::vector<std::vector<Value>> samples{
      {Value::of<float>({1, 2}, good)}, {Value::of<float>({2, 1}, good)}, {}};
  const auto source = samples_in_memory(std::move(samples), row_);
  ASSERT_TRUE(source.ok());
  EXPECT_TRUE((*source)->read(0).ok());
  EXPECT_FALSE((*source)->read(1).ok());
  EXPECT_FALSE((*source)->read(2).ok());
  EXPECT_FALSE(samples_in_memory({}, row_).ok());
}

TEST_F(SampleSourceTest, TurnsImagesForGraphsWithChannelsLast) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  const std::vector<ModelInput> inputs{{"x", TensorType(DType::F32, Shape{1, 2, 1, 3})}};
  const auto source = samples_in_memory({{Value::of<float>({1, 2, 1, 3}, values)}}, inputs);
  const auto turned = channels_last_samples(**source, {true});
  const auto sample = turned->read(0);
  ASSERT_TRUE(sample.ok());
  EXPECT_EQ(sample->at(0).shape, (std::vector<int64_t>{1, 1, 3, 2}));
  const auto got = sample->at(0).as<float>();
  EXPECT_EQ(std::vector<float>(got.begin(), got.end()), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST(SampleSplit, ChoosesEvenlyAndKeepsSomeApart) {
  const SampleSplit some = split_samples(1000, 100);
  EXPECT_EQ(some.calibration.size(), 100u);
  EXPECT_EQ(some.held_out.size(), 50u);
  EXPECT_EQ(some.calibration[0], 5u);
  EXPECT_EQ(some.calibration[99], 995u);
  std::set<size_t> seen(some.calibration.begin(), some.calibration.end());
  for (const size_t index : some.held_out) EXPECT_TRUE(seen.insert(index).second);

  const SampleSplit all = split_samples(100, 0);
  EXPECT_EQ(all.calibration.size() + all.held_out.size(), 100u);
  EXPECT_EQ(all.held_out.size(), 10u);
  EXPECT_FALSE(all.overlap);
  EXPECT_EQ(split_samples(5000, 0).calibration.size(), tuning::kDefaultSamples);
  const SampleSplit few = split_samples(3, 0);
  EXPECT_TRUE(few.overlap);
  EXPECT_EQ(few.calibration, few.held_out);
}

}  // namespace
}  // namespace ec::quantize
