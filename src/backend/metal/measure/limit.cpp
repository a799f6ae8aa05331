#include "backend/metal/measure/limit.h"

#include <fmt/format.h>

#include <algorithm>

namespace ec::metal {
namespace {

bool has_floats(const Operation& op) {
  const auto is_float = [](const Tensor* tensor) {
    return tensor != nullptr && tensor->dtype() == DType::F32;
  };
  return std::ranges::any_of(op.outputs(), is_float) || std::ranges::any_of(op.inputs(), is_float);
}

// Half precision for some operations of a graph, by their position among those that may have it.
class HalfForm {
 public:
  HalfForm(const Graph& graph, const HalfPrecisionOptions& options)
      : graph_(graph), options_(options) {
    const std::vector<Operation*> order = graph.topological();
    for (size_t i = 0; i < order.size(); ++i) {
      if (const auto kept = options.overflows.find(order[i]); kept != options.overflows.end())
        kept_.emplace_back(i, kept->second);
      else if (has_floats(*order[i]))
        positions_.push_back(i);
    }
  }

  size_t parts() const { return positions_.size(); }
  const Operation* operation(size_t part) const { return graph_.topological()[positions_[part]]; }

  Result<std::unique_ptr<Graph>> with(const PartsInForm& in_form) const {
    std::unique_ptr<Graph> copy = graph_.clone();
    const std::vector<Operation*> order = copy->topological();
    HalfPrecisionOptions options{options_.half_recurrent, {}};
    for (const auto& [position, reason] : kept_) options.overflows.emplace(order[position], reason);
    for (size_t part = 0; part < parts(); ++part)
      if (!in_form[part]) options.overflows.emplace(order[positions_[part]], "not tried");
    EC_TRY([[maybe_unused]] const auto kept, give_half_precision(*copy, options));
    return copy;
  }

 private:
  const Graph& graph_;
  const HalfPrecisionOptions& options_;
  std::vector<size_t> positions_;  // in order of execution, which copies of a graph keep
  std::vector<std::pair<size_t, std::string>> kept_;
};

// Compressed values for some of the weights.
class WeightValues {
 public:
  WeightValues(const Graph& graph, CompressedWeights weights)
      : graph_(graph), weights_(std::move(weights)) {}

  size_t parts() const { return weights_.values.size(); }
  bool has_form(size_t part) const { return weights_.values[part].size() > 0; }

  Result<std::unique_ptr<Graph>> with(const PartsInForm& in_form) const {
    std::unique_ptr<Graph> copy = graph_.clone();
    put_values(*copy, weights_, in_form);
    return copy;
  }

 private:
  const Graph& graph_;
  CompressedWeights weights_;
};

template <typename Form>
SparingSearch search_of(const Form& form, const Trial& trial) {
  SparingSearch search;
  search.parts = form.parts();
  search.most_runs = trial.affordable_runs();
  search.judge = [&](const PartsInForm& in_form) -> Result<FormOutcome> {
    EC_TRY(const std::unique_ptr<Graph> graph, form.with(in_form));
    return trial.judge(*graph);
  };
  search.noise = [&](const PartsInForm& in_form) -> Result<double> {
    EC_TRY(const std::unique_ptr<Graph> graph, form.with(in_form));
    return trial.noise_of(*graph);
  };
  return search;
}

}  // namespace

std::string AccuracyLimit::text() const {
  std::string text;
  if (limit_.max_drop) text = fmt::format("--max-drop {}", *limit_.max_drop);
  if (limit_.min_sqnr)
    text += fmt::format("{}--min-sqnr {}", text.empty() ? "" : ", ", *limit_.min_sqnr);
  return text;
}

Status AccuracyLimit::check_measured() const {
  if (trial_.reason().empty()) return {};
  return Error(Code::AccuracyNotMet,
               fmt::format("{} cannot be checked: {}", text(), trial_.reason()))
      .hint("give samples that fit with --calibration-data, or leave the limit out");
}

Status AccuracyLimit::check_met(const FormOutcome& outcome) const {
  if (outcome.meets(limit_)) return {};
  return Error(Code::AccuracyNotMet,
               fmt::format("{} does not hold: agreement {:.4f}, SQNR {:.1f} dB with nothing left "
                           "to keep as it is",
                           text(), outcome.agreement, outcome.sqnr_db))
      .hint("ask for less, or for --precision fp32 without --compress-weights");
}

Status AccuracyLimit::keep_single(const Graph& graph, HalfPrecisionOptions& options) const {
  EC_CHECK_OK(check_measured());
  const HalfForm form(graph, options);
  EC_TRY(const Sparing found, spare_parts(search_of(form, trial_), limit_));
  EC_CHECK_OK(check_met(found.after));
  OperationReasons kept;
  for (size_t part = 0; part < form.parts(); ++part)
    if (!found.in_form[part])
      kept.emplace(
          form.operation(part),
          fmt::format("kept for {}; with all in half precision agreement {:.4f}, {:.1f} dB", text(),
                      found.before.agreement, found.before.sqnr_db));
  options.overflows.merge(kept);
  return {};
}

Result<std::vector<bool>> AccuracyLimit::leave_weights(const Graph& graph,
                                                       const WeightForm& form) const {
  EC_CHECK_OK(check_measured());
  const std::unique_ptr<Graph> copy = graph.clone();
  EC_TRY(CompressedWeights compressed, compress_weights(*copy, form, {{}, true}));
  const WeightValues values(graph, std::move(compressed));
  EC_TRY(const Sparing found, spare_parts(search_of(values, trial_), limit_));
  EC_CHECK_OK(check_met(found.after));
  std::vector<bool> left(values.parts());
  for (size_t part = 0; part < left.size(); ++part)
    left[part] = values.has_form(part) && !found.in_form[part];
  return left;
}

}  // namespace ec::metal
