// What an Edge TPU model carries for the device: the options of its `edgetpu-custom-op`, the
// package in them, and the executables in that. Everything is verified before it is read; the
// instructions themselves are not public and stay opaque.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/blob.h"
#include "support/result.h"

namespace ec::edgetpu {

inline constexpr std::string_view kCustomOpName = "edgetpu-custom-op";

struct LayerInfo {
  std::string name;
  int64_t size_bytes = 0;  // with padding
  int32_t y = 0, x = 0, z = 0;
  int32_t zero_point = 0;
  float scale = 0.0f;
  std::string data_type;   // "uint8", "int8", ...
  int32_t executions = 1;  // per inference
};

struct ExecutableInfo {
  std::string type;  // "stand-alone", "parameter-caching", "execution-only"
  std::string name, chip;
  int32_t version = 0, batch_size = 0;
  int64_t parameter_bytes = 0;
  int64_t scratch_bytes = 0;
  int64_t instruction_bytes = 0;
  int64_t bitstreams = 0;
  int64_t dma_hints = 0;
  int64_t narrow_memory_bytes_per_tile = 0;
  int64_t estimated_cycles = 0;
  uint64_t caching_token = 0;
  bool caches_parameters = false;  // its parameters are loaded once and stay on the chip
  std::vector<LayerInfo> inputs, outputs;
};

struct PackageInfo {
  int32_t min_runtime_version = 0;
  std::string compiler_version, model_identifier;
  int32_t virtual_chip_id = 0, keypair_version = 0;
  int64_t bytes = 0, signature_bytes = 0;
  std::vector<ExecutableInfo> executables;
};

struct CustomOpInfo {
  int64_t version = 0;
  int64_t execution_preference = 0;
  std::vector<int64_t> chip_ids;
  std::vector<PackageInfo> packages;

  int64_t cached_bytes() const;    // parameters that stay on the chip
  int64_t streamed_bytes() const;  // parameters sent at every inference
  int64_t instruction_bytes() const;
};

// From the custom options of an `edgetpu-custom-op`.
Result<CustomOpInfo> read_custom_op(const Blob& options);

}  // namespace ec::edgetpu
