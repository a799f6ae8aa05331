// Thousands of damaged ONNX files, the same ones on every run: each must import, or be refused with
// a diagnostic; no crash, no hang, and no more memory than twice the file plus 64 MB. Run under
// ASan and UBSan by `make sanitize`. EC_MUTATIONS sets the number.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "frontend/onnx/onnx.h"
#include "fuzz/allocation_meter.h"
#include "fuzz/wire_mutator.h"
#include "ir/graph.h"
#include "temporary_directory.h"

namespace ec {
namespace {

namespace fs = std::filesystem;
constexpr unsigned kSecondsPerFile = 60;
constexpr size_t kSlackBytes = size_t{64} << 20;

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<fs::path> seed_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(EC_FUZZ_SEEDS))
    if (entry.path().extension() == ".onnx") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

int mutation_count() {
  const char* text = std::getenv("EC_MUTATIONS");
  return text != nullptr ? std::atoi(text) : 1000;
}

// The message of the last resort: the file that hung stays where it is.
void on_alarm(int) {
  static const char kText[] =
      "an import took too long; the file is ec_mutation_*.onnx in the temporary directory\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText, sizeof kText - 1);
  ::_exit(99);
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
  ::signal(SIGALRM, on_alarm);

  std::map<std::string, int> outcomes;
  for (int i = 0; i < mutation_count(); ++i) {
    fuzz::WireMutator mutator(static_cast<uint64_t>(i) * 7919 + 17);
    std::string what;
    const fs::path& seed = seeds[static_cast<size_t>(i) % seeds.size()];
    const std::string bytes = mutator.mutate(read_file(seed), what);
    std::ofstream(file, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));

    ::alarm(kSecondsPerFile);
    const fuzz::AllocationMeter meter;
    DiagnosticSink sink;
    auto graph = onnx_frontend().import_file(file, {}, sink);
    const size_t peak = meter.peak();
    ::alarm(0);

    const std::string label =
        "case " + std::to_string(i) + " (" + seed.filename().string() + ", " + what + ")";
    if (graph.ok()) {
      EXPECT_TRUE(verify(**graph).empty()) << label;
      ++outcomes["imported"];
    } else {
      EXPECT_FALSE(graph.error().message().empty()) << label;
      EXPECT_NE(graph.error().code(), Code::Internal) << label << ": " << graph.error().message();
      ++outcomes[code_id(graph.error().code())];
    }
    EXPECT_LE(peak, 2 * bytes.size() + kSlackBytes) << label;

    // What `inspect` sees of the same file.
    KeptOperations kept(KeptOperations::Scope::Everything);
    ImportOptions shown;
    shown.kept = &kept;
    DiagnosticSink seen;
    ::alarm(kSecondsPerFile);
    const auto whole = onnx_frontend().import_file(file, shown, seen);
    ::alarm(0);
    EXPECT_TRUE(whole.ok() || seen.has_errors()) << label;
    EXPECT_TRUE(whole.ok() || !graph.ok()) << label;
    EXPECT_TRUE(!whole.ok() || verify(**whole).empty()) << label;
  }
  for (const auto& [outcome, count] : outcomes) std::printf("%8d %s\n", count, outcome.c_str());
  // The mutations must reach deep into the importer, not bounce off the first byte.
  EXPECT_GT(outcomes.size(), 5u);
}

}  // namespace
}  // namespace ec
