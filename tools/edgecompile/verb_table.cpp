// The table of verbs.
#include "cli.h"

namespace ec::cli {
namespace {

constexpr VerbDef kVerbs[] = {
    {Verb::Compile, "MODEL...", 1, 64,
     "compile a model for a target (also without the verb: edgecompile MODEL -t TARGET); "
     "several models where the target takes them",
     "Work", run_compile},
    {Verb::Check, "MODEL", 1, 1,
     "what would run where on every target, or on --target, with reason and fix for each operation "
     "that would not",
     "Work", run_check},
    {Verb::Optimize, "MODEL", 1, 1, "write the optimised graph as .onnx or .ecir", "Work",
     run_optimize},
    {Verb::Quantize, "MODEL", 1, 1,
     "write the quantised graph as .ecir or .onnx, with a report of what it cost", "Work",
     run_quantize},
    {Verb::Evaluate, "FILE", 1, 1,
     "top-1, top-5, agreement and numerical error of a model on data, beside the float model",
     "Work", run_evaluate},
    {Verb::Inspect, "FILE", 1, 1,
     "inputs, outputs, operations, parameters, multiply-adds, quantisation, metadata", "Work",
     run_inspect},
    {Verb::Run, "FILE", 1, 1, "run a model on given inputs and write the outputs as .npy", "Work",
     run_model},
    {Verb::Bench, "FILE", 1, 1, "measure latency and throughput", "Work", run_bench},
    {Verb::Explain, "[CODE]", 0, 1, "explain an error code in full; without CODE: list all codes",
     "Lists", run_explain},
    {Verb::Targets, "", 0, 0, "list the targets", "Lists", run_targets},
    {Verb::Passes, "", 0, 0, "list the passes and the pipelines made of them", "Lists", run_passes},
    {Verb::Ops, "[OP]", 0, 1, "list the operations of the IR, or describe one", "Lists", run_ops},
    {Verb::Doctor, "", 0, 0, "what hardware and libraries are present", "Lists", run_doctor},
    {Verb::Completion, "bash|zsh", 1, 1, "print a completion script for the shell", "Shell",
     run_completion},
    {Verb::Man, "", 0, 0, "print the man page", "Shell", run_man},
    {Verb::Help, "[VERB]", 0, 1, "print the help of a verb", "Shell", run_help},
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
    if (def.name() == name) return &def;
  return nullptr;
}

}  // namespace ec::cli
