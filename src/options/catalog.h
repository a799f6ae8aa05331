// All options that a program knows: the groups of their owners, looked up and checked.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgecompiler/options.h"
#include "options/option_def.h"
#include "support/result.h"

namespace ec {

// An option with the group that declares it. A back end may share an option with another back end:
// then it is listed once with both targets.
struct CatalogEntry {
  const OptionDef* def = nullptr;
  std::string_view group;
  std::vector<std::string_view> targets;  // empty: it does not belong to back ends
};

class OptionCatalog {
 public:
  // Groups keep their order. A name that is taken for the same verb is an error (Code::Internal),
  // except for an option that back ends share.
  Status add(const OptionGroup& group);

  std::span<const CatalogEntry> entries() const { return entries_; }
  // By name or alias; `-` and `_` are the same. Where options share a name, the verb's own.
  const CatalogEntry* find(std::string_view name, Verb verb) const;
  const CatalogEntry* find_short(char letter, Verb verb) const;
  // Usage, with the nearest known name.
  Error unknown_name(std::string_view name, Verb verb) const;
  // Names and aliases of the verb's options.
  std::vector<std::string_view> names(Verb verb) const;
  // Usage: the option does not belong to the verb.
  Status check_verb(const CatalogEntry& entry, Verb verb) const;

  // Reads the text form of a value and adds it to what `options` holds (lists and maps grow, others
  // are replaced; a weaker source never replaces a stronger one).
  Status set_from_text(Options& options, const OptionDef& def, std::string_view text,
                       OptionSource source) const;

  // What a job works with: every option of the verb with its value or default. Usage: unknown
  // names, wrong types, values out of range, options of another verb or of another target than
  // `target` (with or without variant; empty: options of every target pass, and they get no
  // defaults).
  Result<Options> resolve(const Options& given, Verb verb, std::string_view target) const;

 private:
  std::vector<CatalogEntry> entries_;
};

// Whether `-` and `_` aside the names are the same.
bool same_option_name(std::string_view a, std::string_view b);

// Options that decide what a written file holds, as text in a fixed order: "name=value;" for each
// that is not the default. Paths count with their last component, so that moving data changes
// nothing.
std::string provenance_text(const OptionCatalog& catalog, const Options& resolved, Verb verb);

// The options with that role in saved statistics, by name, as text. Paths count with their last
// component. Empty: not set.
std::map<std::string, std::string> statistics_key(const OptionCatalog& catalog,
                                                  const Options& resolved, Verb verb,
                                                  StatisticsRole role);

// Every value that a job works with and where it comes from, for reports.
struct OptionReportRow {
  std::string_view name;
  std::string value;        // as written on the command line
  std::string_view source;  // "default", "file", "caller"
};
std::vector<OptionReportRow> options_report(const OptionCatalog& catalog, const Options& resolved,
                                            Verb verb);
std::string_view source_name(OptionSource source);

}  // namespace ec
