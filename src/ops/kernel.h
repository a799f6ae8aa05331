// The interface of kernels. A reference kernel computes one operation on views; its result buffers
// are ready when inference could tell the shapes, else the kernel asks for them.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"
#include "ops/attrs.h"
#include "ops/op_def.h"
#include "ops/value.h"

namespace ec {

class KernelContext {
 public:
  explicit KernelContext(const Operation& op) : op_(op), attrs_(op.attrs()) {}
  virtual ~KernelContext() = default;
  KernelContext(const KernelContext&) = delete;
  KernelContext& operator=(const KernelContext&) = delete;

  const Operation& op() const { return op_; }
  // Normalised by the border for the ranks of these operands.
  template <class S>
  const S& attrs() const {
    return attrs_.as<S>();
  }
  size_t num_inputs() const { return inputs_.size(); }
  size_t num_outputs() const { return outputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i].has_value(); }
  const ConstView& input(size_t i) const { return *inputs_[i]; }
  // A result whose shape inference gave; kernels of data-dependent shape call allocate() first.
  const MutableView& output(size_t i) const { return *outputs_[i]; }
  bool is_allocated(size_t i) const { return outputs_[i].has_value(); }
  // Allocated, or given as a whole.
  virtual bool has_result(size_t i) const { return is_allocated(i); }
  virtual Status allocate(size_t i, DType dtype, std::vector<int64_t> shape) = 0;
  // Gives a whole value as result i (control flow).
  virtual Status set_output(size_t i, Value value) = 0;
  // Runs a nested graph.
  virtual Result<std::vector<Value>> run_body(size_t body, std::vector<Value> inputs) = 0;
  // Operand i as an owned value, for passing into a body.
  virtual Value input_value(size_t i) const = 0;

  Error fail(std::string message) const;  // ExecutionFailed at this operation

 protected:
  const Operation& op_;
  Attrs attrs_;
  std::vector<std::optional<ConstView>> inputs_;
  std::vector<std::optional<MutableView>> outputs_;
};

// Whether the operation computes on real numbers stored as integers: an operand or a result carries
// quantisation parameters.
bool is_quantized(const Operation& op);
// The kernel that gives the operation's meaning: integer arithmetic where it is quantised and the
// op has such a kernel, else the reference kernel on the elements as they are.
KernelFn kernel_of(const Operation& op);
// Calls that kernel, if its operands are there and its results have memory of the inferred sizes;
// else, and where the kernel's own memory does not suffice, an error. Nothing calls a kernel of the
// table in another way.
Status run_kernel(KernelContext& ctx);

// The bytes of a result with these sizes, which may be computed from values: an error where a size
// is negative or the whole is larger than `limit`. Every allocation of a result asks first.
Result<size_t> result_bytes(const KernelContext& ctx, DType dtype, std::span<const int64_t> shape,
                            size_t limit = SIZE_MAX);

// Runs one operation with its reference kernel on known values: inference with those values, result
// allocation, kernel. Result bytes above `limit` are refused (OutOfMemory).
Result<std::vector<Value>> evaluate(const Operation& op, std::span<const Value* const> inputs,
                                    size_t limit = SIZE_MAX);
// Runs a whole graph with reference kernels, freeing values after their last use.
Result<std::vector<Value>> interpret(const Graph& graph, std::span<const Value> inputs);

}  // namespace ec
