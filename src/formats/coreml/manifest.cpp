// The manifest of a package: which file below Data/ is the model.
#include <nlohmann/json.hpp>

#include "formats/coreml/package.h"
#include "support/sha256.h"
#include "support/strings.h"
#include "support/text_memory.h"

namespace ec::coreml {
namespace {

using nlohmann::json;

Error bad(const std::string& what) {
  return Error(Code::CorruptFile, "the package's manifest " + what)
      .hint("copy the whole package again, with its Manifest.json");
}

// Three numbers; only the first decides whether the rest can be understood.
bool is_version_1(std::string_view text) { return text == "1" || text.starts_with("1."); }

// Relative to the package, with no way out of it.
bool stays_inside(std::string_view path) {
  if (path.empty() || path.front() == '/' || path.find('\\') != std::string_view::npos ||
      path.find('\0') != std::string_view::npos)
    return false;
  while (!path.empty()) {
    const size_t end = path.find('/');
    const std::string_view part = path.substr(0, end);
    if (part.empty() || part == "." || part == "..") return false;
    path = end == std::string_view::npos ? std::string_view() : path.substr(end + 1);
  }
  return true;
}

const std::string* text_of(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : found->get_ptr<const std::string*>();
}

// An identifier of the form of RFC 4122, version 5 (a name's hash), for a part of a package.
std::string identifier(std::string_view content_hash, std::string_view part) {
  std::string digits = sha256_hex(std::string(content_hash) + " " + std::string(part));
  digits[12] = '5';
  digits[16] = "89ab"[digits[16] % 4];
  return digits.substr(0, 8) + "-" + digits.substr(8, 4) + "-" + digits.substr(12, 4) + "-" +
         digits.substr(16, 4) + "-" + digits.substr(20, 12);
}

json item(std::string_view name, std::string_view description) {
  constexpr std::string_view kAuthor = "com.apple.CoreML";
  return {{"author", kAuthor},
          {"description", description},
          {"name", name},
          {"path", std::string(kAuthor) + "/" + std::string(name)}};
}

}  // namespace

Result<std::string> model_path_of(const Blob& manifest) {
  const std::string_view text(reinterpret_cast<const char*>(manifest.bytes().data()),
                              manifest.size());
  EC_CHECK_OK(check_json(text, text.size()));
  const json root = json::parse(text, nullptr, false);
  if (!root.is_object()) return bad("is no JSON object");
  const std::string* version = text_of(root, "fileFormatVersion");
  if (version == nullptr) return bad("has no fileFormatVersion");
  if (!is_version_1(*version))
    return Error(Code::UnsupportedFormat,
                 "packages of version " + printable(*version, 40) + " are not known")
        .hint("version 1 is read: save the model with coremltools of today");
  const std::string* model = text_of(root, "rootModelIdentifier");
  if (model == nullptr) return bad("names no model (rootModelIdentifier)");
  const auto entries = root.find("itemInfoEntries");
  if (entries == root.end() || !entries->is_object()) return bad("lists no items");
  const auto entry = entries->find(*model);
  if (entry == entries->end()) return bad("does not list its model");
  const std::string* path = text_of(*entry, "path");
  if (path == nullptr || !stays_inside(*path)) return bad("gives its model no path in the package");
  return "Data/" + *path;
}

std::string encode_manifest(std::string_view content_hash, bool has_weights) {
  const std::string model = identifier(content_hash, "model");
  json items;
  items[model] = item("model.mlmodel", "CoreML Model Specification");
  if (has_weights)
    items[identifier(content_hash, "weights")] = item("weights", "CoreML Model Weights");
  // The library keeps the keys of objects sorted.
  const json root = {
      {"fileFormatVersion", "1.0.0"}, {"itemInfoEntries", items}, {"rootModelIdentifier", model}};
  return root.dump(4) + "\n";
}

}  // namespace ec::coreml
