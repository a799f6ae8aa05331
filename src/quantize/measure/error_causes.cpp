#include "quantize/measure/error_causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/op_def.h"
#include "ops/window.h"
#include "quantize/plan/mixed_ranges.h"
#include "quantize/tuning.h"
#include "support/strings.h"

namespace ec::quantize {
namespace {

struct Cause {
  std::string cause, advice;
};

class Explainer {
 public:
  Explainer(const Graph& graph, const Plan& plan, const CalibrationRun& run,
            const FormParams& params)
      : graph_(graph), plan_(plan), run_(run), params_(params) {}

  // Inputs have no operation of their own to blame.
  void explain_input(LayerAccuracy& layer) const {
    const Tensor* tensor = graph_.find_tensor(layer.tensor);
    if (tensor == nullptr) return;
    for (const auto& found : {few_samples(layer, *tensor), clipped(layer)}) {
      if (!found) continue;
      layer.cause = found->cause;
      layer.advice = found->advice;
      return;
    }
  }

  void explain(LayerAccuracy& layer) const {
    const Operation* op = graph_.operation(layer.operation);
    const Tensor* tensor = nullptr;
    for (const Tensor* output : op->outputs())
      if (output->name() == layer.tensor) tensor = output;
    if (tensor == nullptr) return;
    // The large part of a mix hides what the small one loses: it is named however good the average.
    if (const std::optional<Cause> mix = mixed(*op, *tensor)) {
      layer.cause = mix->cause;
      layer.advice = mix->advice;
      layer.mixes_ranges = true;
      return;
    }
    if (layer.error.sqnr_db() > tuning::kGoodSqnr &&
        layer.own_share.value_or(0) < tuning::kLargeShare)
      return;
    for (const auto& found :
         {few_samples(layer, *tensor), clipped(layer), outlier_weights(*op), outlier_channel(*op),
          outlier_channel_behind(*tensor), dead(*tensor)}) {
      if (!found) continue;
      layer.cause = found->cause;
      layer.advice = found->advice;
      return;
    }
  }

 private:
  std::optional<Cause> few_samples(const LayerAccuracy& layer, const Tensor& tensor) const {
    if (static_cast<double>(run_.samples) >= tuning::kFewSamples ||
        layer.error.clip_rate() < tuning::kClipRate / 10)
      return std::nullopt;
    const auto& seen = run_.extremes[tensor.id()];
    const auto& used = run_.ranges[tensor.id()];
    if (!seen || !used || span_with_zero(*used) < 0.999 * span_with_zero(*seen))
      return std::nullopt;
    return Cause{
        fmt::format("too few samples: values outside what {} samples showed", run_.samples),
        "calibrate with some hundred samples"};
  }

  static std::optional<Cause> clipped(const LayerAccuracy& layer) {
    if (layer.error.clip_rate() < tuning::kClipRate) return std::nullopt;
    return Cause{fmt::format("clipped range: {:.1f} % of the values lie outside",
                             layer.error.clip_rate() * 100),
                 "use --calibration-method minmax, or more samples"};
  }

  // Operands that share one scale.
  std::optional<Cause> mixed(const Operation& op, const Tensor& result) const {
    const std::optional<RangeMix> mix = mixed_ranges(op, plan_, run_);
    if (!mix) return std::nullopt;
    return Cause{
        fmt::format("wide range mix: '{}' spans {:.3g}, its neighbours {:.3g}, and all share one "
                    "scale",
                    printable(mix->smallest->name()), mix->narrow, mix->wide),
        fmt::format("give the parts outputs of their own, or --keep-float '{}'",
                    printable(op.location().name().empty() ? std::string_view(result.name())
                                                           : op.location().name()))};
  }

  static std::optional<Cause> outlier_of(const std::vector<double>& channels,
                                         std::string_view what) {
    if (channels.size() < 4) return std::nullopt;
    std::vector<double> sorted = channels;
    std::sort(sorted.begin(), sorted.end());
    const double middle = sorted[sorted.size() / 2];
    const auto widest = std::max_element(channels.begin(), channels.end());
    if (middle <= 0 || *widest < tuning::kOutlierChannel * middle) return std::nullopt;
    return Cause{fmt::format("outlier channel: {} of channel {} reach {:.3g}, of the middle one "
                             "{:.3g}",
                             what, widest - channels.begin(), *widest, middle),
                 "--equalize on and --balance on spread such channels; else --keep-float"};
  }

  std::optional<Cause> outlier_weights(const Operation& op) const {
    const OpRule& rule = plan_.of(&op).rule;
    if (rule.weights_axis >= 0) return std::nullopt;
    for (size_t i = 0; i < op.inputs().size(); ++i) {
      const Tensor* weights = op.input(i);
      if (weights == nullptr || rule.role(i) != OperandRole::Weights) continue;
      const auto shape = weights->shape()->sizes();
      if (shape.empty()) continue;
      size_t axis_of_outputs = 0;
      if (op.kind() == OpKind::ConvTranspose)
        axis_of_outputs = channel_axis(op.attrs_as<ConvTransposeAttrs>().layout, shape.size());
      const auto axis = static_cast<int32_t>(axis_of_outputs);
      std::vector<double> largest(num_channels(shape, axis), 0.0);
      const auto values = weights->values<float>();
      for_each_channel_run(shape, axis, [&](size_t c, size_t at, size_t n) {
        for (size_t k = at; k < at + n; ++k)
          largest[c] = std::max(largest[c], std::abs(static_cast<double>(values[k])));
      });
      return outlier_of(largest, "the weights");
    }
    return std::nullopt;
  }

  std::optional<Cause> outlier_in(const Tensor& tensor) const {
    const auto& channels = run_.channels[tensor.id()];
    if (!channels) return std::nullopt;
    std::vector<double> largest;
    for (size_t c = 0; c < channels->min.size(); ++c)
      largest.push_back(std::max(std::abs(static_cast<double>(channels->min[c])),
                                 std::abs(static_cast<double>(channels->max[c]))));
    return outlier_of(largest, "the values");
  }
  std::optional<Cause> outlier_channel(const Operation& op) const {
    return op.input(0) == nullptr ? std::nullopt : outlier_in(*op.input(0));
  }
  std::optional<Cause> outlier_channel_behind(const Tensor& result) const {
    return outlier_in(result);
  }

  std::optional<Cause> dead(const Tensor& tensor) const {
    const FormId form = plan_.stored_form(&tensor);
    const auto& seen = run_.extremes[tensor.id()];
    if (!seen || !params_[form] || span_with_zero(*seen) <= 0) return std::nullopt;
    if (params_[form]->per_channel()) return std::nullopt;  // each channel fills its own
    const DType dtype = activation_type(width_of(form));
    const double offered =
        static_cast<double>(params_[form]->scales[0]) *
        (static_cast<double>(highest_integer(dtype)) - static_cast<double>(lowest_integer(dtype)));
    if (span_with_zero(*seen) > tuning::kUsedSteps * offered) return std::nullopt;
    return Cause{fmt::format("dead range: the values use {:.0f} % of what the scale offers",
                             100 * span_with_zero(*seen) / offered),
                 plan_.fixed[plan_.group[form]]
                     ? "the target prescribes this scale; --keep-float leaves it out"
                     : "another tensor that shares the scale is wider; see its layer"};
  }

  const Graph& graph_;
  const Plan& plan_;
  const CalibrationRun& run_;
  const FormParams& params_;
};

}  // namespace

void name_causes(const Graph& graph, const Plan& plan, const CalibrationRun& run,
                 const FormParams& params, AccuracyReport& report) {
  const Explainer explainer(graph, plan, run, params);
  for (LayerAccuracy& input : report.inputs) explainer.explain_input(input);
  for (LayerAccuracy& layer : report.layers) explainer.explain(layer);
}

}  // namespace ec::quantize
