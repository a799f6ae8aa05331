// How reports describe themselves: every struct lists its fields once, in a Description, and all
// renderers walk that list: JSON, its schema, Python's classes and values, tables on the terminal.
//
//   template <>
//   struct Description<PhaseTime> {
//     static constexpr std::string_view kName = "PhaseTime", kHelp = "time of a phase";
//     template <class Visitor>
//     static void fields(Visitor& v, const PhaseTime& p) {
//       v(Field("name", "the phase"), p.phase);
//       v(Field("milliseconds", "how long it took").milliseconds().measured(), p.milliseconds);
//     }
//   };
//
// The list must not depend on values: the schema is made from an empty struct.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ec::report {

enum class Unit : uint8_t {
  None,
  Count,
  Bytes,
  Milliseconds,
  Share,  // 0 to 1
  Percent,
  Decibels,
  PerSecond,
};
// How far a number can be trusted.
enum class Certainty : uint8_t { None, Exact, Measured, Simulated, Estimated };
enum class Presence : uint8_t {
  Always,
  IfSet,   // left out where the value is empty or zero
  OrNull,  // null where the value is empty
};

// Empty for Unit::None and Certainty::None.
std::string_view unit_name(Unit unit);
std::string_view certainty_name(Certainty certainty);

struct Field {
  std::string_view key, help;
  std::string_view column;  // title of its column on the terminal; empty: the key
  Unit unit = Unit::None;
  Certainty certainty = Certainty::None;
  Presence presence = Presence::Always;

  constexpr Field(std::string_view name, std::string_view meaning) : key(name), help(meaning) {}

  constexpr Field titled(std::string_view title) const { return with(&Field::column, title); }
  constexpr Field count() const { return with(&Field::unit, Unit::Count); }
  constexpr Field bytes() const { return with(&Field::unit, Unit::Bytes); }
  constexpr Field milliseconds() const { return with(&Field::unit, Unit::Milliseconds); }
  constexpr Field share() const { return with(&Field::unit, Unit::Share); }
  constexpr Field percent() const { return with(&Field::unit, Unit::Percent); }
  constexpr Field decibels() const { return with(&Field::unit, Unit::Decibels); }
  constexpr Field per_second() const { return with(&Field::unit, Unit::PerSecond); }
  constexpr Field exact() const { return with(&Field::certainty, Certainty::Exact); }
  constexpr Field measured() const { return with(&Field::certainty, Certainty::Measured); }
  constexpr Field simulated() const { return with(&Field::certainty, Certainty::Simulated); }
  constexpr Field estimated() const { return with(&Field::certainty, Certainty::Estimated); }
  constexpr Field if_set() const { return with(&Field::presence, Presence::IfSet); }
  constexpr Field or_null() const { return with(&Field::presence, Presence::OrNull); }

 private:
  template <class T>
  constexpr Field with(T Field::*member, T value) const {
    Field field = *this;
    field.*member = value;
    return field;
  }
};

// The fields of T: kName, kHelp and fields(visitor, value).
template <class T>
struct Description;

template <class T>
concept Described = requires { Description<T>::kName; };

// Values that are no plain types.

// A text out of a fixed list.
struct Choice {
  std::string_view value;
  std::span<const std::string_view> values;
};
// The same text in every report.
struct Constant {
  std::string_view value;
};
// Sizes as numbers, open dimensions by name; null where the rank is not known.
struct Dims {
  const std::vector<std::string>* dims = nullptr;
};

}  // namespace ec::report
