// Rules of one tensor: buffer, shape, size of its data, quantisation.
#pragma once

#include "formats/tflite/model_file.h"

namespace ec::tflite {

void check_tensor(const ModelFile& file, const SubGraph& graph, int32_t index,
                  DiagnosticSink& sink);

// Elements of a shape; empty when a size is negative or the product does not fit.
std::optional<int64_t> count_elements(const flatbuffers::Vector<int32_t>* shape);

// The axis of per-axis parameters. Files of early converters give biases the axis of their weights
// although they have one dimension only: that one is meant. Nothing: it does not fit.
std::optional<int32_t> quantized_axis(const Tensor& tensor);

}  // namespace ec::tflite
