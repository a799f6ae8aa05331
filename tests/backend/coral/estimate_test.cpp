#include "backend/coral/estimate.h"

#include <gtest/gtest.h>

namespace ec::coral {
namespace {

Partition with(int64_t macs, int64_t bytes, bool mapped = true) {
  Partition p;
  PlacedOperator op;
  op.op = "CONV_2D";
  op.macs = macs;
  op.parameter_bytes = bytes;
  if (!mapped) op.verdict.status = Status::NotSupported;
  p.operators = {op};
  p.mapped = mapped ? 1 : 0;
  return p;
}

TEST(CoralEstimate, ParametersBeyondTheChipAreStreamed) {
  const Estimate small = estimate(with(1000, 1 << 20));
  EXPECT_EQ(small.streamed_bytes, 0);
  EXPECT_EQ(small.on_chip_bytes, small.parameter_bytes);
  const Estimate large = estimate(with(1000, 20 << 20));
  EXPECT_EQ(large.on_chip_bytes, kParameterMemory);
  EXPECT_EQ(large.on_chip_bytes + large.streamed_bytes, large.parameter_bytes);
  EXPECT_GT(large.latency_ms, small.latency_ms + 20);
  EXPECT_EQ(estimate(with(1000, 1 << 20), 0).on_chip_bytes, 0);
}

// Published over USB 3, ms: the band has to hold them.
TEST(CoralEstimate, BandHoldsPublishedLatencies) {
  struct Row {
    double gmacs;
    int64_t bytes;
    double ms;
  };
  for (const Row& row :
       {Row{0.569, 4'200'000, 2.4}, Row{0.300, 3'500'000, 2.6}, Row{15.47, 138'000'000, 296.0},
        Row{12.3, 42'700'000, 85.0}, Row{1.5, 6'600'000, 3.4}, Row{7.3, 25'600'000, 49.0}}) {
    const Estimate e = estimate(with(static_cast<int64_t>(row.gmacs * 1e9), row.bytes));
    EXPECT_LE(e.latency_low_ms, row.ms) << row.gmacs;
    EXPECT_GE(e.latency_high_ms, row.ms) << row.gmacs;
  }
}

TEST(CoralEstimate, WorkOfTheCpuIsApart) {
  const Estimate e = estimate(with(4'000'000, 100, false));
  EXPECT_EQ(e.device_macs, 0);
  EXPECT_EQ(e.cpu_macs, 4'000'000);
  EXPECT_EQ(e.parameter_bytes, 0);
  EXPECT_GT(e.latency_ms, 1.0);
}

TEST(CoralEstimate, HostileCountsDoNotOverflow) {
  Partition p = with(INT64_MAX, INT64_MAX);
  p.operators.push_back(p.operators[0]);
  const Estimate e = estimate(p);
  EXPECT_GT(e.device_macs, 0);
  EXPECT_GE(e.parameter_bytes, 0);
}

}  // namespace
}  // namespace ec::coral
