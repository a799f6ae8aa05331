// State that outlives a run, as files have it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "writer/tflite/emitter.h"

namespace ec::tflite {

// A state that a recurrent operation alone reads and writes: a variable tensor of its operator.
struct CellState {
  const Operation* read;
  const Operation* write;
};
// The state with number k of a recurrent operation (lstm_sequence has two); nothing when other
// operations use it, too.
std::optional<CellState> cell_state(const Operation& cell, size_t k);

// CALL_ONCE and the graph that it calls, which assigns the initial values of all states but those
// of cells. Fails when one is not constant.
Status emit_initial_states(GraphEmitter& graph, std::span<Operation* const> order);

// Operations so that every state is read before it is written: operators run in the file's order.
std::vector<Operation*> in_order_of_states(std::vector<Operation*> order);

}  // namespace ec::tflite
