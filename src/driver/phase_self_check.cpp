// self-check: the files are read back and run against the graph on made-up inputs.
#include <optional>

#include "analysis/costs.h"
#include "driver/phases.h"
#include "limits/limits.h"
#include "runtime/same_results.h"
#include "support/budget.h"

namespace ec {
namespace {

// A value that an operation cannot take, or that fits no shape, and that only the folding of
// constants computed: a fault of the model, which inference saw before the value was known.
std::optional<Error> fault_of_values(const Graph& graph) {
  for (Diagnostic& fault : verify(graph))
    if (fault.code == Code::BadValue || fault.code == Code::ShapeMismatch)
      return Error(std::move(fault));
  return std::nullopt;
}

// What was written need not compute more constants than the check may take.
Result<std::vector<std::unique_ptr<Graph>>> read_back(const Compilation& c,
                                                      const CompiledModel& model, size_t most) {
  BudgetLimits limits;
  limits.computed = most;
  Budget budget(limits);
  const BudgetScope scope(budget);
  return c.target()->read_back(model.job(c), *model.placed, *model.emitted);
}

Status check_model(const Compilation& c, CompiledModel& model) {
  const std::string file = model.report.output.string();
  const BudgetLimits limits =
      self_check_limits(c.options(), static_cast<size_t>(constant_memory(*model.graph)));
  auto graphs = read_back(c, model, limits.memory);
  if (!graphs) {
    if (std::optional<Error> fault = fault_of_values(*model.graph)) return std::move(*fault);
    return self_check_failed("the written file cannot be read back: " + graphs.error().message())
        .file(file);
  }
  model.read_back = std::move(*graphs);
  Budget budget(limits);
  const BudgetScope scope(budget);
  const Graph* written = c.target()->written_graph(*model.placed);
  Result<SelfCheck> check =
      check_same_results(written != nullptr ? *written : *model.graph, model.read_back,
                         c.target()->checked_shapes(*model.placed));
  if (!check) return std::move(check).error().file(file);
  model.report.self_check = std::move(*check);
  return {};
}

}  // namespace

Status self_check(Compilation& compilation) {
  for (CompiledModel& model : compilation.models()) EC_CHECK_OK(check_model(compilation, model));
  return {};
}

}  // namespace ec
