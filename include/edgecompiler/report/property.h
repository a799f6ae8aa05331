// Facts with names, nested: what back ends tell of files and machines. Rendered as text and JSON.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ec {

// A value, a list of values or a record of named values.
struct Property {
  using List = std::vector<Property>;
  using Record = std::vector<std::pair<std::string, Property>>;  // in the order they are shown
  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, List, Record> value;

  // Defined in property.cpp: inlined, GCC 12 takes parts of the variant for uninitialised.
  Property();
  Property(const Property&);
  Property(Property&&) noexcept;
  Property& operator=(const Property&);
  Property& operator=(Property&&) noexcept;
  ~Property();
  Property(bool v);         // NOLINT: implicit on purpose
  Property(int v);          // NOLINT
  Property(int64_t v);      // NOLINT
  Property(double v);       // NOLINT
  Property(const char* v);  // NOLINT
  Property(std::string v);  // NOLINT
  Property(List v);         // NOLINT
  Property(Record v);       // NOLINT

  static Property unsigned_number(uint64_t v);
  bool empty() const { return value.index() == 0; }
};

// One line of `doctor`.
struct Fact {
  std::string key;  // stable, for JSON: "cpu_model"
  std::string label;
  std::string value;
};

// What a back end tells of a file that holds its code.
struct Inspection {
  std::string key;  // of the JSON object
  Property facts;
  std::string text;  // the same for the terminal
};

}  // namespace ec
