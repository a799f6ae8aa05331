// Operands and sizes of the recurrent ops in TFLite's form, shared by their float and integer
// kernels.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "ops/activation_fn.h"
#include "ops/kernel.h"

namespace ec::ops {

// lstm_sequence; gates stand in the order input, forget, cell, output.
enum LstmOperand : size_t {
  kLstmInput = 0,
  kLstmInputWeights = 1,      // 4, the first absent when input and forget gates are coupled
  kLstmRecurrentWeights = 5,  // 4
  kLstmPeephole = 9,          // 3: input, forget, output
  kLstmBias = 12,             // 4
  kLstmProjection = 16,
  kLstmProjectionBias = 17,
  kLstmOutputState = 18,
  kLstmCellState = 19,
  kLstmNorm = 20,  // 4
};
inline constexpr size_t kInputGate = 0, kForgetGate = 1, kCellGate = 2, kOutputGate = 3;

enum RnnOperand : size_t { kRnnInput, kRnnWeights, kRnnRecurrent, kRnnBias, kRnnState };
enum SvdfOperand : size_t { kSvdfInput, kSvdfFeature, kSvdfTime, kSvdfBias, kSvdfState };

// Where the rows of one step stand: x is [time, batch, in], [batch, time, in] or, for one step,
// [batch, in].
struct SequenceShape {
  int64_t batch = 1, steps = 1, in = 0;
  bool time_major = false;

  SequenceShape(std::span<const int64_t> shape, bool time_is_first) : time_major(time_is_first) {
    in = shape.back();
    if (shape.size() == 2) {
      batch = shape[0];
    } else {
      steps = shape[time_is_first ? 0 : 1];
      batch = shape[time_is_first ? 1 : 0];
    }
  }
  // Row number of batch entry b at a step, in x and in the output.
  size_t row(int64_t step, int64_t b) const {
    return static_cast<size_t>(time_major ? step * batch + b : b * steps + step);
  }
};

struct LstmShape {
  SequenceShape sequence;
  int64_t cells, outputs;

  explicit LstmShape(const KernelContext& ctx)
      : sequence(ctx.input(kLstmInput).shape, ctx.attrs<LstmSequenceAttrs>().time_major),
        cells(ctx.input(kLstmInputWeights + kForgetGate).shape[0]),
        outputs(ctx.has(kLstmProjection) ? ctx.input(kLstmProjection).shape[0] : cells) {}
};

// Every operand has the size that the others ask for; kernels call it, as inference may not have
// seen all shapes.
Status check_lstm_operands(const KernelContext& ctx);
Status check_rnn_operands(const KernelContext& ctx);
Status check_svdf_operands(const KernelContext& ctx);

// A float activation with its bounds.
template <class A>
float activate(const A& attrs, float x) {
  return apply_activation<float>(attrs.activation, x, attrs.act_alpha, attrs.act_beta);
}
inline float logistic(float x) { return 1.0f / (1.0f + std::exp(-x)); }

}  // namespace ec::ops
