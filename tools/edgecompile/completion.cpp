// Completion scripts for bash and zsh, written from the tables.
#include <fmt/format.h>

#include "cli.h"
#include "driver/phases.h"
#include "option_text.h"
#include "support/strings.h"

namespace ec::cli {
namespace {

std::string verb_names() {
  std::string names;
  for (const VerbDef& verb : all_verbs())
    names += fmt::format("{}{}", names.empty() ? "" : " ", verb.name());
  return names;
}

std::string option_names(Verb verb) {
  std::string names;
  for (const CatalogEntry& entry : catalog().entries())
    if (entry.def->verbs.has(verb))
      names += fmt::format("{}--{}", names.empty() ? "" : " ", entry.def->name);
  return names;
}

// Words that the option takes, or a command that prints them; empty: none are known.
std::string candidates(const OptionDef& option) {
  switch (option.completion) {
    case Completion::Pass:
      return "$(edgecompile passes --quiet 2>/dev/null)";
    case Completion::Target:
      return "$(edgecompile targets --quiet 2>/dev/null)";
    case Completion::Phase:
      return fmt::format("{}", fmt::join(phase_names(), " "));
    case Completion::ByType:
      break;
  }
  return fmt::format("{}", fmt::join(split(option.choices, '|'), " "));
}

bool takes_file(const OptionDef& option) {
  return option.type == OptionType::File || option.type == OptionType::Items;
}

std::string bash_script() {
  std::string out =
      "# bash completion for edgecompile. Install: edgecompile completion bash >\n"
      "# ~/.local/share/bash-completion/completions/edgecompile\n"
      "_edgecompile() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=compile word\n"
      "  COMPREPLY=()\n"
      "  case $prev in\n";
  for (const CatalogEntry& entry : catalog().entries()) {
    const OptionDef& option = *entry.def;
    if (!option.takes_value()) continue;
    std::string pattern = fmt::format("--{}", option.name);
    if (!option.alias.empty()) pattern += fmt::format("|--{}", option.alias);
    if (option.short_name) pattern += fmt::format("|-{}", option.short_name);
    std::string action;
    if (takes_file(option)) action = "COMPREPLY=($(compgen -f -- \"$cur\"))";
    if (option.type == OptionType::Directory) action = "COMPREPLY=($(compgen -d -- \"$cur\"))";
    if (const std::string words = candidates(option); !words.empty())
      action = fmt::format("COMPREPLY=($(compgen -W \"{}\" -- \"$cur\"))", words);
    out += fmt::format("    {}) {}{}return ;;\n", pattern, action, action.empty() ? "" : "; ");
  }
  out += fmt::format(
      "  esac\n"
      "  for word in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do\n"
      "    case \" {} \" in *\" $word \"*) verb=$word; break ;; esac\n"
      "  done\n"
      "  if [[ $cur == -* ]]; then\n"
      "    local options=\n"
      "    case $verb in\n",
      verb_names());
  for (const VerbDef& verb : all_verbs())
    out += fmt::format("      {}) options='{}' ;;\n", verb.name(), option_names(verb.verb));
  out += fmt::format(
      "    esac\n"
      "    COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
      "    return\n"
      "  fi\n"
      "  case $verb in\n"
      "    explain) COMPREPLY=($(compgen -W \"$(edgecompile explain --quiet 2>/dev/null)\" -- "
      "\"$cur\")) ;;\n"
      "    ops) COMPREPLY=($(compgen -W \"$(edgecompile ops --quiet 2>/dev/null)\" -- \"$cur\")) "
      ";;\n"
      "    completion) COMPREPLY=($(compgen -W 'bash zsh' -- \"$cur\")) ;;\n"
      "    *) COMPREPLY=($(compgen -f -- \"$cur\"))\n"
      "       [[ $COMP_CWORD == 1 ]] && COMPREPLY+=($(compgen -W '{}' -- \"$cur\")) ;;\n"
      "  esac\n"
      "}}\n"
      "complete -o filenames -F _edgecompile edgecompile\n",
      verb_names());
  return out;
}

// Text inside a zsh _arguments or _describe item.
std::string zsh_quote(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') out += "'\\'";
    if (c == '[' || c == ']' || c == ':') out += '\\';
    if (c != '`') out += c;
  }
  return out;
}

std::string zsh_action(const OptionDef& option) {
  const std::string words = candidates(option);
  if (words.starts_with("$(")) return fmt::format("{{compadd -- ${{(f)\"{}\"}}}}", words);
  if (!words.empty()) return fmt::format("({})", words);
  if (takes_file(option)) return "_files";
  return option.type == OptionType::Directory ? "_files -/" : "";
}

std::string zsh_option(const OptionDef& option) {
  const std::string value =
      option.takes_value() ? fmt::format(":{}:{}", zsh_quote(option.argument), zsh_action(option))
                           : "";
  const std::string help = zsh_quote(help_with_default(option));
  std::string line = fmt::format("      '*--{}[{}]{}'", option.name, help, value);
  if (option.short_name)
    line += fmt::format("\n      '*-{}[{}]{}'", option.short_name, help, value);
  return line;
}

std::string zsh_script() {
  std::string out =
      "#compdef edgecompile\n"
      "# zsh completion for edgecompile. Install: edgecompile completion zsh >\n"
      "# a directory of $fpath, as _edgecompile\n"
      "_edgecompile() {\n"
      "  local verb=compile word\n"
      "  local -a verbs options\n"
      "  verbs=(\n";
  for (const VerbDef& verb : all_verbs())
    out += fmt::format("    '{}:{}'\n", verb.name(), zsh_quote(verb.summary));
  out +=
      "  )\n"
      "  for word in ${words[2,CURRENT-1]}; do\n"
      "    if (( ${verbs[(I)$word:*]} )); then verb=$word; break; fi\n"
      "  done\n"
      "  case $verb in\n";
  for (const VerbDef& verb : all_verbs()) {
    out += fmt::format("    {}) options=(\n", verb.name());
    for (const CatalogEntry& entry : catalog().entries())
      if (entry.def->verbs.has(verb.verb)) out += zsh_option(*entry.def) + "\n";
    out += "    ) ;;\n";
  }
  out +=
      "  esac\n"
      "  if (( CURRENT == 2 )) && [[ $words[CURRENT] != -* ]]; then\n"
      "    _describe verb verbs\n"
      "  fi\n"
      "  _arguments -s \"$options[@]\" '*:file:_files'\n"
      "}\n"
      "_edgecompile \"$@\"\n";
  return out;
}

}  // namespace

Result<std::string> completion_script(std::string_view shell) {
  if (shell == "bash") return bash_script();
  if (shell == "zsh") return zsh_script();
  constexpr std::string_view kShells[] = {"bash", "zsh"};
  std::string hint = did_you_mean(shell, kShells);
  return usage_error(fmt::format("no completion for shell '{}'", printable(shell)),
                     hint.empty() ? "known shells: bash, zsh" : hint);
}

}  // namespace ec::cli
