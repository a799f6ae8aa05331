// JSON to configuration values.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "options/config_node.h"
#include "support/strings.h"
#include "support/text_memory.h"

namespace ec {
namespace {

using Json = nlohmann::ordered_json;

Result<ConfigNode> node_of(const Json& source, const std::string& key, int depth) {
  ConfigNode node;
  if (!key.empty()) node.position = fmt::format("key '{}'", printable(key));
  if (depth > kMaxConfigDepth) return node.error("values are nested too deeply");
  if (source.is_string()) {
    node.value = source.get<std::string>();
  } else if (source.is_boolean()) {
    node.value = source.get<bool>();
  } else if (source.is_number_integer() && !source.is_number_unsigned()) {
    node.value = source.get<int64_t>();
  } else if (source.is_number_unsigned() && source.get<uint64_t>() <= uint64_t{INT64_MAX}) {
    node.value = source.get<int64_t>();
  } else if (source.is_number()) {
    node.value = source.get<double>();
  } else if (source.is_array()) {
    ConfigNode::List elements;
    for (const Json& element : source) {
      EC_TRY(ConfigNode one, node_of(element, key, depth + 1));
      elements.push_back(std::move(one));
    }
    node.value = std::move(elements);
  } else if (source.is_object()) {
    ConfigNode::Table entries;
    for (const auto& [name, value] : source.items()) {
      EC_TRY(ConfigNode one, node_of(value, name, depth + 1));
      entries.push_back({name, std::move(one)});
    }
    node.value = std::move(entries);
  }
  return node;
}

}  // namespace

Result<ConfigNode> parse_json(std::string_view text, const std::string&) {
  EC_CHECK_OK(check_json(text, text.size()));
  try {
    return node_of(Json::parse(text), {}, 0);
  } catch (const Json::exception& problem) {
    return Error(Code::Usage, printable(problem.what()))
        .hint("the file must be TOML (key = value) or a JSON object");
  }
}

}  // namespace ec
