#include <algorithm>
#include <chrono>
#include <cstring>

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
  EC_CHECK_OK(p.bind_inputs(inputs));
  std::vector<Buffer> buffers(p.outputs.size());
  EC_CHECK_OK(p.bind_outputs(buffers));
  for (uint32_t s = 0; s < p.steps.size(); ++s) {
    Step& step = p.steps[s];
    if (step.alias) {
      p.show(step);
      continue;
    }
    const double begin = p.options.profile ? now() : 0.0;
    EC_CHECK_OK(step.dynamic ? p.run_dynamic(step) : p.run_step(step));
    if (p.options.profile) {
      step.seconds += now() - begin;
      ++step.runs;
    }
    p.show(step);
    if (step.dynamic) p.release_dynamic(step, s);
  }
  return p.take_outputs(buffers);
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
  EC_CHECK_OK(kernel_of(*step.op)(*step.context));
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
    OpInstance instance{*step.op, {}, {}};
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
    EC_CHECK_OK(kernel_of(*step.op)(context));
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
