// Thousands of damaged Core ML packages, the same ones on every run: each must import, or be
// refused with a diagnostic; no crash, no hang, and a bound on memory. One of the three files of a
// package is damaged, the model most often. EC_MUTATIONS sets the number.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "formats/coreml/package.h"
#include "frontend/coreml/coreml.h"
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

std::string outcome_of(const fs::path& package, const std::string& label) {
  DiagnosticSink sink;
  const auto graph = coreml_frontend().import_file(package, {}, sink);
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

const char* const kPackages[] = {
    "attention_ios18", "cnn_ios15",       "control_ios16",     "flexible_ios16",
    "functions_ios18", "int4_ios18",      "int8_ios16",        "palette_ios16",
    "palette_ios18",   "recurrent_ios16", "resizes_ios17",     "sparse_ios16",
    "state_ios18",     "w8a8_ios17",      "sparse_int8_ios18", "sparse_palette_ios18"};

TEST(CoremlMutations, PackagesAreImportedOrRefused) {
  const fs::path models(EC_COREML_MODELS);
  TemporaryDirectory folder;
  std::map<std::string, int> outcomes;
  for (size_t p = 0; p < std::size(kPackages); ++p) {
    const fs::path copy = folder / (std::string(kPackages[p]) + ".mlpackage");
    fs::copy(models / copy.filename(), copy, fs::copy_options::recursive);
    ASSERT_EQ(outcome_of(copy, copy.string()), "imported");
    std::vector<fs::path> files = {copy / coreml::kModelPath, copy / coreml::kManifestPath};
    if (fs::exists(copy / coreml::kWeightsPath)) files.push_back(copy / coreml::kWeightsPath);
    const size_t package_size = folder_size(copy);
    for (int i = static_cast<int>(p); i < mutation_count();
         i += static_cast<int>(std::size(kPackages))) {
      const auto number = static_cast<uint64_t>(i) * 104729 + 3;
      const size_t which = number / 7 % 8 < 6 ? 0 : number % files.size();
      const std::string sound = read(files[which]);
      std::string what;
      const std::string bytes = which == 0 ? fuzz::WireMutator(number).mutate(sound, what)
                                           : fuzz::FlatMutator(number).mutate(sound, what);
      if (bytes.empty()) continue;
      write(files[which], bytes);
      const std::string label = "case " + std::to_string(i) + " " + copy.filename().string() + "/" +
                                files[which].filename().string() + " (" + what + ")";
      ::alarm(kSecondsPerFile);
      const fuzz::AllocationMeter meter;
      ++outcomes[outcome_of(copy, label)];
      EXPECT_LE(meter.peak(), 2 * std::max(package_size, folder_size(copy)) + kSlackBytes) << label;
      ::alarm(0);
      write(files[which], sound);
    }
  }
  for (const auto& [outcome, count] : outcomes) std::printf("%8d %s\n", count, outcome.c_str());
  // The mutations must reach deep into the importer, not bounce off the first byte.
  EXPECT_GT(outcomes.size(), 5u);
}

}  // namespace
}  // namespace ec
