#include "frontend/choose.h"

#include <gtest/gtest.h>

#include <fstream>

#include "driver/registry.h"
#include "frontend/onnx/onnx.h"
#include "frontend/tensorflow/tensorflow.h"

namespace ec {
namespace {

namespace fs = std::filesystem;

std::optional<DetectedFormat> describe(const std::string& content, const fs::path& path) {
  return describe_unreadable(
      default_registry().frontends(),
      ModelSource::from_bytes(path.string(), Blob::copy_of(std::span<const char>(content))));
}

std::string name_of(const std::string& content, const fs::path& path = "model.bin") {
  const auto format = describe(content, path);
  if (!format) return "";
  EXPECT_FALSE(format->hint.empty()) << format->name;
  return format->name;
}

// A central directory entry with this name, as at the end of a ZIP archive.
std::string zip_entry(const std::string& name) {
  std::string entry = std::string("PK\x01\x02") + std::string(24, '\0');
  entry += static_cast<char>(name.size());
  entry += std::string(17, '\0') + name;
  return entry;
}

std::string zip(const std::vector<std::string>& names) {
  std::string content = "PK\x03\x04" + std::string(40, '\0');
  for (const std::string& name : names) content += zip_entry(name);
  return content;
}

TEST(Describe, FormatsWithFixedBytes) {
  EXPECT_NE(name_of(std::string("\x1c\0\0\0TFL3\0\0\0\0", 12)).find("TFLite"), std::string::npos);
  EXPECT_NE(name_of(std::string("\x1c\0\0\0ORTM\0\0\0\0", 12)).find(".ort"), std::string::npos);
  EXPECT_NE(name_of(std::string("\x1c\0\0\0ET12\0\0\0\0", 12)).find("ExecuTorch"),
            std::string::npos);
  EXPECT_NE(name_of("\x89HDF\r\n\x1a\n....").find("HDF5"), std::string::npos);
  EXPECT_NE(name_of("GGUF....").find("GGUF"), std::string::npos);
}

TEST(Describe, ArchivesByTheNamesInside) {
  EXPECT_NE(
      name_of(zip({"m/code/__torch__/m.py", "m/data.pkl", "m/constants.pkl"})).find("TorchScript"),
      std::string::npos);
  EXPECT_NE(name_of(zip({"m/archive_format", "m/models/model.json"})).find(".pt2"),
            std::string::npos);
  EXPECT_NE(name_of(zip({"m/data.pkl", "m/version"})).find("checkpoint"), std::string::npos);
  EXPECT_NE(name_of(zip({"config.json", "metadata.json", "model.weights.h5"})).find("Keras"),
            std::string::npos);
  EXPECT_NE(name_of(zip({"readme.txt"})).find("ZIP"), std::string::npos);
}

// Files that torch.save wrote: what they are, and lines of Python with the file's own name.
TEST(Describe, FilesOfTorchSave) {
  const auto described = [](const std::string& name) {
    const fs::path path = fs::path(EC_TORCH_MODELS) / name;
    std::ifstream file(path, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    const auto format = describe(content, path);
    return format ? format->name + "\n" + format->hint : std::string();
  };
  const std::string weights = described("reject_state_dict.pth");
  EXPECT_NE(weights.find("a PyTorch state_dict"), std::string::npos) << weights;
  EXPECT_NE(weights.find("load_state_dict(torch.load(\"reject_state_dict.pth\"))"),
            std::string::npos)
      << weights;
  EXPECT_NE(weights.find("torch.jit.trace"), std::string::npos) << weights;
  const std::string module = described("reject_pickled_module.pth");
  EXPECT_NE(module.find("class 'torch.nn.modules.linear.Linear'"), std::string::npos) << module;
  const std::string legacy = described("reject_state_dict_legacy.pth");
  EXPECT_NE(legacy.find("before 1.6"), std::string::npos) << legacy;
}

TEST(Describe, TextAndTensorFlow) {
  EXPECT_NE(name_of("version https://git-lfs.github.com/spec/v1\noid ...").find("LFS"),
            std::string::npos);
  EXPECT_NE(name_of("<!DOCTYPE html><html>").find("HTML"), std::string::npos);
  EXPECT_NE(name_of("{\"a\": 1}").find("JSON"), std::string::npos);
  EXPECT_NE(name_of(std::string("\x08\x01\x12\x02", 4), "m/saved_model.pb").find("SavedModel"),
            std::string::npos);
}

TEST(Describe, OddBytesAreNothing) {
  EXPECT_EQ(name_of(""), "");
  EXPECT_EQ(name_of(std::string("\x01\x02\x03\x04", 4)), "");
  EXPECT_EQ(name_of("PK"), "a text file");
}

class ChooseFrontend : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::path(testing::TempDir()) /
        (std::string("choose_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  Code error_of(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return choose(folder_ / name);
  }
  Code choose(const fs::path& path) {
    const Frontend* const frontends[] = {&onnx_frontend(), &tensorflow_frontend()};
    const auto source = ModelSource::open(path);
    if (!source.ok()) return source.error().code();
    const auto chosen = choose_frontend(frontends, *source);
    if (chosen.ok()) return Code{};
    EXPECT_FALSE(chosen.error().diagnostic().hint.empty());
    return chosen.error().code();
  }
  fs::path folder_;
};

TEST_F(ChooseFrontend, ByContent) {
  // ir_version 8, producer "x", then a graph.
  EXPECT_EQ(error_of("model.dat", std::string("\x08\x08\x12\x01x\x3a\x00", 7)), Code{});
  EXPECT_EQ(error_of("model.onnx", "GGUF...."), Code::UnsupportedFormat);
  EXPECT_EQ(error_of("model.bin", std::string("\x01\x02\x03\x04", 4)), Code::UnknownFormat);
  EXPECT_EQ(error_of("empty.onnx", ""), Code::EmptyFile);
  EXPECT_EQ(choose(folder_ / "missing.onnx"), Code::FileNotFound);
  EXPECT_EQ(choose(folder_), Code::UnknownFormat);
  std::ofstream(folder_ / "saved_model.pb") << "x";
  EXPECT_EQ(choose(folder_), Code{});
}

}  // namespace
}  // namespace ec
