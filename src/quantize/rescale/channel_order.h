// What has to follow when the channels of a tensor change places and the network is to compute what
// it did: constants of the operations that read it, up to the convolutions that sum over channels.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace ec::quantize {

struct ChannelOrder {
  struct Constant {
    Tensor* tensor = nullptr;
    size_t axis = 0;
  };
  std::vector<Constant> constants;       // whose indices along an axis follow
  std::vector<Operation*> read_by;       // the convolutions that sum over the channels
  std::vector<const Tensor*> reordered;  // every tensor whose channels change places
};

// `tensor` has its channels last; what makes it is the caller's. Empty where something reads the
// channels by their number: an output, a slice, a concatenation.
std::optional<ChannelOrder> channel_order(const Graph& graph, Tensor* tensor);

// Puts index order[i] of an axis at place i. Requires a constant of 32-bit floats.
void reorder(Graph& graph, const ChannelOrder::Constant& constant,
             const std::vector<uint32_t>& order);

// A constant of floats that nothing else reads.
bool is_own_constant(const Tensor* tensor);
// Size of the last dimension; zero where it is not known.
size_t num_channels_of(const Tensor& tensor);

// A pad that adds nothing to the last dimension.
bool pads_no_channels(const Operation& op);

}  // namespace ec::quantize
