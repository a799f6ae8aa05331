#include <algorithm>
#include <chrono>
#include <cstring>

#include "ops/attrs.h"
#include "ops/stop.h"
#include "runtime/program.h"

namespace ec {

namespace {

double now() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

OperandInfo info_of(const ConstView& view, bool known) {
  return {true, view.dtype, {view.shape.begin(), view.shape.end()}, known ? view.data : nullptr};
}

}  // namespace

Result<std::vector<Value>> Executor::run(std::span<const ConstView> inputs) {
  Program& p = *program_;
  if (p.options.plan_only) return Error(Code::Internal, "a plan without memory cannot be run");
  EC_CHECK_OK(check_budget());
  EC_CHECK_OK(p.bind_inputs(inputs));
  std::vector<Buffer> buffers(p.outputs.size());
  EC_CHECK_OK(p.bind_outputs(buffers));
  Status status = p.run_steps();
  if (!status.ok()) {
    if (p.options.state != nullptr) p.options.state->discard();
    return std::move(status).error();
  }
  EC_TRY(std::vector<Value> results, p.take_outputs(buffers));
  if (p.options.state != nullptr) p.options.state->commit();
  return results;
}

Status Program::run_steps() {
  // Whoever observes a run asks for every tensor, whenever it was computed.
  for (const Operation* op : folded)
    for (const Tensor* tensor : op->outputs()) options.observer(*tensor, state(tensor).view());
  for (uint32_t s = 0; s < steps.size(); ++s) {
    Step& step = steps[s];
    if (step.alias) {
      show(step);
      continue;
    }
    const double begin = options.profile ? now() : 0.0;
    // A step that is too much by itself is not begun.
    spend_work(step.work);
    EC_CHECK_OK(check_budget_at(*step.op));
    Status status = step.dynamic ? run_dynamic(step) : run_step(step);
    // Operations inside a loop may have no name; then the loop's tells where it was.
    if (!status.ok() && is_stop(status.error().code()))
      return std::move(status).error().node(std::string(step.op->location().name()),
                                            step.op->location().op_type);
    EC_CHECK_OK(std::move(status));
    // A kernel that had to stop has left its results unfinished.
    EC_CHECK_OK(check_budget_at(*step.op));
    if (options.state != nullptr) EC_CHECK_OK(exchange_state(step));
    if (options.profile) {
      step.seconds += now() - begin;
      ++step.runs;
    }
    show(step);
    if (step.dynamic) release_dynamic(step, s);
  }
  return {};
}

Status Program::exchange_state(const Step& step) {
  const Operation& op = *step.op;
  if (op.kind() == OpKind::WriteState) {
    const ConstView value = state(op.input(0)).view();
    options.state->stage(op.attrs_as<StateAttrs>().name,
                         Value(value.dtype, {value.shape.begin(), value.shape.end()},
                               Blob::copy_of({value.data, value.bytes()})));
  }
  if (op.kind() != OpKind::ReadState) return {};
  const Value* kept = options.state->find(op.attrs_as<StateAttrs>().name);
  if (kept == nullptr) return {};
  TensorState& result = state(op.output());
  const ConstView now = result.view();
  if (kept->dtype != now.dtype || !std::ranges::equal(kept->shape, now.shape))
    return Error(Code::ShapeMismatch, "the state '" + op.attrs_as<StateAttrs>().name +
                                          "' is kept as " + kept->type().text() + " and read as " +
                                          TensorType(now.dtype, Shape::of(now.shape)).text())
        .node(std::string(op.location().name()), op.location().op_type)
        .hint("reset the session before inputs of other sizes are given");
  if (!result.is_static)
    result.value = *kept;
  else if (result.data != nullptr && result.bytes > 0)
    std::memcpy(result.data, kept->data.bytes().data(), result.bytes);
  return {};
}

Status Program::bind_inputs(std::span<const ConstView> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    state(graph->inputs()[i]).data = const_cast<std::byte*>(inputs[i].data);
  return {};
}

Status Program::bind_outputs(std::vector<Buffer>& buffers) {
  for (const uint32_t id : moving) {
    TensorState& root = tensors[id];
    if (root.storage != Storage::Output || root.root != id) continue;
    EC_CHECK_OK(check_room(root.bytes));
    buffers[root.output] = Buffer::allocate(root.bytes);
    if (!buffers[root.output].ok())
      return Error(Code::OutOfMemory, "result '" + graph->output_names()[root.output] +
                                          "' of type " + root.type().text() +
                                          " does not fit in memory")
          .hint("give smaller sizes with --input-shape, or use a machine with more memory");
    root.data = buffers[root.output].data();
  }
  for (const uint32_t id : moving) tensors[id].data = tensors[tensors[id].root].data;
  return {};
}

Status Program::run_step(Step& step) {
  if (step.fast != nullptr) return run_fast(step, step.scratch);
  EC_CHECK_OK(step.context->begin());
  EC_CHECK_OK(run_kernel(*step.context));
  step.context->finish();
  return {};
}

Status Program::run_fast(Step& step, std::byte* scratch) {
  for (size_t i = 0; i < step.in.size(); ++i) {
    const Tensor* tensor = step.op->input(i);
    step.in[i] = tensor == nullptr ? nullptr : state(tensor).data;
  }
  for (size_t i = 0; i < step.out.size(); ++i) step.out[i] = state(step.op->output(i)).data;
  return step.fast->run({step.in, step.out, *pool, scratch});
}

// Shapes are known now: infer, and use the fast kernel prepared for the same shapes or a new one.
Status Program::run_dynamic(Step& step) {
  StepContext& context = *step.context;
  EC_CHECK_OK(context.begin());
  const bool all_allocated = [&] {
    for (size_t i = 0; i < context.num_outputs(); ++i)
      if (!context.is_allocated(i)) return false;
    return true;
  }();
  if (all_allocated && !options.reference && step.op->bodies().empty()) {
    OpInstance instance{*step.op, {}, {}, context.attributes()};
    for (size_t i = 0; i < context.num_inputs(); ++i) {
      instance.inputs.emplace_back();
      if (context.has(i))
        instance.inputs[i] = info_of(context.input(i), is_known(step.op->input(i)));
    }
    for (size_t i = 0; i < context.num_outputs(); ++i)
      instance.outputs.push_back(info_of(context.output(i), false));
    if (instance.inputs != step.prepared_inputs || instance.outputs != step.prepared_outputs) {
      step.fast = prepare_op(instance, {*table, pool->threads()});
      step.prepared_inputs = std::move(instance.inputs);
      step.prepared_outputs = std::move(instance.outputs);
    }
  } else {
    step.fast.reset();
    step.prepared_inputs.clear();
    step.prepared_outputs.clear();
  }
  if (step.fast == nullptr) {
    EC_CHECK_OK(run_kernel(context));
  } else {
    if (dynamic_scratch.size() < step.fast->scratch_bytes())
      dynamic_scratch = Buffer::allocate(step.fast->scratch_bytes());
    if (!dynamic_scratch.ok()) return Error(Code::OutOfMemory, "no memory for a kernel's scratch");
    for (size_t i = 0; i < step.in.size(); ++i)
      step.in[i] = context.has(i) ? context.input(i).data : nullptr;
    for (size_t i = 0; i < step.out.size(); ++i) step.out[i] = context.output(i).data;
    EC_CHECK_OK(step.fast->run({step.in, step.out, *pool, dynamic_scratch.data()}));
  }
  context.finish();
  return {};
}

void Program::release_dynamic(const Step& step, uint32_t index) {
  const auto release = [&](const Tensor* tensor) {
    TensorState& t = state(tensor);
    if (t.is_static || t.last_step > index || graph->is_output(tensor)) return;
    t.value = Value();
  };
  for (const Tensor* tensor : step.op->inputs())
    if (tensor != nullptr) release(tensor);
}

void Program::show(const Step& step) {
  if (!options.observer && !options.editor) return;
  for (const Tensor* tensor : step.op->outputs()) {
    const TensorState& t = state(tensor);
    if (t.storage == Storage::None) continue;
    if (options.editor && t.is_static && t.storage != Storage::Constant)
      options.editor(*tensor, {t.dtype, t.shape, t.data, nullptr});
    if (options.observer) options.observer(*tensor, t.view());
  }
}

Result<std::vector<Value>> Program::take_outputs(std::vector<Buffer>& buffers) {
  std::vector<Value> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorState& t = tensors[outputs[i]];
    if (t.storage == Storage::Constant || t.storage == Storage::Dynamic) {
      results.push_back(t.value);
    } else if (t.storage == Storage::Output && tensors[t.root].output == i) {
      results.emplace_back(t.dtype, t.shape, std::move(buffers[i]).to_blob());
    } else {
      Blob copy = Blob::copy_of({t.data, t.bytes});
      if (copy.size() != t.bytes)
        return Error(Code::OutOfMemory,
                     "result '" + graph->output_names()[i] + "' does not fit in memory");
      results.emplace_back(t.dtype, t.shape, std::move(copy));
    }
  }
  for (const uint32_t id : outputs)
    if (tensors[id].storage == Storage::Dynamic) tensors[id].value = Value();
  return results;
}

std::vector<OpTiming> Executor::timings() const {
  std::vector<OpTiming> all;
  for (const Step& step : program_->steps)
    if (!step.alias) all.push_back({step.op, step.fast != nullptr, step.seconds, step.runs});
  return all;
}

MemoryReport Executor::memory() const { return program_->memory; }

}  // namespace ec
