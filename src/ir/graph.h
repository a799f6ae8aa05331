// The unified IR: a graph of operations over tensors in SSA form.
//
// Ownership: the Graph owns all nodes; their addresses are stable. Raw pointers never own. Edges
// are changed only through Graph, which keeps producer and use lists right. Ids are dense and given
// in creation order, so side tables are vectors indexed by id and nothing depends on pointer
// values.
//
// Nested graphs (if, loop, scan bodies) are closed: values captured from outside are explicit
// operands of the operation and inputs of the body, so each graph can be cloned, verified,
// rewritten and executed by itself.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/attrs.h"
#include "ir/type.h"
#include "ir/use_list.h"
#include "ops/op_kind.h"
#include "support/blob.h"
#include "support/result.h"

namespace ec {

class Graph;
class Operation;
struct OpDef;

// Where an operation comes from: names in the source model. A rewrite merges what it replaced.
struct Location {
  std::vector<std::string> nodes;  // the first names the operation
  std::string op_type;             // in the source model's words, "Conv"

  Location() = default;
  explicit Location(std::string node, std::string type = {}) : op_type(std::move(type)) {
    if (!node.empty()) nodes.push_back(std::move(node));
  }
  std::string_view name() const { return nodes.empty() ? std::string_view{} : nodes.front(); }
  void merge(const Location& other);  // appends names that are not there yet
  bool operator==(const Location&) const = default;
};

class Tensor {
 public:
  uint32_t id() const { return id_; }
  const std::string& name() const { return name_; }
  const TensorType& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const std::optional<Shape>& shape() const { return type_.shape; }

  Operation* producer() const { return producer_; }  // null for inputs and constants
  uint32_t producer_index() const { return producer_index_; }
  const UseList& uses() const { return uses_; }  // operands only; see also Graph::is_output
  bool is_constant() const { return is_constant_; }
  bool is_input() const { return is_input_; }

  // Constant bytes, aligned for the element type. Requires is_constant().
  const Blob& data() const;
  template <class T>
  std::span<const T> values() const {
    const Blob& blob = data();
    return {reinterpret_cast<const T*>(blob.bytes().data()), blob.size() / sizeof(T)};
  }
  // Constant bytes as stored, of any alignment: for writers and hashing.
  const Blob& raw_data() const { return data_; }

  // What inference knows of an integer tensor's elements as dimensions ([N, 3, 224]), for shape
  // arithmetic on open dimensions.
  const std::optional<std::vector<Dim>>& dim_values() const { return dim_values_; }

 private:
  friend class Graph;
  Tensor() = default;

  uint32_t id_ = 0;
  std::string name_;
  bool named_by_source_ = false;  // keep this name through rewrites
  TensorType type_;
  Operation* producer_ = nullptr;
  uint32_t producer_index_ = 0;
  UseList uses_;
  bool is_constant_ = false;
  bool is_input_ = false;
  mutable Blob data_;  // replaced by an aligned copy on first typed access
  std::optional<std::vector<Dim>> dim_values_;
};

class Operation {
 public:
  uint32_t id() const { return id_; }
  OpKind kind() const { return kind_; }
  const OpDef& def() const;
  const Attrs& attrs() const { return attrs_; }
  template <class S>
  const S& attrs_as() const {
    return attrs_.as<S>();
  }
  // Absent optional operands are null.
  const std::vector<Tensor*>& inputs() const { return inputs_; }
  Tensor* input(size_t i) const { return i < inputs_.size() ? inputs_[i] : nullptr; }
  const std::vector<Tensor*>& outputs() const { return outputs_; }
  Tensor* output(size_t i = 0) const { return outputs_[i]; }
  const std::vector<std::unique_ptr<Graph>>& bodies() const { return bodies_; }
  const Location& location() const { return location_; }
  Graph& graph() const { return *graph_; }

 private:
  friend class Graph;
  Operation() = default;

  uint32_t id_ = 0;
  OpKind kind_{};
  Attrs attrs_;
  std::vector<Tensor*> inputs_;
  std::vector<Tensor*> outputs_;
  std::vector<std::unique_ptr<Graph>> bodies_;
  Location location_;
  Graph* graph_ = nullptr;
};

// What Graph::add needs to know beyond kind and operands.
struct OpSpec {
  Attrs attrs;
  Location location;
  size_t num_outputs = 1;
  std::vector<std::string> output_names;  // empty: invented
  std::vector<std::unique_ptr<Graph>> bodies;
};

class Graph {
 public:
  explicit Graph(std::string name = "main");
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  // Source format, producer, provenance; ordered, so that output never depends on insertion.
  std::map<std::string, std::string>& metadata() { return metadata_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  // --- building ---------------------------------------------------------------------------------
  // Names are made unique within the graph by a suffix where needed.
  Tensor* add_input(std::string name, TensorType type);
  // Requires data.size() == bytes of the static type; returns the tensor.
  Tensor* add_constant(std::string name, TensorType type, Blob data);
  template <class T>
  Tensor* add_constant(std::string name, Shape shape, std::span<const T> values) {
    return add_constant(std::move(name), TensorType(dtype_of<T>(), std::move(shape)),
                        Blob::copy_of(values));
  }
  Tensor* add_ints(std::string name, std::span<const int64_t> values);  // i64, rank 1
  Tensor* add_scalar(std::string name, DType dtype, double value);      // rank 0
  // Checks arity and attribute kind, creates the outputs and runs inference.
  Result<Operation*> add(OpKind kind, std::vector<Tensor*> inputs, OpSpec spec = {});
  // As add(), for one output.
  Result<Tensor*> add_single(OpKind kind, std::vector<Tensor*> inputs, Attrs attrs = {},
                             Location location = {});
  // Without inference: the caller gives the output types (parser, clone).
  Result<Operation*> add_typed(OpKind kind, std::vector<Tensor*> inputs, OpSpec spec,
                               std::vector<TensorType> types);

  void add_output(std::string name, Tensor* tensor);
  void set_output(size_t index, Tensor* tensor);

  // --- reading ----------------------------------------------------------------------------------
  const std::vector<Tensor*>& inputs() const { return inputs_; }
  const std::vector<Tensor*>& outputs() const { return outputs_; }
  // The interface names of the outputs: they stay while rewrites change the tensors.
  const std::vector<std::string>& output_names() const { return output_names_; }
  bool is_output(const Tensor* tensor) const;
  // No operand, no graph output and no later run (write_state) reads it.
  bool is_unused(const Tensor* tensor) const {
    return tensor->uses().empty() && !is_output(tensor) &&
           (tensor->producer() == nullptr || tensor->producer()->kind() != OpKind::WriteState);
  }
  // Exactly one operand reads it and it is no graph output.
  bool has_single_use(const Tensor* tensor) const {
    return tensor->uses().size() == 1 && !is_output(tensor);
  }
  Tensor* find_tensor(std::string_view name) const;

  // Producers before consumers; otherwise in creation order. Linear time.
  std::vector<Operation*> topological() const;
  size_t num_operations() const { return live_operations_; }
  // Bounds of ids, for side tables; erased nodes leave holes.
  size_t operation_id_bound() const { return operations_.size(); }
  size_t tensor_id_bound() const { return tensors_.size(); }
  // By id, below the bound; null when erased. Ids are never given twice.
  Operation* operation(uint32_t id) const { return operations_[id].get(); }
  // Live tensors in id order, constants and inputs included.
  std::vector<Tensor*> tensors() const;

  // --- changing ---------------------------------------------------------------------------------
  void set_operand(Operation* op, size_t index, Tensor* tensor);  // tensor may be null
  void set_operands(Operation* op, std::vector<Tensor*> inputs);
  void set_attrs(Operation* op, Attrs attrs) { op->attrs_ = std::move(attrs); }
  void set_kind(Operation* op, OpKind kind, Attrs attrs);
  void set_type(Tensor* tensor, TensorType type) { tensor->type_ = std::move(type); }
  void set_quant(Tensor* tensor, std::optional<QuantParams> quant) {
    tensor->type_.quant = std::move(quant);
  }
  void set_dim_values(Tensor* tensor, std::optional<std::vector<Dim>> dims) {
    tensor->dim_values_ = std::move(dims);
  }
  void set_constant_data(Tensor* tensor, TensorType type, Blob data);
  void set_location(Operation* op, Location location) { op->location_ = std::move(location); }
  void merge_location(Operation* op, const Location& other) { op->location_.merge(other); }
  void rename(Tensor* tensor, std::string name);
  // All operands and graph outputs that read `from` read `to` instead. When `from` carries a source
  // name and `to` an invented one, `to` takes the name over.
  void replace_all_uses(Tensor* from, Tensor* to);
  // Requires that nothing uses its outputs.
  void erase(Operation* op);
  // Requires no uses and no producer (constants and inputs).
  void erase(Tensor* tensor);
  // Removes inputs from the interface; requires no uses.
  void erase_input(size_t index);
  void erase_output(size_t index);

  std::unique_ptr<Graph> clone() const;  // compact ids; constants are shared
  // Same structure, names, types, attributes, constants and metadata.
  bool operator==(const Graph& other) const;

 private:
  Tensor* new_tensor(std::string name, TensorType type, bool named_by_source);
  std::string unique_name(std::string base) const;
  void add_use(Operation* op, uint32_t index);
  void remove_use(Operation* op, uint32_t index);

  std::string name_;
  std::map<std::string, std::string> metadata_;
  std::vector<std::unique_ptr<Tensor>> tensors_;        // by id; erased: null
  std::vector<std::unique_ptr<Operation>> operations_;  // by id; erased: null
  size_t live_operations_ = 0;
  std::vector<Tensor*> inputs_, outputs_;
  std::vector<std::string> output_names_;
  std::unordered_map<std::string_view, Tensor*> by_name_;  // looked up, never iterated
  mutable std::unordered_map<std::string, uint32_t> next_suffix_;
  std::unordered_map<const Tensor*, uint32_t> output_count_;
};

// All faults of a graph and its bodies; empty when it is sound.
std::vector<Diagnostic> verify(const Graph& graph);
// A value that an operation cannot take, or that fits no shape, and that only the folding of
// constants computed: a fault of the model, which inference saw before the value was known.
std::optional<Error> fault_of_values(const Graph& graph);

}  // namespace ec
