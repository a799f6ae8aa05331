// Options as text: for the provenance of written files, the key of saved statistics and reports.
#include <fmt/format.h>

#include "options/catalog.h"
#include "options/value.h"

namespace ec {
namespace {

// The last component of a path, with or without a slash at its end.
std::string last_component(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.substr(path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1);
}

std::string portable_text(const OptionDef& def, const OptionValue& value) {
  std::string text = value_text(def, value);
  const bool path = def.type == OptionType::File || def.type == OptionType::Directory;
  return path ? last_component(std::move(text)) : text;
}

// The verb's options that have a value, in the order of the catalog.
template <class Visit>
void visit_values(const OptionCatalog& catalog, const Options& resolved, Verb verb,
                  const Visit& visit) {
  for (const CatalogEntry& entry : catalog.entries()) {
    if (!entry.def->verbs.has(verb)) continue;
    const auto found = resolved.entries().find(entry.def->name);
    if (found == resolved.entries().end() || found->second.value.index() == 0) continue;
    visit(*entry.def, found->second);
  }
}

}  // namespace

std::string provenance_text(const OptionCatalog& catalog, const Options& resolved, Verb verb) {
  std::string text;
  visit_values(catalog, resolved, verb, [&](const OptionDef& def, const Options::Entry& entry) {
    if (def.changes_output && entry.value != default_of(def))
      text += fmt::format("{}={};", def.name, portable_text(def, entry.value));
  });
  return text;
}

std::map<std::string, std::string> statistics_key(const OptionCatalog& catalog,
                                                  const Options& resolved, Verb verb,
                                                  StatisticsRole role) {
  std::map<std::string, std::string> key;
  for (const CatalogEntry& entry : catalog.entries())
    if (entry.def->statistics == role && entry.def->verbs.has(verb))
      key.emplace(entry.def->name, std::string());
  visit_values(catalog, resolved, verb, [&](const OptionDef& def, const Options::Entry& entry) {
    if (def.statistics == role) key[std::string(def.name)] = portable_text(def, entry.value);
  });
  return key;
}

std::vector<OptionReportRow> options_report(const OptionCatalog& catalog, const Options& resolved,
                                            Verb verb) {
  std::vector<OptionReportRow> rows;
  visit_values(catalog, resolved, verb, [&](const OptionDef& def, const Options::Entry& entry) {
    rows.push_back({def.name, value_text(def, entry.value), source_name(entry.source)});
  });
  return rows;
}

std::string_view source_name(OptionSource source) {
  switch (source) {
    case OptionSource::Default:
      return "default";
    case OptionSource::ConfigFile:
      return "file";
    case OptionSource::Caller:
      return "caller";
  }
  return "";
}

}  // namespace ec
