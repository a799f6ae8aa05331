// The quantised graph: a new graph in which the planned operations compute on integers, with
// quantize and dequantize where they meet floating point.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quantize/plan/plan.h"
#include "quantize/ranges/parameters.h"
#include "quantize/weights/weights.h"

namespace ec::quantize {

enum class GraphForm : uint8_t {
  // Operations on integer tensors that carry their parameters.
  Integer,
  // The same values in floating point: every quantised tensor is rounded by quantize and
  // dequantize with explicit parameters, operations stay as they were (the QDQ form of ONNX).
  Simulated,
};

enum class IoType : uint8_t { Float, Int8, Uint8, Int16 };
std::string_view io_type_name(IoType type);
std::optional<IoType> io_type_from_name(std::string_view name);

struct Conversion {
  std::unique_ptr<Graph> graph;
  // By tensor id of the source graph: the quantised tensor that stands for it in the form that is
  // stored; null where none does.
  std::vector<const Tensor*> quantized;
};

// `params` as assign_parameters gives them, `weights` as round_weights does. Graph inputs and
// outputs keep their names; with an integer interface they have the asked type: int8, uint8 with
// the zero point moved by 128, or int16 with the parameters of the wide form.
Result<Conversion> convert(const Graph& graph, const Plan& plan, const FormParams& params,
                           const LayerWeights& weights, IoType io, GraphForm form);

}  // namespace ec::quantize
