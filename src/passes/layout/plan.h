// Decides which operations compute in the wanted layout, so that the transposes between the two
// kinds move the fewest elements.
#pragma once

#include <optional>
#include <vector>

#include "ops/attrs.h"
#include "passes/permute.h"

namespace ec::layout {

// How the layout pass treats an operation.
enum class Form : uint8_t {
  Fixed,      // operands and results in the source's order
  Flexible,   // has a permuted form (permute.h)
  Spatial,    // has a layout attribute that can change (conv, pool, batch_norm)
  Shuffle,    // first of view, transpose, view that rearrange channels only
  View,       // a view that changes the spatial dimensions only: [N, C, H, W] as [N, C, H * W]
  Flatten,    // a view into a matmul with constant weights, which can be permuted instead
  ToWanted,   // transpose from the source's order to the wanted one
  ToSource,   // transpose from the wanted order to the source's
  Transpose,  // any other transpose: reads whatever order there is
  Inside,     // part of a group that another operation stands for
};

struct Node {
  Form form = Form::Fixed;
  bool permuted = false;  // the decision
};

class Plan {
 public:
  // The wanted layout of tensors with spatial dimensions. free_io: inputs and outputs of the graph
  // may be in it too.
  Plan(Graph& graph, Layout wanted, bool free_io = false);

  const Node& node(const Operation* op) const { return nodes_[op->id()]; }
  // The permutation from the source's order to the wanted one for tensors of this rank.
  Perm perm(size_t rank) const {
    return wanted_ == Layout::ChannelsLast ? to_channels_last(rank) : to_channels_first(rank);
  }
  Layout wanted() const { return wanted_; }

  // Whether operand i (result i) is permuted along with the operation when that is permuted.
  bool is_data_input(const Operation* op, size_t i) const;
  bool is_data_output(const Operation* op, size_t i) const;
  // Whether the tensor is produced in the wanted order.
  bool is_permuted(const Tensor* tensor) const;
  bool free_io() const { return free_io_; }
  // Inputs of the graph that are to come in the wanted order.
  const std::vector<Tensor*>& permuted_inputs() const { return permuted_inputs_; }

 private:
  void classify(const std::vector<Operation*>& order);
  Form form_of(const Operation* op) const;
  bool leads_to_images(const Tensor* tensor) const;
  void decide(const std::vector<Operation*>& order);

  Graph& graph_;
  Layout wanted_;
  bool free_io_;
  std::vector<Node> nodes_;
  std::vector<Tensor*> permuted_inputs_;
};

// Tensors that may be permuted: [N, C, spatial...].
bool has_layout(const Tensor* tensor);
std::optional<Layout> layout_of(const Operation* op);  // nothing without the attribute
void set_layout(Attrs& attrs, Layout layout);

// The operations of a shuffle that begins with view `op`; nothing when it begins none.
struct ShuffleChain {
  Operation* split = nullptr;
  Operation* transpose = nullptr;
  Operation* join = nullptr;
  std::vector<int64_t> factors;  // of the channels
  Perm perm;                     // of the factors
};
std::optional<ShuffleChain> shuffle_chain(const Operation* op);

// A view that leaves batch and channels as they are.
bool is_spatial_view(const Operation* op);

// The product behind a view that flattens an image; null when it cannot be permuted.
Operation* flattened_product(const Operation* view);

}  // namespace ec::layout
