#include <gtest/gtest.h>

#include <set>

#include "support/blob.h"
#include "support/diagnostic.h"
#include "support/result.h"
#include "support/sha256.h"
#include "support/sha256_blocks.h"
#include "support/strings.h"
#include "support/threads.h"

namespace ec {
namespace {

TEST(Threads, NoneWantedMeansOnePerCore) {
  EXPECT_EQ(threads_for(3), 3);
  EXPECT_EQ(threads_for(0), std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
}

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

// Both forms: what a machine with instructions for it never takes otherwise.
TEST(Sha256, PortableBlocksAreThoseOfTheInstructions) {
  std::vector<uint8_t> data(5 * sha256::kBlock);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i * 37 + i / 7);
  sha256::State portable{1, 2, 3, 4, 5, 6, 7, 0xfffffff8}, fast = portable;
  sha256::add_blocks_portable(portable, data.data(), 5);
  sha256::add_blocks(fast, data.data(), 5);
  EXPECT_EQ(portable, fast);
  sha256::State vectors{1, 2, 3, 4, 5, 6, 7, 0xfffffff8};
  if (sha256::add_blocks_by_vectors(vectors, data.data(), 5)) {
    EXPECT_EQ(portable, vectors);
  }
  // The block of "abc", from FIPS 180-4.
  std::array<uint8_t, sha256::kBlock> block{'a', 'b', 'c', 0x80};
  block.back() = 24;
  sha256::State state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  sha256::add_blocks_portable(state, block.data(), 1);
  EXPECT_EQ(state[0], 0xba7816bfu);
  EXPECT_EQ(state[7], 0xf20015adu);
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

}  // namespace
}  // namespace ec
