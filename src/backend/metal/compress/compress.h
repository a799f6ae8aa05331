// Weights in fewer bits: the step behind half precision. Tables and masks replace constants by what
// the program unpacks them to and leave the packed form for the writer; integers with scales become
// constants behind dequantize.
#pragma once

#include <vector>

#include "backend/metal/compress/weight_form.h"
#include "edgecompiler/report/placement.h"
#include "ir/graph.h"
#include "writer/coreml/stored.h"

namespace ec::metal {

// Tensors with up to as many elements stay as they are, as with Core ML's own tools: what a table
// or scales would save is little, and such weights are often delicate.
inline constexpr int64_t kSmallWeights = 2048;

struct CompressedWeights {
  CoremlStoredConstants stored;
  std::vector<CompressedWeight> told;  // in order of execution
  // By position among the weights that have a form: what the program unpacks them to. Empty where
  // the weight stayed as it is, or the values were not asked for.
  std::vector<Blob> values;
};

struct CompressOptions {
  // Weights that stay for the limit, by position; told as such. Empty: none.
  std::vector<bool> left = {};
  bool keep_values = false;
};

// Float weights of convolutions, products and tables of gathers; vectors stay.
Result<CompressedWeights> compress_weights(Graph& graph, const WeightForm& form,
                                           const CompressOptions& options = {});

// For comparisons: those weights of a graph, of which `from` was made, get the values that their
// form has.
void put_values(Graph& graph, const CompressedWeights& from, const std::vector<bool>& in_form);

}  // namespace ec::metal
