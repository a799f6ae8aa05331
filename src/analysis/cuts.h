// Where a graph can be cut into pieces that run one after the other: for every cut between two
// operations of an order, what crosses it.
#pragma once

#include <span>
#include <vector>

#include "analysis/liveness.h"
#include "ir/graph.h"

namespace ec {

// Cut i lies before operation i of the order. Linear in the graph; crossing() is, too, and is asked
// for the few cuts that are made.
class Cuts {
 public:
  explicit Cuts(const Graph& graph);

  const std::vector<Operation*>& order() const { return order_; }
  // Tensors that are made before the cut, or given from outside, and needed behind it; by id.
  std::vector<Tensor*> crossing(size_t cut) const;
  bool is_crossed(size_t cut) const { return crossings_[cut] > 0; }
  bool inputs_cross(size_t cut) const { return cut <= last_input_; }
  // The piece of operations [from, to) makes all that is needed behind it.
  bool is_piece(size_t from, size_t to) const {
    return to == order_.size() || earliest_[to] >= from;
  }

 private:
  const Graph& graph_;
  std::vector<Operation*> order_;
  std::vector<LiveRange> ranges_;
  std::vector<size_t> crossings_;  // how many tensors cross
  std::vector<size_t> earliest_;   // the first operation that makes something of what crosses
  size_t last_input_ = 0;          // the last cut that an input of the graph crosses
};

}  // namespace ec
