#include <algorithm>
#include <cstring>

#include "ops/infer.h"
#include "runtime/program.h"
#include "support/budget.h"

namespace ec {

StepContext::StepContext(Program& program, const Operation& op, Attrs attributes)
    : KernelContext(op), program_(program) {
  attrs_ = std::move(attributes);
  inputs_.resize(op.inputs().size());
  outputs_.resize(op.outputs().size());
  whole_.resize(op.outputs().size());
  given_.resize(op.outputs().size());
  shapes_.resize(op.outputs().size());
  buffers_.resize(op.outputs().size());
  ExecutorOptions options = program.options;
  options.profile = false;
  // Whoever looks at tensors keeps tables by the ids of this graph; a body counts its own.
  options.observer = nullptr;
  options.editor = nullptr;
  for (const auto& body : op.bodies())
    bodies_.push_back(std::make_unique<GraphRunner>(*body, options, program.pool));
  has_computed_list_ = op.bodies().empty() && has_computed_list();
}

// Lists that only the run knows (axes, pads, sizes) are what inference checks and kernels rely on.
bool StepContext::has_computed_list() const {
  if (op_.def().traits.elementwise) return false;
  return std::any_of(op_.inputs().begin(), op_.inputs().end(), [&](const Tensor* tensor) {
    if (tensor == nullptr || !is_integer(tensor->dtype()) || tensor->type().quant) return false;
    const TensorState& state = program_.state(tensor);
    return !state.known && state.is_static && state.shape.size() <= 1;
  });
}

Status StepContext::begin() {
  bool dynamic = has_computed_list_;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor* tensor = op_.input(i);
    if (tensor == nullptr) continue;
    inputs_[i] = program_.state(tensor).view();
    dynamic = dynamic || !program_.state(tensor).is_static;
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const TensorState& state = program_.state(op_.output(i));
    outputs_[i].reset();
    whole_[i].reset();
    given_[i] = false;
    if (state.is_static) {
      const auto& quant = op_.output(i)->type().quant;
      // A result that nobody reads has no memory of its own.
      if (state.data == nullptr && state.bytes > 0) {
        shapes_[i] = state.shape;
        EC_CHECK_OK(allocate(i, state.dtype, state.shape));
      } else {
        outputs_[i] = MutableView{state.dtype, state.shape, state.data, quant ? &*quant : nullptr};
      }
    } else {
      dynamic = true;
    }
  }
  if (dynamic) EC_CHECK_OK(infer_results());
  return {};
}

Status StepContext::infer_results() {
  static constexpr std::byte kNoByte{};
  std::vector<TensorType> types(inputs_.size());
  std::vector<InferOperand> operands(inputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i]) continue;
    types[i] = TensorType(inputs_[i]->dtype, Shape::of(inputs_[i]->shape));
    types[i].quant = op_.input(i)->type().quant;
    operands[i].type = &types[i];
    operands[i].data = inputs_[i]->data != nullptr ? inputs_[i]->data : &kNoByte;
  }
  InferContext infer(op_, std::move(operands));
  EC_CHECK_OK(infer_types(infer));
  attrs_ = infer.attributes();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const TensorType& type = infer.results()[i];
    if (!type.is_static()) continue;
    if (!outputs_[i])
      EC_CHECK_OK(allocate(i, type.dtype, type.shape->sizes()));
    else if (op_.bodies().empty())
      EC_CHECK_OK(check_planned(i, type));
  }
  return {};
}

// Preparation fixed the sizes of a result before all of its operands were known.
Status StepContext::check_planned(size_t i, const TensorType& type) const {
  const MutableView& view = *outputs_[i];
  if (type.dtype == view.dtype && *type.shape == Shape::of(view.shape)) return {};
  return fail("result " + std::to_string(i) + " is " + TensorType(type.dtype, *type.shape).text() +
              ", inference said " + TensorType(view.dtype, Shape::of(view.shape)).text());
}

Status StepContext::allocate(size_t i, DType dtype, std::vector<int64_t> shape) {
  const TensorState& state = program_.state(op_.output(i));
  if (outputs_[i] && state.is_static && state.data != nullptr) {
    if (dtype == state.dtype && shape == state.shape) return {};
    return fail("result " + std::to_string(i) + " is " +
                TensorType(dtype, Shape::of(shape)).text() + ", inference said " +
                state.type().text());
  }
  EC_TRY(const size_t bytes, result_bytes(*this, dtype, shape));
  EC_CHECK_OK(check_room(bytes));
  Buffer buffer = Buffer::allocate(bytes);
  if (!buffer.ok()) {
    Error error = fail("result " + TensorType(dtype, Shape::of(shape)).text() + " is too large");
    error.diagnostic().code = Code::OutOfMemory;
    return error;
  }
  shapes_[i] = std::move(shape);
  const auto& quant = op_.output(i)->type().quant;
  outputs_[i] = MutableView{dtype, shapes_[i], buffer.data(), quant ? &*quant : nullptr};
  buffers_[i] = std::move(buffer);
  return {};
}

Status StepContext::set_output(size_t i, Value value) {
  TensorState& state = program_.state(op_.output(i));
  given_[i] = true;
  if (!state.is_static) {
    whole_[i] = std::move(value);
    return {};
  }
  if (value.dtype != state.dtype || value.shape != state.shape)
    return fail("result " + std::to_string(i) + " is " + value.type().text() + ", inference said " +
                state.type().text());
  if (state.data != nullptr && state.bytes > 0)
    std::memcpy(state.data, value.data.bytes().data(), state.bytes);
  return {};
}

Result<std::vector<Value>> StepContext::run_body(size_t body, std::vector<Value> inputs) {
  std::vector<ConstView> views;
  for (Value& value : inputs) {
    value.data = value.data.aligned();
    views.push_back(value.view());
  }
  return bodies_[body]->run(views);
}

Value StepContext::input_value(size_t i) const {
  const TensorState& state = program_.state(op_.input(i));
  if (state.storage == Storage::Constant || state.storage == Storage::Dynamic) return state.value;
  return Value(state.dtype, state.shape, Blob::copy_of({state.data, state.bytes}));
}

void StepContext::finish() {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    TensorState& state = program_.state(op_.output(i));
    if (state.is_static) {
      buffers_[i] = Buffer();
      continue;
    }
    if (whole_[i]) {
      state.value = std::move(*whole_[i]);
      whole_[i].reset();
      state.value.data = state.value.data.aligned();
    } else if (outputs_[i]) {
      state.value =
          Value(outputs_[i]->dtype, std::move(shapes_[i]), std::move(buffers_[i]).to_blob());
    }
    state.storage = Storage::Dynamic;
    buffers_[i] = Buffer();
  }
}

}  // namespace ec
