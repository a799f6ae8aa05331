// quantise: integers in place of floats, by the target's rules and the strategy that is asked for.
#include <fmt/format.h>

#include "driver/graph_files.h"
#include "driver/pass_runs.h"
#include "driver/phases.h"
#include "driver/quantize_request.h"
#include "driver/statistics.h"
#include "limits/limits.h"
#include "quantize/calibration/assumptions.h"
#include "quantize/calibration/channels_last.h"
#include "quantize/calibration/outliers.h"
#include "quantize/measure/first_outputs.h"
#include "quantize/strategy/predict.h"
#include "quantize/trial/measurements.h"
#include "report/convert.h"
#include "support/budget.h"

namespace ec {
namespace {

// The layout pass records in the metadata which inputs it gave channels last.
std::vector<bool> channels_last_inputs(const Graph& graph) {
  std::vector<bool> channels_last;
  for (const Tensor* input : graph.inputs()) {
    const auto found = graph.metadata().find("layout.input." + input->name());
    channels_last.push_back(found != graph.metadata().end() && found->second == "nhwc");
  }
  return channels_last;
}

// Samples, or what was measured on them before.
struct CalibrationData {
  std::optional<quantize::Measurements> measurements;
  std::unique_ptr<quantize::SampleSource> files, sane, in_layout, samples;

  Status open(const Compilation& c, const Graph& graph,
              const std::vector<quantize::ModelInput>& inputs,
              const quantize::Preprocessing& preprocessing) {
    const Options& options = c.options();
    const quantize::MeasuredWith key = statistics_of_options(c);
    if (!options.text("statistics").empty()) {
      EC_TRY(measurements, quantize::Measurements::load(options.text("statistics")));
      EC_CHECK_OK(measurements->check(graph, key));
      samples = quantize::played_back_samples(*measurements);
      return {};
    }
    EC_TRY(files, quantize::open_samples(options.text("calibration-data"), inputs, preprocessing,
                                         c.sink()));
    EC_TRY(sane, quantize::without_outliers(*files, c.sink()));
    in_layout = quantize::channels_last_samples(sane ? *sane : *files, channels_last_inputs(graph));
    if (options.text("save-statistics").empty()) return samples = std::move(in_layout), Status();
    EC_CHECK_OK(measurements.emplace().check(graph, key));
    samples = quantize::recorded_samples(*in_layout, *measurements);
    return {};
  }

  Status save(const Compilation& c) {
    if (!measurements || c.options().text("save-statistics").empty()) return {};
    return save_statistics(c, *measurements);
  }
};

// What the data is taken for, where nobody said it.
void warn_of_assumptions(const Compilation& c, const CompiledModel& model,
                         const CalibrationData& data, const quantize::QuantizeRequest& request,
                         const std::vector<quantize::ModelInput>& inputs, bool detector) {
  const Options& options = c.options();
  if (!data.files || options.text("calibration-data") == "random") return;
  quantize::AssumedData assumed;
  assumed.samples = data.files.get();
  assumed.inputs = &inputs;
  assumed.preprocessing = request.preprocessing;
  assumed.normalisation_given = options.is_given("mean") || options.is_given("std") ||
                                options.is_given("pixel-range") || model.facts.folded;
  assumed.resize_given = options.is_given("resize");
  assumed.finds_objects = detector;
  quantize::warn_of_preprocessing(assumed, c.sink());
  if (model.strategy->samples == quantize::SampleUse::Needed)
    quantize::warn_of_few_samples(data.files->size(), request.wanted_samples, c.sink());
}

Status run_strategy(const Compilation& c, CompiledModel& model, quantize::GraphForm form) {
  const quantize::Strategy& strategy = *model.strategy;
  EC_TRY(quantize::QuantizeRequest request,
         quantize_request(c, strategy, *c.target()->integer_rules()));
  if (model.facts.folded) {
    request.preprocessing = model.facts.folded->rest;
    request.pixel_input = model.facts.folded->input;
  }
  EC_TRY(const std::vector<quantize::ModelInput> inputs, model.used_inputs());
  CalibrationData data;
  const bool given =
      !c.options().text("calibration-data").empty() || !c.options().text("statistics").empty();
  if (strategy.samples != quantize::SampleUse::Unused && given) {
    Budget one_run(run_limits(c.options(), model.source ? model.source->content().size() : 0));
    EC_CHECK_OK(quantize::check_sample_fits(inputs, one_run));
    EC_CHECK_OK(data.open(c, *model.graph, inputs, request.preprocessing));
    request.samples = data.samples.get();
    EC_TRY(const std::vector<Value> outputs,
           quantize::first_outputs(*model.graph, *data.samples, one_run));
    warn_of_assumptions(c, model, data, request, inputs,
                        quantize::finds_objects(model.graph->output_names(), outputs, inputs,
                                                request.preprocessing));
  }
  request.recorded = model.facts.recorded;
  request.form = form;
  EC_TRY(quantize::QuantizeResult result, strategy.run(*model.graph, request, c.sink()));
  EC_CHECK_OK(data.save(c));
  model.graph = std::move(result.graph);
  model.report.quantization = quantization_report(result.report);
  return {};
}

// NotOnTarget where the target has integers only and the graph none; says how to get them.
Status refuse_float(const Compilation& c, const Graph& graph) {
  const quantize::TargetSpec* rules = c.target()->integer_rules();
  if (rules == nullptr || !rules->integers_only) return {};
  if (quantize::has_quantized_tensors(graph)) return {};
  return Error(Code::NotOnTarget,
               fmt::format("the model is in floating point, '{}' computes on 8-bit integers",
                           c.target()->name()))
      .hint("add --quantize ptq --calibration-data FOLDER with some hundred examples of the input");
}

Status quantise_model(const Compilation& c, CompiledModel& model) {
  if (model.strategy == nullptr) {
    // `check` shows where a float model would run.
    if (c.verb() != Verb::Check) EC_CHECK_OK(refuse_float(c, *model.graph));
  } else {
    const GraphFormat* format = nullptr;
    if (c.verb() == Verb::Quantize && !model.report.output.empty()) {
      EC_TRY(format, find_graph_format(model.report.output));
    }
    const bool rounds_activations = model.strategy->samples == quantize::SampleUse::Needed ||
                                    model.strategy->predicts ||
                                    model.strategy->uses_recorded_parameters;
    if (rounds_activations && c.options().text("passes").empty())
      EC_CHECK_OK(run_passes(c, model, "quantise", "before-quantising"));
    const bool as_format = format != nullptr && format->simulates_integers;
    const bool simulated = as_format || c.target()->integer_rules()->simulated;
    EC_CHECK_OK(run_strategy(
        c, model, simulated ? quantize::GraphForm::Simulated : quantize::GraphForm::Integer));
    // Whatever the passes before were: this is the form that the file has.
    if (as_format) {
      PassContext context;
      context.sink = &c.sink();
      EC_CHECK_OK(PassManager({}, c.registry().passes())
                      .run(*model.graph, format->quantized_pipeline, context));
    }
  }
  if (model.facts.folded)
    EC_CHECK_OK(quantize::bytes_at_input(*model.graph, model.facts.folded->input));
  return {};
}

}  // namespace

Status quantise(Compilation& compilation) {
  for (CompiledModel& model : compilation.models())
    if (Status status = quantise_model(compilation, model); !status.ok()) return status;
  return {};
}

}  // namespace ec
