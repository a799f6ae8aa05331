// What a model costs on the device, estimated: the real figures are known to Google's compiler and
// to the device alone.
#pragma once

#include <cstdint>

#include "backend/coral/partition.h"

namespace ec::coral {

struct Estimate {
  int64_t parameter_bytes = 0;  // in the device's own form: weights, biases, requantisation
  int64_t on_chip_bytes = 0;    // kept in the device's memory between runs
  int64_t streamed_bytes = 0;   // sent over USB at every run
  double latency_ms = 0;        // with its band
  double latency_low_ms = 0, latency_high_ms = 0;
  int64_t device_macs = 0, cpu_macs = 0;
};

// Parameter memory that models share when they are compiled together: earlier ones have it first.
// Nine public logs show 6.1 to 8.0 MiB; this is the middle.
constexpr int64_t kParameterMemory = 6900 * 1024;

Estimate estimate(const Partition& partition, int64_t parameter_memory = kParameterMemory);

}  // namespace ec::coral
