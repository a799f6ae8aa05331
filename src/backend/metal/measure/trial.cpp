#include "backend/metal/measure/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/costs.h"
#include "backend/metal/measure/compare.h"
#include "backend/metal/measure/samples.h"
#include "backend/metal/measure/simulate_half.h"
#include "frontend/flexible_shapes.h"
#include "ops/op_def.h"
#include "quantize/measure/output_comparison.h"
#include "quantize/strategy/accuracy_budget.h"
#include "runtime/executor.h"
#include "support/budget.h"
#include "support/halves.h"

namespace ec::metal {
namespace {

// The largest magnitude of each tensor that half precision can and cannot hold.
class Extremes {
 public:
  void see(const Tensor& tensor, const ConstView& value) {
    if (value.dtype != DType::F32) return;
    float largest = 0;
    for (const float element : value.as<float>()) {
      const float size = std::abs(element);
      // Numbers that stand for infinity are infinite in half precision, too.
      if (size < kInfinite) largest = std::max(largest, size);
    }
    if (largest > kLargestHalf) beyond_[&tensor] = std::max(beyond_[&tensor], largest);
  }
  // Empty: half precision holds all.
  std::string fault_of(const Operation& op, std::string_view inputs) const {
    const auto tell = [&](const Tensor* tensor, std::string_view what) -> std::string {
      const auto found = beyond_.find(tensor);
      if (tensor == nullptr || found == beyond_.end()) return {};
      return fmt::format("{} up to {:.3g} on {}, half precision ends at 65504", what, found->second,
                         inputs);
    };
    for (const Tensor* output : op.outputs())
      if (std::string fault = tell(output, "gives numbers"); !fault.empty()) return fault;
    for (const Tensor* input : op.inputs())
      if (std::string fault = tell(input, "reads numbers"); !fault.empty()) return fault;
    return {};
  }

 private:
  std::unordered_map<const Tensor*, float> beyond_;  // looked up, never iterated
};

Result<std::unique_ptr<Executor>> executor_of(const Graph& graph, const ExecutorOptions& options) {
  EC_CHECK_OK(check_run_work(graph));
  std::vector<TensorType> types;
  for (const Tensor* input : graph.inputs()) types.emplace_back(input->dtype(), *input->shape());
  return Executor::create(graph, types, options, std::make_shared<kernels::ThreadPool>(1));
}

Result<std::vector<std::vector<Value>>> run_all(const Graph& graph, const ExecutorOptions& options,
                                                std::span<const std::vector<Value>> samples) {
  EC_TRY(const std::unique_ptr<Executor> executor, executor_of(graph, options));
  std::vector<std::vector<Value>> results;
  for (const std::vector<Value>& sample : samples) {
    std::vector<ConstView> views;
    for (const Value& value : sample) views.push_back(value.view());
    EC_TRY(std::vector<Value> outputs, executor->run(views));
    results.push_back(std::move(outputs));
  }
  return results;
}

}  // namespace

Trial::Trial(const Graph& graph, const ModelJob& job, std::span<const CoremlImageInput> images,
             const quantize::AccuracyBudget& limit)
    : limits_(job.trial_limits), limit_(limit) {
  Budget budget(limits_);
  const BudgetScope scope(budget);
  Result<Samples> samples = samples_of(graph, job.samples, images, limit.asked());
  Status status;
  if (samples.ok()) {
    inputs_ = std::move(samples->name);
    samples_ = std::move(samples->values);
    status = run_single(graph);
  } else {
    status = std::move(samples).error();
  }
  if (!status.ok()) {
    reason_ = status.error().message();
  } else if (limit.asked()) {
    Result<std::unique_ptr<Graph>> fixed = at_sample_sizes(graph);
    single_ = fixed.ok() && *fixed != nullptr ? std::move(*fixed) : graph.clone();
    find_meaning();
  }
}

void Trial::find_meaning() {
  meaning_ = {quantize::parts_of_graph(*single_),
              quantize::OutputTask::recognise(*single_, {}, results_)};
  quantize::refine_parts(meaning_.parts, results_);
}

Result<std::unique_ptr<Graph>> Trial::at_sample_sizes(const Graph& graph) const {
  if (flexible_inputs(graph).empty() || samples_.empty()) return std::unique_ptr<Graph>();
  GivenShapes shapes;
  for (size_t i = 0; i < graph.inputs().size(); ++i)
    shapes[graph.inputs()[i]->name()] = samples_.front()[i].shape;
  return with_shapes(graph, shapes);
}

Status Trial::run_single(const Graph& graph) {
  Extremes extremes;
  ExecutorOptions options;
  options.observer = [&](const Tensor& tensor, const ConstView& value) {
    extremes.see(tensor, value);
  };
  for (const std::vector<Value>& sample : samples_)
    for (size_t i = 0; i < sample.size(); ++i) extremes.see(*graph.inputs()[i], sample[i].view());
  EC_TRY(const std::unique_ptr<Graph> fixed, at_sample_sizes(graph));
  EC_TRY(results_, run_all(fixed != nullptr ? *fixed : graph, options, samples_));
  const std::vector<Operation*> ops = graph.topological();
  // Copies keep the order of operations.
  const std::vector<Operation*> run = fixed != nullptr ? fixed->topological() : ops;
  for (size_t i = 0; i < ops.size() && i < run.size(); ++i)
    if (std::string fault = extremes.fault_of(*run[i], inputs_);
        !fault.empty() && run[i]->kind() == ops[i]->kind())
      overflows_.emplace(ops[i], std::move(fault));
  return {};
}

Result<Trial::Results> Trial::run_half(const Graph& written, size_t samples) const {
  Budget budget(limits_);
  const BudgetScope scope(budget);
  EC_TRY(std::unique_ptr<Graph> graph, at_sample_sizes(written));
  if (graph == nullptr) graph = written.clone();
  EC_TRY(const std::unordered_set<const Tensor*> rounded, simulate_half(*graph));
  ExecutorOptions options;
  options.editor = [&](const Tensor& tensor, const MutableView& value) {
    if (value.dtype == DType::F32 && rounded.contains(&tensor)) round_to_halves(value.as<float>());
  };
  return run_all(*graph, options, std::span(samples_).first(samples));
}

FormCost Trial::cost_of(const Graph& written, std::string form) const {
  FormCost cost;
  cost.form = std::move(form);
  cost.reason = reason_;
  if (!cost.reason.empty()) return cost;
  const Result<Results> results = run_half(written, samples_.size());
  if (!results.ok()) {
    cost.reason = results.error().message();
    return cost;
  }
  cost.inputs = inputs_;
  cost.samples = static_cast<int64_t>(samples_.size());
  for (size_t i = 0; i < written.outputs().size(); ++i) {
    OutputComparison comparison;
    for (size_t s = 0; s < samples_.size(); ++s) comparison.add(results_[s][i], (*results)[s][i]);
    cost.outputs.push_back(comparison.cost(written.output_names()[i]));
  }
  return cost;
}

Result<FormOutcome> Trial::judge(const Graph& written) const {
  EC_CHECK_OK(quantize::check_budget(*single_, limit_, meaning_));
  EC_TRY(const Results results, run_half(written, samples_.size()));
  quantize::OutputComparison comparison(*single_, meaning_);
  for (size_t s = 0; s < samples_.size(); ++s) comparison.see(results_[s], results[s]);
  quantize::AccuracyReport report;
  comparison.tell(report);
  FormOutcome outcome{report.agreement().value_or(1), report.worst_sqnr_db()};
  // Results that are no numbers have no noise to add up.
  for (size_t i = 0; i < single_->outputs().size(); ++i) {
    OutputComparison whole;
    for (size_t s = 0; s < samples_.size(); ++s) whole.add(results_[s][i], results[s][i]);
    const OutputCost cost = whole.cost("");
    if (cost.sqnr_db < 0 || !std::isfinite(outcome.sqnr_db))
      outcome.sqnr_db = std::min(outcome.sqnr_db, cost.sqnr_db);
  }
  return outcome;
}

Result<double> Trial::noise_of(const Graph& written) const {
  EC_TRY(const Results results, run_half(written, 1));
  double worst = -HUGE_VAL;
  for (size_t i = 0; i < results_[0].size(); ++i) {
    OutputComparison comparison;
    comparison.add(results_[0][i], results[0][i]);
    worst = std::max(worst, -comparison.cost("").sqnr_db);
  }
  return std::pow(10.0, worst / 10);
}

size_t Trial::affordable_runs() const {
  // About a minute of products, and no more runs than a ranking is worth.
  constexpr int64_t kAllMacs = 100'000'000'000, kFewest = 12, kMost = 160;
  int64_t macs = 1;
  for (const Operation* op : single_->topological()) macs += count_macs(*op).value_or(0);
  return static_cast<size_t>(std::clamp<int64_t>(kAllMacs / macs, kFewest, kMost));
}

}  // namespace ec::metal
