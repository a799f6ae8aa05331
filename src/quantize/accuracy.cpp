#include "quantize/accuracy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/op_def.h"
#include "runtime/executor.h"

namespace ec::quantize {
namespace {

constexpr double kBestSqnr = 120.0;

void add_errors(ErrorStatistics& error, std::span<const float> expected,
                std::span<const float> got) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const double e = static_cast<double>(expected[i]), g = static_cast<double>(got[i]);
    const double difference = e - g;
    error.signal += e * e;
    error.noise += difference * difference;
    error.product += e * g;
    error.quantized += g * g;
    error.largest = std::max(error.largest, std::abs(difference));
  }
  error.count += static_cast<int64_t>(expected.size());
}

// Rows whose largest element is at the same place in both.
struct Agreement {
  int64_t same = 0, rows = 0;

  void add(std::span<const float> a, std::span<const float> b, size_t classes) {
    for (size_t at = 0; at + classes <= a.size(); at += classes, ++rows) {
      const auto top = [&](std::span<const float> values) {
        const auto row = values.subspan(at, classes);
        return std::max_element(row.begin(), row.end()) - row.begin();
      };
      same += top(a) == top(b);
    }
  }
};

// [batch, classes], with dimensions of one between.
bool is_scores(const std::vector<int64_t>& shape) {
  if (shape.empty() || shape.back() < 2) return false;
  for (size_t d = 1; d + 1 < shape.size(); ++d)
    if (shape[d] != 1) return false;
  return true;
}

class OutputComparison {
 public:
  explicit OutputComparison(const Graph& graph)
      : names_(graph.output_names()), errors_(names_.size()), agreement_(names_.size()) {}

  void see(const std::vector<Value>& expected, const std::vector<Value>& got) {
    for (size_t i = 0; i < expected.size(); ++i) {
      if (expected[i].dtype != DType::F32 || expected[i].shape != got[i].shape) continue;
      add_errors(errors_[i], expected[i].as<float>(), got[i].as<float>());
      const auto& shape = expected[i].shape;
      if (is_scores(shape))
        agreement_[i].add(expected[i].as<float>(), got[i].as<float>(),
                          static_cast<size_t>(shape.back()));
    }
  }
  std::vector<OutputAccuracy> outputs() const {
    std::vector<OutputAccuracy> outputs;
    for (size_t i = 0; i < names_.size(); ++i) {
      outputs.push_back({names_[i], errors_[i], std::nullopt});
      if (agreement_[i].rows > 0)
        outputs.back().top1_agreement =
            static_cast<double>(agreement_[i].same) / static_cast<double>(agreement_[i].rows);
    }
    return outputs;
  }

 private:
  const std::vector<std::string> names_;
  std::vector<ErrorStatistics> errors_;
  std::vector<Agreement> agreement_;
};

class Comparison {
 public:
  Comparison(const Graph& graph, const Plan& plan, const Conversion& simulated,
             const FormParams& params)
      : graph_(graph),
        plan_(plan),
        params_(params),
        stored_(graph.tensor_id_bound()),
        errors_(graph.tensor_id_bound()),
        source_id_(simulated.graph->tensor_id_bound(), kNone),
        outputs_(graph) {
    for (uint32_t id = 0; id < simulated.quantized.size(); ++id) {
      const Tensor* tensor = simulated.quantized[id];
      if (tensor != nullptr && plan.observed[id]) source_id_[tensor->id()] = id;
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
    const FormId form = plan_.stored_form(&tensor);
    if (value.dtype != DType::F32 || !params_[form]) return;
    const auto expected = value.as<float>();
    if (stored.size() != expected.size() || stored.empty()) return;
    const float scale = params_[form]->scales[0];
    const int32_t zero = params_[form]->zero_points[0];
    const DType dtype = activation_type(width_of(form));
    const auto lowest = static_cast<int32_t>(lowest_integer(dtype));
    const auto highest = static_cast<int32_t>(highest_integer(dtype));
    row_.resize(expected.size());
    ErrorStatistics& error = errors_[tensor.id()];
    // Beyond what the ends of the range stand for.
    const float low = scale * (static_cast<float>(lowest - zero) - 0.5f);
    const float high = scale * (static_cast<float>(highest - zero) + 0.5f);
    for (size_t i = 0; i < stored.size(); ++i) {
      row_[i] = scale * static_cast<float>(stored[i] - zero);
      error.clipped += expected[i] < low || expected[i] > high;
    }
    add_errors(error, expected, row_);
    stored.clear();
  }

  void see_outputs(const std::vector<Value>& expected, const std::vector<Value>& got) {
    outputs_.see(expected, got);
  }

  AccuracyReport report() const {
    AccuracyReport report;
    for (const Operation* op : graph_.topological())
      for (const Tensor* tensor : op->outputs()) {
        const ErrorStatistics& error = errors_[tensor->id()];
        if (error.count == 0) continue;
        const QuantParams& params = *params_[plan_.stored_form(tensor)];
        LayerAccuracy layer;
        layer.name = op->location().name();
        layer.op = op->def().name;
        layer.tensor = tensor->name();
        layer.operation = op->id();
        layer.scale = params.scales[0];
        layer.zero_point = params.zero_points[0];
        layer.error = error;
        report.layers.push_back(std::move(layer));
      }
    report.outputs = outputs_.outputs();
    return report;
  }

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  const Graph& graph_;
  const Plan& plan_;
  const FormParams& params_;
  std::vector<std::vector<int16_t>> stored_;  // of this sample, by source tensor
  std::vector<ErrorStatistics> errors_;
  std::vector<uint32_t> source_id_;  // by tensor of the simulated graph
  OutputComparison outputs_;
  std::vector<float> row_;
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
  if (noise <= 0) return kBestSqnr;
  if (signal <= 0) return 0;
  return std::min(kBestSqnr, 10.0 * std::log10(signal / noise));
}
double ErrorStatistics::cosine() const {
  if (signal <= 0 || quantized <= 0) return signal == quantized ? 1.0 : 0.0;
  return product / std::sqrt(signal * quantized);
}
double ErrorStatistics::rmse() const {
  return count > 0 ? std::sqrt(noise / static_cast<double>(count)) : 0.0;
}
double ErrorStatistics::clip_rate() const {
  return count > 0 ? static_cast<double>(clipped) / static_cast<double>(count) : 0.0;
}

Result<AccuracyReport> measure_accuracy(const Graph& graph, const Plan& plan,
                                        const Conversion& simulated, const FormParams& params,
                                        SampleSource& source, std::span<const size_t> samples,
                                        int threads) {
  Comparison comparison(graph, plan, simulated, params);
  auto pool = std::make_shared<kernels::ThreadPool>(threads);
  EC_TRY(const auto rounded, executor_of(
                                 *simulated.graph,
                                 [&](const Tensor& tensor, const ConstView& value) {
                                   comparison.see_quantized(tensor, value);
                                 },
                                 pool));
  EC_TRY(const auto exact, executor_of(
                               graph,
                               [&](const Tensor& tensor, const ConstView& value) {
                                 comparison.see_float(tensor, value);
                               },
                               pool));
  for (const size_t index : samples) {
    EC_TRY(const std::vector<Value> values, source.read(index));
    std::vector<ConstView> views;
    for (const Value& value : values) views.push_back(value.view());
    EC_TRY(const std::vector<Value> got, rounded->run(views));
    EC_TRY(const std::vector<Value> expected, exact->run(views));
    comparison.see_outputs(expected, got);
  }
  AccuracyReport report = comparison.report();
  report.samples = samples.size();
  return report;
}

Result<AccuracyReport> measure_outputs(const Graph& exact, const Graph& changed,
                                       SampleSource& source, std::span<const size_t> samples,
                                       int threads) {
  OutputComparison comparison(exact);
  auto pool = std::make_shared<kernels::ThreadPool>(threads);
  EC_TRY(const auto ours, executor_of(changed, {}, pool));
  EC_TRY(const auto theirs, executor_of(exact, {}, pool));
  for (const size_t index : samples) {
    EC_TRY(const std::vector<Value> values, source.read(index));
    std::vector<ConstView> views;
    for (const Value& value : values) views.push_back(value.view());
    EC_TRY(const std::vector<Value> got, ours->run(views));
    EC_TRY(const std::vector<Value> expected, theirs->run(views));
    comparison.see(expected, got);
  }
  AccuracyReport report;
  report.outputs = comparison.outputs();
  report.samples = samples.size();
  return report;
}

}  // namespace ec::quantize
