#include "quantize/strategy/strategy.h"

#include <fmt/format.h>

#include "quantize/strategy/ptq.h"
#include "quantize/strategy/qat.h"
#include "quantize/strategy/weight_only.h"
#include "support/strings.h"

namespace ec::quantize {
namespace {

const Strategy kStrategies[] = {
    {"ptq", "int8 weights and activations, ranges measured on calibration data", ptq_steps(),
     SampleUse::Needed, false, true, run_ptq},
    {"a16w8", "int16 activations and int8 weights, ranges measured on calibration data",
     ptq_steps(), SampleUse::Needed, false, true, run_a16w8},
    {"qat", "integers with the scales and zero points that the model carries", qat_steps(),
     SampleUse::Unused, false, true, run_qat},
    {"dynamic", "int8 weights; float activations that are rounded at run time",
     stored_weights_steps(), SampleUse::Optional, true, true, run_dynamic},
    {"float16", "weights stored as 16-bit floats", stored_weights_steps(), SampleUse::Optional,
     true, false, run_float16},
};

}  // namespace

std::span<const Strategy> all_strategies() { return kStrategies; }

Result<const Strategy*> find_strategy(std::string_view name) {
  if (name == "int8") name = "ptq";
  if (name == "fp16") name = "float16";
  std::vector<std::string_view> known{"none", "int8"};
  for (const Strategy& strategy : kStrategies) {
    if (strategy.name == name) return &strategy;
    known.push_back(strategy.name);
  }
  std::string hint = did_you_mean(name, known);
  if (hint.empty()) {
    hint = "known: none, int8";
    for (const Strategy& strategy : kStrategies) hint += ", " + std::string(strategy.name);
  }
  return Error(Code::Usage, fmt::format("no quantisation '{}'", printable(name)))
      .hint(std::move(hint));
}

}  // namespace ec::quantize
