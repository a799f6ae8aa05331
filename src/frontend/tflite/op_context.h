// What a converter sees of one operator: inputs, options, declared results, and the graph to build
// into.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tflite/model_file.h"
#include "frontend/known_values.h"
#include "frontend/tflite/scope.h"
#include "ir/graph.h"
#include "ops/attrs.h"
#include "support/result.h"

namespace ec::tflite {

class Importer;

class OpContext {
 public:
  OpContext(Importer& importer, Scope& scope, const Operator& op, Location location);

  Importer& importer() const { return importer_; }
  Scope& scope() const { return scope_; }
  ec::Graph& graph() const { return scope_.graph; }
  const Operator& source() const { return op_; }
  const Location& location() const { return location_; }
  // The operator's options; defaults when the file leaves them out.
  template <class T>
  const T& options() const {
    const auto* given = op_.builtin_options_as<T>();
    return given != nullptr ? *given : default_options<T>();
  }

  // --- inputs -----------------------------------------------------------------------------------
  size_t num_inputs() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  ec::Tensor* in(size_t i) const { return i < inputs_.size() ? inputs_[i] : nullptr; }
  std::vector<ec::Tensor*> tensors() const;  // all inputs; trailing absent ones left out
  DType dtype(size_t i = 0) const { return in(i)->dtype(); }
  Result<size_t> rank(size_t i = 0) const;
  // An axis in [-rank, rank) of input i to [0, rank).
  Result<int64_t> axis(int64_t axis, size_t rank) const;
  // Integers that have to be known at import.
  Result<std::vector<int64_t>> need_ints(size_t i, std::string_view name) const;
  Result<int64_t> need_int(size_t i, std::string_view name) const;
  // An integer list as i64, for operands of the IR that are.
  Result<ec::Tensor*> as_i64(size_t i);
  int32_t input_index(size_t i) const {
    return op_.inputs()->Get(static_cast<flatbuffers::uoffset_t>(i));
  }
  void replace_input(size_t i, ec::Tensor* tensor);
  // Whether the file declares complex numbers: the tensor has a last dimension of 2 then.
  bool is_complex_input(size_t i = 0) const;
  bool is_complex_output(size_t i = 0) const;

  // --- outputs ----------------------------------------------------------------------------------
  size_t num_outputs() const { return results_.size(); }
  int32_t output_index(size_t i) const {
    return op_.outputs()->Get(static_cast<flatbuffers::uoffset_t>(i));
  }
  const Tensor& declared(size_t i) const { return scope_.tensor(output_index(i)); }
  Result<DType> out_dtype(size_t i = 0) const;
  std::optional<QuantParams> out_quant(size_t i = 0) const;

  // --- building ---------------------------------------------------------------------------------
  // An operation within the conversion. Results take the first operand's parameters where the op
  // only moves elements.
  Result<ec::Tensor*> add(OpKind kind, std::vector<ec::Tensor*> inputs, Attrs attrs = {});
  Result<Operation*> add_op(OpKind kind, std::vector<ec::Tensor*> inputs, Attrs attrs,
                            size_t num_outputs);
  // The operation whose results are the operator's outputs.
  Status finish(OpKind kind, std::vector<ec::Tensor*> inputs, Attrs attrs = {});
  // The same followed by a fused activation, as an operation of its own.
  Status finish_activated(OpKind kind, std::vector<ec::Tensor*> inputs, Attrs attrs,
                          ActivationFunctionType activation);
  Status set_activated(ec::Tensor* tensor, ActivationFunctionType activation);
  // Gives output i. A tensor that is not made by this conversion is passed through an identity, so
  // that every tensor of the file has its own.
  Status set(size_t i, ec::Tensor* tensor);
  const std::vector<ec::Tensor*>& results() const { return results_; }
  // The outputs cannot be had, and why was reported already (in a subgraph).
  void poison() { poisoned_ = true; }
  bool is_poisoned() const { return poisoned_; }

  ec::Tensor* ints(std::span<const int64_t> values) { return graph().add_ints("", values); }
  ec::Tensor* ints(std::initializer_list<int64_t> values) {
    return ints(std::span(values.begin(), values.size()));
  }
  ec::Tensor* scalar(DType dtype, double value) { return graph().add_scalar("", dtype, value); }
  Result<ec::Tensor*> cast(ec::Tensor* x, DType to);
  Result<ec::Tensor*> reshape(ec::Tensor* x, std::span<const int64_t> shape);
  Result<ec::Tensor*> transpose(ec::Tensor* x, std::vector<int64_t> perm);
  Result<ec::Tensor*> unsqueeze(ec::Tensor* x, std::span<const int64_t> axes);
  Result<ec::Tensor*> squeeze(ec::Tensor* x, std::span<const int64_t> axes);
  Result<ec::Tensor*> clip(ec::Tensor* x, float low, float high);
  // Input i with its dimensions permuted; constants are permuted at once, quantised axes follow.
  Result<ec::Tensor*> permuted_input(size_t i, const std::vector<int64_t>& perm);

  Error fail(Code code, std::string message) const;
  Error unsupported(std::string message) const {
    return fail(Code::UnsupportedOpForm, std::move(message));
  }

 private:
  template <class T>
  static const T& default_options() {
    static const flatbuffers::DetachedBuffer kBuffer = [] {
      flatbuffers::FlatBufferBuilder builder;
      typename T::Builder table(builder);
      builder.Finish(table.Finish());
      return builder.Release();
    }();
    return *flatbuffers::GetRoot<T>(kBuffer.data());
  }

  Importer& importer_;
  Scope& scope_;
  const Operator& op_;
  Location location_;
  std::vector<ec::Tensor*> inputs_;
  std::vector<ec::Tensor*> results_;
  bool poisoned_ = false;
  size_t first_tensor_id_;  // tensors from here on belong to this conversion
};

// Whether an activation can be an attribute of a weighted sum, and which.
struct FusedActivation {
  Activation kind = Activation::None;
  float alpha = 0.0f, beta = 0.0f;
};
Result<FusedActivation> fused_activation(const OpContext& ctx, ActivationFunctionType activation);

}  // namespace ec::tflite
