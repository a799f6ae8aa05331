// What a converter sees of one node: inputs, attributes, and the graph to build into.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tensorflow/decode.h"
#include "frontend/known_values.h"
#include "frontend/op_builder.h"
#include "frontend/tensorflow/importer.h"
#include "frontend/tensorflow/value.h"

namespace ec::tf {

class OpContext : public OpBuilder {
 public:
  OpContext(Importer& importer, Frame& frame, const Node& node, std::vector<TfValue> inputs,
            Location location);

  Importer& importer() const { return importer_; }
  Frame& frame() const { return frame_; }
  Site& site() const { return frame_.site; }
  const Node& source() const { return node_; }

  // --- inputs
  size_t num_inputs() const { return inputs_.size(); }
  const TfValue& value(size_t i) const { return inputs_[i]; }
  const std::vector<TfValue>& values() const { return inputs_; }
  bool has(size_t i) const { return in(i) != nullptr; }
  ec::Tensor* in(size_t i) const { return i < inputs_.size() ? inputs_[i].tensor : nullptr; }
  std::vector<ec::Tensor*> tensors() const;
  DType dtype(size_t i = 0) const { return in(i)->dtype(); }
  Result<size_t> rank(size_t i = 0) const;
  Result<int64_t> axis(int64_t axis, size_t rank) const;
  Result<std::vector<int64_t>> need_ints(size_t i, std::string_view name) const;
  Result<int64_t> need_int(size_t i, std::string_view name) const;
  Result<std::vector<float>> need_floats(size_t i, std::string_view name) const;
  // An integer list as i64, of rank 1.
  Result<ec::Tensor*> as_i64(size_t i);
  bool is_complex(size_t i = 0) const { return i < inputs_.size() && inputs_[i].complex; }

  // Asks for room for a table that the file does not hold.
  Status take_room(size_t bytes);

  // --- attributes; a missing one has the default that the operator's definition gives it
  bool has_attr(std::string_view name) const;
  int64_t attr_int(std::string_view name, int64_t otherwise = 0) const;
  float attr_float(std::string_view name, float otherwise = 0.0f) const;
  bool attr_bool(std::string_view name, bool otherwise = false) const;
  std::string_view attr_text(std::string_view name, std::string_view otherwise = {}) const;
  std::vector<int64_t> attr_ints(std::string_view name) const;
  std::vector<float> attr_floats(std::string_view name) const;
  DataType attr_type(std::string_view name, DataType otherwise = DataType::Float) const;
  Result<DType> attr_dtype(std::string_view name, DataType otherwise = DataType::Float) const;
  PartialShape attr_shape(std::string_view name) const;
  std::optional<Tensor> attr_tensor(std::string_view name) const;
  std::vector<std::string_view> attr_functions(std::string_view name) const;

  // --- results
  Status finish(OpKind kind, std::vector<ec::Tensor*> inputs, Attrs attrs = {});
  Status set(size_t i, ec::Tensor* tensor, bool complex = false);
  Status set_value(size_t i, TfValue value);
  std::vector<TfValue>& results() { return results_; }
  // The results cannot be had, and why was reported already.
  void poison() { poisoned_ = true; }
  bool is_poisoned() const { return poisoned_; }

 private:
  std::optional<AttributeValue> attribute(std::string_view name) const;

  Importer& importer_;
  Frame& frame_;
  const Node& node_;
  std::vector<TfValue> inputs_;
  std::vector<TfValue> results_;
  bool poisoned_ = false;
  size_t first_tensor_id_;
};

}  // namespace ec::tf
