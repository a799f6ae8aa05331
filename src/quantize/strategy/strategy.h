// A strategy is a way to make a float graph smaller or integer: a name, facts that callers ask for,
// and an ordered list of steps. The steps work on one context (context.h); each is a function of
// the strategy's own header (ptq.h, qat.h, weight_only.h).
#pragma once

#include <span>
#include <string_view>

#include "quantize/report.h"
#include "quantize/request.h"

namespace ec::quantize {

struct QuantizeContext;

struct Step {
  std::string_view name;
  std::string_view summary;  // for `edgecompile passes` and the documentation
  Status (*run)(QuantizeContext& context);
};

enum class SampleUse : uint8_t {
  Needed,    // ranges come from them
  Optional,  // they measure the result
  Unused,
};

// Strategies that are added at run time may derive from this and find their own state through
// QuantizeContext::strategy.
struct Strategy {
  std::string_view name;
  std::string_view alias = {};  // another name that users know; empty: none
  std::string_view summary;
  std::span<const Step> steps;
  // Refuses what the strategy cannot do and begins the report; runs before the steps.
  Status (*begin)(QuantizeContext& context) = nullptr;
  SampleUse samples = SampleUse::Needed;
  // Activations stay floats, and with them the interface.
  bool float_activations = false;
  bool integer_weights = true;
  // Integer activations have 16 bits, and so has an integer interface.
  bool wide_activations = false;
  // Scales and zero points are those that the model carries as quantize-dequantize pairs: imported
  // graphs need expose_rounding() before passes run.
  bool uses_recorded_parameters = false;
  // Ranges are assumed: the form of the graph is that of an integer one, its numbers are not.
  bool predicts = false;

  // Runs the steps in order and records the time of each. `graph` is in the form that the target's
  // writer takes; it is not changed.
  Result<QuantizeResult> run(const Graph& graph, const QuantizeRequest& request,
                             DiagnosticSink& sink) const;
};

// The built-in strategies, in the order in which they are listed.
std::span<const Strategy> all_strategies();
// By name or alias. Usage: no such strategy, with the nearest name.
Result<const Strategy*> find_strategy(std::span<const Strategy* const> strategies,
                                      std::string_view name);

}  // namespace ec::quantize
