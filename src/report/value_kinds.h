// The kinds of values that fields of reports have, for renderers.
#pragma once

#include <concepts>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/field.h"

namespace ec::report {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <class T>
struct IsList : std::false_type {};
template <class T>
struct IsList<std::vector<T>> : std::true_type {};

// Names with values, in the order they are shown.
template <class T>
struct IsMap : std::false_type {};
template <class T>
struct IsMap<std::map<std::string, T>> : std::true_type {
  using Value = T;
};
template <class T>
struct IsMap<std::vector<std::pair<std::string, T>>> : std::true_type {
  using Value = T;
};

template <class T>
concept TextValue = std::same_as<T, std::string> || std::same_as<T, std::string_view>;

// Whether Presence::IfSet leaves it out and Presence::OrNull makes it null.
template <class T>
bool is_unset(const T& value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return value == T{};
  } else if constexpr (requires { value.empty(); }) {
    return value.empty();
  } else {
    return false;
  }
}

}  // namespace ec::report
