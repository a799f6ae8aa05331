// Thousands of damaged ONNX files, the same ones on every run: each must import, or be refused with
// a diagnostic; no crash, no hang, and no more memory than twice the file plus 64 MB. Run under
// ASan and UBSan by `make sanitize`. EC_MUTATIONS sets the number.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "frontend/onnx/onnx.h"
#include "fuzz/mutation_cases.h"
#include "fuzz/wire_mutator.h"
#include "ir/graph.h"
#include "temporary_directory.h"

namespace ec {
namespace {

namespace fs = std::filesystem;
std::vector<fs::path> seed_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(EC_FUZZ_SEEDS))
    if (entry.path().extension() == ".onnx") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

TEST(OnnxMutations, AreImportedOrRefused) {
  const std::vector<fs::path> seeds = seed_files();
  ASSERT_GE(seeds.size(), 5u);
  const TemporaryDirectory dir;
  const fs::path file = dir / "model.onnx";
  // External weight files of the seeds, so that references to them can be followed.
  for (const auto& entry : fs::directory_iterator(EC_FUZZ_SEEDS))
    if (entry.path().extension() == ".data")
      fs::copy_file(entry.path(), dir / entry.path().filename().string());

  fuzz::Outcomes outcomes;
  for (int i = 0; i < fuzz::mutation_count(1000); ++i) {
    fuzz::WireMutator mutator(static_cast<uint64_t>(i) * 7919 + 17);
    std::string what;
    const fs::path& seed = seeds[static_cast<size_t>(i) % seeds.size()];
    const std::string bytes = mutator.mutate(fuzz::read_file(seed), what);
    fuzz::write_file(file, bytes);
    const std::string label =
        "case " + std::to_string(i) + " (" + seed.filename().string() + ", " + what + ")";
    const fuzz::LimitedCase limits;
    DiagnosticSink sink;
    const auto graph = onnx_frontend().import_file(file, {}, sink);
    limits.expect_memory(bytes.size(), label);
    ++outcomes[fuzz::outcome_of(graph, sink, label)];

    // What `inspect` sees of the same file.
    KeptOperations kept(KeptOperations::Scope::Everything);
    ImportOptions shown;
    shown.kept = &kept;
    DiagnosticSink seen;
    fuzz::expect_shown(onnx_frontend().import_file(file, shown, seen), seen, graph, label);
  }
  fuzz::print(outcomes);
  // The mutations must reach deep into the importer, not bounce off the first byte.
  EXPECT_GT(outcomes.size(), 5u);
}

}  // namespace
}  // namespace ec
