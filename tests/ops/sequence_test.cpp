// Recurrent ops in TFLite's form and detection post-processing, on values small enough to follow.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/op_case.h"

namespace ec::test {
namespace {

double logistic(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// One cell, one input: weights are numbers. Index 1..8 input and recurrent, 12..15 biases.
std::vector<Operand> unit_lstm(const Value& x) {
  std::vector<Operand> operands(20, kAbsent);
  operands[0] = x;
  const double input[] = {0.5, -0.25, 1.0, 0.75}, recurrent[] = {0.1, 0.2, -0.3, 0.4};
  const double bias[] = {0.0, 1.0, 0.1, -0.1};
  for (size_t gate = 0; gate < 4; ++gate) {
    operands[1 + gate] = f32({1, 1}, {input[gate]});
    operands[5 + gate] = f32({1, 1}, {recurrent[gate]});
    operands[12 + gate] = f32({1}, {bias[gate]});
  }
  operands[18] = f32({1, 1}, {0});
  operands[19] = f32({1, 1}, {0});
  return operands;
}

struct Step {
  double h = 0, c = 0;
  void advance(double x, double peephole = 0) {
    const double i = logistic(0.5 * x + 0.1 * h + peephole * c);
    const double f = logistic(-0.25 * x + 0.2 * h + 1.0 + peephole * c);
    const double g = std::tanh(1.0 * x - 0.3 * h + 0.1);
    c = f * c + i * g;
    const double o = logistic(0.75 * x + 0.4 * h - 0.1 + peephole * c);
    h = o * std::tanh(c);
  }
};

TEST(LstmSequence, TwoSteps) {
  Step s;
  s.advance(1.0);
  const double first = s.h;
  s.advance(-2.0);
  const OpCase c{OpKind::LstmSequence,
                 unit_lstm(f32({1, 2, 1}, {1, -2})),
                 {f32({1, 2, 1}, {first, s.h}), f32({1, 1}, {s.h}), f32({1, 1}, {s.c})},
                 LstmSequenceAttrs{}};
  expect_case(c);
}

TEST(LstmSequence, IntermediateScalesHaveZeroPoints) {
  std::vector<Known> operands;
  for (const auto& operand : unit_lstm(f32({1, 2, 1}, {1, -2}))) {
    if (operand)
      operands.emplace_back(*operand);
    else
      operands.emplace_back(std::nullopt);
  }
  LstmSequenceAttrs attrs;
  attrs.intermediate_scales = {0.5f, 0.25f};
  attrs.intermediate_zero_points = {0};
  expect_infer_error(OpKind::LstmSequence, operands, attrs, Code::BadValue, "differ in length");
}

TEST(LstmSequence, PeepholesTimeMajorAndOneStep) {
  Step s;
  s.advance(1.0, 0.5);
  const double first = s.h;
  s.advance(-2.0, 0.5);
  auto operands = unit_lstm(f32({2, 1, 1}, {1, -2}));
  for (const size_t i : {9u, 10u, 11u}) operands[i] = f32({1}, {0.5});
  expect_case({OpKind::LstmSequence,
               operands,
               {f32({2, 1, 1}, {first, s.h})},
               LstmSequenceAttrs{.time_major = true}});
  operands[0] = f32({1, 1}, {1});
  expect_case({OpKind::LstmSequence, operands, {f32({1, 1}, {first})}, LstmSequenceAttrs{}});
}

TEST(LstmSequence, ProjectionAndClips) {
  Step s;
  s.advance(1.0);
  auto operands = unit_lstm(f32({1, 1, 1}, {1}));
  operands[16] = f32({2, 1}, {2, 30});
  operands[17] = f32({2}, {0.5, 0});
  for (size_t gate = 0; gate < 4; ++gate) operands[5 + gate] = f32({1, 2}, {0.1, 0.1});
  operands[18] = f32({1, 2}, {0, 0});
  expect_case({OpKind::LstmSequence,
               operands,
               {f32({1, 1, 2}, {2 * s.h + 0.5, 3})},
               LstmSequenceAttrs{.projection_clip = 3}});
}

TEST(LstmSequence, CoupledGates) {
  auto operands = unit_lstm(f32({1, 1, 1}, {1}));
  for (const size_t i : {1u, 5u, 12u}) operands[i] = kAbsent;
  const double f = logistic(-0.25 + 1.0), c = (1 - f) * std::tanh(1.1), o = logistic(0.65);
  expect_case(
      {OpKind::LstmSequence, operands, {f32({1, 1, 1}, {o * std::tanh(c)})}, LstmSequenceAttrs{}});
  operands[12] = f32({1}, {0});
  expect_run_error(OpKind::LstmSequence, operands, LstmSequenceAttrs{}, "all of its weights");
}

TEST(LstmSequence, Faults) {
  auto operands = unit_lstm(f32({1, 1, 1}, {1}));
  operands[6] = f32({1, 3}, {1, 2, 3});
  expect_run_error(OpKind::LstmSequence, operands, LstmSequenceAttrs{}, "operand 6");
  operands = unit_lstm(f32({1, 1, 1}, {1}));
  operands[14] = kAbsent;
  expect_run_error(OpKind::LstmSequence, operands, LstmSequenceAttrs{}, "operand 14 is missing");
}

TEST(RnnSequence, TwoSteps) {
  const std::vector<Operand> operands{f32({1, 2, 1}, {1, 2}), f32({1, 1}, {0.5}), f32({1, 1}, {-1}),
                                      f32({1}, {0.25}), f32({1, 1}, {1})};
  const double first = std::tanh(0.5 - 1 + 0.25), second = std::tanh(1.0 - first + 0.25);
  expect_case({OpKind::RnnSequence,
               operands,
               {f32({1, 2, 1}, {first, second}), f32({1, 1}, {second})},
               RnnSequenceAttrs{}});
}

TEST(Svdf, MemoryMovesOn) {
  // Two filters of rank two make one unit; memory of three steps.
  const Value feature = f32({2, 2}, {1, 0, 0, 1}), time = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  const Value state = f32({1, 6}, {7, 8, 9, 10, 11, 12});
  const double sum = 0.5 + (8 * 1 + 9 * 2 + 2 * 3) + (11 * 4 + 12 * 5 + 3 * 6);
  expect_case({OpKind::Svdf,
               {f32({1, 2}, {2, 3}), feature, time, f32({1}, {0.5}), state},
               {f32({1, 1}, {sum}), f32({1, 6}, {8, 9, 2, 11, 12, 3})},
               SvdfAttrs{.rank = 2}});
  expect_infer_error(OpKind::Svdf, {f32({1, 2}, {2, 3}), feature, time}, SvdfAttrs{.rank = 3},
                     Code::BadValue, "rank 3");
}

// Three boxes on unit anchors: the second lies on the first, the third apart.
std::vector<Operand> three_boxes() {
  return {f32({1, 3, 4}, {0, 0, 0, 0, 0, 0.1, 0, 0, 0, 0, 0, 0}),
          f32({1, 3, 3}, {0, 0.9, 0.1, 0, 0.8, 0.3, 0, 0.2, 0.7}),
          f32({3, 4}, {0.5, 0.5, 1, 1, 0.5, 0.5, 1, 1, 0.5, 10.5, 1, 1})};
}

TEST(DetectionPostProcess, FastSuppression) {
  expect_case({OpKind::DetectionPostProcess,
               three_boxes(),
               {f32({1, 3, 4}, {0, 0, 1, 1, 0, 10, 1, 11, 0, 0, 0, 0}), f32({1, 3}, {0, 1, 0}),
                f32({1, 3}, {0.9, 0.7, 0}), f32({1}, {2})},
               DetectionAttrs{.max_detections = 3, .num_classes = 2}});
}

TEST(DetectionPostProcess, RegularSuppression) {
  // Class 1 keeps box 2 (0.7) and box 1 (0.3), which box 0 (0.1) lies on.
  expect_case({OpKind::DetectionPostProcess,
               three_boxes(),
               {f32({1, 3, 4}, {0, 0, 1, 1, 0, 10, 1, 11, 0, 0.1, 1, 1.1}), f32({1, 3}, {0, 1, 1}),
                f32({1, 3}, {0.9, 0.7, 0.3}), f32({1}, {3})},
               DetectionAttrs{.max_detections = 3, .num_classes = 2, .regular_nms = true}});
}

}  // namespace
}  // namespace ec::test
