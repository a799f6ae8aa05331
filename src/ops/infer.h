// Inference of shapes and types. One function per op works at compile time (open dimensions, known
// constants) and at run time (everything known): it sees operand types and, where known, values.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "ops/attrs.h"
#include "ops/op_def.h"
#include "ops/value.h"

namespace ec {

struct InferOperand {
  const TensorType* type = nullptr;  // null: absent
  const std::byte* data = nullptr;  // aligned elements when the value is known; needs a static type
  const Tensor* constant = nullptr;  // the same, fetched when asked for: aligning copies weights
  const std::vector<Dim>* dims = nullptr;  // elements as dimensions, when known
};

class InferContext {
 public:
  InferContext(const Operation& op, std::vector<InferOperand> operands);

  const Operation& op() const { return op_; }
  // The operation's attributes, normalised by the border as far as ranks are known.
  template <class S>
  const S& attrs() const {
    return attrs_.as<S>();
  }
  const Attrs& attributes() const { return attrs_; }
  void set_attributes(Attrs attrs) { attrs_ = std::move(attrs); }
  size_t num_inputs() const { return operands_.size(); }
  size_t num_outputs() const { return results_.size(); }
  bool has(size_t i) const { return i < operands_.size() && operands_[i].type != nullptr; }
  const TensorType& type(size_t i) const { return *operands_[i].type; }
  DType dtype(size_t i) const { return operands_[i].type->dtype; }
  // Empty: the rank is not known.
  const std::optional<Shape>& shape(size_t i) const { return operands_[i].type->shape; }

  // The operand's value, when it is known.
  std::optional<ConstView> value(size_t i) const;
  // Known integer elements (any integer type, any rank), in order.
  std::optional<std::vector<int64_t>> int_values(size_t i) const;
  // Elements as dimensions: constants, or symbols where shape arithmetic is tracked. Negative
  // constants are not dimensions: such operands give nothing here.
  std::optional<std::vector<Dim>> dim_values(size_t i) const;

  void set(size_t i, DType dtype, Shape shape) {
    results_[i] = TensorType(dtype, std::move(shape));
  }
  void set(size_t i, DType dtype, std::optional<Shape> shape);
  void set(size_t i, TensorType type) { results_[i] = std::move(type); }
  void set_dim_values(size_t i, std::vector<Dim> dims) { result_dims_[i] = std::move(dims); }

  // Errors carry the operation's location.
  Error fail(Code code, std::string message) const;
  Error bad_shape(std::string message) const {
    return fail(Code::ShapeMismatch, std::move(message));
  }
  Error bad_type(std::string message) const { return fail(Code::TypeMismatch, std::move(message)); }
  Error bad_value(std::string message) const { return fail(Code::BadValue, std::move(message)); }

  // Whether inference may write what it learns into the operation's nested graphs. Only the
  // inference of a graph does; verifying and running leave the operation as it is.
  bool may_refine_bodies() const { return may_refine_bodies_; }
  void allow_refining_bodies() { may_refine_bodies_ = true; }

  std::vector<TensorType>& results() { return results_; }
  std::vector<std::optional<std::vector<Dim>>>& result_dims() { return result_dims_; }

 private:
  const Operation& op_;
  Attrs attrs_;
  std::vector<InferOperand> operands_;
  std::vector<TensorType> results_;
  std::vector<std::optional<std::vector<Dim>>> result_dims_;
  mutable std::vector<std::vector<int64_t>> sizes_;
  bool may_refine_bodies_ = false;
};

// What the graph knows of an operation's operands: types, constants, tracked dimensions.
std::vector<InferOperand> operands_of(const Operation& op);
// The border's checks, then the op's inference, then limits on the results. Nothing calls an op's
// own inference in another way.
Status infer_types(InferContext& ctx);
// Infers one operation from its operands' types and constants and stores the result types.
Status infer_operation(Operation& op);
// All operations in order, bodies included; reports every failure.
void infer_graph(Graph& graph, DiagnosticSink& sink);

// --- helpers shared by many ops -----------------------------------------------------------------
// axis in [-rank, rank) to [0, rank).
Result<int64_t> normalize_axis(const InferContext& ctx, int64_t axis, size_t rank);
Result<std::vector<int64_t>> normalize_axes(const InferContext& ctx, std::span<const int64_t> axes,
                                            size_t rank);
// Numpy broadcasting; an open dimension against 1 gives the open one, against n > 1 gives n.
Result<Shape> broadcast_shapes(const InferContext& ctx, const Shape& a, const Shape& b);
// An error when operand i cannot be sizes: no integers, or known to hold a negative number.
Status check_sizes(const InferContext& ctx, size_t i);
// "f32[1,3]" of operand i for messages.
std::string operand_text(const InferContext& ctx, size_t i);

// Whether an operand carries quantisation parameters: then operands may differ in element type, as
// they all stand for real numbers.
bool carries_parameters(const InferContext& ctx);

// Ready-made inference functions.
Status infer_same_as_first(InferContext& ctx);        // output = type of operand 0
Status infer_broadcast_same_type(InferContext& ctx);  // operands of one element type, broadcast
Status infer_broadcast_bool(InferContext& ctx);       // the same, boolean result

}  // namespace ec
