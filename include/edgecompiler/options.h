// Options of every job, by name. The names are those of the command line (`edgecompile --help`)
// and, with underscores, of the Python keywords; `-` and `_` are the same.
//
//   ec::Options options{{"output", "model.ecir"}};
//   options.set("threads", 2);
//
// Names, types and ranges are checked when a job begins: an unknown name is an error that tells the
// nearest one.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ec {

using ShapesByName = std::map<std::string, std::vector<int64_t>>;
using SizesByName = std::map<std::string, int64_t>;
using TextsByName = std::map<std::string, std::string>;

// std::monostate: not set, and the option has no default.
using OptionValue =
    std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<double>,
                 std::vector<std::string>, ShapesByName, SizesByName, TextsByName>;

// Where a value comes from. Later ones win over earlier ones.
enum class OptionSource : uint8_t {
  Default,
  ConfigFile,
  Caller,  // the command line, or the program that calls the library
};

class Options {
 public:
  struct Entry {
    OptionValue value;
    OptionSource source = OptionSource::Caller;
  };

  Options() = default;
  Options(std::initializer_list<std::pair<std::string_view, OptionValue>> values);

  // Names are stored with `-`. A value from a weaker source does not replace one from a stronger.
  Options& set(std::string_view name, OptionValue value,
               OptionSource source = OptionSource::Caller);
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }

  // Whether the option has a value, a default included.
  bool has(std::string_view name) const;
  // Whether somebody gave the value: it is not the default.
  bool is_given(std::string_view name) const;

  // The value, or an empty one where the option is not set. The type must be the option's own.
  bool flag(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const std::vector<double>& numbers(std::string_view name) const;
  const std::vector<std::string>& texts(std::string_view name) const;
  const ShapesByName& shapes(std::string_view name) const;
  const SizesByName& sizes(std::string_view name) const;
  const TextsByName& named_texts(std::string_view name) const;
  std::optional<int64_t> integer_if(std::string_view name) const;
  std::optional<double> number_if(std::string_view name) const;

 private:
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace ec
