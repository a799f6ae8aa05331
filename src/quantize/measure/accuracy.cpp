#include "quantize/measure/accuracy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/op_def.h"
#include "quantize/measure/output_comparison.h"
#include "quantize/trial/measurements.h"
#include "quantize/trial/rounded_run.h"
#include "quantize/tuning.h"
#include "runtime/executor.h"

namespace ec::quantize {
namespace {

class Comparison {
 public:
  explicit Comparison(const Simulation& of)
      : of_(of),
        stored_(of.graph.tensor_id_bound()),
        errors_(of.graph.tensor_id_bound()),
        source_id_(of.simulated.graph->tensor_id_bound(), kNone),
        outputs_(of.graph, of.meaning) {
    for (uint32_t id = 0; id < of.simulated.quantized.size(); ++id) {
      const Tensor* tensor = of.simulated.quantized[id];
      if (tensor != nullptr && of.plan.observed[id]) source_id_[tensor->id()] = id;
    }
  }

  void see_quantized(const Tensor& tensor, const ConstView& value) {
    if (tensor.id() >= source_id_.size() || source_id_[tensor.id()] == kNone) return;
    std::vector<int16_t>& stored = stored_[source_id_[tensor.id()]];
    if (value.dtype == DType::I8) {
      const auto bytes = value.as<int8_t>();
      stored.assign(bytes.begin(), bytes.end());
    } else if (value.dtype == DType::I16) {
      const auto words = value.as<int16_t>();
      stored.assign(words.begin(), words.end());
    }
  }

  void see_float(const Tensor& tensor, const ConstView& value) {
    std::vector<int16_t>& stored = stored_[tensor.id()];
    const FormId form = of_.plan.stored_form(&tensor);
    if (value.dtype != DType::F32 || !of_.params[form]) return;
    const std::span<const float> expected = as_read(tensor, value.as<float>(), read_);
    if (stored.size() != expected.size() || stored.empty()) return;
    const QuantParams& params = *of_.params[form];
    const DType dtype = activation_type(width_of(form));
    const auto lowest = static_cast<int32_t>(lowest_integer(dtype));
    const auto highest = static_cast<int32_t>(highest_integer(dtype));
    got_.resize(expected.size());
    ErrorStatistics& error = errors_[tensor.id()];
    // Channels with parameters of their own are the last dimension.
    const size_t channels = params.scales.size();
    for (size_t c = 0; c < channels; ++c) {
      const float scale = params.scales[c];
      const int32_t zero = params.zero_points[c];
      // Beyond what the ends of the range stand for.
      const float low = scale * (static_cast<float>(lowest - zero) - 0.5f);
      const float high = scale * (static_cast<float>(highest - zero) + 0.5f);
      for (size_t i = c; i < stored.size(); i += channels) {
        got_[i] = scale * static_cast<float>(stored[i] - zero);
        error.clipped += expected[i] < low || expected[i] > high;
      }
    }
    error.add(expected, as_read(tensor, got_, got_));
    stored.clear();
  }

  void see_outputs(const std::vector<Value>& expected, const std::vector<Value>& got) {
    outputs_.see(expected, got);
  }

  AccuracyReport report() const {
    AccuracyReport report;
    const auto describe = [&](const Tensor* tensor, std::string_view name, std::string_view op) {
      const QuantParams& params = *of_.params[of_.plan.stored_form(tensor)];
      LayerAccuracy layer;
      layer.name = name;
      layer.op = op;
      layer.tensor = tensor->name();
      // The widest where there are several.
      const auto widest = std::max_element(params.scales.begin(), params.scales.end());
      layer.scale = *widest;
      layer.zero_point = params.zero_points[static_cast<size_t>(widest - params.scales.begin())];
      layer.error = errors_[tensor->id()];
      return layer;
    };
    for (const Tensor* input : of_.graph.inputs())
      if (errors_[input->id()].count > 0)
        report.inputs.push_back(describe(input, input->name(), "input"));
    for (const Operation* op : of_.graph.topological())
      for (const Tensor* tensor : op->outputs()) {
        if (errors_[tensor->id()].count == 0) continue;
        report.layers.push_back(describe(tensor, op->location().name(), op->def().name));
        report.layers.back().operation = op->id();
      }
    outputs_.tell(report);
    return report;
  }

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  // Values clamped to the range that readers need.
  std::span<const float> as_read(const Tensor& tensor, std::span<const float> values,
                                 std::vector<float>& read) const {
    const std::optional<Range>& needed = of_.needed[tensor.id()];
    if (!needed) return values;
    read.resize(values.size());
    std::transform(values.begin(), values.end(), read.begin(),
                   [&](float value) { return std::clamp(value, needed->min, needed->max); });
    return read;
  }

  const Simulation& of_;
  std::vector<std::vector<int16_t>> stored_;  // of this sample, by source tensor
  std::vector<ErrorStatistics> errors_;
  std::vector<uint32_t> source_id_;  // by tensor of the simulated graph
  OutputComparison outputs_;
  std::vector<float> read_, got_;
};

Result<std::unique_ptr<Executor>> executor_of(const Graph& graph, TensorObserver observer,
                                              std::shared_ptr<kernels::ThreadPool> pool) {
  std::vector<TensorType> types;
  for (const Tensor* input : graph.inputs()) types.emplace_back(input->dtype(), *input->shape());
  ExecutorOptions options;
  options.observer = std::move(observer);
  return Executor::create(graph, types, options, std::move(pool));
}

}  // namespace

double ErrorStatistics::sqnr_db() const {
  if (noise <= 0) return tuning::kBestSqnr;
  if (signal <= 0) return 0;
  return std::min(tuning::kBestSqnr, 10.0 * std::log10(signal / noise));
}
double ErrorStatistics::cosine() const {
  if (signal <= 0 || quantized <= 0) return signal == quantized ? 1.0 : 0.0;
  return product / std::sqrt(signal * quantized);
}
double ErrorStatistics::rmse() const {
  return count > 0 ? std::sqrt(noise / static_cast<double>(count)) : 0.0;
}
double ErrorStatistics::mean_error() const {
  return count > 0 ? absolute / static_cast<double>(count) : 0.0;
}
double ErrorStatistics::clip_rate() const {
  return count > 0 ? static_cast<double>(clipped) / static_cast<double>(count) : 0.0;
}

void ErrorStatistics::add(std::span<const float> expected, std::span<const float> got) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const double e = static_cast<double>(expected[i]), g = static_cast<double>(got[i]);
    const double difference = e - g;
    signal += e * e;
    noise += difference * difference;
    product += e * g;
    quantized += g * g;
    largest = std::max(largest, std::abs(difference));
    absolute += std::abs(difference);
  }
  count += static_cast<int64_t>(expected.size());
}

void DecisionCounts::add(std::span<const float> a, std::span<const float> b) {
  for (size_t i = 0; i < a.size(); ++i) {
    const bool in_a = a[i] > tuning::kDecisionScore, in_b = b[i] > tuning::kDecisionScore;
    expected += in_a;
    got += in_b;
    both += in_a && in_b;
  }
}

std::optional<double> DecisionCounts::agreement() const {
  if (expected + got == 0) return std::nullopt;
  return 2 * static_cast<double>(both) / static_cast<double>(expected + got);
}

double OutputAccuracy::judged_sqnr_db() const {
  if (parts.empty()) return error.sqnr_db();
  double worst = tuning::kBestSqnr;
  for (const PartAccuracy& part : parts)
    if (part.error.count > 0) worst = std::min(worst, part.error.sqnr_db());
  return worst;
}

double AccuracyReport::worst_sqnr_db() const {
  double worst = tuning::kBestSqnr;
  for (const OutputAccuracy& output : outputs) worst = std::min(worst, output.judged_sqnr_db());
  return worst;
}

std::optional<double> AccuracyReport::agreement() const {
  if (task && task->agreement) return task->agreement;
  std::optional<double> worst;
  const auto add = [&](std::optional<double> one) {
    if (one) worst = std::min(worst.value_or(1), *one);
  };
  for (const OutputAccuracy& output : outputs) {
    add(output.top1_agreement);
    for (const PartAccuracy& part : output.parts) add(part.decisions.agreement());
  }
  return worst;
}

std::vector<const LayerAccuracy*> AccuracyReport::ranked() const {
  std::vector<const LayerAccuracy*> order;
  for (const LayerAccuracy& layer : layers) order.push_back(&layer);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    if (a->mixes_ranges != b->mixes_ranges) return a->mixes_ranges;
    if (a->own_share && b->own_share) return *a->own_share > *b->own_share;
    return a->error.sqnr_db() < b->error.sqnr_db();
  });
  return order;
}

namespace {

Result<AccuracyReport> compare_runs(const Simulation& of, SampleSource& source,
                                    std::span<const size_t> samples, int threads) {
  Comparison comparison(of);
  auto pool = std::make_shared<kernels::ThreadPool>(threads);
  EC_TRY(const auto rounded, executor_of(
                                 *of.simulated.graph,
                                 [&](const Tensor& tensor, const ConstView& value) {
                                   comparison.see_quantized(tensor, value);
                                 },
                                 pool));
  EC_TRY(const auto exact, executor_of(
                               of.graph,
                               [&](const Tensor& tensor, const ConstView& value) {
                                 comparison.see_float(tensor, value);
                               },
                               pool));
  for (const size_t index : samples) {
    EC_TRY(const std::vector<Value> values, source.read(index));
    std::vector<ConstView> views;
    for (const Value& value : values) views.push_back(value.view());
    EC_TRY(const std::vector<Value> got, rounded->run(views));
    for (size_t i = 0; i < views.size(); ++i) comparison.see_float(*of.graph.inputs()[i], views[i]);
    EC_TRY(const std::vector<Value> expected, exact->run(views));
    comparison.see_outputs(expected, got);
  }
  AccuracyReport report = comparison.report();
  report.samples = samples.size();
  return report;
}

using Run = std::function<Result<std::vector<Value>>(const std::vector<Value>& sample)>;

Result<std::vector<Value>> run_on(Executor& executor, const std::vector<Value>& sample) {
  std::vector<ConstView> views;
  for (const Value& value : sample) views.push_back(value.view());
  return executor.run(views);
}

Result<AccuracyReport> compare_outputs(const Graph& exact, const Run& run_changed,
                                       SampleSource& source, std::span<const size_t> samples,
                                       const std::shared_ptr<kernels::ThreadPool>& pool,
                                       ReferenceOutputs& reference) {
  OutputComparison comparison(exact, reference.meaning());
  std::unique_ptr<Executor> theirs;  // made where the reference lacks a sample
  const auto run_exact = [&](const std::vector<Value>& sample) -> Result<std::vector<Value>> {
    if (theirs == nullptr) {
      EC_TRY(theirs, executor_of(exact, {}, pool));
    }
    return run_on(*theirs, sample);
  };
  for (const size_t index : samples) {
    EC_TRY(const std::vector<Value> sample, source.read(index));
    EC_TRY(const std::vector<Value> got, run_changed(sample));
    EC_TRY(const std::vector<Value> expected,
           reference.of(index, [&] { return run_exact(sample); }));
    comparison.see(expected, got);
  }
  AccuracyReport report;
  comparison.tell(report);
  report.samples = samples.size();
  return report;
}

// What was measured before is played back in place of a run.
Result<AccuracyReport> measured(SampleSource& source, const Graph& exact,
                                const std::function<Result<AccuracyReport>()>& measure) {
  Measurements* measurements = source.measurements();
  return measurements != nullptr ? measurements->accuracy(exact, measure) : measure();
}

}  // namespace

Result<AccuracyReport> measure_accuracy(const Simulation& simulation, SampleSource& source,
                                        std::span<const size_t> samples, int threads) {
  return measured(source, simulation.graph,
                  [&] { return compare_runs(simulation, source, samples, threads); });
}

Result<AccuracyReport> measure_outputs(const Graph& exact, const Graph& changed,
                                       SampleSource& source, std::span<const size_t> samples,
                                       int threads, ReferenceOutputs& reference) {
  return measured(source, exact, [&]() -> Result<AccuracyReport> {
    const auto pool = std::make_shared<kernels::ThreadPool>(threads);
    EC_TRY(const auto ours, executor_of(changed, {}, pool));
    const Run run = [&](const std::vector<Value>& sample) { return run_on(*ours, sample); };
    return compare_outputs(exact, run, source, samples, pool, reference);
  });
}

Result<AccuracyReport> measure_rounded(const Graph& exact, const Plan& plan,
                                       const Rounding& rounding, SampleSource& source,
                                       std::span<const size_t> samples, int threads,
                                       ReferenceOutputs& reference) {
  return measured(source, exact, [&]() -> Result<AccuracyReport> {
    const auto pool = std::make_shared<kernels::ThreadPool>(threads);
    std::vector<JudgedTensor> outputs;
    for (const Tensor* output : exact.outputs()) outputs.push_back({output, std::nullopt});
    EC_TRY(const auto runner, RoundedRunner::create(exact, plan, std::move(outputs), pool));
    EC_CHECK_OK(runner->use(RoundedGraph::create(exact, plan, rounding)));
    const Run run = [&](const std::vector<Value>& sample) { return runner->run(sample, rounding); };
    return compare_outputs(exact, run, source, samples, pool, reference);
  });
}

}  // namespace ec::quantize
