// What runs where: one row per operation with the reason and the fix where it is not the best.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/placement.h"
#include "support/result.h"

namespace ec {

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

struct PlacementReport {
  std::string model, target;
  // In order of execution; operations of nested graphs follow the operation that holds them.
  std::vector<OpPlacement> operations;
  int64_t native = 0, reference = 0, host = 0, unsupported = 0;
  std::optional<size_t> cut_by;  // index of the first operation that ended the device's part
  std::optional<DeviceEstimate> estimate;
  std::optional<DeviceCompilerReport> compiler;
  std::vector<std::string> rewrites;  // operations that were rewritten to run on the device
  bool shapes_open = false;           // some sizes are not known: kernels were judged by kind only

  void add(OpPlacement row);  // and counts it
};

// NotOnTarget when operations stay on the CPU beside the device, with the first ones by name.
Status refuse_host_operations(const PlacementReport& report);

std::string placement_json(const PlacementReport& report);

}  // namespace ec
