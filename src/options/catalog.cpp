#include "options/catalog.h"

#include <fmt/format.h>

#include <algorithm>

#include "options/value.h"
#include "support/strings.h"

namespace ec {
namespace {

bool has_name(const OptionDef& def, std::string_view name) {
  return same_option_name(def.name, name) ||
         (!def.alias.empty() && same_option_name(def.alias, name));
}

// Whether one declaration may stand for both.
bool same_option(const OptionDef& a, const OptionDef& b) {
  return a.name == b.name && a.type == b.type && a.default_value == b.default_value &&
         a.choices == b.choices && a.least == b.least && a.most == b.most && a.verbs == b.verbs;
}

// Lists, maps and levels take more values from the same source.
bool grows(OptionType type) {
  switch (type) {
    case OptionType::Level:
    case OptionType::Texts:
    case OptionType::Items:
    case OptionType::Shapes:
    case OptionType::Sizes:
    case OptionType::NamedTexts:
      return true;
    default:
      return false;
  }
}

std::string targets_text(const CatalogEntry& entry) {
  std::string text;
  for (const std::string_view target : entry.targets)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", target);
  return text;
}

// Whether the option belongs to the target, or to no target at all.
bool belongs_to(const CatalogEntry& entry, std::string_view target) {
  const std::string_view family = target.substr(0, target.find(':'));
  return entry.targets.empty() ||
         std::find(entry.targets.begin(), entry.targets.end(), family) != entry.targets.end();
}

Status check_target(const CatalogEntry& entry, std::string_view target) {
  if (target.empty() || belongs_to(entry, target)) return {};
  return Error(Code::Usage, fmt::format("--{} does not apply to target '{}'", entry.def->name,
                                        printable(target)))
      .hint(fmt::format("it belongs to: {}", targets_text(entry)));
}

}  // namespace

bool same_option_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return x == y || ((x == '-' || x == '_') && (y == '-' || y == '_'));
  });
}

Status OptionCatalog::add(const OptionGroup& group) {
  for (const OptionDef& def : group.options) {
    CatalogEntry* shared = nullptr;
    for (CatalogEntry& entry : entries_) {
      const OptionDef& other = *entry.def;
      const bool same_name = has_name(other, def.name) ||
                             (!def.alias.empty() && has_name(other, def.alias)) ||
                             (def.short_name != 0 && def.short_name == other.short_name);
      if (!same_name || !def.verbs.overlaps(other.verbs)) continue;
      if (group.target.empty() || entry.targets.empty() || !same_option(def, other))
        return Error(Code::Internal, fmt::format("option --{} of '{}' is taken by '{}'", def.name,
                                                 group.title, entry.group));
      shared = &entry;
    }
    if (shared != nullptr) {
      shared->targets.push_back(group.target);
      continue;
    }
    CatalogEntry entry{&def, group.title, {}};
    if (!group.target.empty()) entry.targets.push_back(group.target);
    entries_.push_back(std::move(entry));
  }
  return {};
}

const CatalogEntry* OptionCatalog::find(std::string_view name, Verb verb) const {
  const CatalogEntry* found = nullptr;
  for (const CatalogEntry& entry : entries_)
    if (has_name(*entry.def, name) && (found == nullptr || entry.def->verbs.has(verb)))
      found = &entry;
  return found;
}

const CatalogEntry* OptionCatalog::find_short(char letter, Verb verb) const {
  const CatalogEntry* found = nullptr;
  for (const CatalogEntry& entry : entries_)
    if (entry.def->short_name == letter && (found == nullptr || entry.def->verbs.has(verb)))
      found = &entry;
  return found;
}

std::vector<std::string_view> OptionCatalog::names(Verb verb) const {
  std::vector<std::string_view> names;
  for (const CatalogEntry& entry : entries_) {
    if (!entry.def->verbs.has(verb)) continue;
    names.push_back(entry.def->name);
    if (!entry.def->alias.empty()) names.push_back(entry.def->alias);
  }
  return names;
}

Error OptionCatalog::unknown_name(std::string_view name, Verb verb) const {
  std::string plain(name);
  std::replace(plain.begin(), plain.end(), '_', '-');
  std::vector<std::string> near = nearest_names(plain, names(verb));
  if (near.empty()) {
    std::vector<std::string_view> all;
    for (const CatalogEntry& entry : entries_) all.push_back(entry.def->name);
    near = nearest_names(plain, all);
  }
  std::string hint;
  for (size_t i = 0; i < near.size(); ++i)
    hint += fmt::format("{}'--{}'",
                        i == 0 ? "did you mean " : (i + 1 == near.size() ? " or " : ", "), near[i]);
  hint = hint.empty() ? fmt::format("`edgecompile {} --help` lists the options", verb_name(verb))
                      : hint + "?";
  return Error(Code::Usage, fmt::format("unknown option '--{}'", printable(name)))
      .hint(std::move(hint));
}

Status OptionCatalog::check_verb(const CatalogEntry& entry, Verb verb) const {
  if (entry.def->verbs.has(verb)) return {};
  return Error(Code::Usage,
               fmt::format("--{} does not apply to '{}'", entry.def->name, verb_name(verb)))
      .hint(fmt::format("it belongs to: {}", verb_names(entry.def->verbs)));
}

Status OptionCatalog::set_from_text(Options& options, const OptionDef& def, std::string_view text,
                                    OptionSource source) const {
  EC_TRY(OptionValue value, parse_value(def, text));
  const auto found = options.entries().find(def.name);
  if (found != options.entries().end() && found->second.source == source && grows(def.type)) {
    OptionValue merged = found->second.value;
    merge_value(merged, std::move(value));
    value = std::move(merged);
  }
  options.set(def.name, std::move(value), source);
  return {};
}

Result<Options> OptionCatalog::resolve(const Options& given, Verb verb,
                                       std::string_view target) const {
  Options resolved;
  for (const auto& [name, entry] : given.entries()) {
    if (entry.value.index() == 0 || entry.source == OptionSource::Default) continue;
    const CatalogEntry* found = find(name, verb);
    if (found == nullptr) return unknown_name(name, verb);
    EC_CHECK_OK(check_verb(*found, verb));
    EC_CHECK_OK(check_target(*found, target));
    if (resolved.has(found->def->name))
      return Error(Code::Usage, fmt::format("--{} and --{} are the same option", found->def->name,
                                            found->def->alias))
          .hint("leave one of them out");
    EC_TRY(OptionValue value, checked_value(*found->def, entry.value));
    resolved.set(found->def->name, std::move(value), entry.source);
  }
  for (const CatalogEntry& entry : entries_) {
    const OptionDef& def = *entry.def;
    const bool wanted = entry.targets.empty() || (!target.empty() && belongs_to(entry, target));
    if (!wanted || !def.verbs.has(verb) || def.default_value.empty()) continue;
    resolved.set(def.name, default_of(def), OptionSource::Default);
  }
  return resolved;
}

}  // namespace ec
