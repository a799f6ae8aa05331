// Recurrent networks step by step: single cells, and sequences that no operation of the IR covers,
// unrolled.
#pragma once

#include <functional>
#include <span>

#include "frontend/torch/aten/call.h"

namespace ec::torch {

// What a step carries on: the hidden state, and for an LSTM the cell.
using States = Tensors;

// One step from the gates' products with the input and with the hidden state.
Result<States> lstm_step(Call& c, ec::Tensor* input, ec::Tensor* hidden, const States& state);
Result<States> gru_step(Call& c, ec::Tensor* input, ec::Tensor* hidden, const States& state);

// One direction of one layer.
struct StepCell {
  std::function<Result<ec::Tensor*>(ec::Tensor* x)> input;   // products of the whole sequence
  std::function<Result<ec::Tensor*>(ec::Tensor* h)> hidden;  // products of one state
  std::function<Result<States>(ec::Tensor* input, ec::Tensor* hidden, const States& state)> step;
};

// x [time, batch, size] (or batch first, as the call says) through layers of one or two directions;
// the cells of a layer stand together. Gives the outputs and the last states, as PyTorch does.
Result<std::vector<TorchValue>> unrolled_sequence(Call& c, const Tensors& initial,
                                                  std::span<const StepCell> cells);

}  // namespace ec::torch
