#include "quantize/strategy/weight_only_run.h"

#include <fmt/format.h>

#include "ops/op_def.h"
#include "quantize/convert/verify.h"
#include "quantize/rescale/rescale.h"
#include "quantize/strategy/accuracy_budget.h"

namespace ec::quantize {
namespace {

constexpr StepInfo kSteps[] = {
    {"weights", "constants stored with fewer bits, where that saves something"},
    {"verify", "the rules that quantised graphs keep"},
    {"report", "error of every weight; of the outputs too where samples are given"},
};

// Samples that measure the outputs, unless told how many.
constexpr size_t kReportSamples = 100;

}  // namespace

std::span<const StepInfo> stored_weights_steps() { return kSteps; }

StoredWeightsRun::StoredWeightsRun(const Graph& graph, const QuantizeRequest& request,
                                   DiagnosticSink& sink, std::string_view strategy)
    : exact_(graph), request_(request), sink_(sink) {
  result_.graph = graph.clone();
  report().strategy = strategy;
  report().target = request.target->name;
  report().method = "none needed";
  report().io_type = io_type_name(request.io);
  report().preprocessing = request.preprocessing.text();
}

Result<QuantizeResult> StoredWeightsRun::run() {
  EC_CHECK_OK(check_budget(exact_, request_.budget));
  EC_CHECK_OK(steps_.run([&] { return store(); }));
  for (Tensor* exact : replaced_) graph().erase(exact);
  for (const auto& [stored, name] : names_)
    if (graph().find_tensor(name) == nullptr) graph().rename(stored, name);
  EC_CHECK_OK(steps_.run([&] { return verify_quantized(graph(), sink_); }));
  EC_CHECK_OK(steps_.run([&] { return measure(); }));
  graph().metadata()["quantization"] =
      fmt::format("{}, {} of {} float constants stored smaller", report().strategy,
                  report().stored_weights.size(), count_constants());
  return std::move(result_);
}

std::string StoredWeightsRun::kept_by_name(const Operation& op) const {
  for (const std::string& pattern : request_.keep_float)
    for (const std::string& name : op.location().nodes)
      if (matches_glob(pattern, name)) return "--keep-float " + pattern;
  return {};
}

void StoredWeightsRun::keep(const Operation& op, std::string reason) {
  ++report().float_ops;
  report().kept_in_float.push_back(
      {std::string(op.location().name()), std::string(op.def().name), std::move(reason)});
}

void StoredWeightsRun::replace_operand(Operation* op, size_t i, Tensor* stored) {
  Tensor* exact = op->input(i);
  graph().set_operand(op, i, stored);
  if (graph().is_unused(exact)) replaced_.push_back(exact);
}

void StoredWeightsRun::record(const Tensor& exact, Tensor& stored, std::span<const float> rounded) {
  names_.emplace_back(&stored, exact.name());
  StoredWeight entry{exact.name(),
                     std::string(dtype_name(stored.dtype())),
                     static_cast<int64_t>(exact.raw_data().size()),
                     static_cast<int64_t>(stored.raw_data().size()),
                     {}};
  if (stored.type().quant)
    entry.bytes_after += static_cast<int64_t>(4 * stored.type().quant->scales.size());
  const auto values = exact.values<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<double>(values[i]);
    const double difference = value - static_cast<double>(rounded[i]);
    entry.error.signal += value * value;
    entry.error.noise += difference * difference;
  }
  report().stored_weights.push_back(std::move(entry));
}

size_t StoredWeightsRun::count_constants() const {
  size_t count = 0;
  for (const Tensor* tensor : exact_.tensors()) count += is_float_constant(tensor);
  return count;
}

Status StoredWeightsRun::measure() {
  if (request_.samples == nullptr) return {};
  std::vector<size_t> all(request_.samples->size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  const size_t wanted = request_.wanted_samples != 0 ? request_.wanted_samples : kReportSamples;
  EC_TRY(report().accuracy, measure_outputs(exact_, graph(), *request_.samples, spread(all, wanted),
                                            request_.threads));
  report().accuracy.held_out = true;
  return keep_budget();
}

Status StoredWeightsRun::keep_budget() const {
  const AccuracyBudget& budget = request_.budget;
  for (const OutputAccuracy& output : result_.report.accuracy.outputs) {
    const double agreement = output.top1_agreement.value_or(1.0), sqnr = output.error.sqnr_db();
    const bool dropped = budget.max_drop && 1.0 - agreement > *budget.max_drop;
    const bool noisy = budget.min_sqnr && sqnr < *budget.min_sqnr;
    if (dropped || noisy)
      return Error(Code::AccuracyNotMet,
                   fmt::format("output '{}': agreement {:.4f}, SQNR {:.1f} dB, less than asked",
                               output.name, agreement, sqnr))
          .hint("keep layers in float with --keep-float, or use --quantize float16");
  }
  return {};
}

Error not_on_target(const QuantizeRequest& request, std::string_view what) {
  return Error(Code::Usage, fmt::format("target '{}' has no {}", request.target->name, what))
      .hint(request.target->integers_only ? "use --quantize ptq: it computes on integers only"
                                          : "use --quantize ptq, or another target");
}

}  // namespace ec::quantize
