// From the options of a compilation to a quantised graph.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "edgecompiler/options.h"
#include "ir/graph.h"
#include "quantize/fold_input/fold_preprocessing.h"
#include "quantize/strategy/strategy.h"
#include "support/result.h"

namespace ec {

// How pictures become the input. Usage: a value that is none of those known.
Result<quantize::Preprocessing> preprocessing_of(const CompileOptions& options);

// Whether the options ask for quantisation.
bool wants_quantization(const CompileOptions& options);
// Whether integers are to be chosen for activations that are floats in the model.
bool rounds_activations(const CompileOptions& options);
// Whether weights are to become integers.
bool rounds_weights(const CompileOptions& options);
// What can be said without the model: unknown names, values that contradict each other, no data.
Status check_quantize_options(const CompileOptions& options, std::string_view target);

// What quantisation needs to know of the model before passes change it.
struct ImportedModel {
  std::vector<quantize::ModelInput> inputs;  // samples are in their order of dimensions
  quantize::RecordedWeights recorded;
  bool has_rounding_pairs = false;
  std::optional<quantize::FoldedInput> folded;
};
// Makes the preprocessing part of the graph where the options ask for it; before
// remember_import().
Result<std::optional<quantize::FoldedInput>> fold_input(Graph& graph,
                                                        const CompileOptions& options);
ImportedModel remember_import(const Graph& graph);
// A model that carries its quantisation keeps it, unless something else is asked for.
CompileOptions with_strategy_of_model(const CompileOptions& given, const ImportedModel& model,
                                      std::string_view target);

// Usage: the options ask for something that an .onnx file with quantize-dequantize pairs does not
// say.
Status check_quantized_onnx(const CompileOptions& options);

// What the strategy needs before passes run.
Status prepare_import(Graph& graph, const CompileOptions& options);

// Replaces the graph, which is in the target's form, by its quantised form.
Result<quantize::QuantizeReport> quantize_graph(
    std::unique_ptr<Graph>& graph, const ImportedModel& model, const CompileOptions& options,
    std::string_view target, DiagnosticSink& sink,
    quantize::GraphForm form = quantize::GraphForm::Integer);
// NotOnTarget where the target has integers only and the graph none; says how to get them.
Status refuse_float(const Graph& graph, std::string_view target);

std::string quantize_json(const quantize::QuantizeReport& report);

}  // namespace ec
