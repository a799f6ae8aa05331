#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "support/blob.h"
#include "support/diagnostic.h"
#include "support/file.h"
#include "support/result.h"
#include "support/sha256.h"
#include "support/strings.h"
#include "support/threads.h"
#include "temporary_directory.h"

namespace ec {
namespace {

namespace fs = std::filesystem;

TEST(Threads, NoneWantedMeansOnePerCore) {
  EXPECT_EQ(threads_for(3), 3);
  EXPECT_EQ(threads_for(0), std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
}

class TempDir : public ::testing::Test {
 protected:
  std::string read(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  TemporaryDirectory folder_;
  fs::path dir_ = folder_.path();
};
using FileTest = TempDir;

TEST(Codes, NumbersAreUniqueAndFindable) {
  std::set<unsigned> numbers;
  for (const CodeInfo& info : all_codes()) {
    EXPECT_TRUE(numbers.insert(static_cast<unsigned>(info.code)).second) << info.name;
    EXPECT_EQ(find_code(code_id(info.code)), &info);
    EXPECT_FALSE(info.title.empty());
    EXPECT_FALSE(info.explanation.empty());
  }
  EXPECT_EQ(find_code("EC0000"), nullptr);
  EXPECT_EQ(find_code("nonsense"), nullptr);
}

TEST(Diagnostics, TextHasAllParts) {
  Diagnostic d(Code::UnsupportedOp, "operator Foo is not known");
  d.file = "m.onnx";
  d.node = "n1";
  d.op_type = "Foo";
  d.notes = {"a note"};
  d.hint = "a way out";
  EXPECT_EQ(format_diagnostic(d),
            "m.onnx: node 'n1' (Foo): error EC3001: operator Foo is not known\n  note: a note\n  "
            "hint: a way out");
}

TEST(Diagnostics, SinkKeepsFiftyErrorsAndCountsAll) {
  DiagnosticSink sink;
  for (int i = 0; i < 60; ++i) sink.report(Error(Code::BadValue, std::to_string(i)));
  EXPECT_EQ(sink.error_count(), 60u);
  EXPECT_EQ(sink.diagnostics().size(), 50u);
  EXPECT_EQ(sink.first_error().message(), "0");
}

TEST(Sha256, KnownDigests) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  // Two blocks, and a length that leaves no room for itself in the first.
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Strings, NearestNames) {
  const std::string_view known[] = {"fold-constants", "fuse-conv-bn", "layout"};
  EXPECT_EQ(did_you_mean("fold-constant", known), "did you mean 'fold-constants'?");
  EXPECT_EQ(did_you_mean("zzzzzz", known), "");
  EXPECT_EQ(did_you_mean("LAYOUT", known), "did you mean 'layout'?");
}

TEST(Strings, NumbersReadBackEqual) {
  for (const float v : {0.1f, 1e-45f, 3.4028235e38f, -0.0f})
    EXPECT_EQ(static_cast<float>(*parse_double(format_float(v))), v);
  EXPECT_EQ(parse_int("12x"), std::nullopt);
  EXPECT_EQ(parse_int("99999999999999999999"), std::nullopt);
}

TEST(Strings, PrintableEscapesControlBytes) {
  EXPECT_EQ(printable("a\n\x1b[31m"), "a\\x0a\\x1b[31m");
}

TEST(BlobTest, AlignsOnDemandAndSharesOtherwise) {
  Buffer buffer = Buffer::allocate(32);
  buffer.data()[5] = std::byte{7};
  const Blob blob = std::move(buffer).to_blob();
  EXPECT_TRUE(blob.is_aligned(64));
  const Blob odd = blob.slice(5, 8);
  EXPECT_FALSE(odd.is_aligned(4));
  EXPECT_TRUE(odd.aligned().is_aligned(16));
  EXPECT_EQ(odd.aligned(), odd);
  EXPECT_EQ(blob.aligned().bytes().data(), blob.bytes().data());
}

TEST(BlobTest, ImpossibleSizesAreRefused) { EXPECT_FALSE(Buffer::allocate(SIZE_MAX - 3).ok()); }

TEST_F(FileTest, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(map_file(dir_ / "none").error().code(), Code::FileNotFound);
  EXPECT_EQ(map_file(dir_).error().code(), Code::FileUnreadable);
  std::ofstream(dir_ / "empty").close();
  EXPECT_EQ(map_file(dir_ / "empty").error().code(), Code::EmptyFile);
}

TEST_F(FileTest, OutputAppearsWholeOrNotAtAll) {
  const fs::path path = dir_ / "out.bin";
  {
    auto file = AtomicFile::create(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write("half").ok());
    EXPECT_FALSE(fs::exists(path));
  }
  EXPECT_TRUE(fs::is_empty(dir_)) << "the temporary must be gone";
  ASSERT_TRUE(write_file(path, std::string_view("whole")).ok());
  EXPECT_EQ(read(path), "whole");
  ASSERT_TRUE(write_file(path, std::string_view("again")).ok());
  EXPECT_EQ(read(path), "again");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), {}), 1);
}

TEST_F(FileTest, WritesManyPartsInOrder) {
  const fs::path source = dir_ / "source.bin", path = dir_ / "out.bin";
  std::string large(300000, ' ');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>('a' + i % 23);
  ASSERT_TRUE(write_file(source, std::string_view(large)).ok());
  auto mapped = map_file(source);
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
  auto file = AtomicFile::create(dir_ / "out.bin");
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
