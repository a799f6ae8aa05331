// What a model holds: interface, operations, parameters, multiply-adds, quantisation, metadata.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "edgecompiler/report/property.h"

namespace ec {

// real = scale * (stored - zero_point)
struct TensorQuantization {
  std::vector<float> scales;  // one, or one per index along `axis`
  std::vector<int32_t> zero_points;
  int32_t axis = -1;  // -1: one scale for the whole tensor

  bool per_channel() const { return axis >= 0; }
};

// An input or an output.
struct InterfaceSummary {
  std::string name;
  std::string dtype;
  std::optional<std::vector<std::string>> dims;  // "3", "batch", "?"; empty: rank not known
  std::optional<TensorQuantization> quant;
};

struct OpSummary {  // one kind of operation
  std::string name;
  int64_t count = 0;
  std::optional<int64_t> macs = 0;  // of all of them; empty: not known for some
  bool supported = true;            // false: an operation of the source that has no meaning here
};

struct LayerSummary {  // one operation
  std::string name;    // in the source model
  std::string op;
  std::string source_op;
  std::string output_type;
  std::optional<int64_t> macs;
  int64_t parameters = 0;  // elements of constants that it reads first
  std::string problem;     // why it cannot run here; empty: nothing
};

struct QuantSummary {
  int64_t tensors = 0;  // that carry parameters
  int64_t per_channel = 0;
  int64_t quantize_ops = 0;
  int64_t dequantize_ops = 0;
};

struct ModelSummary {
  std::string file;
  int64_t file_bytes = 0;
  std::string format;  // "onnx", "ecir"
  std::string name;    // of the graph
  std::vector<InterfaceSummary> inputs, outputs;
  int64_t operations = 0;            // nested graphs included
  std::vector<OpSummary> ops;        // most frequent first
  std::vector<LayerSummary> layers;  // in order of execution; those of nested graphs follow
  int64_t parameters = 0;            // elements of all constants
  int64_t parameter_bytes = 0;
  std::map<std::string, int64_t> parameter_types;  // elements by element type
  int64_t unsupported = 0;                         // operations that cannot run here
  int64_t macs = 0;                                // of the operations whose count is known
  int64_t macs_unknown = 0;                        // operations whose count is not known
  bool has_bodies = false;                         // bodies count once, however often they run
  std::vector<std::string> open_dims;              // symbols of the inputs, in order of appearance
  QuantSummary quant;
  std::map<std::string, std::string> metadata;
  std::vector<Inspection> device_code;  // that back ends found in the file

  // Multiply-adds as far as they are known; empty where nothing is.
  std::optional<int64_t> known_macs() const {
    return macs == 0 && macs_unknown > 0 ? std::nullopt : std::optional(macs);
  }
};

}  // namespace ec
