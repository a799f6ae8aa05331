// A configuration file to start from.
#include <fmt/format.h>

#include <cctype>

#include "options/config.h"
#include "options/value.h"
#include "support/strings.h"

namespace ec {
namespace {

constexpr size_t kWidth = 100;

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\u{:04x}", byte);
    else
      out += c;
  }
  return out + "\"";
}

// The text as comment lines of limited width.
std::string comment(std::string_view text) {
  std::string out, line = "#";
  for (const std::string_view word : split(text, ' ')) {
    if (line.size() > 1 && line.size() + 1 + word.size() > kWidth) {
      out += line + "\n";
      line = "#";
    }
    line += fmt::format(" {}", word);
  }
  return out + line + "\n";
}

template <class Values, class Text>
std::string listed(const Values& values, std::string_view open, std::string_view close,
                   const Text& text) {
  std::string out;
  for (const auto& value : values) out += (out.empty() ? "" : ", ") + text(value);
  return fmt::format("{}{}{}", open, out, close);
}

struct TomlText {
  std::string operator()(std::monostate) const { return "\"\""; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return format_double(value); }
  std::string operator()(const std::string& value) const { return quoted(value); }
  std::string operator()(const std::vector<double>& values) const {
    return listed(values, "[", "]", format_double);
  }
  std::string operator()(const std::vector<std::string>& values) const {
    return listed(values, "[", "]", quoted);
  }
  std::string operator()(const ShapesByName& shapes) const {
    return listed(shapes, "{ ", " }", [](const auto& entry) {
      return fmt::format("{} = [{}]", quoted(entry.first), fmt::join(entry.second, ", "));
    });
  }
  std::string operator()(const SizesByName& sizes) const {
    return listed(sizes, "{ ", " }", [](const auto& entry) {
      return fmt::format("{} = {}", quoted(entry.first), entry.second);
    });
  }
  std::string operator()(const TextsByName& texts) const {
    return listed(texts, "{ ", " }", [](const auto& entry) {
      return fmt::format("{} = {}", quoted(entry.first), quoted(entry.second));
    });
  }
};

// What stands for the value of an option that has no default.
std::string placeholder(const OptionDef& def) {
  switch (def.type) {
    case OptionType::Flag:
      return "false";
    case OptionType::Level:
      return "0";
    case OptionType::Numbers:
      return "[]";
    case OptionType::Texts:
    case OptionType::Items:
      return fmt::format("[{}]", quoted(def.argument));
    case OptionType::Shapes:
      return "{ \"NAME\" = [1, 3, 224, 224] }";
    case OptionType::Sizes:
      return "{ \"NAME\" = 1 }";
    case OptionType::NamedTexts:
      return "{ \"NAME\" = \"VALUE\" }";
    default:
      return quoted(def.argument);
  }
}

std::string option_text(const OptionDef& def, const Options& options) {
  std::string out = comment(def.help);
  const auto found = options.entries().find(def.name);
  if (options.is_given(def.name))
    return out + fmt::format("{} = {}\n", def.name, std::visit(TomlText(), found->second.value));
  const OptionValue value = default_of(def);
  return out + fmt::format("#{} = {}\n", def.name,
                           value.index() == 0 ? placeholder(def) : std::visit(TomlText(), value));
}

}  // namespace

std::string generate_config(const OptionCatalog& catalog, Verb verb, const Options& options) {
  std::string out = fmt::format(
      "# Options of `edgecompile {0}`: edgecompile {0} ... --config FILE\n"
      "# A line that begins with #NAME shows the default, or the form of the value.\n",
      verb_name(verb));
  std::string_view group;
  for (const CatalogEntry& entry : catalog.entries()) {
    if (!entry.def->verbs.has(verb) || !entry.def->in_config) continue;
    if (entry.group != group) {
      group = entry.group;
      out += fmt::format("\n# --- {}{} ---\n", entry.targets.empty() ? "" : "target ", group);
    }
    out += "\n" + option_text(*entry.def, options);
  }
  return out;
}

}  // namespace ec
