#include "backend/metal/estimate.h"

#include <algorithm>

#include "analysis/costs.h"
#include "backend/metal/compute_units.h"

namespace ec::metal {
namespace {

// Neural Engine of an A17 Pro: 35 tera-operations at 8 bits, half of that at 16. Apple's published
// latencies (coremltools' guide, iPhone 15 Pro, half precision) use 7 % of it on MobileNetV2
// (0.49 ms) and 34 % on ResNet50 (1.38 ms); these are the ends of the band.
constexpr double kPeakMacsPerMs = 17.5e12 / 2 / 1000;
constexpr double kLowShare = 0.07, kHighShare = 0.34;
// Weights are read from memory: ResNet50 reads its 51 MB at about 37 GB/s.
constexpr double kBytesPerMs = 40e9 / 1000;
// What the same products take on the CPU beside it, single precision, two fast cores.
constexpr double kCpuMacsPerMs = 100e9 / 1000;

}  // namespace

std::optional<DeviceEstimate> estimate_run(const Graph& written, int64_t parameter_bytes,
                                           const PlacementReport& report) {
  DeviceEstimate e;
  size_t i = 0;
  for (const Operation* op : written.topological()) {
    if (!is_told(*op)) continue;
    if (i >= report.operations.size()) break;
    const bool engine = report.operations[i++].status == kOnNeuralEngine;
    (engine ? e.device_macs : e.host_macs) += count_macs(*op).value_or(0);
  }
  // Nothing was published that other units could be measured by.
  if (e.device_macs < e.host_macs || e.device_macs == 0) return std::nullopt;
  e.parameter_bytes = parameter_bytes;
  e.streamed_bytes = e.parameter_bytes;
  const double macs = static_cast<double>(e.device_macs);
  const double reading = static_cast<double>(e.parameter_bytes) / kBytesPerMs;
  const double host = static_cast<double>(e.host_macs) / kCpuMacsPerMs;
  e.latency_low_ms = std::max(macs / (kPeakMacsPerMs * kHighShare), reading / 2) + host / 2;
  e.latency_high_ms = std::max(macs / (kPeakMacsPerMs * kLowShare), reading) + host;
  e.latency_ms = (e.latency_low_ms + e.latency_high_ms) / 2;
  e.conditions = "on the Neural Engine of an A17 Pro";
  return e;
}

}  // namespace ec::metal
