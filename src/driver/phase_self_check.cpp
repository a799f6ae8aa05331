// self-check: the files are read back and run against the graph on made-up inputs.
#include <optional>

#include "analysis/costs.h"
#include "driver/phases.h"
#include "limits/limits.h"
#include "runtime/same_results.h"
#include "support/budget.h"

namespace ec {
namespace {

Status check_model(const Compilation& c, CompiledModel& model) {
  const BudgetLimits limits =
      self_check_limits(c.options(), static_cast<size_t>(constant_memory(*model.graph)));
  Budget reading({.computed = limits.memory / 4});  // what was written need not compute more
  auto graphs = [&] {
    const BudgetScope scope(reading);
    return c.target()->read_back(model.job(c), *model.placed, *model.emitted);
  }();
  if (!graphs) {
    if (std::optional<Error> fault = fault_of_values(*model.graph)) return std::move(*fault);
    return self_check_failed("the written file cannot be read back: " + graphs.error().message())
        .file(model.report.output.string());
  }
  model.read_back = std::move(*graphs);
  Budget budget(limits);
  const BudgetScope scope(budget);
  const Graph* written = c.target()->written_graph(*model.placed);
  Result<SelfCheck> check =
      check_same_results(written != nullptr ? *written : *model.graph, model.read_back,
                         c.target()->checked_shapes(*model.placed));
  if (!check) return std::move(check).error().file(model.report.output.string());
  model.report.self_check = std::move(*check);
  return {};
}

}  // namespace

Status self_check(Compilation& compilation) {
  for (CompiledModel& model : compilation.models()) EC_CHECK_OK(check_model(compilation, model));
  return {};
}

}  // namespace ec
