// What an executor consists of: tensors with their storage, and the steps over them. Private to
// runtime/.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "analysis/memory_plan.h"
#include "ops/kernel.h"
#include "runtime/executor.h"
#include "runtime/prepared_op.h"

namespace ec {

enum class Storage : uint8_t {
  None,      // nobody reads it
  Constant,  // value fixed at preparation
  Input,     // the caller's memory
  Arena,
  Output,   // memory of a result, new in every run
  Dynamic,  // shape depends on data: allocated when produced
};

struct TensorState {
  const Tensor* tensor = nullptr;
  bool is_static = false;
  bool known = false;  // `value` is fixed at preparation
  Storage storage = Storage::None;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  size_t bytes = 0;
  uint32_t root = 0;          // the tensor whose memory this one shares; itself for most
  size_t item = SIZE_MAX;     // of the memory plan (roots in the arena)
  size_t output = SIZE_MAX;   // index of the result (roots of Storage::Output)
  std::byte* data = nullptr;  // where the elements are, in this run
  Value value;                // Constant, Dynamic
  int64_t last_step = 0;      // last step that makes or reads a dynamic tensor

  TensorType type() const {
    TensorType t(dtype, Shape::of(shape));
    if (tensor != nullptr) t.quant = tensor->type().quant;
    return t;
  }
  ConstView view() const {
    const QuantParams* quant =
        tensor != nullptr && tensor->type().quant ? &*tensor->type().quant : nullptr;
    if (storage == Storage::Constant || storage == Storage::Dynamic)
      return {value.dtype, value.shape, value.data.bytes().data(), quant};
    return {dtype, shape, data, quant};
  }
};

class StepContext;

struct Step {
  const Operation* op = nullptr;
  bool dynamic = false;  // an operand or a result has a shape that depends on data
  bool alias = false;    // a view: nothing to do
  std::unique_ptr<PreparedOp> fast;
  std::unique_ptr<StepContext> context;  // of the reference kernel
  size_t scratch_item = SIZE_MAX;
  std::byte* scratch = nullptr;
  // What `fast` was prepared for, when dynamic.
  std::vector<OperandInfo> prepared_inputs, prepared_outputs;
  std::vector<const std::byte*> in;
  std::vector<std::byte*> out;
  double seconds = 0.0;
  int64_t runs = 0;
  // Counted for every run: what starting a kernel takes and, for fast kernels, which count nothing
  // themselves, what they do.
  uint64_t work = kStepWork;
  static constexpr uint64_t kStepWork = 500;
};

struct Program {
  const Graph* graph = nullptr;
  ExecutorOptions options;
  std::shared_ptr<kernels::ThreadPool> pool;
  const kernels::KernelTable* table = nullptr;
  std::vector<TensorState> tensors;  // by tensor id
  std::vector<Step> steps;
  std::vector<uint32_t> outputs;  // tensor ids
  std::vector<uint32_t> moving;   // tensors whose memory changes from run to run
  Buffer arena;
  Buffer dynamic_scratch;
  MemoryReport memory;
  uint64_t folded_work = 0;              // spent on constants at preparation
  std::vector<const Operation*> folded;  // computed at preparation; for the observer alone

  TensorState& state(const Tensor* tensor) { return tensors[tensor->id()]; }
  bool is_known(const Tensor* tensor) const { return tensors[tensor->id()].known; }

  Status bind_inputs(std::span<const ConstView> inputs);
  Status bind_outputs(std::vector<Buffer>& buffers);
  Status run_step(Step& step);
  Status run_dynamic(Step& step);
  Status run_fast(Step& step, std::byte* scratch);
  Status run_steps();
  // Gives read_state the value that is kept, and keeps the value of write_state.
  Status exchange_state(const Step& step);
  void release_dynamic(const Step& step, uint32_t index);
  void show(const Step& step);  // to the editor and the observer
  Result<std::vector<Value>> take_outputs(std::vector<Buffer>& buffers);
};

// The interface of reference kernels over a step's tensors.
class StepContext final : public KernelContext {
 public:
  StepContext(Program& program, const Operation& op, Attrs attributes);

  // Points the views at this run's memory. Where a shape depends on data, or a list of axes or
  // sizes is computed, it infers the results: allocates those of dynamic shape and compares the
  // others with what preparation assumed.
  Status begin();
  const Attrs& attributes() const { return attrs_; }
  // Hands results of dynamic shape to their tensors.
  void finish();

  Status allocate(size_t i, DType dtype, std::vector<int64_t> shape) override;
  Status set_output(size_t i, Value value) override;
  bool has_result(size_t i) const override { return outputs_[i].has_value() || given_[i]; }
  Result<std::vector<Value>> run_body(size_t body, std::vector<Value> inputs) override;
  Value input_value(size_t i) const override;

 private:
  Status infer_results();
  Status check_planned(size_t i, const TensorType& type) const;
  bool has_computed_list() const;

  Program& program_;
  std::vector<std::unique_ptr<GraphRunner>> bodies_;
  std::vector<std::optional<Value>> whole_;  // given by set_output, of dynamic shape
  std::vector<bool> given_;                  // by set_output
  std::vector<std::vector<int64_t>> shapes_;
  std::vector<Buffer> buffers_;
  bool has_computed_list_ = false;
};

}  // namespace ec
