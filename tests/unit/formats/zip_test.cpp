// Checksums of ZIP entries, in memory and in files.
#include "formats/zip/zip.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "formats/zip/crc32.h"
#include "frontend/torch/archive_builder.h"
#include "temporary_directory.h"

namespace ec::zip {
namespace {

std::string random_text(size_t size) {
  std::mt19937 random(7);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST(Crc32, IsThatOfTheDefinitionForEverySizeAndPlace) {
  EXPECT_EQ(crc32(0, bytes_of("123456789")), 0xcbf43926u);
  EXPECT_EQ(crc32(0, {}), 0u);
  const std::string text = random_text(1200);
  for (size_t size = 0; size < 600; ++size)
    for (const size_t at : {0, 1, 7}) {
      const std::string part = text.substr(at, size);
      ASSERT_EQ(crc32(0, bytes_of(text).subspan(at, size)), torch::testing::crc32(part)) << size;
    }
}

TEST(Crc32, GoesOn) {
  const std::string text = random_text(5000);
  const uint32_t whole = torch::testing::crc32(text);
  for (const size_t cut : {0, 1, 15, 64, 200, 2500, 4999, 5000}) {
    const auto front = bytes_of(text).first(cut), back = bytes_of(text).subspan(cut);
    EXPECT_EQ(crc32(crc32(0, front), back), whole) << cut;
  }
}

class StoredEntry : public ::testing::Test {
 protected:
  // An archive as a file, one byte of which is another when `damaged_at` is inside the entry.
  FileBytes write(size_t damaged_at = SIZE_MAX) {
    std::string archive = torch::testing::zip({{"first", "1"}, {"weights", content_}});
    if (damaged_at < content_.size()) archive[archive.find(content_) + damaged_at] ^= 1;
    std::ofstream(folder_ / "a.zip", std::ios::binary) << archive;
    auto file = InputFile::open(folder_ / "a.zip");
    EXPECT_TRUE(file.ok());
    auto bytes = FileBytes::open(std::move(*file));
    EXPECT_TRUE(bytes.ok());
    return std::move(*bytes);
  }

  TemporaryDirectory folder_;
  std::string content_ = random_text(1100000);
};

TEST_F(StoredEntry, OfAFileHasItsChecksum) {
  const auto archive = Archive::open(write());
  ASSERT_TRUE(archive.ok());
  EXPECT_TRUE(archive->verify(*archive->find("weights")).ok());
}

TEST_F(StoredEntry, IsRefusedForOneByteWhereverItIs) {
  for (const size_t at : {size_t{0}, size_t{262143}, size_t{262144}, content_.size() - 1}) {
    const auto archive = Archive::open(write(at));
    ASSERT_TRUE(archive.ok());
    const Status status = archive->verify(*archive->find("weights"));
    ASSERT_FALSE(status.ok()) << at;
    EXPECT_EQ(status.error().code(), Code::CorruptFile);
    EXPECT_NE(status.error().message().find("'weights' fails its checksum"), std::string::npos);
  }
}

TEST_F(StoredEntry, OfBytesInMemoryIsToldAtOnce) {
  for (const bool damaged : {false, true}) {
    std::string bytes = torch::testing::zip({{"weights", content_}});
    if (damaged) bytes[bytes.find(content_) + 5] ^= 1;
    const auto archive = Archive::open(torch::testing::blob_of(bytes));
    ASSERT_TRUE(archive.ok());
    EXPECT_NE(archive->verify(*archive->find("weights")).ok(), damaged);
    EXPECT_NE(archive->read(*archive->find("weights")).ok(), damaged);
  }
}

}  // namespace
}  // namespace ec::zip
