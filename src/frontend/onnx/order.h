// The order of execution of a graph's nodes. Files should list producers first; many do not.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/onnx/decode.h"
#include "formats/onnx/model.h"

namespace ec::onnx {

struct NodeOrder {
  std::vector<uint32_t> order;                // nodes of cycles left out
  std::vector<std::vector<uint32_t>> cycles;  // each as the nodes along it
};

// Producers before consumers, otherwise as listed; names that nested graphs read count as inputs.
NodeOrder order_nodes(const NodeList& list, Budget budget);

}  // namespace ec::onnx
