#include "quantize/strategy/strategy.h"

#include <fmt/format.h>

#include "quantize/strategy/ptq.h"
#include "quantize/strategy/qat.h"
#include "quantize/strategy/weight_only.h"
#include "support/strings.h"

namespace ec::quantize {
namespace {

const Strategy kStrategies[] = {
    {.name = "ptq",
     .summary = "int8 weights and activations, ranges measured on calibration data",
     .steps = ptq_steps(),
     .alias = "int8",
     .run = run_ptq},
    {.name = "a16w8",
     .summary = "int16 activations and int8 weights, ranges measured on calibration data",
     .steps = ptq_steps(),
     .wide_activations = true,
     .run = run_a16w8},
    {.name = "qat",
     .summary = "integers with the scales and zero points that the model carries",
     .steps = qat_steps(),
     .samples = SampleUse::Unused,
     .keeps_carried_parameters = true,
     .run = run_qat},
    {.name = "dynamic",
     .summary = "int8 weights; float activations that are rounded at run time",
     .steps = stored_weights_steps(),
     .samples = SampleUse::Optional,
     .float_activations = true,
     .run = run_dynamic},
    {.name = "float16",
     .summary = "weights stored as 16-bit floats",
     .steps = stored_weights_steps(),
     .samples = SampleUse::Optional,
     .float_activations = true,
     .integer_weights = false,
     .alias = "fp16",
     .run = run_float16},
};

}  // namespace

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
