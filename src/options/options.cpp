#include "edgecompiler/options.h"

#include <algorithm>
#include <cassert>

namespace ec {
namespace {

std::string stored_name(std::string_view name) {
  std::string stored(name);
  std::replace(stored.begin(), stored.end(), '_', '-');
  return stored;
}

using Entries = std::map<std::string, Options::Entry, std::less<>>;

// The value of the alternative T; null where the option is not set.
template <class T>
const T* value_of(const Entries& entries, std::string_view name) {
  const auto found = entries.find(name);
  if (found == entries.end() || found->second.value.index() == 0) return nullptr;
  const T* value = std::get_if<T>(&found->second.value);
  assert(value != nullptr && "an option is read with another type than its own");
  return value;
}

template <class T>
const T& value_or_empty(const Entries& entries, std::string_view name) {
  static const T empty{};
  const T* value = value_of<T>(entries, name);
  return value != nullptr ? *value : empty;
}

}  // namespace

Options::Options(std::initializer_list<std::pair<std::string_view, OptionValue>> values) {
  for (const auto& [name, value] : values) set(name, value);
}

Options& Options::set(std::string_view name, OptionValue value, OptionSource source) {
  const auto [entry, added] = entries_.try_emplace(stored_name(name));
  if (added || entry->second.source <= source) entry->second = {std::move(value), source};
  return *this;
}

bool Options::has(std::string_view name) const {
  const auto found = entries_.find(name);
  return found != entries_.end() && found->second.value.index() != 0;
}

bool Options::is_given(std::string_view name) const {
  return has(name) && entries_.find(name)->second.source != OptionSource::Default;
}

bool Options::flag(std::string_view name) const { return value_or_empty<bool>(entries_, name); }
int64_t Options::integer(std::string_view name) const {
  return value_or_empty<int64_t>(entries_, name);
}
double Options::number(std::string_view name) const {
  return value_or_empty<double>(entries_, name);
}
const std::string& Options::text(std::string_view name) const {
  return value_or_empty<std::string>(entries_, name);
}
const std::vector<double>& Options::numbers(std::string_view name) const {
  return value_or_empty<std::vector<double>>(entries_, name);
}
const std::vector<std::string>& Options::texts(std::string_view name) const {
  return value_or_empty<std::vector<std::string>>(entries_, name);
}
const ShapesByName& Options::shapes(std::string_view name) const {
  return value_or_empty<ShapesByName>(entries_, name);
}
const SizesByName& Options::sizes(std::string_view name) const {
  return value_or_empty<SizesByName>(entries_, name);
}
const TextsByName& Options::named_texts(std::string_view name) const {
  return value_or_empty<TextsByName>(entries_, name);
}

std::optional<int64_t> Options::integer_if(std::string_view name) const {
  const int64_t* value = value_of<int64_t>(entries_, name);
  return value != nullptr ? std::optional(*value) : std::nullopt;
}
std::optional<double> Options::number_if(std::string_view name) const {
  const double* value = value_of<double>(entries_, name);
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

}  // namespace ec
