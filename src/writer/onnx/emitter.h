// Building of an ONNX graph message: names, initializers, nodes. One GraphEmitter per graph level;
// one OpEmitter is what the functions of the table see.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/onnx/encode.h"
#include "ir/graph.h"
#include "ops/attrs.h"
#include "support/result.h"

namespace ec::onnx {

// Names are unique over the whole model: nested graphs see the names around them.
class Names {
 public:
  void reserve(const std::string& name) { used_.insert(name); }
  std::string unique(const std::string& wanted);

 private:
  std::set<std::string> used_;
  std::map<std::string, int> next_;
};

// Where tensor data goes: into the message, or into a file beside it.
class DataStore {
 public:
  DataStore(std::string external_name, bool use_external)
      : external_name_(std::move(external_name)), use_external_(use_external) {}
  // Encodes the tensor; large ones refer to the external file when there is one.
  Pieces store(TensorSource tensor);
  const std::vector<Blob>& external() const { return external_; }

 private:
  std::string external_name_;
  bool use_external_;
  uint64_t offset_ = 0;
  std::vector<Blob> external_;  // in file order, with padding in between
};

struct WriteState {
  Names names;
  DataStore data;
  int64_t opset;
};

class GraphEmitter {
 public:
  GraphEmitter(WriteState& state, const ec::Graph& graph) : state_(state), graph_(graph) {}

  // The name of a tensor of this graph; constants become initializers when first named.
  std::string name(const ec::Tensor* tensor);
  void bind(const ec::Tensor* tensor, std::string name) { names_[tensor] = std::move(name); }

  Status emit_operations();
  // Names the tensors behind the outputs, as far as they can take an output's name.
  void plan_outputs(const std::vector<std::string>& output_names);
  // Adds identity nodes for the rest, and the list of outputs.
  void finish_outputs();
  void add_input(const ec::Tensor* tensor, const std::string& name);

  std::string new_name(const std::string& base) { return state_.names.unique(base); }
  std::string add_initializer(const std::string& base, const TensorType& type, const Blob& data);
  void add_node(NodeSource node) { source_.nodes.push_back(encode_node(node)); }
  WriteState& state() { return state_; }
  // The encoded graph.
  Pieces finish(std::string_view graph_name);

 private:
  WriteState& state_;
  const ec::Graph& graph_;
  std::unordered_map<const ec::Tensor*, std::string> names_;
  std::vector<std::string> output_names_;
  GraphSource source_;
};

class OpEmitter {
 public:
  OpEmitter(GraphEmitter& graph, const Operation& op) : graph_(graph), op_(op) {}

  const Operation& op() const { return op_; }
  template <class S>
  const S& attrs() const {
    return op_.attrs_as<S>();
  }
  int64_t opset() const { return graph_.state().opset; }
  GraphEmitter& graph() { return graph_; }

  std::string in(size_t i);           // "" when absent
  std::vector<std::string> inputs();  // all; trailing absent ones left out
  // The same where ONNX wants those behind the first to have no dimensions: the IR takes any tensor
  // of one element.
  std::vector<std::string> inputs_and_scalars();
  std::string scalar_in(size_t i);
  std::string out(size_t i = 0) { return graph_.name(op_.output(i)); }
  std::vector<std::string> outputs();
  const TensorType& type(size_t i) const { return op_.input(i)->type(); }
  DType dtype(size_t i = 0) const { return op_.input(i)->dtype(); }
  Result<size_t> rank(const ec::Tensor* tensor) const;

  // A node; the first one of an op carries its name, others a suffix.
  void node(std::string_view op_type, std::vector<std::string> inputs,
            std::vector<std::string> outputs, AttributeList attributes = {});
  // The same with one result of an invented name, which is returned.
  std::string step(std::string_view op_type, std::vector<std::string> inputs,
                   AttributeList attributes = {});

  std::string ints(std::span<const int64_t> values);
  std::string scalar(DType dtype, double value);
  // Ones of the sizes that the first operand has from this axis on.
  Result<std::string> ones_from_axis(int64_t axis);
  std::string temp();

  // x with its dimensions permuted.
  std::string transpose(const std::string& x, std::vector<int64_t> perm);
  void transpose_to(const std::string& x, std::vector<int64_t> perm, const std::string& result);
  // Operand i with its dimensions permuted; a constant is permuted here and now.
  Result<std::string> transposed_operand(size_t i, const std::vector<int64_t>& perm);
  // result = activation(x)
  void activation(Activation kind, float alpha, float beta, DType dtype, const std::string& x,
                  const std::string& result);

  Error fail(std::string message) const;

 private:
  GraphEmitter& graph_;
  const Operation& op_;
  int nodes_ = 0;
};

int64_t type_number(DType dtype);  // as in onnx.proto
template <class E>
std::string_view enum_text(E value) {
  return EnumText<E>::kNames[static_cast<size_t>(value)];
}

// The order of dimensions that turns [N, spatial..., C] into [N, C, spatial...], and back.
std::vector<int64_t> to_channels_first(size_t rank);
std::vector<int64_t> to_channels_last(size_t rank);

// The channels of a space_to_depth in column-row order, when they are known. It is then written
// with the operators of every version; the attribute for this order came in version 28.
std::optional<int64_t> channels_of_crd(const Operation& op);

using EmitFn = Status (*)(OpEmitter&);
struct WriteRow {
  OpKind kind;
  EmitFn emit;
};
// Every op has one: the result is never null.
EmitFn find_emit(OpKind kind);

// Ops whose node is the same thing under ONNX's name, with no attributes.
struct PlainRow {
  OpKind kind;
  std::string_view onnx_name;
};

extern const std::span<const WriteRow> kWriteArithmetic, kWriteShape, kWriteSpatial, kWriteNeural,
    kWriteControl;
extern const std::span<const PlainRow> kWritePlain;

}  // namespace ec::onnx
