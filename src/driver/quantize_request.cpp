#include "driver/quantize_request.h"

#include <fmt/format.h>

#include "driver/graph_files.h"
#include "support/strings.h"
#include "support/threads.h"

namespace ec {
namespace {

using quantize::IoType, quantize::Preprocessing, quantize::Strategy, quantize::Switch;

Error bad_choice(std::string_view option, const std::string& value, std::string_view known) {
  return Error(Code::Usage, fmt::format("--{} cannot be '{}'", option, printable(value)))
      .hint(fmt::format("known: {}", known));
}

Result<IoType> io_type_of(const Options& options, const Strategy& strategy,
                          const quantize::TargetSpec& rules) {
  const bool folds = options.flag("fold-preprocessing");
  std::string name = options.text("io-type");
  // Pixels are bytes.
  if (name.empty() && folds && rules.integers_only) name = "uint8";
  if (name.empty()) name = strategy.float_activations ? "float" : rules.io_type;
  const std::optional<IoType> type = quantize::io_type_from_name(name);
  if (!type) return bad_choice("io-type", name, "float, int8, uint8, int16");
  if (strategy.float_activations && *type != IoType::Float)
    return bad_choice(
        "io-type", name,
        fmt::format("float: activations are floats with --quantize {}", strategy.name));
  if (*type == IoType::Int16 && folds)
    return bad_choice("io-type", name, "float with --fold-preprocessing: pixels are bytes");
  if (*type == IoType::Int16 && !strategy.wide_activations)
    return bad_choice("io-type", name, "float, int8, uint8; int16 needs 16-bit activations");
  if ((*type == IoType::Int8 || *type == IoType::Uint8) && strategy.wide_activations)
    return bad_choice("io-type", name,
                      fmt::format("float, int16 with --quantize {}", strategy.name));
  return *type;
}

Switch switch_of(const Options& options, std::string_view name) {
  const std::string& value = options.text(name);
  return value == "on" ? Switch::On : value == "off" ? Switch::Off : Switch::Auto;
}

Status check_precise_outputs(const Options& options, const Strategy& strategy,
                             const quantize::QuantizeRequest& request) {
  if (request.methods.precise_outputs != Switch::On) return {};
  const std::string& value = options.text("precise-outputs");
  if (request.io != IoType::Float)
    return bad_choice("precise-outputs", value,
                      "auto, off where outputs are integers; on needs --io-type float");
  if (request.target->integers_only || strategy.samples != quantize::SampleUse::Needed)
    return bad_choice("precise-outputs", value,
                      fmt::format("auto, off with --target {} --quantize {}", request.target->name,
                                  strategy.name));
  return {};
}

// Formats that simulate integers keep the interface of the model and one type of activations.
Status check_simulated_file(const Options& options, const Strategy& strategy,
                            const GraphFormat& format) {
  if (!format.simulates_integers) return {};
  if (strategy.float_activations)
    return Error(Code::Usage, fmt::format("--quantize {} has no form in {} files", strategy.name,
                                          format.extension))
        .hint("write .ecir, or compile for a target");
  if (!options.text("io-type").empty() && options.text("io-type") != "float")
    return bad_choice(
        "io-type", options.text("io-type"),
        fmt::format("float: {} files keep the interface of the model", format.extension));
  if (options.text("precise-outputs") == "on")
    return bad_choice(
        "precise-outputs", "on",
        fmt::format("auto, off in {} files, whose activations have one type", format.extension));
  return {};
}

Result<const quantize::TargetSpec*> rules_of(const Compilation& c) {
  if (const quantize::TargetSpec* rules = c.target()->integer_rules()) return rules;
  std::string known;
  for (const Backend* backend : c.registry().backends()) {
    EC_TRY(const std::unique_ptr<Target> target, backend->configure({}, {}));
    if (target->integer_rules() != nullptr)
      known += fmt::format("{}{}", known.empty() ? "" : ", ", backend->info().name);
  }
  return Error(Code::Usage, fmt::format("target '{}' has no integer form", c.target()->name()))
      .hint(fmt::format("quantise for one of: {}", known));
}

}  // namespace

Result<Preprocessing> preprocessing_of(const Options& options) {
  Preprocessing p;
  p.mean = options.numbers("mean");
  p.std = options.numbers("std");
  if (const std::string& range = options.text("pixel-range"); range == "1" || range == "255")
    p.pixel_range = range == "1" ? 1 : 255;
  if (const std::string& layout = options.text("input-layout");
      layout == "nchw" || layout == "nhwc")
    p.layout = layout == "nchw" ? Layout::ChannelsFirst : Layout::ChannelsLast;
  if (options.text("color") == "bgr") p.color = quantize::ColorOrder::Bgr;
  if (const std::string& resize = options.text("resize"); !resize.empty())
    EC_CHECK_OK(quantize::parse_resize(resize, p));
  return p;
}

Result<const Strategy*> asked_strategy(const Compilation& c) {
  const std::string& name = c.options().text("quantize");
  if (name.empty() && c.verb() == Verb::Quantize) return c.registry().strategies().front();
  if (name.empty() || name == "none") return static_cast<const Strategy*>(nullptr);
  return c.registry().find_strategy(name);
}

const Strategy* strategy_of_carried_parameters(const Registry& registry) {
  for (const Strategy* strategy : registry.strategies())
    if (strategy->uses_recorded_parameters) return strategy;
  return nullptr;
}

Status check_quantize_options(const Compilation& c) {
  const Options& options = c.options();
  EC_TRY(const Strategy* strategy, asked_strategy(c));
  const bool has_data = !options.text("calibration-data").empty();
  const bool has_statistics = !options.text("statistics").empty();
  if (strategy == nullptr) {
    if (c.verb() == Verb::Quantize)
      return Error(Code::Usage, "`quantize` with --quantize none has nothing to do");
    if (!has_data || c.target()->measures_samples()) return {};
    return Error(Code::Usage, "calibration data is given, but no quantisation is asked for")
        .hint("add --quantize ptq");
  }
  EC_TRY(const quantize::TargetSpec* rules, rules_of(c));
  EC_CHECK_OK(quantize_request(c, *strategy, *rules));
  if (has_statistics && !options.text("save-statistics").empty())
    return Error(Code::Usage, "--statistics and --save-statistics exclude each other")
        .hint("measure with --calibration-data and --save-statistics, use with --statistics");
  const bool measures = options.has("max-drop") || options.has("min-sqnr");
  if (!has_data && !has_statistics &&
      (strategy->samples == quantize::SampleUse::Needed ||
       (strategy->samples == quantize::SampleUse::Optional && measures)))
    return Error(Code::CalibrationDataNeeded,
                 "quantisation needs examples of the model's input, and none were given")
        .hint("pass a folder of images, a .npy or .npz file with --calibration-data PATH");
  if (c.verb() != Verb::Quantize || c.models().front().report.output.empty()) return {};
  EC_TRY(const GraphFormat* format, find_graph_format(c.models().front().report.output));
  return check_simulated_file(options, *strategy, *format);
}

Result<quantize::QuantizeRequest> quantize_request(const Compilation& c, const Strategy& strategy,
                                                   const quantize::TargetSpec& rules) {
  const Options& options = c.options();
  quantize::QuantizeRequest request;
  request.target = &rules;
  EC_TRY(request.io, io_type_of(options, strategy, rules));
  EC_TRY(request.preprocessing, preprocessing_of(options));
  request.methods.equalize = switch_of(options, "equalize");
  request.methods.balance = switch_of(options, "balance");
  request.methods.correct_bias = switch_of(options, "correct-bias");
  request.methods.adapt_rounding = switch_of(options, "adapt-rounding");
  request.methods.precise_outputs = switch_of(options, "precise-outputs");
  EC_CHECK_OK(check_precise_outputs(options, strategy, request));
  request.weights_per_tensor = options.text("weights") == "per-tensor";
  request.high_effort = options.text("effort") == "high";
  // Strategies have defaults of their own.
  if (options.is_given("calibration-method")) request.method = options.text("calibration-method");
  if (options.is_given("calibration-percentile"))
    request.observer.percentile = options.number("calibration-percentile");
  request.budget.max_drop = options.number_if("max-drop");
  request.budget.min_sqnr = options.number_if("min-sqnr");
  request.wanted_samples = static_cast<size_t>(options.integer("calibration-samples"));
  request.keep_float = options.texts("keep-float");
  request.threads = threads_for(static_cast<int>(options.integer("threads")));
  return request;
}

}  // namespace ec
