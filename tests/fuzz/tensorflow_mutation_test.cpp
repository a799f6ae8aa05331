// Thousands of damaged TensorFlow models, the same ones on every run: each must import, or be
// refused with a diagnostic; no crash, no hang, and a bound on memory. Frozen graphs are damaged as
// a whole; of SavedModels one of the three files is. EC_MUTATIONS sets the number.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "formats/tensorflow/table.h"
#include "frontend/tensorflow/tensorflow.h"
#include "fuzz/allocation_meter.h"
#include "fuzz/flat_mutator.h"
#include "fuzz/wire_mutator.h"
#include "ir/graph.h"
#include "temporary_directory.h"

namespace ec {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kSecondsPerFile = 60;
constexpr size_t kSlackBytes = size_t{64} << 20;

int mutation_count() {
  const char* text = std::getenv("EC_MUTATIONS");
  return text != nullptr ? std::atoi(text) : 2000;
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

void write(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

size_t folder_size(const fs::path& folder) {
  size_t size = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) size += entry.file_size();
  return size;
}

fs::path model(const std::string& name) { return fs::path(EC_TENSORFLOW_MODELS) / name; }

std::string outcome_of(const Result<std::unique_ptr<Graph>>& graph, const DiagnosticSink& sink,
                       const std::string& label) {
  if (!graph.ok()) {
    EXPECT_FALSE(graph.error().message().empty()) << label;
    EXPECT_NE(graph.error().code(), Code::Internal) << label << ": " << graph.error().message();
    EXPECT_TRUE(sink.has_errors()) << label;
    return code_id(graph.error().code());
  }
  const auto faults = verify(**graph);
  EXPECT_TRUE(faults.empty()) << label << ": " << faults.front().message;
  return "imported";
}

void print(const std::map<std::string, int>& outcomes) {
  for (const auto& [outcome, count] : outcomes) std::printf("%8d %s\n", count, outcome.c_str());
}

TEST(TensorflowMutations, FrozenGraphsAreImportedOrRefused) {
  const std::string seeds[] = {read(model("cnn_k3_frozen.pb")), read(model("reject_loops.pb"))};
  std::map<std::string, int> outcomes;
  for (int i = 0; i < mutation_count(); ++i) {
    const std::string& seed = seeds[i % 4 == 3 ? 1 : 0];
    std::string what;
    const std::string bytes =
        fuzz::WireMutator(static_cast<uint64_t>(i) * 7919 + 17).mutate(seed, what);
    const std::string label = "case " + std::to_string(i) + " (" + what + ")";
    ::alarm(kSecondsPerFile);
    const fuzz::AllocationMeter meter;
    DiagnosticSink sink;
    const auto graph =
        import_graph_def(Blob::copy_of(std::span<const char>(bytes)), "mutated.pb", {}, sink);
    ++outcomes[outcome_of(graph, sink, label)];
    EXPECT_LE(meter.peak(), 2 * bytes.size() + kSlackBytes) << label;
    EXPECT_GT(meter.peak(), 0u) << label;
    ::alarm(0);
  }
  print(outcomes);
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
  std::map<std::string, int> outcomes;
  std::string current;
  for (int i = 0; i < mutation_count(); ++i) {
    const auto number = static_cast<uint64_t>(i) * 104729 + 3;
    const std::string name = names[number % std::size(names)];
    const fs::path copy = folder / "model";
    if (name != current) {
      fs::remove_all(copy);
      fs::create_directories(copy / "variables");
      for (const char* file : files) write(copy / file, read(model(name) / file));
      current = name;
    }
    const size_t which = i % 8 == 7 ? 2 : i % 3 == 2 ? 1 : 0;
    const std::string sound = read(model(name) / files[which]);
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
    write(copy / files[which], bytes);
    const std::string label =
        "case " + std::to_string(i) + " " + name + "/" + files[which] + " (" + what + ")";
    ::alarm(kSecondsPerFile);
    const fuzz::AllocationMeter meter;
    DiagnosticSink sink;
    const auto graph = tensorflow_frontend().import_file(copy, {}, sink);
    ++outcomes[outcome_of(graph, sink, label)];
    EXPECT_LE(meter.peak(), 2 * folder_size(copy) + kSlackBytes) << label;
    ::alarm(0);
    write(copy / files[which], sound);
  }
  print(outcomes);
  EXPECT_GT(outcomes.size(), 5u);
}

}  // namespace
}  // namespace ec
