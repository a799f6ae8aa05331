#include "limits/limits.h"

#include <algorithm>

namespace ec {
namespace {

constexpr uint64_t kMillion = 1'000'000;
constexpr size_t kMegabyte = size_t{1} << 20;

// What one run may take when nobody says: what the model's own size justifies. The largest tensors
// beside the smallest files are those of networks that make pictures larger: 20 kB of weights and
// some hundred megabytes. A file of a few hundred bytes that asks for that is made to cost memory.
constexpr size_t kRunBase = 40 * kMegabyte, kRunPerByte = 16384, kRunMost = 512 * kMegabyte;

size_t justified_run(size_t model_bytes) {
  const size_t more = kRunMost - kRunBase;
  return kRunBase + (model_bytes > more / kRunPerByte ? more : model_bytes * kRunPerByte);
}

}  // namespace

BudgetLimits job_limits(const Options& options) {
  BudgetLimits limits;
  limits.seconds = options.number_if("timeout").value_or(0);
  limits.memory = static_cast<size_t>(options.integer_if("max-memory").value_or(0)) * kMegabyte;
  limits.memory_option = "--max-memory MB";
  return limits;
}

BudgetLimits compilation_limits(const Options& options) {
  BudgetLimits limits = job_limits(options);
  // None at all is written as 1: 0 is no limit.
  if (const auto millions = options.integer_if("fold-work"))
    limits.fold_work = std::max<uint64_t>(1, static_cast<uint64_t>(*millions) * kMillion);
  return limits;
}

FoldLimits fold_limits(const Options& options, size_t model_bytes) {
  FoldLimits limits;
  if (const auto megabytes = options.integer_if("fold-memory"))
    limits.max_growth_bytes = static_cast<size_t>(*megabytes) * kMegabyte;
  limits.max_growth_bytes += model_bytes;
  return limits;
}

BudgetLimits run_limits(const Options& options, size_t model_bytes) {
  BudgetLimits limits;
  limits.work = static_cast<uint64_t>(options.integer_if("run-work").value_or(0)) * kMillion;
  const auto megabytes = options.integer_if("run-memory");
  limits.memory =
      megabytes ? static_cast<size_t>(*megabytes) * kMegabyte : justified_run(model_bytes);
  limits.work_option = "--run-work MILLIONS";
  limits.memory_option = "--run-memory MB";
  return limits;
}

BudgetLimits self_check_limits(const Options& options, size_t model_bytes) {
  BudgetLimits limits;
  limits.work =
      std::max<uint64_t>(1, static_cast<uint64_t>(options.integer("self-check-work")) * kMillion);
  limits.memory = std::max<size_t>(
      1, static_cast<size_t>(options.integer("self-check-memory")) * kMegabyte + 2 * model_bytes);
  limits.work_option = "--self-check-work MILLIONS";
  limits.memory_option = "--self-check-memory MB";
  return limits;
}

BudgetLimits trial_limits(const Options& options, size_t model_bytes) {
  const bool asked = options.has("max-drop") || options.has("min-sqnr");
  return asked ? run_limits(options, model_bytes) : self_check_limits(options, model_bytes);
}

}  // namespace ec
