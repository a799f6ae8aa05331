// Reference execution: one operation, and whole graphs by plain interpretation.
#include <algorithm>
#include <new>
#include <stdexcept>

#include "ops/infer.h"
#include "ops/kernel.h"
#include "ops/stop.h"
#include "support/checked.h"

namespace ec {

namespace {

Error at_operation(Error error, const Operation& op) {
  const Location& location = op.location();
  std::string type = location.op_type.empty() ? std::string(op.def().name) : location.op_type;
  return std::move(error).node(std::string(location.name()), std::move(type));
}

}  // namespace

Error KernelContext::fail(std::string message) const {
  return at_operation(Error(Code::ExecutionFailed, std::move(message)), op_);
}

Status check_budget_at(const Operation& op) {
  Status status = check_budget();
  if (status.ok()) return status;
  return at_operation(std::move(status).error(), op);
}

namespace {

Error out_of_memory(const KernelContext& ctx, std::string message) {
  Error error = ctx.fail(std::move(message));
  error.diagnostic().code = Code::OutOfMemory;
  return error;
}

}  // namespace

bool is_quantized(const Operation& op) {
  const auto carries_parameters = [](const Tensor* tensor) {
    return tensor != nullptr && tensor->type().quant.has_value();
  };
  return std::ranges::any_of(op.inputs(), carries_parameters) ||
         std::ranges::any_of(op.outputs(), carries_parameters);
}

KernelFn kernel_of(const Operation& op) {
  const OpDef& def = op.def();
  return def.quantized != nullptr && is_quantized(op) ? def.quantized : def.reference;
}

Status run_kernel(KernelContext& ctx) {
  const Operation& op = ctx.op();
  const OpDef& def = op.def();
  for (size_t i = 0; i < static_cast<size_t>(def.inputs().min); ++i)
    if (!ctx.has(i)) return ctx.fail("operand " + std::to_string(i) + " is absent");
  const bool allocates = def.sizes_from_values || !op.bodies().empty();
  for (size_t i = 0; !allocates && i < ctx.num_outputs(); ++i)
    if (!ctx.is_allocated(i))
      return ctx.fail("the operands do not tell the sizes of result " + std::to_string(i));
  try {
    EC_CHECK_OK(kernel_of(op)(ctx));
  } catch (const std::bad_alloc&) {
    return out_of_memory(ctx, "no memory to compute the result");
  } catch (const std::length_error&) {
    return out_of_memory(ctx, "no memory to compute the result");
  }
  for (size_t i = 0; i < ctx.num_outputs(); ++i)
    if (!ctx.has_result(i)) return ctx.fail("result " + std::to_string(i) + " was not computed");
  return {};
}

Result<size_t> result_bytes(const KernelContext& ctx, DType dtype, std::span<const int64_t> shape,
                            size_t limit) {
  if (std::ranges::any_of(shape, [](int64_t size) { return size < 0; }))
    return ctx.fail("a size of the result is negative");
  const TensorType type(dtype, Shape::of(shape));
  const auto bytes = type.num_bytes();
  if (!bytes || !checked_extent(shape, static_cast<int64_t>(element_size(dtype))) ||
      static_cast<size_t>(*bytes) > limit)
    return out_of_memory(ctx, "result " + type.text() + " is too large");
  return static_cast<size_t>(*bytes);
}

namespace {

class EvalContext : public KernelContext {
 public:
  EvalContext(const Operation& op, std::span<const Value* const> values, size_t limit)
      : KernelContext(op), values_(values), limit_(limit) {
    inputs_.resize(op.inputs().size());
    outputs_.resize(op.outputs().size());
    results_.resize(op.outputs().size());
    buffers_.resize(op.outputs().size());
    given_.resize(op.outputs().size(), false);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (values[i] == nullptr) continue;
      inputs_[i] = values[i]->view();
      // Quantisation is metadata of the IR tensor, not of the bytes.
      const auto& quant = op.input(i)->type().quant;
      inputs_[i]->quant = quant ? &*quant : nullptr;
    }
  }

  Status allocate(size_t i, DType dtype, std::vector<int64_t> shape) override {
    EC_TRY(const size_t bytes, result_bytes(*this, dtype, shape, limit_));
    Buffer buffer = Buffer::allocate(bytes);
    if (!buffer.ok())
      return out_of_memory(
          *this, "result " + TensorType(dtype, Shape::of(shape)).text() + " is too large");
    results_[i].dtype = dtype;
    results_[i].shape = std::move(shape);
    const auto& quant = op_.output(i)->type().quant;
    outputs_[i] = MutableView{dtype, results_[i].shape, buffer.data(), quant ? &*quant : nullptr};
    buffers_[i] = std::move(buffer);
    return {};
  }

  Status set_output(size_t i, Value value) override {
    results_[i] = std::move(value);
    given_[i] = true;
    outputs_[i].reset();
    buffers_[i] = Buffer();
    return {};
  }

  bool has_result(size_t i) const override { return outputs_[i].has_value() || given_[i]; }

  Result<std::vector<Value>> run_body(size_t body, std::vector<Value> inputs) override {
    return interpret(*op_.bodies()[body], inputs);
  }

  Value input_value(size_t i) const override { return *values_[i]; }

  Status prepare() {
    std::vector<TensorType> types(inputs_.size());
    std::vector<InferOperand> operands(inputs_.size());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (values_[i] == nullptr) continue;
      types[i] = values_[i]->type();
      types[i].quant = op_.input(i)->type().quant;
      operands[i].type = &types[i];
      operands[i].data = values_[i]->data.bytes().data();
      if (operands[i].data == nullptr)
        operands[i].data = &kNoByte;  // empty tensors are known values
    }
    InferContext infer(op_, std::move(operands));
    EC_CHECK_OK(infer_types(infer));
    attrs_ = infer.attributes();
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const TensorType& type = infer.results()[i];
      // Control flow gives whole values.
      if (!type.is_static() || !op_.bodies().empty()) continue;
      EC_CHECK_OK(allocate(i, type.dtype, type.shape->sizes()));
    }
    return {};
  }

  Result<std::vector<Value>> take_results() {
    for (size_t i = 0; i < results_.size(); ++i)
      if (outputs_[i]) results_[i].data = std::move(buffers_[i]).to_blob();
    return std::move(results_);
  }

 private:
  static constexpr std::byte kNoByte{};

  std::span<const Value* const> values_;
  size_t limit_;
  std::vector<Value> results_;
  std::vector<Buffer> buffers_;
  std::vector<bool> given_;
};

}  // namespace

Result<std::vector<Value>> evaluate(const Operation& op, std::span<const Value* const> inputs,
                                    size_t limit) {
  EvalContext ctx(op, inputs, limit);
  EC_CHECK_OK(ctx.prepare());
  EC_CHECK_OK(run_kernel(ctx));
  // A kernel that had to stop has left its results unfinished.
  EC_CHECK_OK(check_budget_at(op));
  return ctx.take_results();
}

Result<std::vector<Value>> interpret(const Graph& graph, std::span<const Value> inputs) {
  std::vector<std::optional<Value>> values(graph.tensor_id_bound());
  std::vector<uint32_t> remaining(graph.tensor_id_bound(), 0);
  for (const Tensor* tensor : graph.tensors()) {
    remaining[tensor->id()] = static_cast<uint32_t>(tensor->uses().size());
    if (tensor->is_constant())
      values[tensor->id()] = Value(tensor->dtype(), tensor->shape()->sizes(), tensor->data());
  }
  for (const Tensor* tensor : graph.outputs()) ++remaining[tensor->id()];
  if (inputs.size() != graph.inputs().size())
    return Error(Code::MissingInput, "graph '" + graph.name() + "' takes " +
                                         std::to_string(graph.inputs().size()) + " inputs, " +
                                         std::to_string(inputs.size()) + " given");
  for (size_t i = 0; i < inputs.size(); ++i) {
    values[graph.inputs()[i]->id()] = inputs[i];
    // Kernels read elements through typed pointers.
    Value& value = *values[graph.inputs()[i]->id()];
    value.data = value.data.aligned();
  }
  for (const Operation* op : graph.topological()) {
    std::vector<const Value*> operands;
    for (const Tensor* tensor : op->inputs())
      operands.push_back(tensor == nullptr ? nullptr : &*values[tensor->id()]);
    EC_TRY(std::vector<Value> results, evaluate(*op, operands));
    for (size_t i = 0; i < results.size(); ++i) values[op->output(i)->id()] = std::move(results[i]);
    for (const Tensor* tensor : op->inputs())
      if (tensor != nullptr && --remaining[tensor->id()] == 0) values[tensor->id()].reset();
  }
  std::vector<Value> results;
  for (const Tensor* tensor : graph.outputs()) results.push_back(*values[tensor->id()]);
  return results;
}

}  // namespace ec
