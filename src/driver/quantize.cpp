#include "driver/quantize.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/statistics.h"
#include "quantize/calibration/channels_last.h"
#include "backend/tflite/integer_rules.h"
#include "support/strings.h"
#include "support/threads.h"

namespace ec {
namespace {

using quantize::Preprocessing;

Error bad_choice(std::string_view option, const std::string& value, std::string_view known) {
  return Error(Code::Usage, fmt::format("--{} cannot be '{}'", option, printable(value)))
      .hint(fmt::format("known: {}", known));
}

Result<quantize::IoType> io_type_of(const CompileOptions& options,
                                    const quantize::TargetSpec& spec) {
  EC_TRY(const quantize::Strategy* strategy, quantize::find_strategy(options.quantize));
  std::string name = options.io_type;
  // Pixels are bytes.
  if (name.empty() && options.fold_preprocessing && spec.integers_only) name = "uint8";
  if (name.empty()) name = strategy->float_activations ? "float" : spec.io_type;
  const std::optional<quantize::IoType> type = quantize::io_type_from_name(to_lower(name));
  if (!type) return bad_choice("io-type", name, "float, int8, uint8, int16");
  if (strategy->float_activations && *type != quantize::IoType::Float)
    return bad_choice(
        "io-type", name,
        fmt::format("float: activations are floats with --quantize {}", strategy->name));
  const bool wide = options.quantize == "a16w8";
  if (*type == quantize::IoType::Int16 && options.fold_preprocessing)
    return bad_choice("io-type", name, "float with --fold-preprocessing: pixels are bytes");
  if (*type == quantize::IoType::Int16 && !wide)
    return bad_choice("io-type", name, "float, int8, uint8; int16 needs --quantize a16w8");
  if ((*type == quantize::IoType::Int8 || *type == quantize::IoType::Uint8) && wide)
    return bad_choice("io-type", name, "float, int16 with --quantize a16w8");
  return *type;
}

Result<quantize::Switch> switch_of(std::string_view option, const std::string& value) {
  const std::string name = to_lower(value);
  if (name.empty() || name == "auto") return quantize::Switch::Auto;
  if (name == "on") return quantize::Switch::On;
  if (name == "off") return quantize::Switch::Off;
  return bad_choice(option, value, "auto, on, off");
}

// Everything but the samples.
Result<quantize::QuantizeRequest> request_of(const CompileOptions& options,
                                             const quantize::TargetSpec& spec) {
  quantize::QuantizeRequest request;
  request.target = &spec;
  EC_TRY(request.io, io_type_of(options, spec));
  EC_TRY(request.preprocessing, preprocessing_of(options));
  EC_TRY(request.methods.equalize, switch_of("equalize", options.equalize));
  EC_TRY(request.methods.balance, switch_of("balance", options.balance));
  EC_TRY(request.methods.correct_bias, switch_of("correct-bias", options.correct_bias));
  EC_TRY(request.methods.adapt_rounding, switch_of("adapt-rounding", options.adapt_rounding));
  EC_TRY(request.methods.precise_outputs, switch_of("precise-outputs", options.precise_outputs));
  if (request.methods.precise_outputs == quantize::Switch::On &&
      request.io != quantize::IoType::Float)
    return bad_choice("precise-outputs", options.precise_outputs,
                      "auto, off where outputs are integers; on needs --io-type float");
  if (request.methods.precise_outputs == quantize::Switch::On &&
      (spec.integers_only || !rounds_activations(options)))
    return bad_choice(
        "precise-outputs", options.precise_outputs,
        fmt::format("auto, off with --target {} --quantize {}", spec.name, options.quantize));
  const std::string weights = to_lower(options.weights);
  if (!weights.empty() && weights != "per-channel" && weights != "per-tensor")
    return bad_choice("weights", options.weights, "per-channel, per-tensor");
  request.weights_per_tensor = weights == "per-tensor";
  const std::string effort = to_lower(options.effort);
  if (!effort.empty() && effort != "normal" && effort != "high")
    return bad_choice("effort", options.effort, "normal, high");
  request.high_effort = effort == "high";
  if (!options.calibration_method.empty() &&
      quantize::find_observer_method(options.calibration_method) == nullptr)
    return bad_choice("calibration-method", options.calibration_method,
                      quantize::observer_method_names());
  request.method = options.calibration_method;
  if (options.calibration_percentile > 0)
    request.observer.percentile = options.calibration_percentile;
  if (options.max_drop >= 0) request.budget.max_drop = options.max_drop;
  if (options.min_sqnr >= 0) request.budget.min_sqnr = options.min_sqnr;
  request.wanted_samples = static_cast<size_t>(options.calibration_samples);
  request.keep_float = options.keep_float;
  request.threads = threads_for(options.threads.value_or(0));
  return request;
}

Result<const quantize::TargetSpec*> spec_of(std::string_view target) {
  if (const quantize::TargetSpec* spec = quantize::find_target_spec(target)) return spec;
  std::string known;
  for (const quantize::TargetSpec& spec : quantize::all_target_specs())
    known += fmt::format("{}{}", known.empty() ? "" : ", ", spec.name);
  return Error(Code::Usage, fmt::format("target '{}' has no integer form", printable(target)))
      .hint(fmt::format("quantise for one of: {}", known));
}

// Inputs that the layout pass turned say so in the metadata.
std::vector<bool> turned_inputs(const Graph& graph) {
  std::vector<bool> turned;
  for (const Tensor* input : graph.inputs()) {
    const auto found = graph.metadata().find("layout.input." + input->name());
    turned.push_back(found != graph.metadata().end() && found->second == "nhwc");
  }
  return turned;
}

}  // namespace

Result<Preprocessing> preprocessing_of(const CompileOptions& options) {
  Preprocessing p;
  p.mean = options.mean;
  p.std = options.std;
  if (options.pixel_range == "1" || options.pixel_range == "255")
    p.pixel_range = options.pixel_range == "1" ? 1 : 255;
  else if (!options.pixel_range.empty() && options.pixel_range != "auto")
    return bad_choice("pixel-range", options.pixel_range, "auto, 1, 255");
  const std::string layout = to_lower(options.input_layout);
  if (layout == "nchw" || layout == "nhwc")
    p.layout = layout == "nchw" ? Layout::ChannelsFirst : Layout::ChannelsLast;
  else if (!layout.empty() && layout != "auto")
    return bad_choice("input-layout", options.input_layout, "auto, nchw, nhwc");
  const std::string color = to_lower(options.color);
  if (color == "bgr")
    p.color = quantize::ColorOrder::Bgr;
  else if (!color.empty() && color != "rgb")
    return bad_choice("color", options.color, "rgb, bgr");
  if (!options.resize.empty()) EC_CHECK_OK(quantize::parse_resize(options.resize, p));
  return p;
}

bool wants_quantization(const CompileOptions& options) {
  return !options.quantize.empty() && options.quantize != "none";
}

bool rounds_activations(const CompileOptions& options) {
  if (!wants_quantization(options)) return false;
  const auto strategy = quantize::find_strategy(options.quantize);
  return strategy && (*strategy)->samples == quantize::SampleUse::Needed;
}

bool rounds_weights(const CompileOptions& options) {
  if (!wants_quantization(options)) return false;
  const auto strategy = quantize::find_strategy(options.quantize);
  return strategy && (*strategy)->integer_weights;
}

Status check_quantize_options(const CompileOptions& options, std::string_view target) {
  if (!wants_quantization(options)) {
    if (options.calibration_data.empty()) return {};
    return Error(Code::Usage, "calibration data is given, but no quantisation is asked for")
        .hint("add --quantize ptq");
  }
  EC_TRY(const quantize::Strategy* strategy, quantize::find_strategy(options.quantize));
  EC_TRY(const quantize::TargetSpec* spec, spec_of(target));
  EC_CHECK_OK(request_of(options, *spec));
  if (!options.statistics.empty() && !options.save_statistics.empty())
    return Error(Code::Usage, "--statistics and --save-statistics exclude each other")
        .hint("measure with --calibration-data and --save-statistics, use with --statistics");
  const bool measures = options.max_drop >= 0 || options.min_sqnr >= 0;
  if (options.calibration_data.empty() && options.statistics.empty() &&
      (strategy->samples == quantize::SampleUse::Needed ||
       (strategy->samples == quantize::SampleUse::Optional && measures)))
    return Error(Code::CalibrationDataNeeded,
                 "quantisation needs examples of the model's input, and none were given")
        .hint("pass a folder of images, a .npy or .npz file with --calibration-data PATH");
  return {};
}

Status check_quantized_onnx(const CompileOptions& options) {
  EC_TRY(const quantize::Strategy* strategy, quantize::find_strategy(options.quantize));
  if (strategy->float_activations)
    return Error(Code::Usage,
                 fmt::format("--quantize {} has no form in .onnx files", strategy->name))
        .hint("write .ecir, or compile with --target tflite");
  if (!options.io_type.empty() && to_lower(options.io_type) != "float")
    return bad_choice("io-type", options.io_type,
                      "float: .onnx files keep the interface of the model");
  if (to_lower(options.precise_outputs) == "on")
    return bad_choice("precise-outputs", options.precise_outputs,
                      "auto, off in .onnx files, whose activations have one type");
  return {};
}

Status refuse_float(const Graph& graph, std::string_view target) {
  const quantize::TargetSpec* spec = quantize::find_target_spec(target);
  if (spec == nullptr || !spec->integers_only) return {};
  for (const Tensor* tensor : graph.tensors())
    if (tensor->type().quant) return {};
  return Error(
             Code::NotOnTarget,
             fmt::format("the model is in floating point, '{}' computes on 8-bit integers", target))
      .hint("add --quantize ptq --calibration-data FOLDER with some hundred examples of the input");
}

Result<std::optional<quantize::FoldedInput>> fold_input(Graph& graph,
                                                        const CompileOptions& options) {
  if (!options.fold_preprocessing) return std::optional<quantize::FoldedInput>();
  EC_TRY(const Preprocessing preprocessing, preprocessing_of(options));
  auto arithmetic = quantize::PixelArithmetic::Float;
  if (wants_quantization(options)) {
    EC_TRY(const quantize::Strategy* strategy, quantize::find_strategy(options.quantize));
    if (!strategy->float_activations) arithmetic = quantize::PixelArithmetic::Integer;
  }
  EC_TRY(quantize::FoldedInput folded,
         quantize::fold_preprocessing(graph, preprocessing, arithmetic));
  return std::optional(std::move(folded));
}

ImportedModel remember_import(const Graph& graph) {
  ImportedModel model;
  for (const Tensor* input : graph.inputs()) model.inputs.push_back({input->name(), input->type()});
  model.recorded = quantize::record_weights(graph);
  model.has_rounding_pairs = quantize::has_rounding_pairs(graph);
  return model;
}

CompileOptions with_strategy_of_model(const CompileOptions& given, const ImportedModel& model,
                                      std::string_view target) {
  CompileOptions options = given;
  if (options.quantize.empty() && model.has_rounding_pairs &&
      quantize::find_target_spec(target) != nullptr)
    options.quantize = "qat";
  return options;
}

Status prepare_import(Graph& graph, const CompileOptions& options) {
  return options.quantize == "qat" ? quantize::expose_rounding(graph) : Status();
}

namespace {

// Samples, or what was measured on them before.
struct CalibrationData {
  std::optional<quantize::Measurements> measurements;
  std::unique_ptr<quantize::SampleSource> files, turned, samples;

  Status open(const Graph& graph, const std::vector<quantize::ModelInput>& inputs,
              const CompileOptions& options, const quantize::QuantizeRequest& request,
              DiagnosticSink& sink) {
    if (!options.statistics.empty()) {
      EC_TRY(measurements, load_statistics(options.statistics));
      EC_CHECK_OK(measurements->check(graph, measured_with(options)));
      samples = quantize::played_back_samples(*measurements);
      return {};
    }
    EC_TRY(files,
           quantize::open_samples(options.calibration_data, inputs, request.preprocessing, sink));
    turned = quantize::channels_last_samples(*files, turned_inputs(graph));
    if (options.save_statistics.empty()) return samples = std::move(turned), Status();
    EC_CHECK_OK(measurements.emplace().check(graph, measured_with(options)));
    samples = quantize::recorded_samples(*turned, *measurements);
    return {};
  }

  Status save(const CompileOptions& options) {
    if (!measurements || options.save_statistics.empty()) return {};
    return save_statistics(*measurements, options);
  }
};

}  // namespace

Result<quantize::QuantizeReport> quantize_graph(std::unique_ptr<Graph>& graph,
                                                const ImportedModel& model,
                                                const CompileOptions& options,
                                                std::string_view target, DiagnosticSink& sink,
                                                quantize::GraphForm form) {
  EC_TRY(const quantize::Strategy* strategy, quantize::find_strategy(options.quantize));
  EC_TRY(const quantize::TargetSpec* spec, spec_of(target));
  EC_TRY(quantize::QuantizeRequest request, request_of(options, *spec));
  if (model.folded) {
    request.preprocessing = model.folded->rest;
    request.pixel_input = model.folded->input;
  }
  // Passes may drop inputs that nothing reads; samples are those of the graph's own inputs.
  std::vector<quantize::ModelInput> used;
  for (const Tensor* input : graph->inputs()) {
    const auto same = std::find_if(model.inputs.begin(), model.inputs.end(),
                                   [&](const auto& given) { return given.name == input->name(); });
    if (same == model.inputs.end())
      return Error(Code::Internal, "input '" + input->name() + "' is not one of the model's");
    used.push_back(*same);
  }
  CalibrationData data;
  const bool given = !options.calibration_data.empty() || !options.statistics.empty();
  if (strategy->samples != quantize::SampleUse::Unused && given) {
    EC_CHECK_OK(data.open(*graph, used, options, request, sink));
    request.samples = data.samples.get();
  }
  request.recorded = model.recorded;
  request.form = form;
  EC_TRY(quantize::QuantizeResult result, strategy->run(*graph, request, sink));
  EC_CHECK_OK(data.save(options));
  graph = std::move(result.graph);
  return std::move(result.report);
}

}  // namespace ec
