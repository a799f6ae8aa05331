// Tensors whose channels can be scaled without changing what the network computes: divided by a
// factor where they are made, multiplied by it where they are read.
//
//   Layers   between two layers with weights
//   Gains    between the gain of a normalisation, or the gate of an attention over channels,
//            and the layers behind it
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace ec::quantize {

enum class Equalization : uint8_t { Layers, Gains };

// Constants with one value per channel, or weights with an index of their channels.
struct ScaledConstant {
  Tensor* constant = nullptr;
  std::vector<uint32_t> channel;  // by element
};

// A tensor whose channels may be scaled, with everything that has to follow.
struct ScalableEdge {
  Tensor* tensor = nullptr;               // as the layers behind read it
  std::vector<ScaledConstant> producers;  // divided by the factor
  std::vector<ScaledConstant> consumers;  // multiplied by it
  const Operation* made_by = nullptr;     // the layer whose weights are the first producer
  std::vector<Operation*> read_by;        // the layers whose weights are the consumers
  Operation* gated = nullptr;             // the product whose gate gets factors of its own
  Operation* bounded = nullptr;           // the relu6 on the way, or the layer it is fused into
  size_t gate = 0;                        // operand of the product
  size_t channels = 0;
  std::vector<double> factor;  // so far
};

std::vector<ScalableEdge> scalable_edges(const Graph& graph, Equalization what);

}  // namespace ec::quantize
