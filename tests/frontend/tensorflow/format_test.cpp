// The wire formats of TensorFlow: tables, packed blocks, checkpoints, tensors.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "formats/tensorflow/checkpoint.h"
#include "formats/tensorflow/decode.h"
#include "formats/tensorflow/graph_outline.h"
#include "formats/tensorflow/snappy.h"
#include "formats/tensorflow/table.h"
#include "formats/tensorflow/tensor_data.h"
#include "frontend/tensorflow/graph_writer.h"
#include "support/deferred_bytes.h"
#include "temporary_directory.h"

namespace ec::tf {
namespace {

using namespace std::string_literals;

TEST(Snappy, LiteralsAndCopies) {
  // "abcd", then 8 bytes from 4 back (overlapping), then a literal.
  const std::string packed = "\x0e\x0c"s + "abcd" + "\x11\x04"s + "\x04"s + "xy";
  const auto text = unpack_snappy(packed, 100);
  ASSERT_TRUE(text.ok()) << text.error().message();
  EXPECT_EQ(*text, "abcdabcdabcdxy");
}

TEST(Snappy, LongForms) {
  std::string body(100, 'q');
  const std::string packed = "\xa4\x01"s + "\xf0\x63"s + body + "\xfe\x64\x00"s;
  const auto text = unpack_snappy(packed, 1000);
  ASSERT_TRUE(text.ok()) << text.error().message();
  EXPECT_EQ(*text, std::string(164, 'q'));
}

TEST(Snappy, DamageIsAnError) {
  for (const std::string& packed :
       {""s, "\xff\xff\xff\xff\xff\xff"s, "\x05\x10"s + "ab", "\x04\x01\x01"s, "\x08\x0c"s + "abcd",
        "\x04\x0c"s + "abcd" + "\x05\x01", "\x7f\x00"s + "a"})
    EXPECT_FALSE(unpack_snappy(packed, 1 << 20).ok());
  EXPECT_FALSE(unpack_snappy("\x0e\x0c"s + "abcd" + "\x11\x04"s + "\x04"s + "xy", 13).ok());
}

TEST(Table, Checksum) {
  // CRC-32C of "123456789" is e3069283.
  const uint32_t crc = 0xe3069283u;
  EXPECT_EQ(masked_crc32c("123456789"), ((crc >> 15) | (crc << 17)) + 0xa282ead8u);
}

std::string varint(uint64_t value) {
  std::string out;
  for (; value > 127; value >>= 7) out += static_cast<char>((value & 127) | 128);
  return out + static_cast<char>(value);
}

std::string entry(size_t shared, const std::string& added, const std::string& value) {
  return varint(shared) + varint(added.size()) + varint(value.size()) + added + value;
}

// A block with its trailer. Returns its handle.
std::string add_block(std::string& file, std::string entries, char type = 0) {
  entries += "\0\0\0\0\1\0\0\0"s;
  if (type == 1)  // as one literal
    entries = varint(entries.size()) + "\xf4"s + static_cast<char>((entries.size() - 1) & 255) +
              static_cast<char>((entries.size() - 1) >> 8) + entries;
  const std::string handle = varint(file.size()) + varint(entries.size());
  entries += type;
  const uint32_t crc = masked_crc32c(entries);
  file += entries;
  for (int i = 0; i < 4; ++i) file += static_cast<char>(crc >> (8 * i));
  return handle;
}

std::string table(const std::string& entries, char type) {
  std::string file;
  const std::string data = add_block(file, entries, type);
  const std::string meta = add_block(file, "");
  const std::string index = add_block(file, entry(0, "zz", data));
  std::string footer = meta + index;
  footer.resize(40, '\0');
  return file + footer + "\x57\xfb\x80\x8b\x24\x75\x47\xdb"s;
}

TEST(Table, EntriesShareTheirBeginnings) {
  for (const char type : {'\0', '\1'}) {
    const auto entries =
        read_table(table(entry(0, "", "head") + entry(0, "abc", "1") + entry(2, "d", "2"), type));
    ASSERT_TRUE(entries.ok()) << entries.error().message();
    EXPECT_EQ(*entries,
              (std::map<std::string, std::string>{{"", "head"}, {"abc", "1"}, {"abd", "2"}}));
  }
}

TEST(Table, DamageIsAnError) {
  const std::string good = table(entry(0, "abc", "1"), 0);
  ASSERT_TRUE(read_table(good).ok());
  for (size_t i = 0; i < good.size() - 48; ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x55);
    const auto entries = read_table(bad);
    // The metaindex block is not read.
    if (entries.ok()) {
      EXPECT_EQ(entries->at("abc"), "1") << i;
    }
  }
  for (size_t i = 0; i < good.size(); ++i) EXPECT_FALSE(read_table(good.substr(0, i)).ok()) << i;
}

std::string bundle_entry(int type, const std::vector<int64_t>& sizes, int64_t offset,
                         int64_t size) {
  std::string out;
  protozero::pbf_writer writer(out);
  writer.add_int32(1, type);
  writer.add_bytes(2, testing::shape(sizes));
  writer.add_int64(4, offset);
  writer.add_int64(5, size);
  return out;
}

TEST(Checkpoint, ValuesAreRangesOfTheShard) {
  std::string header;
  protozero::pbf_writer(header).add_int32(1, 1);
  const std::string file = table(entry(0, "", header) + entry(0, "w", bundle_entry(1, {2}, 4, 8)) +
                                     entry(0, "x", bundle_entry(1, {3}, 0, 8)),
                                 1);
  const std::vector<float> data = {1, 2, 3};
  std::string asked;
  const auto read = [&](const Checkpoint::Range& range) -> Result<Blob> {
    asked = range.name;
    EXPECT_TRUE(range.is_weight);
    return Blob::copy_of(std::span<const float>(data)).slice(range.offset, range.size);
  };
  const auto checkpoint =
      Checkpoint::open(Blob::copy_of(std::span<const char>(file)), "variables", read);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message();
  const CheckpointEntry* w = checkpoint->find("w");
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(checkpoint->find("y"), nullptr);
  const auto value = checkpoint->read(*w, "w");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(asked, "variables.data-00000-of-00001");
  EXPECT_EQ(std::memcmp(value->bytes().data(), data.data() + 1, 8), 0);
  // Three floats need twelve bytes.
  EXPECT_FALSE(checkpoint->read(*checkpoint->find("x"), "x").ok());
}

TEST(TensorData, TheLastValueFillsTheRest) {
  std::string message;
  protozero::pbf_writer writer(message);
  writer.add_int32(1, 3);
  writer.add_bytes(2, testing::shape({2, 2}));
  writer.add_int32(7, 5);
  writer.add_int32(7, -6);
  const Blob file = Blob::copy_of(std::span<const char>(message));
  const auto tensor =
      decode_tensor({reinterpret_cast<const char*>(file.bytes().data()), file.size()});
  ASSERT_TRUE(tensor.ok());
  const auto data = TensorReader(file).read(*tensor);
  ASSERT_TRUE(data.ok()) << data.error().message();
  const int32_t want[] = {5, -6, -6, -6};
  ASSERT_EQ(data->size(), sizeof(want));
  EXPECT_EQ(std::memcmp(data->bytes().data(), want, sizeof(want)), 0);
}

TEST(TensorData, FewBytesDoNotAskForGigabytes) {
  std::string message;
  protozero::pbf_writer writer(message);
  writer.add_int32(1, 1);
  writer.add_bytes(2, testing::shape({1 << 20, 1 << 12}));
  const Blob file = Blob::copy_of(std::span<const char>(message));
  const auto tensor =
      decode_tensor({reinterpret_cast<const char*>(file.bytes().data()), file.size()});
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(TensorReader(file).read(*tensor).error().code(), Code::TooLarge);
}

// The weights of a graph stay in its file; what stands around them is read.
TEST(GraphOutline, LeavesWeightsInTheFile) {
  std::vector<float> numbers(100000);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  testing::GraphWriter writer;
  writer.input("x", {1, 4}).constant("small", {4}, {1, 2, 3, 4}).constant("w", {100000}, numbers);
  writer.node("last", "Identity", {"w"});
  const TemporaryDirectory folder;
  const Blob bytes = writer.blob();
  std::ofstream(folder / "graph.pb", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.bytes().data()),
             static_cast<std::streamsize>(bytes.size()));
  auto input = InputFile::open(folder / "graph.pb");
  ASSERT_TRUE(input.ok());
  const auto file = FileBytes::open(std::move(*input));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(read_graph_outline(*file).ok());
  Budget budget = Budget::for_file(file->size());
  const auto graph =
      decode_graph({reinterpret_cast<const char*>(file->span().data()), file->size()}, budget);
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  ASSERT_EQ(graph->list.nodes.size(), 4u);
  EXPECT_EQ(graph->list.nodes[3].name, "last");
  TensorReader reader(*file);
  for (const Attribute& attribute : graph->list.nodes[2].attributes) {
    if (attribute.name != "value") continue;
    const auto tensor = decode_tensor(decode_attribute(attribute.value)->message);
    ASSERT_TRUE(tensor.ok());
    const auto data = reader.read(*tensor);
    ASSERT_TRUE(data.ok());
    EXPECT_NE(unread_source(*data), nullptr);
    EXPECT_EQ(tensor->content[tensor->content.size() / 2], '\0') << "the middle was not read";
    ASSERT_TRUE(read_deferred(*data).ok());
    EXPECT_EQ(std::memcmp(data->bytes().data(), numbers.data(), data->size()), 0);
  }
}

// Whatever the length of a graph that is cut off, reading its outline ends well; decoding tells.
TEST(GraphOutline, TakesDamagedFiles) {
  testing::GraphWriter writer;
  writer.input("x", {1, 4}).constant("w", {20000}, std::vector<float>(20000, 1.0f));
  const Blob bytes = writer.blob();
  const TemporaryDirectory folder;
  for (size_t size = 1; size < bytes.size(); size += 1 + size / 3) {
    std::ofstream(folder / "graph.pb", std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.bytes().data()),
               static_cast<std::streamsize>(size));
    auto input = InputFile::open(folder / "graph.pb");
    ASSERT_TRUE(input.ok());
    const auto file = FileBytes::open(std::move(*input));
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(read_graph_outline(*file).ok()) << size;
    Budget budget = Budget::for_file(size);
    const char* cut = reinterpret_cast<const char*>(file->span().data());
    const char* whole = reinterpret_cast<const char*>(bytes.bytes().data());
    Budget again = Budget::for_file(size);
    EXPECT_EQ(decode_graph({cut, size}, budget).ok(), decode_graph({whole, size}, again).ok());
  }
}

}  // namespace
}  // namespace ec::tf
