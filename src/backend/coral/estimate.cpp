#include "backend/coral/estimate.h"

#include <algorithm>
#include <limits>

namespace ec::coral {
namespace {

// Fitted to published latencies over USB 3 (coral.ai/docs/edgetpu/benchmarks): a fixed cost per
// run, a rate of multiply-accumulates, and the rate at which parameters are streamed.
constexpr double kFixedMs = 0.3;
constexpr double kDeviceMacsPerMs = 210e6;
constexpr double kStreamedBytesPerMs = 440e3;
// One Cortex-A53 core at 1.5 GHz, int8: what the host of a Coral board does on operators left to
// it.
constexpr double kCpuMacsPerMs = 4e6;
constexpr double kCpuFixedMs = 0.05;
// The published models lie within these factors of the formula.
constexpr double kMostBytes = 1e18;
constexpr double kBandLow = 0.45, kBandHigh = 1.7;

// The device's form of the weights adds a scale and an offset per output channel and pads small
// depthwise filters; compiled files hold 1.04 to 1.33 times the bytes of the original.
double device_form(const PlacedOperator& op) { return op.op == "DEPTHWISE_CONV_2D" ? 4.0 : 1.03; }

// Counts of hostile files saturate.
int64_t plus(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

}  // namespace

Estimate estimate(const Partition& partition, int64_t parameter_memory) {
  Estimate e;
  double parameters = 0, cpu_ms = 0;
  for (const PlacedOperator& op : partition.operators) {
    if (op.mapped()) {
      e.device_macs = plus(e.device_macs, op.macs);
      parameters += static_cast<double>(op.parameter_bytes) * device_form(op);
    } else {
      e.cpu_macs = plus(e.cpu_macs, op.macs);
      cpu_ms += kCpuFixedMs + static_cast<double>(op.macs) / kCpuMacsPerMs;
    }
  }
  e.parameter_bytes = static_cast<int64_t>(std::min(parameters, kMostBytes));
  e.on_chip_bytes = std::min(e.parameter_bytes, std::max<int64_t>(parameter_memory, 0));
  e.streamed_bytes = e.parameter_bytes - e.on_chip_bytes;
  const double device_ms = partition.mapped == 0
                               ? 0
                               : kFixedMs + static_cast<double>(e.device_macs) / kDeviceMacsPerMs +
                                     static_cast<double>(e.streamed_bytes) / kStreamedBytesPerMs;
  e.latency_ms = device_ms + cpu_ms;
  e.latency_low_ms = kBandLow * e.latency_ms;
  e.latency_high_ms = kBandHigh * e.latency_ms;
  return e;
}

}  // namespace ec::coral
