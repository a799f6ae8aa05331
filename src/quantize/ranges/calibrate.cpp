#include "quantize/ranges/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <type_traits>

#include "ops/kernel.h"
#include "quantize/plan/masked_values.h"
#include "quantize/ranges/needed_ranges.h"
#include "quantize/trial/measurements.h"
#include "quantize/tuning.h"
#include "runtime/executor.h"
#include "support/strings.h"

namespace ec::quantize {
namespace {

class ChannelWatch {
 public:
  void see(const ConstView& value) {
    if (value.shape.empty()) return;
    const auto channels = static_cast<size_t>(value.shape.back());
    const auto values = value.as<float>();
    if (sum_.empty()) {
      sum_.assign(channels, 0.0);
      squares_.assign(channels, 0.0);
      statistics_.min.assign(channels, std::numeric_limits<float>::infinity());
      statistics_.max.assign(channels, -std::numeric_limits<float>::infinity());
    }
    if (channels == 0 || sum_.size() != channels) return;
    for (size_t at = 0; at < values.size(); at += channels) {
      size_t c = 0;
      for (; c + kLanes <= channels; c += kLanes)
        take(values.data() + at + c, c, std::integral_constant<size_t, kLanes>());
      take(values.data() + at + c, c, channels - c);
    }
    const size_t rows = values.size() / channels;
    rows_ += static_cast<double>(rows);
  }
  std::optional<ChannelStatistics> statistics() const {
    if (rows_ == 0) return std::nullopt;
    ChannelStatistics result = statistics_;
    for (const double sum : sum_) result.mean.push_back(sum / rows_);
    for (const double sum : squares_) result.mean_square.push_back(sum / rows_);
    return result;
  }

 private:
  static constexpr size_t kLanes = 8;

  // Channels from `first` on of one row; a fixed number of them becomes vector instructions.
  template <class N>
  void take(const float* __restrict row, size_t first, N count) {
    double* __restrict sum = sum_.data() + first;
    double* __restrict squares = squares_.data() + first;
    float* __restrict low = statistics_.min.data() + first;
    float* __restrict high = statistics_.max.data() + first;
    for (size_t c = 0; c < count; ++c) sum[c] += static_cast<double>(row[c]);
    for (size_t c = 0; c < count; ++c)
      squares[c] += static_cast<double>(row[c]) * static_cast<double>(row[c]);
    for (size_t c = 0; c < count; ++c) low[c] = row[c] < low[c] ? row[c] : low[c];
    for (size_t c = 0; c < count; ++c) high[c] = row[c] > high[c] ? row[c] : high[c];
  }

  ChannelStatistics statistics_;
  std::vector<double> sum_, squares_;
  double rows_ = 0;
};

class Watch {
 public:
  Watch(const Graph& graph, const Plan& plan, const CalibrationOptions& options)
      : plan_(plan),
        observers_(graph.tensor_id_bound()),
        channels_(graph.tensor_id_bound()),
        unbounded_(graph.tensor_id_bound(), false) {
    for (const Tensor* tensor : graph.tensors())
      if (plan.observed[tensor->id()])
        observers_[tensor->id()] = options.method->make(options.observer);
    for (const Operation* op : graph.topological()) {
      const OpPlan& entry = plan.of(op);
      for (size_t i = 1; entry.integer && i < op->inputs().size(); ++i)
        if (entry.rule.role(i) == OperandRole::Weights) channels_[op->input(0)->id()].emplace();
    }
  }

  void begin(size_t sample) { sample_ = sample; }

  void see(const Tensor& tensor, const ConstView& value) {
    Observer* observer = observers_[tensor.id()].get();
    if (observer == nullptr || value.dtype != DType::F32) return;
    bool finite = true;
    auto values = value.as<float>();
    Range range = values.empty() ? Range{} : range_of(values, finite);
    const bool masked = range.min < tuning::kUnbounded && is_masked(values);
    if (!finite && !masked) {
      if (broken_ == nullptr) broken_ = &tensor;
      return;
    }
    if (masked) unbounded_[tensor.id()] = true;
    if (masked || (!values.empty() && plan_.reading[tensor.id()] == Reading::Scores)) {
      values = what_counts(tensor, value);
      range = range_of(values, finite);
    }
    if (!values.empty()) observer->observe(values, range);
    if (channels_[tensor.id()]) channels_[tensor.id()]->see(value);
    seen_.resize(observers_.size());
    Seen& seen = seen_[tensor.id()];
    if (!seen.any || range.min < seen.range.min) seen.lowest = sample_;
    if (!seen.any || range.max > seen.range.max) seen.highest = sample_;
    seen.range = seen.any ? hull(seen.range, range) : range;
    seen.any = true;
  }

  bool has_seen(const Tensor& tensor) const {
    return tensor.id() < seen_.size() && seen_[tensor.id()].any;
  }

  // The first tensor that held infinity (but for a mask's) or not-a-number; null when there was
  // none.
  const Tensor* broken() const { return broken_; }

  void fill(CalibrationRun& run) const {
    run.ranges.resize(observers_.size());
    run.extremes.resize(observers_.size());
    run.candidates.resize(observers_.size());
    run.channels.resize(observers_.size());
    for (size_t id = 0; id < observers_.size(); ++id) {
      if (!observers_[id] || id >= seen_.size() || !seen_[id].any) continue;
      run.candidates[id] = observers_[id]->candidates();
      run.ranges[id] = run.candidates[id].front();
      run.extremes[id] = observers_[id]->extremes();
      if (channels_[id]) run.channels[id] = channels_[id]->statistics();
    }
    run.extreme_samples = extreme_samples();
    run.unbounded = unbounded_;
  }

 private:
  std::span<const float> what_counts(const Tensor& tensor, const ConstView& value) {
    const auto values = value.as<float>();
    lifted_.assign(values.begin(), values.end());
    const size_t row = value.shape.empty() ? 1 : static_cast<size_t>(value.shape.back());
    lift_to_what_counts(lifted_, plan_.reading[tensor.id()], row, plan_.stored[tensor.id()]);
    return lifted_;
  }

  struct Seen {
    bool any = false;
    Range range;
    size_t lowest = 0, highest = 0;  // samples
  };

  std::vector<size_t> extreme_samples() const {
    std::map<size_t, size_t> extremes;  // of each sample
    for (const Seen& seen : seen_)
      if (seen.any && seen.range.min < seen.range.max)
        ++extremes[seen.lowest], ++extremes[seen.highest];
    std::vector<std::pair<size_t, size_t>> order(extremes.begin(), extremes.end());
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::vector<size_t> samples;
    for (const auto& [sample, count] : order) samples.push_back(sample);
    return samples;
  }

  const Plan& plan_;
  std::vector<std::unique_ptr<Observer>> observers_;
  std::vector<std::optional<ChannelWatch>> channels_;
  std::vector<bool> unbounded_;
  std::vector<float> lifted_;
  std::vector<Seen> seen_;
  size_t sample_ = 0;
  const Tensor* broken_ = nullptr;
};

// Running mean and deviation (Welford, by sample).
class InputWatch {
 public:
  void see(const Value& value) {
    if (value.dtype != DType::F32 || value.as<float>().empty()) return;
    bool finite = true;
    const Range range = range_of(value.as<float>(), finite);
    range_ = count_ == 0 ? range : hull(range_, range);
    for (const float element : value.as<float>()) {
      sum_ += static_cast<double>(element);
      squares_ += static_cast<double>(element) * static_cast<double>(element);
    }
    count_ += value.as<float>().size();
  }
  CalibrationRun::InputStatistics statistics() const {
    if (count_ == 0) return {};
    const auto n = static_cast<double>(count_);
    const double mean = sum_ / n;
    return {range_, mean, std::sqrt(std::max(0.0, squares_ / n - mean * mean))};
  }

 private:
  Range range_;
  double sum_ = 0, squares_ = 0;
  size_t count_ = 0;
};

void leave_out_what_is_not_needed(const Graph& graph, const Plan& plan, CalibrationRun& run) {
  run.needed = needed_ranges(graph, plan, run.extremes);
  for (size_t id = 0; id < run.needed.size(); ++id) {
    if (!run.needed[id]) continue;
    const auto limit = [&, needed = *run.needed[id]](Range& range) {
      range = {std::clamp(range.min, needed.min, needed.max),
               std::clamp(range.max, needed.min, needed.max)};
    };
    limit(*run.ranges[id]);
    limit(*run.extremes[id]);
    for (Range& candidate : run.candidates[id]) limit(candidate);
  }
}

void add_channel_ranges(const Graph& graph, const Plan& plan, CalibrationRun& run) {
  for (const Tensor* tensor : graph.tensors()) {
    const auto& channels = run.channels[tensor->id()];
    if (!channels || !plan.channel_wise[plan.group[plan.stored_form(tensor)]]) continue;
    std::vector<Range>& ranges = run.ranges.channels[tensor->id()];
    for (size_t c = 0; c < channels->min.size(); ++c)
      ranges.push_back({channels->min[c], channels->max[c]});
  }
}

Error not_finite(const Tensor& tensor, const std::string& sample) {
  std::string node, op_type;
  if (tensor.producer() != nullptr) {
    node = tensor.producer()->location().name();
    op_type = tensor.producer()->location().op_type;
  }
  return Error(Code::BadCalibrationData,
               fmt::format("'{}' is infinite or not a number", printable(tensor.name())))
      .node(std::move(node), std::move(op_type))
      .note(fmt::format("calibration sample '{}'", printable(sample)))
      .hint("check the preprocessing (--mean, --std, --pixel-range), or leave the sample out");
}

constexpr size_t kLargestFolded = size_t{16} << 20;  // an executor folds no larger values

// Shows the tensors that no run computes: an executor folds what depends on constants and on shapes
// alone when it is made, and nobody observes that.
void see_folded(const Graph& graph, const Plan& plan, Watch& watch) {
  const auto is_missing = [&](const Tensor* tensor) {
    return plan.observed[tensor->id()] && !watch.has_seen(*tensor) && !graph.is_unused(tensor);
  };
  const std::vector<Tensor*> tensors = graph.tensors();
  if (std::ranges::none_of(tensors, is_missing)) return;
  std::vector<std::optional<Value>> values(graph.tensor_id_bound());
  for (const Tensor* tensor : tensors)
    if (tensor->is_constant())
      values[tensor->id()] = Value(tensor->dtype(), tensor->shape()->sizes(), tensor->data());
  for (const Operation* op : graph.topological()) {
    if (op->def().traits.random || !op->bodies().empty()) continue;
    const bool shape_only = op->kind() == OpKind::Shape || op->kind() == OpKind::Size;
    Value shape;  // of an operand whose elements nobody reads
    std::vector<const Value*> operands;
    for (const Tensor* tensor : op->inputs()) {
      const bool known = tensor != nullptr && values[tensor->id()].has_value();
      if (known) operands.push_back(&*values[tensor->id()]);
      if (known || tensor == nullptr || !shape_only || !tensor->type().is_static()) {
        if (tensor == nullptr) operands.push_back(nullptr);
        continue;
      }
      shape = Value(tensor->dtype(), tensor->shape()->sizes(), Blob());
      operands.push_back(&shape);
    }
    if (operands.size() != op->inputs().size()) continue;
    Result<std::vector<Value>> results = evaluate(*op, operands, kLargestFolded);
    for (size_t i = 0; results.ok() && i < op->outputs().size(); ++i) {
      if (is_missing(op->output(i))) watch.see(*op->output(i), (*results)[i].view());
      values[op->output(i)->id()] = std::move((*results)[i]);
    }
  }
}

Result<CalibrationRun> watch_samples(const Graph& graph, const Plan& plan, SampleSource& source,
                                     std::span<const size_t> samples,
                                     const CalibrationOptions& options) {
  Watch watch(graph, plan, options);
  std::vector<InputWatch> inputs(graph.inputs().size());
  std::vector<TensorType> types;
  for (const Tensor* input : graph.inputs()) types.emplace_back(input->dtype(), *input->shape());
  ExecutorOptions executor_options;
  executor_options.observer = [&](const Tensor& tensor, const ConstView& value) {
    watch.see(tensor, value);
  };
  EC_TRY(const std::unique_ptr<Executor> executor,
         Executor::create(graph, types, executor_options,
                          std::make_shared<kernels::ThreadPool>(options.threads)));
  for (size_t done = 0; done < samples.size(); ++done) {
    EC_TRY(const std::vector<Value> values, source.read(samples[done]));
    watch.begin(samples[done]);
    std::vector<ConstView> views;
    for (size_t i = 0; i < values.size(); ++i) {
      views.push_back(values[i].view());
      inputs[i].see(values[i]);
      watch.see(*graph.inputs()[i], views.back());
    }
    Result<std::vector<Value>> ran = executor->run(views);
    if (!ran)
      return std::move(ran).error().note("calibration sample '" + source.name(samples[done]) + "'");
    if (watch.broken() != nullptr) return not_finite(*watch.broken(), source.name(samples[done]));
    if (options.progress) options.progress(done + 1, samples.size());
  }
  see_folded(graph, plan, watch);
  CalibrationRun run;
  watch.fill(run);
  for (const InputWatch& input : inputs) run.inputs.push_back(input.statistics());
  run.samples = samples.size();
  return run;
}

}  // namespace

Result<CalibrationRun> calibrate(const Graph& graph, const Plan& plan, SampleSource& source,
                                 std::span<const size_t> samples,
                                 const CalibrationOptions& options) {
  const auto measure = [&] { return watch_samples(graph, plan, source, samples, options); };
  Measurements* measurements = source.measurements();
  EC_TRY(CalibrationRun run,
         measurements != nullptr ? measurements->calibration(graph, plan, measure) : measure());
  leave_out_what_is_not_needed(graph, plan, run);
  add_channel_ranges(graph, plan, run);
  return run;
}

void check_input_ranges(const Graph& graph, const CalibrationRun& run,
                        const Preprocessing& preprocessing, DiagnosticSink& sink) {
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Tensor* input = graph.inputs()[i];
    if (input->dtype() != DType::F32 || run.samples == 0) continue;
    const auto& [range, mean, deviation] = run.inputs[i];
    const double width = static_cast<double>(range.max) - static_cast<double>(range.min);
    const double largest = std::max(std::abs(static_cast<double>(range.min)),
                                    std::abs(static_cast<double>(range.max)));
    // Networks see 0 to 1, -1 to 1, a few deviations around zero, or bytes with the mean taken off.
    std::string what;
    if (width == 0)
      what = "never varies";
    else if (width < tuning::kNarrowInput)
      what =
          fmt::format("varies by less than {}: mean and std may be meant for pixels from 0 to 255",
                      tuning::kNarrowInput);
    else if (largest > tuning::kLargestInput)
      what = "is larger than any pixel: mean and std may be meant for pixels from 0 to 1";
    else if (std::abs(mean) > tuning::kFarMean * deviation)
      what = "is far from zero for how little it varies: the mean may be wrong";
    if (what.empty()) continue;
    sink.warn(Code::DoubtfulCalibration,
              fmt::format("input '{}' {} (values {:.4g} to {:.4g}, mean {:.4g}, deviation {:.4g} "
                          "after: {})",
                          printable(input->name()), what, range.min, range.max, mean, deviation,
                          preprocessing.text()),
              {}, "check --mean, --std and --pixel-range against the training of the model");
  }
}

}  // namespace ec::quantize
