#include "options/config.h"

#include <fmt/format.h>

#include <algorithm>

#include "options/config_node.h"
#include "support/input_file.h"
#include "support/strings.h"

namespace ec {
namespace {

struct ConfigReader {
  const OptionCatalog& catalog;
  Verb verb;
  Options& options;

  Error unknown_key(std::string_view key, const ConfigNode& node, Verb where, bool top) const {
    std::vector<std::string_view> known = catalog.names(where);
    if (top)
      for (int i = 0; i < kNumVerbs; ++i) known.push_back(verb_name(static_cast<Verb>(i)));
    std::string plain(key);
    std::replace(plain.begin(), plain.end(), '_', '-');
    return node.error(fmt::format("unknown key '{}'", printable(key)))
        .hint(did_you_mean(plain, known));
  }

  static std::optional<Verb> section_of(const std::string& key, const ConfigNode& node) {
    return node.table() != nullptr ? verb_from_name(key) : std::nullopt;
  }

  // The tables of verbs come last: what they say wins over the options of all verbs.
  Status read_file(const ConfigNode::Table& table) {
    EC_CHECK_OK(read(table, verb, true));
    for (const auto& [key, node] : table)
      if (const std::optional<Verb> section = section_of(key, node))
        EC_CHECK_OK(read(*node.table(), *section, false));
    return {};
  }

  // Stores the options of the verb at hand; keys of others are checked only.
  Status read(const ConfigNode::Table& table, Verb where, bool top) {
    for (const auto& [key, node] : table) {
      if (top && section_of(key, node)) continue;
      const CatalogEntry* entry = catalog.find(key, where);
      if (entry == nullptr || !entry->def->in_config) return unknown_key(key, node, where, top);
      if (!top) {
        if (Status status = catalog.check_verb(*entry, where); !status.ok())
          return node.error(status.error().message()).hint(status.error().diagnostic().hint);
      }
      EC_TRY(OptionValue value, config_value(*entry->def, node));
      if (where == verb && entry->def->verbs.has(verb))
        options.set(entry->def->name, std::move(value), OptionSource::ConfigFile);
    }
    return {};
  }
};

// A file with every option and its help has some kilobytes. Values of TOML take fifty times their
// text.
constexpr size_t kMaxConfig = size_t{512} << 10;

Error with_hint(Error&& error, const std::string& path) {
  return std::move(error).file(path).hint("--generate-config prints a file to start from");
}

}  // namespace

Status read_config(const std::string& path, const OptionCatalog& catalog, Verb verb,
                   Options& options) {
  EC_TRY(const Blob blob, read_file(path));
  const std::string_view text(reinterpret_cast<const char*>(blob.bytes().data()), blob.size());
  return parse_config(text, path, catalog, verb, options);
}

Status parse_config(std::string_view text, const std::string& path, const OptionCatalog& catalog,
                    Verb verb, Options& options) {
  if (text.size() > kMaxConfig)
    return Error(Code::TooLarge, fmt::format("{} bytes are no configuration", text.size()))
        .file(path)
        .hint(fmt::format("a configuration file has at most {} bytes", kMaxConfig));
  // A TOML file cannot begin with a brace.
  const bool json = !trim(text).empty() && trim(text).front() == '{';
  Result<ConfigNode> root = json ? parse_json(text, path) : parse_toml(text, path);
  if (!root.ok()) return with_hint(std::move(root).error(), path);
  Status status = ConfigReader{catalog, verb, options}.read_file(*root->table());
  if (!status.ok()) return with_hint(std::move(status).error(), path);
  return {};
}

}  // namespace ec
