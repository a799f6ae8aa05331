#include "runtime/session.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "runtime/fill.h"
#include "runtime/quantize_input.h"
#include "support/budget.h"
#include "support/progress.h"
#include "support/strings.h"
#include "support/threads.h"

namespace ec {

namespace {

std::string describe(const TensorDescription& tensor) {
  return "'" + tensor.name + "' " + tensor.type.text();
}

std::string list_inputs(std::span<const TensorDescription> inputs) {
  std::vector<std::string> names;
  for (const TensorDescription& input : inputs) names.push_back(describe(input));
  return names.empty() ? "the model has no inputs" : "inputs: " + join(names, ", ");
}

// Value at fraction p of the sorted times, between the two nearest.
double percentile(const std::vector<double>& sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

BenchmarkStats statistics(std::vector<double> ms) {
  BenchmarkStats stats;
  stats.iterations = static_cast<int64_t>(ms.size());
  if (ms.empty()) return stats;
  std::sort(ms.begin(), ms.end());
  double total = 0;
  for (const double t : ms) total += t;
  stats.mean_ms = total / static_cast<double>(ms.size());
  stats.p50_ms = percentile(ms, 0.50);
  stats.p95_ms = percentile(ms, 0.95);
  stats.p99_ms = percentile(ms, 0.99);
  stats.min_ms = ms.front();
  stats.max_ms = ms.back();
  stats.throughput_fps = total > 0 ? 1000.0 * static_cast<double>(ms.size()) / total : 0;
  return stats;
}

}  // namespace

void Session::describe_interface(const Graph& graph) {
  for (const Tensor* tensor : graph.inputs()) inputs_.push_back({tensor->name(), tensor->type()});
  for (size_t i = 0; i < graph.outputs().size(); ++i)
    outputs_.push_back({graph.output_names()[i], graph.outputs()[i]->type()});
}

std::unique_ptr<Session> Session::on_device(const Graph& interface,
                                            std::unique_ptr<DeviceRunner> device, int threads) {
  std::unique_ptr<Session> session(new Session());
  session->describe_interface(interface);
  session->device_ = std::move(device);
  session->threads_ = threads;
  return session;
}

Result<std::unique_ptr<Session>> Session::create(std::unique_ptr<Graph> graph,
                                                 const SessionOptions& options) {
  std::unique_ptr<Session> session(new Session());
  session->describe_interface(*graph);
  session->set_options(options);
  session->graph_ = std::move(graph);
  session->runner_ =
      std::make_unique<GraphRunner>(*session->graph_, session->executor_, session->pool_);
  std::vector<TensorType> types;
  for (const TensorDescription& input : session->inputs_) {
    if (!input.type.is_static()) return session;
    types.emplace_back(input.type.dtype, *input.type.shape);
  }
  EC_TRY(session->last_, session->runner_->specialise(types));
  return session;
}

void Session::set_options(const SessionOptions& options) {
  threads_ = threads_for(options.threads);
  pool_ = std::make_shared<kernels::ThreadPool>(threads_);
  if (options.keep_state) state_ = std::make_shared<StateStore>();
  executor_.reference = options.reference;
  executor_.isa = options.isa;
  executor_.profile = options.profile;
  executor_.plan_only = options.plan_only;
  executor_.observer = options.observer;
  executor_.state = state_;
}

Error Session::shape_error(const TensorDescription& expected, const Value& given) const {
  return Error(Code::InputShapeMismatch, "input '" + expected.name + "': expected shape " +
                                             expected.type.shape->text() + ", got " +
                                             Shape::of(given.shape).text())
      .hint("reshape the array, or resize what it is made from");
}

// Puts the given values in input order; every fault is one the caller can act on.
Result<std::vector<Value>> Session::arrange(std::span<const NamedValue> inputs) const {
  std::vector<std::string_view> names;
  for (const TensorDescription& input : inputs_) names.push_back(input.name);
  std::vector<Value> values(inputs_.size());
  std::vector<bool> given(inputs_.size(), false);
  for (const NamedValue& input : inputs) {
    const auto found = std::find(names.begin(), names.end(), input.name);
    if (found == names.end())
      return Error(Code::UnknownInput, "the model has no input '" + printable(input.name) + "'")
          .note(list_inputs(inputs_))
          .hint(did_you_mean(input.name, names));
    const auto i = static_cast<size_t>(found - names.begin());
    if (given[i]) return Error(Code::UnknownInput, "input '" + input.name + "' is given twice");
    given[i] = true;
    const TensorDescription& expected = inputs_[i];
    if (takes_real_numbers(expected.type) && input.value.dtype == DType::F32) {
      EC_TRY(values[i], quantize_input(input.value, expected.type));
      continue;
    }
    if (input.value.dtype != expected.type.dtype)
      return Error(Code::InputTypeMismatch, "input '" + input.name + "': expected element type " +
                                                std::string(dtype_name(expected.type.dtype)) +
                                                ", got " +
                                                std::string(dtype_name(input.value.dtype)))
          .hint("convert the array before the run");
    values[i] = input.value;
  }
  for (size_t i = 0; i < given.size(); ++i)
    if (!given[i])
      return Error(Code::MissingInput, "input " + describe(inputs_[i]) + " has no value")
          .note(list_inputs(inputs_))
          .hint("give every input a value");
  EC_CHECK_OK(check_sizes(values));
  return values;
}

Status Session::check_sizes(std::span<const Value> values) const {
  std::map<std::string, int64_t, std::less<>> symbols;
  for (size_t i = 0; i < values.size(); ++i) {
    const TensorDescription& expected = inputs_[i];
    const Value& value = values[i];
    const auto bytes = TensorType(value.dtype, Shape::of(value.shape)).num_bytes();
    if (!bytes || value.data.size() != static_cast<size_t>(*bytes))
      return Error(Code::InputShapeMismatch,
                   "input '" + expected.name + "': shape " + Shape::of(value.shape).text() +
                       " needs " + (bytes ? std::to_string(*bytes) : "too many") + " bytes, got " +
                       std::to_string(value.data.size()));
    if (!expected.type.shape) continue;
    const Shape& shape = *expected.type.shape;
    if (shape.rank() != value.shape.size()) return shape_error(expected, value);
    for (size_t d = 0; d < shape.rank(); ++d) {
      const int64_t size = value.shape[d];
      if (shape[d].is_static() && shape[d].size() != size) return shape_error(expected, value);
      if (!shape[d].is_symbol()) continue;
      const auto [at, is_new] = symbols.emplace(std::string(shape[d].symbol_name()), size);
      if (!is_new && at->second != size)
        return std::move(shape_error(expected, value))
            .note("dimension '" + at->first + "' is " + std::to_string(at->second) +
                  " in an earlier input");
    }
  }
  return {};
}

Result<std::vector<Value>> Session::run_arranged(std::span<const Value> values) {
  if (device_ != nullptr) return device_->run(values);
  std::vector<ConstView> views;
  std::vector<TensorType> types;
  for (const Value& value : values) {
    views.push_back(value.view());
    types.emplace_back(value.dtype, Shape::of(value.shape));
  }
  EC_TRY(last_, executor_for(types));
  return last_->run(views);
}

Result<std::vector<Value>> Session::run(std::span<const NamedValue> inputs) {
  const std::lock_guard lock(mutex_);
  if (!is_open()) return Error(Code::SessionClosed, "the session is closed");
  EC_TRY(std::vector<Value> values, arrange(inputs));
  for (Value& value : values) value.data = value.data.aligned();
  return run_arranged(values);
}

Result<BenchmarkStats> Session::benchmark(std::span<const NamedValue> inputs,
                                          const BenchmarkOptions& options) {
  const std::lock_guard lock(mutex_);
  if (!is_open()) return Error(Code::SessionClosed, "the session is closed");
  EC_TRY(std::vector<Value> values, arrange(inputs));
  for (Value& value : values) value.data = value.data.aligned();
  std::vector<double> ms;
  ms.reserve(static_cast<size_t>(std::max<int64_t>(0, options.iterations)));
  for (int64_t i = -options.warmup; i < options.iterations; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    EC_TRY(const std::vector<Value> results, run_arranged(values));
    const auto end = std::chrono::steady_clock::now();
    if (i >= 0) ms.push_back(std::chrono::duration<double, std::milli>(end - begin).count());
    report_progress("measuring", i + options.warmup + 1, options.iterations + options.warmup);
  }
  return statistics(std::move(ms));
}

Result<std::vector<NamedValue>> Session::random_inputs(uint64_t seed) const {
  std::vector<NamedValue> values;
  size_t total = 0;
  for (const TensorDescription& input : inputs_) {
    const auto sizes = default_shape(input);
    if (!sizes)
      return Error(Code::DynamicShape, "input " + describe(input) + " has open dimensions")
          .hint("give its size with --input-shape " + input.name + ":1x...");
    const auto bytes = TensorType(input.type.dtype, Shape::of(*sizes)).num_bytes();
    total += static_cast<size_t>(bytes.value_or(0));
    EC_CHECK_OK(check_room(total));
    EC_TRY(Value value, make_value(input.type.dtype, *sizes, Fill::Random, seed + values.size()));
    values.push_back({input.name, std::move(value)});
  }
  return values;
}

std::vector<OpTiming> Session::timings() const {
  const std::lock_guard lock(mutex_);
  return last_ != nullptr ? last_->timings() : std::vector<OpTiming>();
}

MemoryReport Session::memory() const {
  const std::lock_guard lock(mutex_);
  return last_ != nullptr ? last_->memory() : MemoryReport();
}

Status Session::reset() {
  const std::lock_guard lock(mutex_);
  if (!is_open()) return Error(Code::SessionClosed, "the session is closed");
  if (device_ != nullptr) return device_->reset();
  if (state_ != nullptr) state_->reset();
  return {};
}

void Session::close() noexcept {
  const std::lock_guard lock(mutex_);
  last_ = nullptr;
  variants_.clear();
  open_.reset();
  runner_.reset();
  device_.reset();
  graph_.reset();
}

}  // namespace ec
