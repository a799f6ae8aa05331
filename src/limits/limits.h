// The options that limit what a job may take, as limits of its parts.
#pragma once

#include "edgecompiler/options.h"
#include "passes/pass.h"
#include "support/budget.h"

namespace ec {

// --timeout and --max-memory. Options that are not resolved yet have no limits but those given.
BudgetLimits job_limits(const Options& options);
// The same and --fold-work.
BudgetLimits compilation_limits(const Options& options);
// --fold-memory, for a model with this many bytes of constants.
FoldLimits fold_limits(const Options& options, size_t model_bytes);
// --run-work and --run-memory, for one run of a model whose file has this many bytes.
BudgetLimits run_limits(const Options& options, size_t model_bytes);
// --self-check-work and --self-check-memory, for a model with this many bytes of constants.
BudgetLimits self_check_limits(const Options& options, size_t model_bytes);
// For one run that measures what the target's form costs: the self-check's, and where a limit of
// accuracy is asked for those of any run.
BudgetLimits trial_limits(const Options& options, size_t model_bytes);

}  // namespace ec
