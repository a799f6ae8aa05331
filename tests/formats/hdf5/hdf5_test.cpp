// HDF5 files in every form that the reader has (gen_files.py), and files that are not sound.
#include "formats/hdf5/hdf5.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>

namespace ec::hdf5 {
namespace {

std::string content(const std::string& name) {
  std::ifstream file(std::string(EC_HDF5_FILES) + "/" + name, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Blob blob(const std::string& bytes) {
  return Blob::copy_of(std::span<const char>(bytes.data(), bytes.size()));
}

template <class T>
T element(const Array& array, size_t i) {
  T value;
  std::memcpy(&value, array.data.bytes().data() + i * sizeof(T), sizeof(T));
  return value;
}

Result<Array> read(const File& file, std::string_view path) {
  EC_TRY(const auto address, file.find(file.root(), path));
  if (!address) return Error(Code::UndefinedName, "nothing there");
  return file.dataset(*address);
}

class Hdf5Form : public ::testing::TestWithParam<const char*> {};

TEST_P(Hdf5Form, IsRead) {
  const auto file = File::open(blob(content(GetParam())));
  ASSERT_TRUE(file.ok()) << file.error().message();
  const auto floats = read(*file, "group/inner/floats");
  ASSERT_TRUE(floats.ok()) << floats.error().message();
  EXPECT_EQ(floats->shape, (std::vector<int64_t>{3, 4, 5}));
  EXPECT_EQ(floats->type.kind, Type::Kind::Float);
  ASSERT_EQ(floats->data.size(), 240u);
  for (size_t i = 0; i < 60; ++i) EXPECT_EQ(element<float>(*floats, i), static_cast<float>(i) / 4);
  const auto ints = read(*file, "group/inner/ints");
  ASSERT_TRUE(ints.ok()) << ints.error().message();
  ASSERT_EQ(ints->data.size(), 1200u);
  for (size_t i = 0; i < 300; ++i)
    EXPECT_EQ(element<int32_t>(*ints, i), static_cast<int32_t>(i * 7 % 101)) << i;
  const auto flags = read(*file, "group/inner/flags");
  ASSERT_TRUE(flags.ok());
  EXPECT_TRUE(flags->type.boolean);
  EXPECT_EQ(read(*file, "group/inner/half")->type.size, 2u);
  EXPECT_EQ(element<float>(*read(*file, "scalar"), 0), 2.5f);
}

// A file that is not in memory gives what the bytes give.
TEST_P(Hdf5Form, IsReadInParts) {
  auto input = InputFile::open(std::string(EC_HDF5_FILES) + "/" + GetParam());
  ASSERT_TRUE(input.ok());
  const auto parts = FileBytes::open(std::move(*input));
  ASSERT_TRUE(parts.ok());
  const auto file = File::open(*parts), whole = File::open(blob(content(GetParam())));
  ASSERT_TRUE(file.ok() && whole.ok());
  for (const char* name : {"floats", "ints", "flags", "half"}) {
    const std::string path = std::string("group/inner/") + name;
    const auto got = read(*file, path), expected = read(*whole, path);
    ASSERT_TRUE(got.ok() && expected.ok()) << path;
    EXPECT_TRUE(got->data == expected->data) << path;
  }
  EXPECT_EQ(element<float>(*read(*file, "scalar"), 0), 2.5f);
}

TEST_P(Hdf5Form, HasAttributes) {
  const auto file = File::open(blob(content(GetParam())));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file->text_attribute(file->root(), "short")).value(), "text");
  EXPECT_EQ((*file->text_attribute(file->root(), "long")).value().size(), 14u * 6000u);
  EXPECT_EQ((*file->texts_attribute(file->root(), "names")).value(),
            (std::vector<std::string>{"a", "bc", "def"}));
  EXPECT_EQ((*file->texts_attribute(file->root(), "fixed")).value(),
            (std::vector<std::string>{"one", "three"}));
  EXPECT_TRUE((*file->texts_attribute(file->root(), "empty")).value().empty());
  EXPECT_FALSE((*file->text_attribute(file->root(), "absent")).has_value());
}

TEST_P(Hdf5Form, HasManyMembers) {
  const auto file = File::open(blob(content(GetParam())));
  ASSERT_TRUE(file.ok());
  const auto many = file->find(file->root(), "many");
  ASSERT_TRUE(many.ok() && *many);
  EXPECT_EQ((*file->links(**many))->size(), 40u);
  for (int k = 0; k < 40; ++k)
    EXPECT_EQ(element<float>(*read(*file, "many/d" + std::to_string(k)), 0), static_cast<float>(k));
  for (int k = 0; k < 20; ++k)
    EXPECT_EQ((*file->text_attribute(**many, "a" + std::to_string(k))).value(),
              "value " + std::to_string(k));
}

INSTANTIATE_TEST_SUITE_P(Files, Hdf5Form,
                         ::testing::Values("plain.h5", "latest.h5", "chunks.h5", "packed.h5",
                                           "packed_latest.h5"),
                         [](const auto& test) {
                           return std::string(test.param).substr(0, std::strlen(test.param) - 3);
                         });

TEST(Hdf5, PlainDataAreSlicesOfTheFile) {
  const Blob bytes = blob(content("plain.h5"));
  const auto file = File::open(bytes);
  ASSERT_TRUE(file.ok());
  const auto floats = read(*file, "group/inner/floats");
  ASSERT_TRUE(floats.ok());
  EXPECT_GE(floats->data.bytes().data(), bytes.bytes().data());
  EXPECT_LE(floats->data.bytes().data(), bytes.bytes().data() + bytes.size());
}

TEST(Hdf5, LinksElsewhereAreNotFollowed) {
  const auto file = File::open(blob(content("links.h5")));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->find(file->root(), "external").error().code(), Code::UnsupportedFormat);
  EXPECT_EQ(file->find(file->root(), "soft").error().code(), Code::UnsupportedFormat);
  EXPECT_TRUE(read(*file, "data").ok());
}

TEST(Hdf5, CirclesAndLiesAreRefused) {
  std::string bytes = content("plain.h5");
  // Every tree whose first child is the tree itself.
  size_t at = 0, found = 0;
  while ((at = bytes.find("TREE", at)) != std::string::npos) {
    std::string damaged = bytes;
    damaged[at + 5] = 1;
    const uint64_t self = at;
    std::memcpy(damaged.data() + at + 24 + 8, &self, sizeof self);
    const auto file = File::open(blob(damaged));
    if (file.ok()) {
      const auto links = file->links(file->root());
      const auto inner = read(*file, "group/inner/floats");
      EXPECT_TRUE(!links.ok() || !inner.ok() || found > 0);
    }
    ++found;
    at += 4;
  }
  EXPECT_GE(found, 3u);
  for (const size_t size : {size_t{0}, size_t{7}, size_t{8}, size_t{100}, bytes.size() / 2}) {
    const auto file = File::open(blob(bytes.substr(0, size)));
    if (!file.ok()) continue;
    const auto floats = read(*file, "group/inner/floats");
    if (!floats.ok()) continue;
    EXPECT_EQ(floats->data.size(), 240u);
  }
}

}  // namespace
}  // namespace ec::hdf5
