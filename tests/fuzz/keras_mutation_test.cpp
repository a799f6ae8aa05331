// Thousands of damaged Keras files, the same ones on every run: each must import, or be refused
// with a diagnostic; no crash, no hang, and a bound on memory. A third of the damage is in the
// numbers and names of the configuration, with the file around it sound. EC_MUTATIONS sets the
// number.
#include <gtest/gtest.h>

#include <random>

#include "formats/zip/zip.h"
#include "frontend/keras/keras.h"
#include "frontend/torch/archive_builder.h"
#include "fuzz/flat_mutator.h"
#include "fuzz/mutation_cases.h"
#include "ir/graph.h"
#include "temporary_directory.h"

namespace ec::keras {
namespace {

struct Seed {
  std::string name, bytes;
  torch::testing::Records records;  // of an archive
};

Seed seed(const std::string& name) {
  Seed made{name, fuzz::read_file(std::string(EC_KERAS_MODELS) + "/" + name), {}};
  EXPECT_FALSE(made.bytes.empty()) << name;
  if (!name.ends_with(".keras")) return made;
  const auto archive = zip::Archive::open(torch::testing::blob_of(made.bytes));
  EXPECT_TRUE(archive.ok()) << name;
  for (const zip::Entry& entry : archive->entries()) {
    const auto record = archive->read(entry);
    EXPECT_TRUE(record.ok());
    made.records.emplace_back(
        entry.name,
        std::string(reinterpret_cast<const char*>(record->bytes().data()), record->size()));
  }
  return made;
}

// A number, a name or a bracket of JSON changed; in place where the length has to stay.
void mutate_json(std::string& text, std::mt19937_64& random, bool in_place, size_t begin,
                 size_t end) {
  if (end <= begin) return;
  const auto pick = [&](size_t n) { return static_cast<size_t>(random() % n); };
  for (size_t i = 0, count = 1 + pick(3); i < count; ++i) {
    const size_t at = begin + pick(end - begin);
    const size_t digit = text.find_first_of("0123456789", at);
    if (pick(2) == 0 && digit != std::string::npos && digit < end) {
      static const char* const kNumbers[] = {
          "0", "-1", "9223372036854775807", "1e308", "99999", "null", "[]", "\"x\"", "2", "{}"};
      if (in_place)
        text[digit] = "0123456789"[pick(10)];
      else
        text.replace(digit, 1, kNumbers[pick(10)]);
    } else if (at < text.size()) {
      text[at] = "{}[]\",:0a-"[pick(10)];
    }
  }
}

std::string mutate(const Seed& from, int index, std::string& what) {
  const auto number = static_cast<uint64_t>(index) * 7919 + 17;
  std::mt19937_64 random(number);
  fuzz::FlatMutator bytes(number);
  if (from.records.empty()) {
    const size_t begin = from.bytes.find("{\"class_name\"");
    if (random() % 3 != 0 || begin == std::string::npos) return bytes.mutate(from.bytes, what);
    what = "configuration";
    std::string text = from.bytes;
    mutate_json(text, random, true, begin, std::min(text.size(), begin + 8000));
    return text;
  }
  if (random() % 4 == 0) return bytes.mutate(from.bytes, what);
  torch::testing::Records records = from.records;
  auto& [name, content] = records[random() % records.size()];
  what = name;
  if (name.ends_with(".json"))
    mutate_json(content, random, false, 0, content.size());
  else
    content = bytes.mutate(content, what);
  return torch::testing::zip(records);
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
    const std::string bytes = mutate(from, i, what);
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
