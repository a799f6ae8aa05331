// What runs where: one row per operation with the reason and the fix where it is not the best.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ec {

enum class Placement : uint8_t {
  Native,       // a fast kernel, or nothing to compute; on the device where the target is one
  Reference,    // the reference kernel: right, not fast
  Host,         // not on the device: the CPU beside it runs it
  Unsupported,  // cannot run
};

struct OpPlacement {
  std::string name;       // in the source model
  std::string op;         // of the IR; empty when the importer does not know it
  std::string source_op;  // in the source model's words
  std::string output_type;
  Placement placement = Placement::Native;
  std::string status;  // in the words of the device's own compiler; empty: it has none
  std::string reason;
  std::string fix;
};

// What a run on a device costs, as far as it can be known without one.
struct DeviceEstimate {
  int64_t parameter_bytes = 0, on_chip_bytes = 0, streamed_bytes = 0;
  int64_t device_macs = 0, host_macs = 0;
  double latency_ms = 0, latency_low_ms = 0, latency_high_ms = 0;
  std::string conditions;  // what the latency supposes: "over USB 3"
};

// The log of the device's own compiler, where it was run.
struct DeviceCompilerReport {
  struct Row {
    std::string op, status;
    int64_t count = 0;
    bool on_device = false;
  };
  struct Difference {
    std::string op, status;
    int64_t predicted = 0, compiled = 0;
  };
  std::string program, version;
  int64_t on_chip_bytes = 0, on_chip_free_bytes = 0, streamed_bytes = 0;
  int64_t subgraphs = 0, operations = 0;
  std::vector<Row> rows;
  std::vector<Difference> differences;  // from what was predicted here
};

// A weight that the written file holds in fewer bits than the program reads.
struct CompressedWeight {
  std::string name, layer;  // of the constant, and of the operation that reads it
  std::string form;         // as it was asked for
  // In the precision of the program, and with tables, masks or scales in the form.
  int64_t bytes_before = 0, bytes_after = 0;
  double sqnr_db = 0;  // of the weights; at most 120
};

// What a form of the file costs at one output.
struct OutputCost {
  std::string name;
  double largest_error = 0;  // as a share of the output's largest value
  double sqnr_db = 0;        // at most 120
};

// What a form of the file costs, measured against the model in single precision.
struct FormCost {
  std::string form;    // "half precision"
  std::string inputs;  // what it was run on: "random inputs"; empty where it was not measured
  std::string reason;  // why it was not measured
  int64_t samples = 0;
  std::vector<OutputCost> outputs;
};

// Why a target does not take a model at all.
struct Refusal {
  std::string code;  // "EC3003"
  std::string message, hint;
};

struct PlacementReport {
  std::string model, target;
  // In order of execution; operations of nested graphs follow the operation that holds them.
  std::vector<OpPlacement> operations;
  int64_t native = 0, reference = 0, host = 0, unsupported = 0;
  std::optional<size_t> cut_by;  // index of the first operation that ended the device's part
  std::optional<DeviceEstimate> estimate;
  std::optional<DeviceCompilerReport> compiler;
  std::vector<std::string> rewrites;  // operations that were rewritten to run on the device
  std::vector<CompressedWeight> compressed_weights;  // in order of execution
  std::vector<FormCost> costs;                       // of precision and compressed weights
  // Set: the model is in floating point, and the form that quantisation gives it was judged.
  std::string predicted_form;
  bool shapes_open = false;        // some sizes are not known: kernels were judged by kind only
  std::optional<Refusal> refused;  // nothing was placed; with several targets alone

  void add(OpPlacement row);  // and counts it
  void clear();               // no operations, no counts
  // The target takes the model and every operation of it.
  bool runs() const { return !refused && unsupported == 0; }
};

// One model on every target.
struct CheckReport {
  std::string model;
  std::vector<PlacementReport> targets;  // in the order of `edgecompile targets`
};

}  // namespace ec
