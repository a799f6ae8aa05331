// A configuration file as values, whatever its format. Only for the files of this folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "edgecompiler/options.h"
#include "options/option_def.h"
#include "support/result.h"

namespace ec {

struct ConfigNode {
  struct Entry;  // a key and its value
  using List = std::vector<ConfigNode>;
  using Table = std::vector<Entry>;  // in the order of the file
  // std::monostate: a kind of value that no option has, such as a date.
  std::variant<std::monostate, bool, int64_t, double, std::string, List, Table> value;
  std::string position;  // "line 3"; empty where the format's reader does not tell it

  const List* list() const { return std::get_if<List>(&value); }
  const Table* table() const { return std::get_if<Table>(&value); }
  // "line 3: text".
  Error error(std::string text) const;
};

struct ConfigNode::Entry {
  std::string key;
  ConfigNode value;
};

// Deeper values are errors: no option has any.
inline constexpr int kMaxConfigDepth = 8;

// `text` is the content of the file. Usage: it is no such file.
Result<ConfigNode> parse_toml(std::string_view text, const std::string& path);
Result<ConfigNode> parse_json(std::string_view text, const std::string& path);

// The value for an option.
Result<OptionValue> config_value(const OptionDef& def, const ConfigNode& node);

}  // namespace ec
