// Thousands of damaged TensorFlow models, the same ones on every run: each must import, or be
// refused with a diagnostic; no crash, no hang, and a bound on memory. Frozen graphs are damaged as
// a whole; of SavedModels one of the three files is. EC_MUTATIONS sets the number.
#include <gtest/gtest.h>

#include "formats/tensorflow/table.h"
#include "frontend/tensorflow/tensorflow.h"
#include "fuzz/flat_mutator.h"
#include "fuzz/mutation_cases.h"
#include "fuzz/wire_mutator.h"
#include "ir/graph.h"
#include "temporary_directory.h"

namespace ec {
namespace {

namespace fs = std::filesystem;
using fuzz::outcome_of, fuzz::read_file, fuzz::write_file;

fs::path model(const std::string& name) { return fs::path(EC_TENSORFLOW_MODELS) / name; }

constexpr int kUsualCount = 2000;

TEST(TensorflowMutations, FrozenGraphsAreImportedOrRefused) {
  const std::string seeds[] = {read_file(model("cnn_k3_frozen.pb")),
                               read_file(model("reject_loops.pb"))};
  const TemporaryDirectory folder;
  fuzz::Outcomes outcomes;
  for (int i = 0; i < fuzz::mutation_count(kUsualCount); ++i) {
    const std::string& seed = seeds[i % 4 == 3 ? 1 : 0];
    std::string what;
    const std::string bytes =
        fuzz::WireMutator(static_cast<uint64_t>(i) * 7919 + 17).mutate(seed, what);
    const std::string label = "case " + std::to_string(i) + " (" + what + ")";
    const fuzz::LimitedCase limits;
    DiagnosticSink sink;
    const auto source =
        ModelSource::from_bytes("mutated.pb", Blob::copy_of(std::span<const char>(bytes)));
    const auto graph = tensorflow_frontend().import(source, {}, sink);
    const std::string outcome = outcome_of(graph, sink, label);
    ++outcomes[outcome];
    limits.expect_memory(bytes.size(), label);
    EXPECT_GT(limits.peak(), 0u) << label;
    // A file is read in parts, with the same result.
    if (i % 4 != 0 || bytes.empty()) continue;
    const fs::path file = folder / "mutated.pb";
    write_file(file, bytes);
    DiagnosticSink from_file;
    const auto read = tensorflow_frontend().import_file(file, {}, from_file);
    EXPECT_EQ(outcome_of(read, from_file, label), outcome) << label;
    EXPECT_TRUE(!graph.ok() || !read.ok() || **graph == **read) << label;
  }
  fuzz::print(outcomes);
  // The mutations must reach deep into the importer, not bounce off the first byte.
  EXPECT_GT(outcomes.size(), 5u);
}

// A checkpoint index whose checksums hold, so that damage reaches what is behind them.
std::string with_checksums(std::string index, size_t block_end) {
  if (block_end + 5 > index.size()) return index;
  const uint32_t crc = tf::masked_crc32c(std::string_view(index).substr(0, block_end + 1));
  for (size_t i = 0; i < 4; ++i) index[block_end + 1 + i] = static_cast<char>(crc >> (8 * i));
  return index;
}

TEST(TensorflowMutations, SavedModelsAreImportedOrRefused) {
  const char* const names[] = {"lstm_k3_export", "qat_k2_export", "multi_k3_saved", "tf1_saved",
                               "attn_k3_export"};
  const char* const files[] = {"saved_model.pb", "variables/variables.index",
                               "variables/variables.data-00000-of-00001"};
  TemporaryDirectory folder;
  fuzz::Outcomes outcomes;
  std::string current;
  for (int i = 0; i < fuzz::mutation_count(kUsualCount); ++i) {
    const auto number = static_cast<uint64_t>(i) * 104729 + 3;
    const std::string name = names[number % std::size(names)];
    const fs::path copy = folder / "model";
    if (name != current) {
      fs::remove_all(copy);
      fs::create_directories(copy / "variables");
      for (const char* file : files) write_file(copy / file, read_file(model(name) / file));
      current = name;
    }
    const size_t which = i % 8 == 7 ? 2 : i % 3 == 2 ? 1 : 0;
    const std::string sound = read_file(model(name) / files[which]);
    std::string what, bytes;
    if (which == 0) {
      bytes = fuzz::WireMutator(number).mutate(sound, what);
    } else {
      bytes = fuzz::FlatMutator(number).mutate(sound, what);
      // The first block ends where its type byte, 0, stands before a checksum.
      if (which == 1 && i % 2 == 0)
        for (size_t end = 8; end + 5 < sound.size(); ++end)
          if (with_checksums(sound, end) == sound) {
            bytes = with_checksums(bytes, end);
            break;
          }
    }
    if (bytes.empty()) continue;
    write_file(copy / files[which], bytes);
    const std::string label =
        "case " + std::to_string(i) + " " + name + "/" + files[which] + " (" + what + ")";
    const fuzz::LimitedCase limits;
    DiagnosticSink sink;
    const auto graph = tensorflow_frontend().import_file(copy, {}, sink);
    ++outcomes[outcome_of(graph, sink, label)];
    limits.expect_memory(fuzz::folder_size(copy), label);
    write_file(copy / files[which], sound);
  }
  fuzz::print(outcomes);
  EXPECT_GT(outcomes.size(), 5u);
}

}  // namespace
}  // namespace ec
