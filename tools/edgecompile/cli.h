// What the command line knows: the table of verbs, the catalogue of options, and the settings that
// parsing fills. Parsing, --help, completion, the man page and docs/cli.md all come from them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgecompiler/options.h"
#include "options/catalog.h"
#include "options/verb.h"
#include "support/result.h"

namespace ec::cli {

struct Settings {
  Verb verb = Verb::Help;
  std::vector<std::string> arguments;  // everything that is not an option
  Options options;                     // of the job, with defaults
  bool markdown = false;
  bool python_stubs = false;
  bool python_reports = false;
  bool report_schema = false;
  bool json = false;
  bool quiet = false;
  bool help = false;
  bool version = false;
  int verbosity = 0;
  std::string generated_config;  // with --generate-config: the file

  bool wants_json() const { return json || options.has("report"); }
};

// What a verb produces: text for the terminal and the "result" object of --json and --report.
struct Output {
  std::string text;
  std::string json;
};

using VerbFn = Status (*)(const Settings& settings, Output& output, DiagnosticSink& sink);

struct VerbDef {
  Verb verb;
  std::string_view arguments;  // "MODEL", "[CODE]"; empty: none
  size_t min_arguments;
  size_t max_arguments;
  std::string_view summary;
  std::string_view group;
  VerbFn run;

  std::string_view name() const { return verb_name(verb); }
};

std::span<const VerbDef> all_verbs();
const VerbDef& verb_def(Verb verb);
const VerbDef* find_verb(std::string_view name);

// The options of all jobs, and those of the command line itself.
const OptionCatalog& catalog();
// The part of `options` that jobs know.
Options job_options(const Options& options, Verb verb);

// Fills settings from the command line and the file that --config names. Command line beats file
// beats default.
Status parse_command_line(std::span<const char* const> arguments, Settings& settings);

std::string help_text();
std::string help_text(const VerbDef& verb);
std::string man_page();
std::string cli_markdown();
std::string targets_markdown();
// Signatures of the Python functions, for type checkers.
std::string python_stubs();
Result<std::string> completion_script(std::string_view shell);

Error usage_error(std::string message, std::string hint = {});

// The verbs.
Status run_compile(const Settings&, Output&, DiagnosticSink&);
Status run_check(const Settings&, Output&, DiagnosticSink&);
Status run_inspect(const Settings&, Output&, DiagnosticSink&);
Status run_model(const Settings&, Output&, DiagnosticSink&);
Status run_bench(const Settings&, Output&, DiagnosticSink&);
Status run_evaluate(const Settings&, Output&, DiagnosticSink&);
Status run_quantize(const Settings&, Output&, DiagnosticSink&);
Status run_optimize(const Settings&, Output&, DiagnosticSink&);
Status run_explain(const Settings&, Output&, DiagnosticSink&);
Status run_targets(const Settings&, Output&, DiagnosticSink&);
Status run_passes(const Settings&, Output&, DiagnosticSink&);
Status run_ops(const Settings&, Output&, DiagnosticSink&);
Status run_doctor(const Settings&, Output&, DiagnosticSink&);
Status run_completion(const Settings&, Output&, DiagnosticSink&);
Status run_man(const Settings&, Output&, DiagnosticSink&);
Status run_help(const Settings&, Output&, DiagnosticSink&);

}  // namespace ec::cli
