// The man page (roff, man macros) from the tables.
#include <fmt/format.h>

#include "cli.h"
#include "edgecompiler/version.h"
#include "option_text.h"

namespace ec::cli {
namespace {

std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '-') {
      out += "\\-";
    } else if (c == '\\') {
      out += "\\e";
    } else {
      if (out.empty() && (c == '.' || c == '\'')) out += "\\&";
      out += c;
    }
  }
  return out;
}

std::string option_paragraph(const OptionDef& option) {
  std::string out = ".TP\n.B ";
  if (option.short_name) out += fmt::format("\\-{}, ", option.short_name);
  out += fmt::format("\\-\\-{}", roff(option.name));
  if (!option.argument.empty()) out += fmt::format(" \\fI{}\\fR", roff(option.argument));
  return out + fmt::format("\n{}\n", roff(help_with_default(option)));
}

}  // namespace

std::string man_page() {
  std::string out = fmt::format(
      ".TH EDGECOMPILE 1 \"\" \"edgecompiler {}\" \"User Commands\"\n"
      ".SH NAME\nedgecompile \\- ahead\\-of\\-time compiler for edge AI hardware\n"
      ".SH SYNOPSIS\n"
      ".B edgecompile\n.I MODEL\n.B \\-\\-target\n.I TARGET\n[options]\n.br\n"
      ".B edgecompile\n.I VERB\n\\&... [options]\n"
      ".SH DESCRIPTION\n"
      "Reads a neural network, optimises it, and compiles, checks, inspects, runs or measures it. "
      "No framework and no network connection is needed.\n"
      ".SH VERBS\n",
      version());
  for (const VerbDef& verb : all_verbs())
    out += fmt::format(".TP\n.B {} {}\n{}\n", roff(verb.name()), roff(verb.arguments),
                       roff(verb.summary));
  out += ".SH OPTIONS\nIn option names \\- and _ are the same.\n";
  for (const std::string& group : option_groups()) {
    out += fmt::format(".SS {}\n", roff(group));
    for (const CatalogEntry& entry : catalog().entries())
      if (group_title(entry) == group) out += option_paragraph(*entry.def);
  }
  out +=
      ".SH EXIT STATUS\n"
      ".TP\n0\ndone\n.TP\n1\nfailed\n.TP\n2\nusage\n.TP\n3\nunsupported operation\n"
      ".TP\n4\ndoes not fit a memory limit\n.TP\n5\naccuracy below the asked limit\n"
      ".TP\n6\nself\\-check found a difference\n.TP\n7\ninput unreadable or corrupt\n"
      ".TP\n130\ninterrupted; nothing half\\-written\n"
      ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nwhen set, no colour on the terminal\n"
      ".SH SEE ALSO\n.B edgecompile explain\n.I CODE\ntells what an error code means.\n";
  return out;
}

}  // namespace ec::cli
