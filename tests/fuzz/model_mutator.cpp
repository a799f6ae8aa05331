#include "fuzz/model_mutator.h"

#include <algorithm>
#include <random>

#include "formats/zip/zip.h"
#include "frontend/torch/archive_builder.h"
#include "fuzz/flat_mutator.h"
#include "fuzz/text_mutator.h"
#include "fuzz/wire_mutator.h"

namespace ec::fuzz {
namespace {

using torch::testing::Records;

// Empty where the file is no archive.
Records records_of(const std::string& file) {
  Records records;
  const auto archive = zip::Archive::open(torch::testing::blob_of(file));
  if (!archive.ok()) return records;
  for (const zip::Entry& entry : archive->entries()) {
    const auto record = archive->read(entry);
    if (!record.ok()) return {};
    records.emplace_back(
        entry.name,
        std::string(reinterpret_cast<const char*>(record->bytes().data()), record->size()));
  }
  return records;
}

// Weights and source ranges break little.
bool is_interpreted(const std::string& record) {
  for (const char* ending : {".py", "data.pkl", "constants.pkl", ".json", ".h5"})
    if (record.ends_with(ending)) return true;
  return false;
}

std::string mutate_archive(const std::string& file, uint64_t seed, std::string& what) {
  std::mt19937_64 random(seed);
  const auto pick = [&](size_t count) { return static_cast<size_t>(random() % count); };
  Records records = records_of(file);
  if (records.empty() || pick(4) == 0) return FlatMutator(seed).mutate(file, what);
  size_t which = pick(records.size());
  while (!is_interpreted(records[which].first) && pick(8) != 0) which = pick(records.size());
  auto& [name, content] = records[which];
  what = name + ": ";
  if (pick(20) == 0) {
    what += "removed";
    records.erase(records.begin() + static_cast<std::ptrdiff_t>(which));
  } else if (name.ends_with(".py")) {
    content = TextMutator(seed).mutate_code(content, what);
  } else if (name.ends_with(".json")) {
    what += "configuration";
    TextMutator(seed).mutate_json(content, false, 0, content.size());
  } else if (!content.empty()) {
    content = FlatMutator(seed).mutate(content, what);
  }
  return torch::testing::zip(records);
}

// The configuration is JSON in the header of the file.
std::string mutate_h5(const std::string& file, uint64_t seed, std::string& what) {
  constexpr size_t kHeader = 8000;
  const size_t begin = file.find("{\"class_name\"");
  if (seed % 3 != 0 || begin == std::string::npos) return FlatMutator(seed).mutate(file, what);
  what = "configuration";
  std::string text = file;
  TextMutator(seed).mutate_json(text, true, begin, std::min(text.size(), begin + kHeader));
  return text;
}

}  // namespace

std::string mutate_model(const std::string& name, const std::string& file, uint64_t seed,
                         std::string& what) {
  const auto is = [&](const char* ending) { return name.ends_with(ending); };
  if (is(".pt") || is(".pt2") || is(".pth") || is(".keras"))
    return mutate_archive(file, seed, what);
  if (is(".h5")) return mutate_h5(file, seed, what);
  if (is(".onnx") || is(".pb") || is(".mlmodel"))
    return seed % 2 == 0 ? WireMutator(seed).mutate(file, what)
                         : WireMutator(seed).change_meaning(file, what);
  return FlatMutator(seed).mutate(file, what);
}

}  // namespace ec::fuzz
