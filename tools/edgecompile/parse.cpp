// The command line: words to settings, by the tables of verbs and options alone.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli.h"
#include "options/config.h"
#include "support/strings.h"

namespace ec::cli {
namespace {

struct GivenOption {
  const CatalogEntry* entry;
  std::string value;
};

struct Words {
  std::vector<GivenOption> options;
  std::vector<std::string> arguments;
};

Error unknown_short(std::string_view text) {
  return usage_error(fmt::format("unknown option '{}'", printable(text)),
                     "`edgecompile --help` lists the options");
}

Status need_value(const OptionDef& option, std::span<const char* const> arguments, size_t& at,
                  std::string& value) {
  if (at + 1 >= arguments.size())
    return usage_error(
        fmt::format("--{} needs a value: --{} {}", option.name, option.name, option.argument));
  value = arguments[++at];
  return {};
}

Status read_long(std::span<const char* const> arguments, Verb verb, size_t& at, Words& words) {
  const std::string_view text = arguments[at];
  const size_t equals = text.find('=');
  const std::string_view name =
      text.substr(2, equals == std::string_view::npos ? equals : equals - 2);
  const CatalogEntry* entry = catalog().find(name, verb);
  if (entry == nullptr) return catalog().unknown_name(name, verb);
  const OptionDef& option = *entry->def;
  std::string value;
  if (equals != std::string_view::npos) {
    if (!option.takes_value()) return usage_error(fmt::format("--{} takes no value", option.name));
    value = text.substr(equals + 1);
  } else if (option.takes_value()) {
    EC_CHECK_OK(need_value(option, arguments, at, value));
  }
  words.options.push_back({entry, std::move(value)});
  return {};
}

// "-o FILE", "-oFILE", "-vv".
Status read_short(std::span<const char* const> arguments, Verb verb, size_t& at, Words& words) {
  const std::string_view text = arguments[at];
  for (size_t i = 1; i < text.size(); ++i) {
    const CatalogEntry* entry = catalog().find_short(text[i], verb);
    if (entry == nullptr) return unknown_short(i == 1 ? text : fmt::format("-{}", text[i]));
    std::string value;
    if (entry->def->takes_value()) {
      if (i + 1 < text.size()) {
        value = text.substr(text[i + 1] == '=' ? i + 2 : i + 1);
        i = text.size();
      } else {
        EC_CHECK_OK(need_value(*entry->def, arguments, at, value));
      }
    }
    words.options.push_back({entry, std::move(value)});
  }
  return {};
}

// Known before the options are read: some names mean another thing to another verb.
Verb verb_among(std::span<const char* const> arguments) {
  for (const char* text : arguments)
    if (const VerbDef* verb = find_verb(text)) return verb->verb;
  return Verb::Compile;
}

Status read_words(std::span<const char* const> arguments, Words& words) {
  const Verb verb = verb_among(arguments);
  bool options_end = false;
  for (size_t at = 0; at < arguments.size(); ++at) {
    const std::string_view text = arguments[at];
    if (options_end || text.size() < 2 || text[0] != '-') {
      words.arguments.emplace_back(text);
    } else if (text == "--") {
      options_end = true;
    } else if (text[1] == '-') {
      EC_CHECK_OK(read_long(arguments, verb, at, words));
    } else {
      EC_CHECK_OK(read_short(arguments, verb, at, words));
    }
  }
  return {};
}

// The first word is a verb, or a model to compile when it can be a file.
Status choose_verb(Words& words, Settings& settings) {
  if (words.arguments.empty()) return {};
  const std::string& first = words.arguments.front();
  if (const VerbDef* verb = find_verb(first)) {
    settings.verb = verb->verb;
    words.arguments.erase(words.arguments.begin());
    return {};
  }
  std::error_code ignored;
  if (first.find_first_of("./") == std::string::npos && !std::filesystem::exists(first, ignored)) {
    std::vector<std::string_view> known;
    for (const VerbDef& verb : all_verbs()) known.push_back(verb.name());
    std::string hint = did_you_mean(first, known);
    if (hint.empty()) hint = "`edgecompile --help` lists the verbs";
    return usage_error(fmt::format("unknown verb '{}'", printable(first)), hint);
  }
  settings.verb = Verb::Compile;
  return {};
}

Status check_arguments(const Settings& settings) {
  const VerbDef& verb = verb_def(settings.verb);
  const size_t count = settings.arguments.size();
  if (count < verb.min_arguments)
    return usage_error(
        fmt::format("'{}' needs {}", verb.name(), verb.arguments),
        fmt::format("usage: edgecompile {} {} [options]", verb.name(), verb.arguments));
  if (count > verb.max_arguments)
    return usage_error(fmt::format("'{}' takes {}, and there is also '{}'", verb.name(),
                                   verb.arguments.empty() ? "no argument" : verb.arguments,
                                   printable(settings.arguments[verb.max_arguments])),
                       fmt::format("`edgecompile {} --help` shows its options", verb.name()));
  return {};
}

void take_own_options(const Options& options, Settings& settings) {
  settings.json = settings.json || options.flag("json");
  settings.quiet = options.flag("quiet");
  settings.markdown = options.flag("markdown");
  settings.python_stubs = options.flag("python-stubs");
  settings.python_reports = options.flag("python-reports");
  settings.report_schema = options.flag("report-schema");
  settings.verbosity = static_cast<int>(std::clamp<int64_t>(options.integer("verbose"), 0, 3));
}

}  // namespace

Error usage_error(std::string message, std::string hint) {
  return Error(Code::Usage, std::move(message)).hint(std::move(hint));
}

Status parse_command_line(std::span<const char* const> arguments, Settings& settings) {
  // Known before anything can fail, so that errors come as JSON too.
  for (const char* text : arguments)
    if (std::string_view(text) == "--json") settings.json = true;
  Words words;
  EC_CHECK_OK(read_words(arguments, words));
  EC_CHECK_OK(choose_verb(words, settings));
  settings.arguments = std::move(words.arguments);

  Options given;
  for (const GivenOption& option : words.options)
    EC_CHECK_OK(
        catalog().set_from_text(given, *option.entry->def, option.value, OptionSource::Caller));
  const bool generates = given.flag("generate-config");
  if (generates && settings.verb == Verb::Help) settings.verb = Verb::Compile;
  settings.help = given.flag("help");
  settings.version = given.flag("version");
  if (settings.help || settings.version) return {};
  for (const GivenOption& option : words.options)
    EC_CHECK_OK(catalog().check_verb(*option.entry, settings.verb));
  if (given.has("config"))
    EC_CHECK_OK(read_config(given.text("config"), catalog(), settings.verb, given));
  EC_TRY(const Options all, catalog().resolve(given, settings.verb, /*target=*/{}));
  take_own_options(all, settings);
  settings.options = job_options(all, settings.verb);
  if (generates) {
    settings.generated_config = generate_config(catalog(), settings.verb, all);
    return {};
  }
  return check_arguments(settings);
}

}  // namespace ec::cli
