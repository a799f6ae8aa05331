// All options that a program knows: the groups of their owners, looked up and checked.
#pragma once

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
  // but for an option that back ends share.
  Status add(const OptionGroup& group);

  std::span<const CatalogEntry> entries() const { return entries_; }
  // By name or alias; `-` and `_` are the same. Of options that share a name the verb's own.
  const CatalogEntry* find(std::string_view name, Verb verb) const;
  // Usage, with the nearest known name.
  Error unknown_name(std::string_view name, Verb verb) const;

  // Reads the text form of a value and adds it to what `options` holds (lists and maps grow, others
  // are replaced; a weaker source never replaces a stronger one).
  Status set_from_text(Options& options, const OptionDef& def, std::string_view text,
                       OptionSource source) const;

  // What a job works with: every option of the verb with its value or default. Usage: unknown names,
  // wrong types, values out of range, options of another verb or of another target than `target`.
  Result<Options> resolve(const Options& given, Verb verb, std::string_view target) const;

 private:
  std::vector<CatalogEntry> entries_;
};

// The value as it is written on the command line.
std::string value_text(const OptionDef& def, const OptionValue& value);

// Options that decide what a written file holds, as text in a fixed order: "name=value;" for each
// that is not the default. Paths count with their last component, so that moving data changes
// nothing.
std::string provenance_text(const OptionCatalog& catalog, const Options& resolved, Verb verb);

}  // namespace ec
