// Keras files that were made to harm: HDF5 with lengths, sizes and addresses that lie (huge chunks,
// objects that hold themselves), archives that unpack to far more than they are, and names that
// lead outside. EC_MUTATIONS sets the number of HDF5 files.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <random>
#include <set>

#include "formats/hdf5/hdf5.h"
#include "frontend/keras/keras.h"
#include "frontend/torch/archive_builder.h"
#include "fuzz/mutation_cases.h"
#include "ir/graph.h"

namespace ec::keras {
namespace {

using fuzz::read_file;
using torch::testing::blob_of;

// --- HDF5 ----------------------------------------------------------------------------------------

// Reads every object once and all attributes that the files have. Gives the number of objects.
size_t read_all(const hdf5::File& file) {
  std::set<hdf5::Address> seen = {file.root()};
  std::vector<hdf5::Address> open = {file.root()};
  while (!open.empty() && seen.size() < 10000) {
    const hdf5::Address at = open.back();
    open.pop_back();
    for (const char* name : {"short", "long", "names", "fixed", "empty", "a3"})
      (void)file.texts_attribute(at, name);
    const auto dataset = file.is_dataset(at);
    if (dataset.ok() && *dataset) (void)file.dataset(at);
    const auto links = file.links(at);
    if (!links.ok()) continue;
    for (const auto& [name, link] : **links) {
      (void)file.find(at, name);
      if (seen.insert(link.address).second) open.push_back(link.address);
    }
  }
  return seen.size();
}

// The files are mostly one long text: damage there tells nothing.
bool is_text(const std::string& bytes, size_t at) {
  for (size_t i = 0; i < 4; ++i)
    if (bytes[at + i] < ' ' || bytes[at + i] > '~') return false;
  return true;
}

// One number of 2, 4 or 8 bytes becomes a lie: the largest, a negative one, the place itself.
void lie(std::string& bytes, std::mt19937_64& random) {
  size_t at = 0;
  do {
    at = 8 + random() % (bytes.size() - 16);
  } while (is_text(bytes, at));
  const uint64_t lies[] = {UINT64_MAX, INT64_MAX, at,       random() % bytes.size(),
                           0,          INT32_MAX, 1u << 30, bytes.size()};
  const uint64_t value = lies[random() % std::size(lies)];
  std::memcpy(bytes.data() + at, &value, size_t{2} << random() % 3);
}

TEST(KerasHostile, NumbersOfHdf5MayLie) {
  std::vector<std::string> files;
  for (const char* name : {"plain", "latest", "chunks", "packed", "packed_latest", "links"})
    files.push_back(read_file(std::string(EC_HDF5_FILES) + "/" + name + ".h5"));
  int whole = 0;
  for (int i = 0; i < fuzz::mutation_count(1000); ++i) {
    std::mt19937_64 random(static_cast<uint64_t>(i) * 7919 + 5);
    std::string bytes = files[static_cast<size_t>(i) % files.size()];
    for (size_t k = 0, count = 1 + random() % 3; k < count; ++k) lie(bytes, random);
    const fuzz::LimitedCase limits;
    const auto file = hdf5::File::open(blob_of(bytes));
    if (file.ok() && read_all(*file) > 40) ++whole;
    limits.expect_memory(bytes.size(), "case " + std::to_string(i));
  }
  // Most lies are far from the way to the others.
  EXPECT_GT(whole, fuzz::mutation_count(1000) / 4);
}

// --- archives ------------------------------------------------------------------------------------

std::string deflated(const std::string& content) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// An archive of packed entries; `size` is what each says it unpacks to.
std::string packed_zip(const torch::testing::Records& packed, uint32_t size) {
  std::string bytes = torch::testing::zip(packed);
  const auto patch = [&](const char* mark, size_t method, size_t unpacked) {
    for (size_t at = bytes.find(mark); at != std::string::npos; at = bytes.find(mark, at + 4)) {
      bytes[at + method] = 8;
      std::memcpy(bytes.data() + at + unpacked, &size, sizeof size);
    }
  };
  patch("PK\x01\x02", 10, 24);
  patch("PK\x03\x04", 8, 22);
  return bytes;
}

void expect_refused(const std::string& bytes, const std::string& label) {
  const fuzz::LimitedCase limits;
  DiagnosticSink sink;
  const auto graph = import_keras(blob_of(bytes), label, {}, sink);
  ASSERT_FALSE(graph.ok()) << label;
  EXPECT_FALSE(graph.error().message().empty()) << label;
  EXPECT_NE(graph.error().code(), Code::Internal) << label;
  limits.expect_memory(bytes.size(), label);
}

TEST(KerasHostile, ArchivesThatUnpackToMuchAreRefused) {
  constexpr uint32_t kMegabyte = 1 << 20;
  const std::string spaces = deflated(std::string(200 * kMegabyte, ' '));
  const std::string brackets = deflated(std::string(100 * kMegabyte, '['));
  for (const uint32_t told : {200 * kMegabyte, kMegabyte, uint32_t{100}, UINT32_MAX}) {
    const std::string label = "told " + std::to_string(told);
    expect_refused(packed_zip({{"config.json", spaces}, {"model.weights.h5", spaces}}, told),
                   label);
    expect_refused(packed_zip({{"config.json", brackets}, {"model.weights.h5", brackets}}, told),
                   label);
  }
}

TEST(KerasHostile, NamesThatLeadOutsideAreNoParts) {
  const std::string weights = read_file(std::string(EC_HDF5_FILES) + "/plain.h5");
  for (const char* folder : {"../", "/tmp/", "a/../../", "..\\"}) {
    const std::string prefix = folder;
    expect_refused(torch::testing::zip(
                       {{prefix + "config.json", "{}"}, {prefix + "model.weights.h5", weights}}),
                   prefix);
  }
}

}  // namespace
}  // namespace ec::keras
