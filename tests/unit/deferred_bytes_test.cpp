// Bytes that stay in their file until they are needed, and files that are read in parts.
#include "support/deferred_bytes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/file_bytes.h"
#include "temporary_directory.h"

namespace ec {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Letters, and how often they were read.
class Letters final : public ByteSource {
 public:
  Status read(size_t offset, std::span<std::byte> out) const override {
    ++reads;
    for (size_t i = 0; i < out.size(); ++i) out[i] = std::byte('a' + (offset + i) % 26);
    return {};
  }
  mutable int reads = 0;
};

class Broken final : public ByteSource {
 public:
  Status read(size_t, std::span<std::byte>) const override {
    return Error(Code::FileUnreadable, "gone");
  }
};

TEST(DeferredBytes, AreReadOnceWhenTheyAreNeeded) {
  const auto letters = std::make_shared<const Letters>();
  const Blob blob = deferred_blob(100000, letters);
  ASSERT_EQ(blob.size(), 100000u);
  EXPECT_EQ(blob.bytes()[0], std::byte{0});
  EXPECT_EQ(unread_source(blob), letters);
  EXPECT_EQ(unread_source(blob.slice(0, 99999)), nullptr) << "a part is not the whole";
  EXPECT_EQ(letters->reads, 0);
  // Reading a part reads all: the others that see the bytes must not find half of them.
  ASSERT_TRUE(read_deferred(blob.slice(50000, 10)).ok());
  EXPECT_EQ(text_of(blob.bytes().first(3)), "abc");
  EXPECT_EQ(unread_source(blob), nullptr);
  ASSERT_TRUE(read_deferred(blob).ok());
  EXPECT_EQ(letters->reads, 1);
}

TEST(DeferredBytes, DoNotMixUp) {
  const auto letters = std::make_shared<const Letters>();
  std::vector<Blob> blobs;
  for (size_t size = 1; size < 200; ++size) blobs.push_back(deferred_blob(size, letters));
  blobs.push_back(deferred_blob(size_t{70} << 20, letters));  // more than addresses are taken for
  blobs.push_back(deferred_blob(7, letters));
  for (const Blob& blob : blobs) {
    EXPECT_TRUE(blob.is_aligned(Blob::kAlignment));
    EXPECT_EQ(unread_source(blob), letters);
  }
  ASSERT_TRUE(read_deferred(blobs[100]).ok());
  EXPECT_EQ(unread_source(blobs[99]), letters);
  EXPECT_EQ(unread_source(blobs[101]), letters);
  EXPECT_EQ(text_of(blobs[100].bytes().last(2)), "vw");
  EXPECT_EQ(letters->reads, 1);
}

TEST(DeferredBytes, OtherBlobsAreLeftAlone) {
  const Blob deferred = deferred_blob(10, std::make_shared<const Letters>());
  const Blob plain = Blob::copy_of(std::span<const char>("0123456789", 10));
  EXPECT_EQ(unread_source(plain), nullptr);
  EXPECT_EQ(unread_source({}), nullptr);
  ASSERT_TRUE(read_deferred(plain).ok());
  EXPECT_EQ(text_of(plain.bytes()), "0123456789");
  EXPECT_TRUE(deferred_blob(0, std::make_shared<const Letters>()).empty());
}

TEST(DeferredBytes, AFaultIsToldEveryTime) {
  const Blob blob = deferred_blob(10, std::make_shared<const Broken>());
  for (int i = 0; i < 2; ++i) {
    const Status status = read_deferred(blob);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code(), Code::FileUnreadable);
  }
}

class FileBytesTest : public ::testing::Test {
 protected:
  FileBytesTest() {
    for (size_t i = 0; i < content_.size(); ++i) content_[i] = static_cast<char>('a' + i % 23);
    std::ofstream(path_, std::ios::binary) << content_;
  }
  FileBytes open() {
    auto file = InputFile::open(path_);
    EXPECT_TRUE(file.ok());
    auto bytes = FileBytes::open(std::move(*file));
    EXPECT_TRUE(bytes.ok());
    return std::move(*bytes);
  }

  TemporaryDirectory folder_;
  std::filesystem::path path_ = folder_ / "data";
  std::string content_ = std::string(300000, ' ');
};

TEST_F(FileBytesTest, AreReadInParts) {
  const FileBytes file = open();
  EXPECT_EQ(file.size(), content_.size());
  EXPECT_EQ(file.span()[200000], std::byte{0});
  EXPECT_EQ(text_of(file.range(100, 50)->bytes()), content_.substr(100, 50));
  EXPECT_EQ(text_of(file.span().subspan(100, 50)), content_.substr(100, 50));
  const FileBytes part = file.part(1000, 250000);
  EXPECT_EQ(part.size(), 250000u);
  EXPECT_EQ(text_of(part.range(5, 20)->bytes()), content_.substr(1005, 20));
  std::string out(30, ' ');
  ASSERT_TRUE(part.read(200000, std::as_writable_bytes(std::span(out))).ok());
  EXPECT_EQ(out, content_.substr(201000, 30));
  const auto later = part.later(3, 240000);
  ASSERT_TRUE(later.ok());
  EXPECT_NE(unread_source(*later), nullptr);
  ASSERT_TRUE(read_deferred(*later).ok());
  EXPECT_EQ(text_of(later->bytes()), content_.substr(1003, 240000));
}

TEST_F(FileBytesTest, InMemoryAreTheSame) {
  const FileBytes file(Blob::copy_of(std::span<const char>(content_)));
  EXPECT_TRUE(file.in_memory());
  const FileBytes part = file.part(1000, 250000);
  EXPECT_EQ(text_of(part.range(5, 20)->bytes()), content_.substr(1005, 20));
  EXPECT_EQ(text_of(part.later(3, 240000)->bytes()), content_.substr(1003, 240000));
  EXPECT_EQ(file.file(), nullptr);
}

// Weights that share bytes share their source; those that overlap take no more than the file.
TEST_F(FileBytesTest, RangesThatOverlapAreBounded) {
  const FileBytes file = open();
  const auto first = file.later(0, 200000), same = file.later(0, 200000);
  ASSERT_NE(unread_source(*first), nullptr);
  EXPECT_EQ(unread_source(*first), unread_source(*same));
  const auto other = file.later(1, 200000);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(unread_source(*other), nullptr) << "it is a view of the file's one image";
  EXPECT_EQ(text_of(other->bytes()), content_.substr(1, 200000));
}

TEST_F(FileBytesTest, AFileThatChangesIsAFault) {
  const FileBytes file = open();
  const auto later = file.later(0, 200000);
  ASSERT_TRUE(later.ok());
  EXPECT_TRUE(file.fault().ok());
  std::filesystem::resize_file(path_, 1000);
  const Status status = read_deferred(*later);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::FileUnreadable);
  EXPECT_FALSE(file.fault().ok()) << "readers that cannot tell why ask afterwards";
  EXPECT_FALSE(file.range(0, 10).ok());
}

}  // namespace
}  // namespace ec
