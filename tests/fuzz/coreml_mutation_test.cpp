// Thousands of damaged Core ML packages, the same ones on every run: each must import, or be
// refused with a diagnostic; no crash, no hang, and a bound on memory. One of the three files of a
// package is damaged, the model most often. EC_MUTATIONS sets the number.
#include <gtest/gtest.h>

#include "formats/coreml/package.h"
#include "frontend/coreml/coreml.h"
#include "fuzz/flat_mutator.h"
#include "fuzz/mutation_cases.h"
#include "fuzz/wire_mutator.h"
#include "ir/graph.h"
#include "temporary_directory.h"

namespace ec {
namespace {

namespace fs = std::filesystem;
using fuzz::folder_size, fuzz::read_file, fuzz::write_file;

std::string outcome_of(const fs::path& package, const std::string& label) {
  DiagnosticSink sink;
  return fuzz::outcome_of(coreml_frontend().import_file(package, {}, sink), sink, label);
}

const char* const kPackages[] = {
    "attention_ios18", "cnn_ios15",       "control_ios16",     "flexible_ios16",
    "functions_ios18", "int4_ios18",      "int8_ios16",        "palette_ios16",
    "palette_ios18",   "recurrent_ios16", "resizes_ios17",     "sparse_ios16",
    "state_ios18",     "w8a8_ios17",      "sparse_int8_ios18", "sparse_palette_ios18"};

TEST(CoremlMutations, PackagesAreImportedOrRefused) {
  const fs::path models(EC_COREML_MODELS);
  TemporaryDirectory folder;
  fuzz::Outcomes outcomes;
  for (size_t p = 0; p < std::size(kPackages); ++p) {
    const fs::path copy = folder / (std::string(kPackages[p]) + ".mlpackage");
    fs::copy(models / copy.filename(), copy, fs::copy_options::recursive);
    ASSERT_EQ(outcome_of(copy, copy.string()), "imported");
    std::vector<fs::path> files = {copy / coreml::kModelPath, copy / coreml::kManifestPath};
    if (fs::exists(copy / coreml::kWeightsPath)) files.push_back(copy / coreml::kWeightsPath);
    const size_t package_size = folder_size(copy);
    for (int i = static_cast<int>(p); i < fuzz::mutation_count(2000);
         i += static_cast<int>(std::size(kPackages))) {
      const auto number = static_cast<uint64_t>(i) * 104729 + 3;
      const size_t which = number / 7 % 8 < 6 ? 0 : number % files.size();
      const std::string sound = read_file(files[which]);
      std::string what;
      const std::string bytes = which == 0 ? fuzz::WireMutator(number).mutate(sound, what)
                                           : fuzz::FlatMutator(number).mutate(sound, what);
      if (bytes.empty()) continue;
      write_file(files[which], bytes);
      const std::string label = "case " + std::to_string(i) + " " + copy.filename().string() + "/" +
                                files[which].filename().string() + " (" + what + ")";
      const fuzz::LimitedCase limits;
      ++outcomes[outcome_of(copy, label)];
      limits.expect_memory(std::max(package_size, folder_size(copy)), label);
      write_file(files[which], sound);
    }
  }
  fuzz::print(outcomes);
  // The mutations must reach deep into the importer, not bounce off the first byte.
  EXPECT_GT(outcomes.size(), 5u);
}

}  // namespace
}  // namespace ec
