// Recurrent layers inside loops: one iteration is taken apart into sums of products with constant
// matrices and the known gates around them, so that the loop becomes one lstm, gru or rnn
// operation.
#pragma once

#include <optional>
#include <vector>

#include "frontend/op_builder.h"

namespace ec::tf {

// A counted loop that collects its results. The body has the inputs (iteration, condition,
// carried..., captures...) and the outputs (condition, carried..., elements...).
struct RecurrentLoop {
  const Graph* body = nullptr;
  std::vector<ec::Tensor*> initial;   // of the carried values
  std::vector<ec::Tensor*> captures;  // tensors outside that the last inputs stand for
  ec::Tensor* trips = nullptr;        // number of iterations
};

struct RecurrentResults {
  std::vector<ec::Tensor*> carried;    // after the last iteration
  std::vector<ec::Tensor*> collected;  // one element for each iteration along the first dimension
};

// Nothing where the loop is none of these layers.
Result<std::optional<RecurrentResults>> recurrent_layer(OpBuilder& build,
                                                        const RecurrentLoop& loop);

}  // namespace ec::tf
