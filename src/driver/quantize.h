// From the options of a compilation to a quantised graph.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "edgecompiler/options.h"
#include "ir/graph.h"
#include "quantize/strategy.h"
#include "support/result.h"

namespace ec {

// Whether the options ask for quantisation.
bool wants_quantization(const CompileOptions& options);
// What can be said without the model: unknown names, values that contradict each other, no data.
Status check_quantize_options(const CompileOptions& options, std::string_view target);

// Replaces the graph, which is in the target's form, by its integer form. `inputs` are those of the
// model before passes: samples are in their order of dimensions.
Result<quantize::QuantizeReport> quantize_graph(std::unique_ptr<Graph>& graph,
                                                const std::vector<quantize::ModelInput>& inputs,
                                                const CompileOptions& options,
                                                std::string_view target, DiagnosticSink& sink);
// NotOnTarget where the target has integers only and the graph none; says how to get them.
Status refuse_float(const Graph& graph, std::string_view target);
std::vector<quantize::ModelInput> inputs_of(const Graph& graph);

std::string quantize_json(const quantize::QuantizeReport& report);

}  // namespace ec
