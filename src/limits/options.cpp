#include "limits/options.h"

#include "options/verb.h"

namespace ec {
namespace {

constexpr VerbSet kOptimisesModel(Verb::Compile, Verb::Check, Verb::Optimize, Verb::Quantize,
                                  Verb::Run, Verb::Bench, Verb::Evaluate);

// Limits of what a job may take; support/budget.h and passes/pass.h have the rules.
constexpr OptionDef kLimits[] = {
    {.name = "timeout",
     .type = OptionType::Number,
     .argument = "SECONDS",
     .help = "stop with EC5002 when the job takes longer (default: no limit)",
     .least = 0.001,
     .most = 1e7,
     .verbs = kReadsModel,
     .changes_output = false},
    {.name = "max-memory",
     .type = OptionType::Integer,
     .argument = "MB",
     .help = "most memory for the tensors of a run; a model that needs more fails with EC5001 "
             "(default: what the machine has)",
     .least = 1,
     .most = 1e9,
     .verbs = kReadsModel,
     .changes_output = false},
    {.name = "fold-work",
     .type = OptionType::Integer,
     .argument = "MILLIONS",
     .help = "millions of operations that computing constants may take; what takes more, beyond "
             "what the size of the constants justifies, is left to the run",
     .default_value = "1000",
     .least = 0,
     .most = 1e9,
     .verbs = kOptimisesModel},
    {.name = "fold-memory",
     .type = OptionType::Integer,
     .argument = "MB",
     .help = "how much larger than the model's own constants computed ones may make the graph",
     .default_value = "16",
     .least = 0,
     .most = 1e6,
     .verbs = kOptimisesModel},
    {.name = "run-work",
     .type = OptionType::Integer,
     .argument = "MILLIONS",
     .help = "millions of operations that one run of the model may take where it is measured or "
             "calibrated; a model that takes more, such as one with an endless loop, fails with "
             "EC5003",
     .default_value = "3000",
     .least = 1,
     .most = 1e9,
     .verbs = VerbSet(Verb::Compile, Verb::Check, Verb::Quantize, Verb::Bench),
     .changes_output = false},
    {.name = "run-memory",
     .type = OptionType::Integer,
     .argument = "MB",
     .help = "most memory for the tensors of one run where the model is measured or calibrated; a "
             "model that needs more fails with EC5001 (default: 40 MB and 16 kB for each byte of "
             "the model, at most 512 MB)",
     .least = 1,
     .most = 1e9,
     .verbs = VerbSet(Verb::Compile, Verb::Check, Verb::Quantize, Verb::Bench),
     .changes_output = false},
    {.name = "self-check-work",
     .type = OptionType::Integer,
     .argument = "MILLIONS",
     .help = "millions of operations that the self-check may take; a model that takes more, such "
             "as one with an endless loop, is read back and not run",
     .default_value = "3000",
     .least = 0,
     .most = 1e9,
     .verbs = VerbSet(Verb::Compile),
     .changes_output = false},
    {.name = "self-check-memory",
     .type = OptionType::Integer,
     .argument = "MB",
     .help = "most memory for tensors in the self-check beyond twice the model's constants; a "
             "model that needs more is read back and not run",
     .default_value = "32",
     .least = 0,
     .most = 1e6,
     .verbs = VerbSet(Verb::Compile),
     .changes_output = false},
};

}  // namespace

OptionGroup limit_options() { return {"Limits", kLimits}; }

}  // namespace ec
