// What a converter sees of one node: inputs, attributes, and the graph to build into. Problems with
// attributes are remembered and end the conversion after the converter returns, so that converters
// read attributes without ceremony.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/onnx/model.h"
#include "frontend/onnx/frame.h"
#include "frontend/onnx/scope.h"
#include "ir/graph.h"
#include "ops/attrs.h"
#include "support/result.h"

namespace ec::onnx {

class Importer;

class NodeContext {
 public:
  NodeContext(Importer& importer, Scope& scope, const Frame& frame, const Node& node,
              int64_t version, Location location, std::vector<Binding> inputs);

  const Node& node() const { return node_; }
  int64_t version() const { return version_; }  // of the operator set that the node belongs to
  const Location& location() const { return location_; }
  Importer& importer() const { return importer_; }
  Scope& scope() const { return scope_; }
  const Frame& frame() const { return frame_; }
  ec::Graph& graph() const { return scope_.graph(); }

  // --- inputs -----------------------------------------------------------------------------------
  size_t num_inputs() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && !inputs_[i].is(Binding::Kind::Absent); }
  // Null when absent. Inputs below the operator's minimum are always there.
  ec::Tensor* in(size_t i) const { return i < inputs_.size() ? inputs_[i].tensor : nullptr; }
  const Binding& binding(size_t i) const { return inputs_[i]; }
  std::vector<ec::Tensor*> tensors() const;  // all inputs; trailing absent ones left out
  DType dtype(size_t i = 0) const { return in(i)->dtype(); }
  // The rank of input i, or an error that names it.
  Result<size_t> rank(size_t i = 0) const;
  // Integer elements that are known at import: constants and sizes of static shapes.
  static std::optional<std::vector<int64_t>> known_ints(const ec::Tensor* tensor);
  static std::optional<double> known_scalar(const ec::Tensor* tensor);
  // The same, or an error that says which input has to be constant.
  Result<std::vector<int64_t>> need_ints(size_t i, std::string_view name) const;

  // --- outputs ----------------------------------------------------------------------------------
  size_t num_outputs() const;  // up to the last one that has a name
  bool wants(size_t i) const { return i < node_.outputs.size() && !node_.outputs[i].empty(); }

  // --- attributes -------------------------------------------------------------------------------
  bool has_attr(std::string_view name) { return find(name) != nullptr; }
  int64_t attr_int(std::string_view name, int64_t fallback);
  int64_t attr_int(std::string_view name);  // required
  bool attr_bool(std::string_view name, bool fallback) { return attr_int(name, fallback) != 0; }
  float attr_float(std::string_view name, float fallback);
  std::string attr_string(std::string_view name, std::string_view fallback);
  std::vector<int64_t> attr_ints(std::string_view name);  // empty when absent
  std::vector<float> attr_floats(std::string_view name);
  std::vector<std::string> attr_strings(std::string_view name);
  DType attr_dtype(std::string_view name, DType fallback);
  DType attr_dtype(std::string_view name);  // required
  // The encoded graph or tensor; required.
  Bytes attr_message(std::string_view name, AttributeType type);
  // The attribute itself, after a reference to the function's attributes was followed.
  const Attribute* find(std::string_view name);
  void ignore_attr(std::string_view name) { (void)find(name); }
  // One of a list of texts, as its index.
  size_t attr_choice(std::string_view name, std::span<const std::string_view> choices,
                     size_t fallback);
  template <class E>
  E attr_enum(std::string_view name, E fallback) {
    return static_cast<E>(attr_choice(name, EnumText<E>::kNames, static_cast<size_t>(fallback)));
  }
  // The first problem with an attribute.
  Status attr_status();
  // Attributes that no converter asked for.
  std::vector<std::string_view> unread_attributes() const;

  // --- building ---------------------------------------------------------------------------------
  // An operation within the conversion; its result gets an invented name.
  Result<ec::Tensor*> add(OpKind kind, std::vector<ec::Tensor*> inputs, Attrs attrs = {});
  Result<Operation*> add_op(OpKind kind, std::vector<ec::Tensor*> inputs, Attrs attrs,
                            size_t num_outputs);
  // The operation whose results are the node's outputs.
  Status finish(OpKind kind, std::vector<ec::Tensor*> inputs, Attrs attrs = {});
  // Gives output i; a tensor made by this conversion takes the output's name.
  void set(size_t i, ec::Tensor* tensor);
  void set(size_t i, Binding binding);
  // The outputs cannot be had, and why was reported already (in a nested graph).
  void poison() { poisoned_ = true; }
  bool is_poisoned() const { return poisoned_; }
  const std::vector<std::optional<Binding>>& results() const { return results_; }

  ec::Tensor* ints(std::span<const int64_t> values) { return graph().add_ints("", values); }
  ec::Tensor* ints(std::initializer_list<int64_t> values) {
    return ints(std::span(values.begin(), values.size()));
  }
  ec::Tensor* scalar(DType dtype, double value) { return graph().add_scalar("", dtype, value); }
  // A constant from its encoded tensor.
  Result<ec::Tensor*> constant(Bytes tensor_message);

  // Frequent steps of decompositions.
  Result<ec::Tensor*> cast(ec::Tensor* x, DType to);  // x itself when it has the type
  Result<ec::Tensor*> unsqueeze(ec::Tensor* x, std::span<const int64_t> axes);
  Result<ec::Tensor*> reshape(ec::Tensor* x, std::span<const int64_t> shape);
  Result<ec::Tensor*> transpose(ec::Tensor* x, std::vector<int64_t> perm);

  Error fail(Code code, std::string message) const;
  Error unsupported(std::string message) const {
    return fail(Code::UnsupportedOpForm, std::move(message));
  }

 private:
  const Attribute* find_typed(std::string_view name, AttributeType type);
  void attr_error(Error error);

  Importer& importer_;
  Scope& scope_;
  const Frame& frame_;
  const Node& node_;
  int64_t version_;
  Location location_;
  std::vector<Binding> inputs_;
  std::vector<std::optional<Binding>> results_;
  std::set<std::string_view> read_;
  std::optional<Error> attr_error_;
  bool poisoned_ = false;
  size_t first_tensor_id_;  // tensors from here on belong to this conversion
};

}  // namespace ec::onnx
