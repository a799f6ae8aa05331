// TOML to configuration values.
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>

#include "options/config_node.h"

namespace ec {
namespace {

Result<ConfigNode> node_of(const toml::node& source, int depth) {
  ConfigNode node;
  node.position = fmt::format("line {}", source.source().begin.line);
  if (depth > kMaxConfigDepth) return node.error("values are nested too deeply");
  if (const auto* text = source.as_string()) {
    node.value = text->get();
  } else if (const auto* whole = source.as_integer()) {
    node.value = whole->get();
  } else if (const auto* number = source.as_floating_point()) {
    node.value = number->get();
  } else if (const auto* flag = source.as_boolean()) {
    node.value = flag->get();
  } else if (const auto* list = source.as_array()) {
    ConfigNode::List elements;
    for (const toml::node& element : *list) {
      EC_TRY(ConfigNode one, node_of(element, depth + 1));
      elements.push_back(std::move(one));
    }
    node.value = std::move(elements);
  } else if (const auto* table = source.as_table()) {
    ConfigNode::Table entries;
    for (const auto& [key, value] : *table) {
      EC_TRY(ConfigNode one, node_of(value, depth + 1));
      entries.push_back({std::string(key.str()), std::move(one)});
    }
    node.value = std::move(entries);
  }
  return node;
}

}  // namespace

Result<ConfigNode> parse_toml(std::string_view text, const std::string& path) {
  const toml::parse_result parsed = toml::parse(text, path);
  if (!parsed) {
    const auto& problem = parsed.error();
    return Error(Code::Usage, fmt::format("line {}, column {}: {}", problem.source().begin.line,
                                          problem.source().begin.column, problem.description()))
        .hint("the file must be TOML (key = value) or a JSON object");
  }
  return node_of(parsed.table(), 0);
}

}  // namespace ec
