// What the command line knows: the table of verbs, the table of options, and the settings that
// parsing fills. Parsing, --help, completion, the man page and docs/cli.md all come from the
// tables.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgecompiler/evaluate.h"
#include "edgecompiler/options.h"
#include "support/result.h"

namespace ec::cli {

enum class Verb : uint8_t {
  Compile,
  Check,
  Inspect,
  Run,
  Bench,
  Optimize,
  Quantize,
  Evaluate,
  Explain,
  Targets,
  Passes,
  Ops,
  Doctor,
  Completion,
  Man,
  Help,
};

class VerbSet {
 public:
  constexpr VerbSet() = default;
  template <class... V>
  constexpr explicit VerbSet(V... verbs) : bits_((bit(verbs) | ... | 0u)) {}
  static constexpr VerbSet all() {
    VerbSet set;
    set.bits_ = ~0u;
    return set;
  }
  constexpr bool has(Verb verb) const { return (bits_ & bit(verb)) != 0; }
  constexpr bool is_all() const { return bits_ == ~0u; }

 private:
  static constexpr uint32_t bit(Verb verb) { return 1u << static_cast<unsigned>(verb); }
  uint32_t bits_ = 0;
};

struct InputArgument {
  std::string name;   // empty: the model's inputs in order
  std::string value;  // x.npy, x.npz, "random", "zeros" or "ones"
};

struct Settings {
  Verb verb = Verb::Help;
  std::vector<std::string> arguments;  // what is no option
  CompileOptions compile;
  EvaluateOptions evaluate;
  std::vector<InputArgument> inputs;
  int64_t seed = 0;
  int iterations = 100;
  int warmup = 10;
  bool per_op = false;
  bool all_tensors = false;
  bool markdown = false;
  bool json = false;
  bool quiet = false;
  bool help = false;
  bool version = false;
  int verbosity = 0;
  std::string config;
};

// What a verb produces: text for the terminal and, with --json, the "result" object.
struct Output {
  std::string text;
  std::string json;
};

using VerbFn = Status (*)(const Settings& settings, Output& output, DiagnosticSink& sink);

struct VerbDef {
  Verb verb;
  std::string_view name;
  std::string_view arguments;  // "MODEL", "[CODE]"; empty: none
  size_t min_arguments;
  size_t max_arguments;
  std::string_view summary;
  std::string_view group;
  VerbFn run;
};

// What the shell offers after an option.
enum class Complete : uint8_t { Nothing, File, Directory, Pass, Target, Phase };

struct OptionDef {
  std::string_view name;
  char short_name;            // 0: none
  std::string_view argument;  // empty: a flag
  std::string_view group;     // heading in --help
  VerbSet verbs;
  Complete complete;
  std::string_view help;
  Status (*apply)(Settings& settings, std::string_view value);
};

std::span<const VerbDef> all_verbs();
std::span<const OptionDef> all_options();
const VerbDef& verb_def(Verb verb);
const VerbDef* find_verb(std::string_view name);
// '-' and '_' are the same in option names. Of options that share a name the verb's own.
const OptionDef* find_option(std::string_view name, Verb verb);

// Fills settings from the command line and the file that --config names. Command line beats file
// beats default.
Status parse_command_line(std::span<const char* const> arguments, Settings& settings);
// Applies a TOML file, without the options in `given`; an unknown key is an error that names the
// nearest one.
Status apply_config(const std::string& path, std::span<const OptionDef* const> given,
                    Settings& settings);

std::string help_text();
std::string help_text(const VerbDef& verb);
std::string man_page();
std::string cli_markdown();
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
