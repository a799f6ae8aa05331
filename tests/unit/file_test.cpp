#include "support/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "support/atomic_directory.h"
#include "support/input_file.h"
#include "temporary_directory.h"

namespace ec {
namespace {

namespace fs = std::filesystem;

class FileTest : public ::testing::Test {
 protected:
  std::string read(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  TemporaryDirectory folder_;
  fs::path dir_ = folder_.path();
};
TEST_F(FileTest, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(read_file(dir_ / "none").error().code(), Code::FileNotFound);
  EXPECT_EQ(read_file(dir_).error().code(), Code::FileUnreadable);
  std::ofstream(dir_ / "empty").close();
  EXPECT_EQ(read_file(dir_ / "empty").error().code(), Code::EmptyFile);
}

// Each would block, or never end.
TEST_F(FileTest, WhatIsNoRegularFileIsRefusedAtOnce) {
  ASSERT_EQ(::mkfifo((dir_ / "pipe").c_str(), 0600), 0);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string name = (dir_ / "socket").string();
  ASSERT_LT(name.size(), sizeof address.sun_path);
  std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  fs::create_symlink(dir_ / "pipe", dir_ / "link");
  for (const fs::path& path : {dir_ / "pipe", dir_ / "link", dir_ / "socket", fs::path("/dev/zero"),
                               fs::path("/dev/null"), dir_}) {
    const auto file = read_file(path);
    ASSERT_FALSE(file.ok()) << path;
    EXPECT_EQ(file.error().code(), Code::FileUnreadable) << path;
  }
  for (const char* path : {"/dev/null", "/dev/full"})
    EXPECT_EQ(AtomicFile::create(path).error().code(), Code::OutputUnwritable) << path;
  EXPECT_EQ(AtomicFile::create(dir_ / "pipe").error().code(), Code::OutputUnwritable);
  ::close(listener);
}

TEST_F(FileTest, AFileThatChangesWhileItIsReadIsAnError) {
  const fs::path path = dir_ / "data";
  const auto fill = [&](size_t size) { std::ofstream(path) << std::string(size, 'a'); };
  // The clock of files ticks every few milliseconds.
  const auto make_old = [&] {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
  };
  std::vector<std::byte> out(10);
  {
    fill(200000);
    make_old();
    const auto file = InputFile::open(path);
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(file->read(199990, out).ok());
    EXPECT_TRUE(file->check_unchanged().ok());
    fs::resize_file(path, 100000);
    EXPECT_EQ(file->read(199990, out).error().code(), Code::FileUnreadable) << "cut";
    EXPECT_EQ(file->read(0, out).error().code(), Code::FileUnreadable) << "a part that is left";
    EXPECT_FALSE(file->check_unchanged().ok());
  }
  {
    fill(100);
    make_old();
    const auto file = InputFile::open(path);
    ASSERT_TRUE(file.ok());
    std::ofstream(path, std::ios::in | std::ios::out) << "b";
    EXPECT_EQ(file->read(0, out).error().code(), Code::FileUnreadable) << "overwritten in place";
  }
  {
    const auto file = InputFile::open(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(write_file(path, std::string_view("another")).ok());
    EXPECT_TRUE(file->read(0, out).ok()) << "the old file is as it was";
    EXPECT_FALSE(file->check_unchanged().ok()) << "the name is another file's";
    fs::remove(path);
    EXPECT_TRUE(file->check_unchanged().ok()) << "removed files do not change";
  }
}

TEST_F(FileTest, AnImageHoldsEachByteOnce) {
  const fs::path path = dir_ / "data";
  std::string content(300000, ' ');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>('a' + i % 23);
  ASSERT_TRUE(write_file(path, std::string_view(content)).ok());
  auto file = InputFile::open(path);
  ASSERT_TRUE(file.ok());
  auto image = FileImage::open(std::move(*file));
  ASSERT_TRUE(image.ok());
  const auto text = [](const Blob& blob) {
    return std::string(reinterpret_cast<const char*>(blob.bytes().data()), blob.size());
  };
  const auto last = image->range(299990, 10);
  ASSERT_TRUE(last.ok());
  EXPECT_EQ(text(*last), content.substr(299990));
  const auto most = image->range(5, 299990);
  ASSERT_TRUE(most.ok());
  EXPECT_TRUE(text(*most) == content.substr(5, 299990));
  EXPECT_EQ(most->bytes().data() + 299985, last->bytes().data());
  EXPECT_EQ(image->range(300000, 0)->size(), 0u);
}

TEST_F(FileTest, OutputAppearsWholeOrNotAtAll) {
  const fs::path path = dir_ / "out.bin";
  for (const auto until : {AtomicFile::Until::Unnamed, AtomicFile::Until::Named}) {
    fs::remove(path);
    {
      auto file = AtomicFile::create(path, until);
      ASSERT_TRUE(file.ok());
      ASSERT_TRUE(file->write("half").ok());
      EXPECT_FALSE(fs::exists(path));
    }
    EXPECT_TRUE(fs::is_empty(dir_)) << "the temporary must be gone";
    for (const char* text : {"whole", "again"}) {
      auto file = AtomicFile::create(path, until);
      ASSERT_TRUE(file.ok());
      ASSERT_TRUE(file->write(text).ok());
      ASSERT_TRUE(file->commit().ok());
      EXPECT_EQ(read(path), text);
    }
    EXPECT_EQ(std::distance(fs::directory_iterator(dir_), {}), 1);
  }
}

// Nothing can be left behind by a process that is killed.
TEST_F(FileTest, OutputHasNoNameUntilItIsComplete) {
  auto file = AtomicFile::create(dir_ / "out.bin");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write("half").ok());
  if (::open(dir_.c_str(), O_TMPFILE | O_RDWR, 0600) < 0) GTEST_SKIP() << "no unnamed files here";
  EXPECT_TRUE(fs::is_empty(dir_));
  auto directory = AtomicDirectory::create(dir_ / "out");
  ASSERT_TRUE(directory.ok());
  ASSERT_TRUE(directory->write("a/b", {}).ok());
  EXPECT_TRUE(fs::is_empty(dir_));
  ASSERT_TRUE(directory->commit().ok());
  EXPECT_EQ(std::distance(fs::recursive_directory_iterator(dir_), {}), 3);
}

TEST_F(FileTest, ADirectoryIsReplacedWhole) {
  for (const char* name : {"first", "second"}) {
    auto directory = AtomicDirectory::create(dir_ / "out");
    ASSERT_TRUE(directory.ok());
    const std::string text(name);
    const Blob content = Blob::copy_of(std::span<const char>(text));
    ASSERT_TRUE(directory->write(fs::path("folder") / name, std::span(&content, 1)).ok());
    ASSERT_TRUE(directory->commit().ok());
  }
  EXPECT_EQ(read(dir_ / "out" / "folder" / "second"), "second");
  EXPECT_FALSE(fs::exists(dir_ / "out" / "folder" / "first"));
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), {}), 1) << "the old one must be gone";
}

TEST_F(FileTest, SeveralFilesGetTheirNamesTogether) {
  for (const char* text : {"first", "second"}) {
    std::vector<AtomicFile> files;
    for (const char* name : {"a", "b", "c"}) {
      auto file = AtomicFile::create(dir_ / name);
      ASSERT_TRUE(file.ok());
      ASSERT_TRUE(file->write(std::string(name) + text).ok());
      files.push_back(std::move(*file));
    }
    ASSERT_TRUE(commit_all(files).ok());
    for (const std::string name : {"a", "b", "c"}) EXPECT_EQ(read(dir_ / name), name + text);
    EXPECT_EQ(std::distance(fs::directory_iterator(dir_), {}), 3);
  }
  // The last one fails: its name has become a directory's.
  std::vector<AtomicFile> files;
  for (const char* name : {"d", "e"}) {
    auto file = AtomicFile::create(dir_ / name);
    ASSERT_TRUE(file.ok());
    files.push_back(std::move(*file));
  }
  fs::create_directory(dir_ / "e");
  EXPECT_EQ(commit_all(files).error().code(), Code::OutputUnwritable);
  files.clear();
  EXPECT_FALSE(fs::exists(dir_ / "d"));
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), {}), 4);
}

TEST_F(FileTest, WritesManyPartsInOrder) {
  const fs::path source = dir_ / "source.bin", path = dir_ / "out.bin";
  std::string large(300000, ' ');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>('a' + i % 23);
  ASSERT_TRUE(write_file(source, std::string_view(large)).ok());
  auto mapped = read_file(source);
  ASSERT_TRUE(mapped.ok());
  // More parts than one call takes; empty ones first, last and between; one from a mapped file
  // that begins off a page's start.
  std::vector<std::string> texts(2000);
  for (size_t i = 1; i + 1 < texts.size(); ++i)
    if (i % 3 != 0) texts[i] = std::to_string(i) + ",";
  std::vector<std::span<const std::byte>> parts;
  std::string expected;
  for (size_t i = 0; i < texts.size(); ++i) {
    parts.push_back(std::as_bytes(std::span(texts[i])));
    expected += texts[i];
    if (i % 500 != 250) continue;
    parts.push_back(mapped->bytes().subspan(i));
    expected += large.substr(i);
  }
  auto file = AtomicFile::create(path);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write(parts).ok());
  ASSERT_TRUE(file->write(std::span<const std::span<const std::byte>>()).ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_TRUE(read(path) == expected);
}

TEST_F(FileTest, PendingOutputsCanBeRemoved) {
  auto file = AtomicFile::create(dir_ / "out.bin", AtomicFile::Until::Named);
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(fs::is_empty(dir_));
  remove_pending_outputs();
  EXPECT_TRUE(fs::is_empty(dir_));
}

TEST_F(FileTest, UnwritablePlacesAreExplained) {
  const Status status = write_file(dir_ / "no" / "such" / "dir", std::string_view("x"));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::OutputUnwritable);
  EXPECT_FALSE(status.error().diagnostic().hint.empty());
}

}  // namespace
}  // namespace ec
