// The table of verbs.
#include "cli.h"

namespace ec::cli {
namespace {

constexpr VerbDef kVerbs[] = {
    {Verb::Compile, "compile", "MODEL...", 1, 64,
     "compile a model for a target (also without the verb: edgecompile MODEL -t TARGET); coral: "
     "several models that share the device",
     "Work", run_compile},
    {Verb::Check, "check", "MODEL", 1, 1,
     "what would run where, with reason and fix for each operation that would not", "Work",
     run_check},
    {Verb::Optimize, "optimize", "MODEL", 1, 1, "write the optimised graph as .onnx or .ecir",
     "Work", run_optimize},
    {Verb::Quantize, "quantize", "MODEL", 1, 1,
     "write the quantised graph as .ecir or .onnx, with a report of what it cost", "Work",
     run_quantize},
    {Verb::Evaluate, "evaluate", "FILE", 1, 1,
     "top-1, top-5, agreement and numerical error of a model on data, beside the float model",
     "Work", run_evaluate},
    {Verb::Inspect, "inspect", "FILE", 1, 1,
     "inputs, outputs, operations, parameters, multiply-adds, quantisation, metadata", "Work",
     run_inspect},
    {Verb::Run, "run", "FILE", 1, 1, "run a model on given inputs and write the outputs as .npy",
     "Work", run_model},
    {Verb::Bench, "bench", "FILE", 1, 1, "measure latency and throughput", "Work", run_bench},
    {Verb::Explain, "explain", "[CODE]", 0, 1,
     "explain an error code in full; without CODE: list all codes", "Lists", run_explain},
    {Verb::Targets, "targets", "", 0, 0, "list the targets", "Lists", run_targets},
    {Verb::Passes, "passes", "", 0, 0, "list the passes and the pipelines made of them", "Lists",
     run_passes},
    {Verb::Ops, "ops", "[OP]", 0, 1, "list the operations of the IR, or describe one", "Lists",
     run_ops},
    {Verb::Doctor, "doctor", "", 0, 0, "what hardware and libraries are present", "Lists",
     run_doctor},
    {Verb::Completion, "completion", "bash|zsh", 1, 1, "print a completion script for the shell",
     "Shell", run_completion},
    {Verb::Man, "man", "", 0, 0, "print the man page", "Shell", run_man},
    {Verb::Help, "help", "[VERB]", 0, 1, "print the help of a verb", "Shell", run_help},
};

}  // namespace

std::span<const VerbDef> all_verbs() { return kVerbs; }

const VerbDef& verb_def(Verb verb) {
  for (const VerbDef& def : kVerbs)
    if (def.verb == verb) return def;
  return kVerbs[0];
}

const VerbDef* find_verb(std::string_view name) {
  for (const VerbDef& def : kVerbs)
    if (def.name == name) return &def;
  return nullptr;
}

}  // namespace ec::cli
