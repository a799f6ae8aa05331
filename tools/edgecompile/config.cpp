// Options from a TOML file. Keys are option names; a table [inspect], [run], ... holds options of
// one verb.
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>

#include "cli.h"
#include "support/file.h"
#include "support/strings.h"

namespace ec::cli {
namespace {

struct ConfigReader {
  const std::string& path;
  std::span<const OptionDef* const> given;
  Settings& settings;

  Error at(const toml::node& node, std::string message, std::string hint = {}) const {
    return usage_error(fmt::format("line {}: {}", node.source().begin.line, message),
                       std::move(hint))
        .file(path);
  }

  // The text an option's function would get from the command line.
  Result<std::string> scalar_text(const OptionDef& option, const toml::node& node) const {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* number = node.as_integer()) return std::to_string(number->get());
    if (const auto* number = node.as_floating_point()) return format_double(number->get());
    return at(node, fmt::format("'{}' needs a text or a number", option.name));
  }

  Status apply_one(const OptionDef& option, const toml::node& node) const {
    if (option.argument.empty()) {
      if (option.name == "verbose" && node.is_integer()) {
        settings.verbosity = static_cast<int>(std::clamp<int64_t>(*node.value<int64_t>(), 0, 3));
        return {};
      }
      const auto* flag = node.as_boolean();
      if (!flag) return at(node, fmt::format("'{}' needs true or false", option.name));
      return flag->get() ? option.apply(settings, {}) : Status();
    }
    EC_TRY(const std::string text, scalar_text(option, node));
    Status status = option.apply(settings, text);
    if (!status.ok()) return std::move(status).error().file(path);
    return {};
  }

  // A list repeats the option; a table writes NAME:... or NAME=... pairs.
  Status apply(const OptionDef& option, const toml::node& node) const {
    if (std::find(given.begin(), given.end(), &option) != given.end()) return {};
    if (const toml::array* list = node.as_array()) {
      for (const toml::node& element : *list) EC_CHECK_OK(apply_one(option, element));
      return {};
    }
    const toml::table* table = node.as_table();
    if (!table) return apply_one(option, node);
    const char separator = option.name == "input-shape" ? ':' : '=';
    for (const auto& [key, value] : *table) {
      std::string text = fmt::format("{}{}", key.str(), separator);
      if (const toml::array* sizes = value.as_array()) {
        for (size_t i = 0; i < sizes->size(); ++i) {
          EC_TRY(const std::string size, scalar_text(option, *sizes->get(i)));
          text += (i > 0 ? "," : "") + size;
        }
      } else {
        EC_TRY(const std::string one, scalar_text(option, value));
        text += one;
      }
      Status status = option.apply(settings, text);
      if (!status.ok()) return std::move(status).error().file(path);
    }
    return {};
  }

  Error unknown_key(std::string_view key, const toml::node& node, bool top) const {
    std::vector<std::string_view> known;
    for (const OptionDef& option : all_options()) known.push_back(option.name);
    if (top)
      for (const VerbDef& verb : all_verbs()) known.push_back(verb.name);
    std::string plain(key);
    std::replace(plain.begin(), plain.end(), '_', '-');
    return at(node, fmt::format("unknown key '{}'", printable(key)), did_you_mean(plain, known));
  }

  // Every key is checked; only those of the verb at hand are stored.
  Status read(const toml::table& table, bool top, bool store) const {
    for (const auto& [key, node] : table) {
      const VerbDef* verb = top && node.is_table() ? find_verb(key.str()) : nullptr;
      if (verb) {
        EC_CHECK_OK(read(*node.as_table(), false, verb->verb == settings.verb));
        continue;
      }
      const OptionDef* option = find_option(key.str(), settings.verb);
      if (!option || option->group == "General") return unknown_key(key.str(), node, top);
      if (store && option->verbs.has(settings.verb)) EC_CHECK_OK(apply(*option, node));
    }
    return {};
  }
};

}  // namespace

Status apply_config(const std::string& path, std::span<const OptionDef* const> given,
                    Settings& settings) {
  EC_TRY(const Blob blob, map_file(path));
  const std::string_view text(reinterpret_cast<const char*>(blob.bytes().data()), blob.size());
  const toml::parse_result parsed = toml::parse(text, path);
  if (!parsed) {
    const auto& problem = parsed.error();
    return usage_error(fmt::format("line {}, column {}: {}", problem.source().begin.line,
                                   problem.source().begin.column, problem.description()),
                       "the file must be TOML: key = value")
        .file(path);
  }
  return ConfigReader{path, given, settings}.read(parsed.table(), true, true);
}

}  // namespace ec::cli
