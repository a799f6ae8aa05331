// Thousands of damaged Keras files, the same ones on every run: each must import, or be refused
// with a diagnostic; no crash, no hang, and a bound on memory. A third of the damage is in the
// numbers and names of the configuration, with the file around it sound. EC_MUTATIONS sets the
// number.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "formats/zip/zip.h"
#include "frontend/keras/keras.h"
#include "frontend/torch/archive_builder.h"
#include "fuzz/allocation_meter.h"
#include "fuzz/flat_mutator.h"
#include "ir/graph.h"

namespace ec::keras {
namespace {

constexpr unsigned kSecondsPerFile = 60;
constexpr size_t kSlackBytes = size_t{64} << 20;

int mutation_count() {
  const char* text = std::getenv("EC_MUTATIONS");
  return text != nullptr ? std::atoi(text) : 1000;
}

struct Seed {
  std::string name, bytes;
  torch::testing::Records records;  // of an archive
};

Seed seed(const std::string& name) {
  std::ifstream file(std::string(EC_KERAS_MODELS) + "/" + name, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  Seed made{name, content.str(), {}};
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

std::string outcome_of(const std::string& bytes, const std::string& label) {
  DiagnosticSink sink;
  const auto graph = import_keras(torch::testing::blob_of(bytes), "mutated", {}, sink);
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

void run(const std::vector<Seed>& seeds) {
  for (const Seed& sound : seeds) EXPECT_EQ(outcome_of(sound.bytes, sound.name), "imported");
  std::map<std::string, int> outcomes;
  for (int i = 0; i < mutation_count(); ++i) {
    const Seed& from = seeds[static_cast<size_t>(i) % seeds.size()];
    std::string what;
    const std::string bytes = mutate(from, i, what);
    const std::string label = from.name + " case " + std::to_string(i) + " (" + what + ")";
    ::alarm(kSecondsPerFile);
    const fuzz::AllocationMeter meter;
    ++outcomes[outcome_of(bytes, label)];
    EXPECT_LE(meter.peak(), 2 * bytes.size() + kSlackBytes) << label;
    ::alarm(0);
  }
  for (const auto& [outcome, count] : outcomes) std::printf("%8d %s\n", count, outcome.c_str());
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
