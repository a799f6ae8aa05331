// Facts with names, nested: what back ends tell of files and machines. Rendered as text and JSON.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ec {

// One line of `doctor`.
struct Fact {
  std::string key;  // stable, for JSON: "cpu_model"
  std::string label;
  std::string value;
};

// A value, a list of values or a record of named values.
struct Property {
  using List = std::vector<Property>;
  using Record = std::vector<std::pair<std::string, Property>>;  // in the order they are shown
  std::variant<std::monostate, bool, int64_t, double, std::string, List, Record> value;

  Property() = default;
  Property(bool v) : value(v) {}                      // NOLINT: implicit on purpose
  Property(int64_t v) : value(v) {}                   // NOLINT
  Property(int v) : value(int64_t{v}) {}              // NOLINT
  Property(double v) : value(v) {}                    // NOLINT
  Property(const char* v) : value(std::string(v)) {}  // NOLINT
  Property(std::string v) : value(std::move(v)) {}    // NOLINT
  Property(List v) : value(std::move(v)) {}           // NOLINT
  Property(Record v) : value(std::move(v)) {}         // NOLINT

  bool empty() const { return value.index() == 0; }
};

// What a back end tells of a file that holds its code.
struct Inspection {
  std::string key;   // of the JSON object
  Property facts;
  std::string text;  // the same for the terminal
};

}  // namespace ec
