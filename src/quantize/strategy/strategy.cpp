#include "quantize/strategy/strategy.h"

#include <fmt/format.h>

#include <chrono>

#include "quantize/strategy/context.h"
#include "quantize/strategy/ptq.h"
#include "quantize/strategy/qat.h"
#include "quantize/strategy/weight_only.h"
#include "support/strings.h"

namespace ec::quantize {
namespace {

constexpr Strategy kStrategies[] = {
    {.name = "ptq",
     .alias = "int8",
     .summary = "int8 weights and activations, ranges measured on calibration data",
     .steps = ptq::kSteps,
     .begin = ptq::begin},
    {.name = "a16w8",
     .summary = "int16 activations and int8 weights, ranges measured on calibration data",
     .steps = ptq::kSteps,
     .begin = ptq::begin,
     .wide_activations = true},
    {.name = "qat",
     .summary = "integers with the scales and zero points that the model carries",
     .steps = qat::kSteps,
     .begin = qat::begin,
     .samples = SampleUse::Unused,
     .uses_recorded_parameters = true},
    {.name = "dynamic",
     .summary = "int8 weights; float activations that are rounded at run time",
     .steps = weight_only::kDynamicSteps,
     .begin = weight_only::begin_dynamic,
     .samples = SampleUse::Optional,
     .float_activations = true},
    {.name = "float16",
     .alias = "fp16",
     .summary = "weights stored as 16-bit floats",
     .steps = weight_only::kFloat16Steps,
     .begin = weight_only::begin_float16,
     .samples = SampleUse::Optional,
     .float_activations = true,
     .integer_weights = false},
};

}  // namespace

Result<QuantizeResult> Strategy::run(const Graph& graph, const QuantizeRequest& request,
                                     DiagnosticSink& sink) const {
  QuantizeContext context(*this, graph, request, sink);
  if (begin != nullptr) EC_CHECK_OK(begin(context));
  for (const Step& step : steps) {
    const auto start = std::chrono::steady_clock::now();
    EC_CHECK_OK(step.run(context));
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    context.report().steps.push_back({std::string(step.name), took.count()});
  }
  return std::move(context.result);
}

std::span<const Strategy> all_strategies() { return kStrategies; }

Result<const Strategy*> find_strategy(std::span<const Strategy* const> strategies,
                                      std::string_view name) {
  std::vector<std::string_view> known{"none"};
  for (const Strategy* strategy : strategies) {
    if (strategy->name == name || (!name.empty() && strategy->alias == name)) return strategy;
    known.push_back(strategy->name);
    if (!strategy->alias.empty()) known.push_back(strategy->alias);
  }
  std::string hint = did_you_mean(name, known);
  if (hint.empty()) hint = fmt::format("known: {}", fmt::join(known, ", "));
  return Error(Code::Usage, fmt::format("no quantisation '{}'", printable(name)))
      .hint(std::move(hint));
}

}  // namespace ec::quantize
