// Recurrent cells: their weights, one step, and a whole sequence.
#pragma once

#include <string>

#include "frontend/keras/layer_call.h"

namespace ec::keras {

struct Cell {
  enum class Kind : uint8_t { Lstm, Gru, Simple, ConvLstm } kind = Kind::Lstm;
  Value config;
  int64_t units = 0;
  size_t spatial = 0;  // ConvLstm
  Tensor* kernel = nullptr;
  Tensor* recurrent = nullptr;
  Tensor* bias = nullptr;            // of the inputs
  Tensor* recurrent_bias = nullptr;  // GRU with reset_after

  size_t num_states() const { return kind == Kind::Lstm || kind == Kind::ConvLstm ? 2 : 1; }
};

// The cell that a layer or cell of this class is.
Cell read_cell(LayerCall& c, const LayerConfig& layer, const Weights& weights);
bool is_cell_class(std::string_view class_name);

// One step; states are those of Keras: h, or h and c. The first is the output.
Tensors cell_step(LayerCall& c, const Cell& cell, Tensor* x, const Tensors& states);
// States of zeros for inputs like x, a single step.
Tensors zero_states(LayerCall& c, const Cell& cell, Tensor* x);

struct Sequence {
  Tensor* outputs = nullptr;  // [batch, time, ...] in the order of the steps; null if not wanted
  Tensor* last = nullptr;
  Tensors states;
};
struct SequenceOptions {
  bool backwards = false;
  bool want_outputs = true;
  bool zero_masked = false;  // outputs of masked steps are zeros instead of the last ones
  bool unroll = false;
};
// All steps of x [batch, time, ...]. Empty `initial`: zeros.
Sequence run_cell(LayerCall& c, const Cell& cell, Tensor* x, Tensors initial, Tensor* mask,
                  const SequenceOptions& options);

}  // namespace ec::keras
