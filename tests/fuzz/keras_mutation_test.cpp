// Thousands of damaged Keras files, the same ones on every run: each must import, or be refused
// with a diagnostic; no crash, no hang, and a bound on memory. A third of the damage is in the
// numbers and names of the configuration, with the file around it sound. EC_MUTATIONS sets the
// number.
#include <gtest/gtest.h>

#include "frontend/keras/keras.h"
#include "frontend/torch/archive_builder.h"
#include "fuzz/model_mutator.h"
#include "fuzz/mutation_cases.h"
#include "ir/graph.h"
#include "temporary_directory.h"

namespace ec::keras {
namespace {

struct Seed {
  std::string name, bytes;
};

Seed seed(const std::string& name) {
  Seed made{name, fuzz::read_file(std::string(EC_KERAS_MODELS) + "/" + name)};
  EXPECT_FALSE(made.bytes.empty()) << name;
  return made;
}

std::string outcome_of(const ModelSource& source, const std::string& label,
                       std::unique_ptr<Graph>& imported) {
  DiagnosticSink sink;
  auto graph = keras_frontend().import(source, {}, sink);
  const std::string outcome = fuzz::outcome_of(graph, sink, label);
  if (graph.ok()) imported = std::move(*graph);
  return outcome;
}

void run(const std::vector<Seed>& seeds) {
  std::unique_ptr<Graph> graph, from_file;
  const TemporaryDirectory folder;
  const auto in_memory = [&](const Seed& seed, const std::string& bytes) {
    return ModelSource::from_bytes((folder / seed.name).string(), torch::testing::blob_of(bytes));
  };
  for (const Seed& sound : seeds)
    EXPECT_EQ(outcome_of(in_memory(sound, sound.bytes), sound.name, graph), "imported");
  fuzz::Outcomes outcomes;
  for (int i = 0; i < fuzz::mutation_count(1000); ++i) {
    const Seed& from = seeds[static_cast<size_t>(i) % seeds.size()];
    std::string what;
    const std::string bytes =
        fuzz::mutate_model(from.name, from.bytes, static_cast<uint64_t>(i) * 7919 + 17, what);
    const std::string label = from.name + " case " + std::to_string(i) + " (" + what + ")";
    const fuzz::LimitedCase limits;
    const std::string outcome = outcome_of(in_memory(from, bytes), label, graph);
    ++outcomes[outcome];
    limits.expect_memory(bytes.size(), label);
    // A file is read in parts, with the same result.
    if (i % 4 != 0 || bytes.empty()) continue;
    const std::filesystem::path file = folder / from.name;
    fuzz::write_file(file, bytes);
    const auto source = ModelSource::open(file);
    ASSERT_TRUE(source.ok()) << label;
    EXPECT_EQ(outcome_of(*source, label, from_file), outcome) << label;
    EXPECT_TRUE(outcome != "imported" || *graph == *from_file) << label;
  }
  fuzz::print(outcomes);
}

TEST(KerasMutations, OfH5AreImportedOrRefused) {
  run({seed("cnn_k2.h5"), seed("multi_k2.h5"), seed("gru_k2.h5"), seed("qat_k2.h5"),
       seed("cnn_k3.h5")});
}

TEST(KerasMutations, OfArchivesAreImportedOrRefused) {
  run({seed("cnn_k3.keras"), seed("multi_k3.keras"), seed("lstm_k3.keras"), seed("attn_k3.keras"),
       seed("int8_k3.keras"), seed("old_k212.keras")});
}

}  // namespace
}  // namespace ec::keras
