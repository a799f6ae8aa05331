#include "quantize/ptq.h"

#include <fmt/format.h>

#include <chrono>

#include "ops/op_def.h"
#include "quantize/verify.h"
#include "support/progress.h"
#include "support/strings.h"

namespace ec::quantize {
namespace {

constexpr StepInfo kSteps[] = {
    {"analyse", "which operations become integer, and which tensors share parameters"},
    {"calibrate", "the range of every activation, in one pass over the samples"},
    {"assign", "scales and zero points, equal where the target wants them equal"},
    {"convert", "integer weights, biases and operations; quantize and dequantize at the borders"},
    {"verify", "the rules that quantised graphs keep"},
    {"report", "error of every layer and of the outputs on samples kept apart"},
};

class Steps {
 public:
  explicit Steps(std::vector<StepTime>& times) : times_(times) {}
  template <class F>
  auto run(size_t step, F&& f) {
    const auto start = std::chrono::steady_clock::now();
    auto result = f();
    const auto took = std::chrono::steady_clock::now() - start;
    times_.push_back(
        {std::string(kSteps[step].name), std::chrono::duration<double, std::milli>(took).count()});
    return result;
  }

 private:
  std::vector<StepTime>& times_;
};

Status refuse_quantized(const Graph& graph) {
  for (const Tensor* tensor : graph.tensors())
    if (tensor->type().quant)
      return Error(Code::Usage, "the model is quantised already")
          .hint("leave --quantize out: its scales are kept as they are");
  return {};
}

void count_operations(const Graph& graph, const Plan& plan, QuantizeReport& report) {
  for (const Operation* op : graph.topological()) {
    const OpPlan& entry = plan.of(op);
    if (entry.integer) {
      ++report.integer_ops;
    } else if (!entry.reason.empty()) {
      ++report.float_ops;
      report.kept_in_float.push_back(
          {std::string(op->location().name()), std::string(op->def().name), entry.reason});
    }
  }
}

void warn_kept(const QuantizeReport& report, DiagnosticSink& sink) {
  if (report.float_ops == 0) return;
  Diagnostic warning(Code::KeptInFloat,
                     fmt::format("{} of {} operations stay in floating point", report.float_ops,
                                 report.float_ops + report.integer_ops));
  warning.severity = Severity::Warning;
  constexpr size_t kNamed = 10;
  for (size_t i = 0; i < std::min(kNamed, report.kept_in_float.size()); ++i) {
    const KeptInFloat& kept = report.kept_in_float[i];
    warning.notes.push_back(
        fmt::format("'{}' ({}): {}", printable(kept.name), kept.op, kept.reason));
  }
  if (report.kept_in_float.size() > kNamed)
    warning.notes.push_back(
        fmt::format("and {} more; --json lists all", report.kept_in_float.size() - kNamed));
  sink.report(std::move(warning));
}

// What whoever finds the file later needs to feed it right.
void record(Graph& graph, const QuantizeReport& report) {
  auto& metadata = graph.metadata();
  metadata["quantization"] = fmt::format("{} int8, {} calibration of {} samples", report.strategy,
                                         report.method, report.calibration_samples);
  metadata["preprocessing"] = report.preprocessing;
}

}  // namespace

std::span<const StepInfo> ptq_steps() { return kSteps; }

Result<QuantizeResult> run_ptq(const Graph& graph, const QuantizeRequest& request,
                               DiagnosticSink& sink) {
  EC_CHECK_OK(refuse_quantized(graph));
  QuantizeResult result;
  QuantizeReport& report = result.report;
  const ObserverMethod* method =
      request.method.empty() ? &all_observer_methods()[0] : find_observer_method(request.method);
  if (method == nullptr)
    return Error(Code::Usage, fmt::format("no calibration method '{}'", printable(request.method)))
        .hint("known: minmax, average");
  report.strategy = "ptq";
  report.target = request.target->name;
  report.method = method->name;
  report.io_type = io_type_name(request.io);
  report.preprocessing = request.preprocessing.text();

  Steps steps(report.steps);
  const Plan plan = steps.run(0, [&] {
    return make_plan(graph, *request.target, {request.io != IoType::Float, request.keep_float});
  });
  count_operations(graph, plan, report);
  warn_kept(report, sink);

  const SampleSplit split = split_samples(request.samples->size(), request.wanted_samples);
  EC_TRY(const CalibrationRun run, steps.run(1, [&] {
    return calibrate(graph, plan, *request.samples, split.calibration,
                     {method, request.threads, [](size_t done, size_t total) {
                        report_progress("calibrating", static_cast<int64_t>(done),
                                        static_cast<int64_t>(total));
                      }});
  }));
  report.calibration_samples = run.samples;
  check_input_ranges(graph, run, request.preprocessing, sink);

  EC_TRY(const auto params,
         steps.run(2, [&] { return assign_parameters(graph, plan, run.ranges); }));
  EC_TRY(Conversion converted, steps.run(3, [&] {
    return convert(graph, plan, params, request.io, GraphForm::Integer);
  }));
  report.widened_weights = std::move(converted.widened);
  EC_CHECK_OK(steps.run(4, [&] { return verify_quantized(*converted.graph, sink); }));

  EC_TRY(report.accuracy, steps.run(5, [&]() -> Result<AccuracyReport> {
    EC_TRY(const Conversion simulated,
           convert(graph, plan, params, IoType::Float, GraphForm::Simulated));
    return measure_accuracy(graph, plan, simulated, params, *request.samples, split.held_out,
                            request.threads);
  }));
  report.accuracy.held_out = !split.overlap;
  record(*converted.graph, report);
  result.graph = std::move(converted.graph);
  return result;
}

}  // namespace ec::quantize
