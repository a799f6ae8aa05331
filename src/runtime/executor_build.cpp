// Building an executor: inference with fixed input shapes, folding, kernels, storage.
#include <algorithm>

#include "analysis/alias_sets.h"
#include "analysis/costs.h"
#include "analysis/liveness.h"
#include "analysis/work.h"
#include "ops/infer.h"
#include "ops/stop.h"
#include "runtime/program.h"

namespace ec {

namespace {

// A value folded at preparation may not be larger than this: expanding a constant is cheaper done
// at run time than kept.
constexpr size_t kFoldLimit = size_t{16} << 20;
// All of them together beyond what the model's own constants justify, in bytes and in the
// operations of analysis/work.h; small ones are always computed, since sizes depend on them.
constexpr size_t kMostFolded = size_t{16} << 20, kSmallBytes = 4096;
constexpr uint64_t kMostFoldWork = 250'000'000, kSmallWork = 1 << 16;
// How much faster than the reference kernels the others are: products by far, elements less.
constexpr uint64_t kFastProducts = 32, kFastElements = 4;

uint64_t fast_work(const Operation& op) {
  const uint64_t work = estimate_work(op);
  const auto products =
      std::min(work, static_cast<uint64_t>(std::max<int64_t>(0, count_macs(op).value_or(0))));
  return products / kFastProducts + (work - products) / kFastElements;
}

bool reads_results(const Operation& op) {
  return std::ranges::any_of(op.inputs(), [](const Tensor* tensor) {
    return tensor != nullptr && !tensor->is_constant();
  });
}

class Builder {
 public:
  explicit Builder(Program& program) : p_(program) {}

  Status build(std::span<const TensorType> types) {
    declare(types);
    std::vector<const Operation*> order;
    for (const Operation* op : p_.graph->topological()) {
      EC_CHECK_OK(check_budget_at(*op));
      EC_TRY(const bool folded, infer(*op));
      if (!folded)
        order.push_back(op);
      else if (p_.options.observer)
        p_.folded.push_back(op);
    }
    // What only served folded operations goes.
    order = live_operations(*p_.graph, order);
    for (const Operation* op : order) add_step(*op);
    bind_results();
    compute_lifetimes(order);
    share_in_place();
    return lay_out();
  }

 private:
  // --- types and constants ----------------------------------------------------------------------
  void declare(std::span<const TensorType> types) {
    p_.tensors.resize(p_.graph->tensor_id_bound());
    aliases_ = AliasSets(p_.tensors.size());
    for (const Tensor* tensor : p_.graph->tensors()) {
      TensorState& state = p_.state(tensor);
      state.tensor = tensor;
      if (tensor->is_constant())
        set_known(state, Value(tensor->dtype(), tensor->shape()->sizes(), tensor->data()));
    }
    model_bytes_ = static_cast<size_t>(constant_memory(*p_.graph));
    for (size_t i = 0; i < types.size(); ++i) {
      TensorState& state = p_.state(p_.graph->inputs()[i]);
      set_static(state, types[i]);
      state.storage = Storage::Input;
    }
    for (const Tensor* tensor : p_.graph->outputs()) p_.outputs.push_back(tensor->id());
  }

  static void set_known(TensorState& state, Value value) {
    state.known = state.is_static = true;
    state.storage = Storage::Constant;
    state.dtype = value.dtype;
    state.shape = value.shape;
    state.bytes = value.data.size();
    state.data = const_cast<std::byte*>(value.data.bytes().data());
    state.value = std::move(value);
  }

  static void set_static(TensorState& state, const TensorType& type) {
    state.is_static = true;
    state.dtype = type.dtype;
    state.shape = type.shape->sizes();
    state.bytes = static_cast<size_t>(type.num_bytes().value_or(0));
  }

  // True if every result was computed here and now.
  Result<bool> infer(const Operation& op) {
    static constexpr std::byte kNoByte{};
    std::vector<TensorType> types(op.inputs().size());
    std::vector<InferOperand> operands(op.inputs().size());
    for (size_t i = 0; i < op.inputs().size(); ++i) {
      if (op.input(i) == nullptr) continue;
      const TensorState& state = p_.state(op.input(i));
      types[i] = state.is_static ? state.type() : op.input(i)->type();
      if (!state.is_static && state.tensor->producer() != nullptr) types[i] = open_type(state);
      operands[i].type = &types[i];
      if (state.known) operands[i].data = state.data != nullptr ? state.data : &kNoByte;
    }
    InferContext context(op, std::move(operands));
    EC_CHECK_OK(infer_types(context));
    if (!(context.attributes() == op.attrs())) normalised_[op.id()] = context.attributes();
    for (size_t i = 0; i < op.outputs().size(); ++i) {
      TensorState& state = p_.state(op.output(i));
      const TensorType& type = context.results()[i];
      if (type.is_static() && !type.num_bytes())
        return Error(Code::OutOfMemory, "tensor '" + op.output(i)->name() + "' of type " +
                                            type.text() + " does not fit the address space")
            .node(std::string(op.location().name()), op.location().op_type);
      if (type.is_static()) {
        set_static(state, type);
      } else {
        state.dtype = type.dtype;
        // Inference does not speak of quantisation: parameters attached to the tensor stay.
        TensorType& open = open_[op.output(i)->id()] = type;
        if (!open.quant) open.quant = op.output(i)->type().quant;
      }
    }
    return fold(op);
  }

  TensorType open_type(const TensorState& state) const {
    const auto found = open_.find(state.tensor->id());
    return found != open_.end() ? found->second : state.tensor->type();
  }

  bool fold(const Operation& op) {
    if (op.def().traits.random || !op.bodies().empty()) return false;
    // An editor is to see every number.
    const auto is_real = [](const Tensor* output) { return is_float(output->dtype()); };
    if (p_.options.editor && std::ranges::any_of(op.outputs(), is_real)) return false;
    const bool shape_only = op.kind() == OpKind::Shape || op.kind() == OpKind::Size;
    std::vector<Value> shapes;
    shapes.reserve(op.inputs().size());
    std::vector<const Value*> values;
    for (const Tensor* tensor : op.inputs()) {
      if (tensor == nullptr) {
        values.push_back(nullptr);
        continue;
      }
      const TensorState& state = p_.state(tensor);
      if (state.known) {
        values.push_back(&state.value);
      } else if (shape_only && state.is_static) {
        shapes.emplace_back(state.dtype, state.shape, Blob());  // its elements are never read
        values.push_back(&shapes.back());
      } else {
        return false;
      }
    }
    const uint64_t work = estimate_work(op);
    const uint64_t most_work = kMostFoldWork + 16 * model_bytes_;
    const uint64_t left = most_work - std::min(most_work, p_.folded_work);
    const size_t most = kMostFolded + 4 * model_bytes_;  // bytes become floats
    const size_t room = within_budget(most - std::min(most, p_.memory.constant_bytes));
    if (work > std::max(left, kSmallWork)) return false;
    Budget budget({.work = 2 * std::max(left, kSmallWork)});
    Result<std::vector<Value>> results = [&] {
      const BudgetScope scope(budget);
      return evaluate(op, values, std::min(kFoldLimit, std::max(room, kSmallBytes)));
    }();
    p_.folded_work += std::max(work, budget.spent());
    if (!results.ok()) return false;  // the run will say why
    for (size_t i = 0; i < op.outputs().size(); ++i) {
      Value& value = (*results)[i];
      p_.memory.constant_bytes += value.data.size();
      folded_bytes_ += value.data.size();
      set_known(p_.state(op.output(i)), std::move(value));
    }
    return true;
  }

  // How many bytes the next constant may have: at most `room`, and with those before it half of
  // what the job may hold. What does not fit is left to the run, whose plan says how much it needs.
  size_t within_budget(size_t room) const {
    const Budget* job = Budget::current();
    while (job != nullptr && room > kSmallBytes && !job->has_room(2 * (folded_bytes_ + room)))
      room /= 2;
    return room;
  }

  // --- steps ------------------------------------------------------------------------------------
  void add_step(const Operation& op) {
    Step step;
    step.op = &op;
    for (const Tensor* tensor : op.inputs())
      step.dynamic = step.dynamic || (tensor != nullptr && !p_.state(tensor).is_static);
    for (const Tensor* tensor : op.outputs()) {
      TensorState& state = p_.state(tensor);
      step.dynamic = step.dynamic || !state.is_static;
      state.storage = state.is_static ? Storage::Arena : Storage::Dynamic;
    }
    step.in.resize(op.inputs().size());
    step.out.resize(op.outputs().size());
    step.alias = !step.dynamic && alias_view(op);
    if (!step.alias && !step.dynamic && !p_.options.reference)
      step.fast = prepare_op(instance(op), {*p_.table, p_.pool->threads()});
    if (step.fast != nullptr) p_.memory.constant_bytes += step.fast->packed_bytes();
    if (step.fast != nullptr) step.work += fast_work(op);
    if (!step.alias && step.fast == nullptr)
      step.context = std::make_unique<StepContext>(p_, op, attributes_of(op));
    p_.steps.push_back(std::move(step));
  }

  bool alias_view(const Operation& op) {
    if (!op.def().traits.view || op.outputs().size() != 1) return false;
    const TensorState& from = p_.state(op.input(0));
    TensorState& to = p_.state(op.output());
    if (from.bytes != to.bytes || from.dtype != to.dtype) return false;
    if (from.known) {
      // The shape operand is not known, but there is only one shape that the result can have.
      set_known(to, Value(to.dtype, to.shape, from.value.data));
      return true;
    }
    aliases_.join(op.input(0)->id(), op.output()->id());
    to.storage = root_of(op.input(0)).storage;
    return true;
  }

  const Attrs& attributes_of(const Operation& op) const {
    const auto found = normalised_.find(op.id());
    return found != normalised_.end() ? found->second : op.attrs();
  }

  OpInstance instance(const Operation& op) {
    OpInstance result{op, {}, {}, attributes_of(op)};
    for (const Tensor* tensor : op.inputs())
      result.inputs.push_back(tensor == nullptr ? OperandInfo{} : info(p_.state(tensor)));
    for (const Tensor* tensor : op.outputs()) result.outputs.push_back(info(p_.state(tensor)));
    return result;
  }

  static OperandInfo info(const TensorState& state) {
    return {true, state.dtype, state.shape, state.known ? state.data : nullptr};
  }

  // --- storage ----------------------------------------------------------------------------------
  // A result's memory is the caller's: the operation that makes it writes there at once.
  void bind_results() {
    for (size_t i = 0; i < p_.outputs.size(); ++i) {
      TensorState& root = p_.tensors[aliases_.root(p_.outputs[i])];
      if (root.storage != Storage::Arena) continue;
      root.storage = Storage::Output;
      root.output = i;
    }
  }

  TensorState& root_of(const Tensor* tensor) { return p_.tensors[aliases_.root(tensor->id())]; }

  // The ranges of roots cover all tensors that share their memory.
  void compute_lifetimes(const std::vector<const Operation*>& order) {
    ranges_ = live_ranges(*p_.graph, order);
    for (uint32_t id = 0; id < p_.tensors.size(); ++id) {
      p_.tensors[id].last_step = ranges_[id].last;
      const uint32_t root = aliases_.root(id);
      if (root != id) ranges_[root].join(ranges_[id]);
    }
  }

  // Lets a result take over the memory of an operand that dies with this step.
  void share_in_place() {
    for (size_t s = 0; s < p_.steps.size(); ++s) {
      Step& step = p_.steps[s];
      if (step.fast == nullptr) continue;
      const uint32_t result = step.op->output()->id();
      if (aliases_.root(result) != result) continue;
      for (size_t i = 0; i < step.op->inputs().size(); ++i) {
        if (step.op->input(i) == nullptr || !step.fast->in_place(i)) continue;
        if (try_share(step, i, static_cast<int64_t>(s), result)) break;
      }
    }
  }

  bool try_share(const Step& step, size_t input, int64_t s, uint32_t result_id) {
    TensorState& result = p_.tensors[result_id];
    const uint32_t root = aliases_.root(step.op->input(input)->id());
    TensorState& donor = p_.tensors[root];
    if (donor.storage != Storage::Arena || donor.bytes != result.bytes || ranges_[root].last != s)
      return false;
    for (size_t i = 0; i < step.op->inputs().size(); ++i) {
      if (i == input || step.op->input(i) == nullptr) continue;
      if (aliases_.root(step.op->input(i)->id()) == root) return false;
    }
    // The two sets of tensors become one; the caller's memory wins over the arena.
    if (result.storage == Storage::Output) {
      donor.storage = Storage::Output;
      donor.output = result.output;
    }
    ranges_[root].join(ranges_[result_id]);
    aliases_.join(root, result_id);
    return true;
  }

  Status lay_out() {
    std::vector<PlanItem> items;
    for (uint32_t id = 0; id < p_.tensors.size(); ++id) {
      TensorState& state = p_.tensors[id];
      state.root = aliases_.root(id);
      if (state.tensor == nullptr || state.root != id || state.storage != Storage::Arena) continue;
      const LiveRange& range = ranges_[id];
      if (range.first == LiveRange::kNever) {
        state.storage = Storage::None;
        continue;
      }
      state.item = items.size();
      items.push_back({state.bytes, range.first, range.last});
    }
    for (size_t s = 0; s < p_.steps.size(); ++s) {
      Step& step = p_.steps[s];
      const size_t bytes = step.fast != nullptr ? step.fast->scratch_bytes() : 0;
      if (bytes == 0) continue;
      step.scratch_item = items.size();
      items.push_back({bytes, static_cast<int64_t>(s), static_cast<int64_t>(s)});
    }
    return place(plan_memory(items));
  }

  // Inputs and results, which the caller holds. Results that share their memory become copies.
  size_t interface_bytes() {
    size_t bytes = 0;
    for (const TensorState& state : p_.tensors)
      if (state.storage == Storage::Input) bytes += state.bytes;
    for (const uint32_t id : p_.outputs) {
      const Storage storage = p_.tensors[aliases_.root(id)].storage;
      const bool shared = storage == Storage::Constant || storage == Storage::Dynamic;
      if (!shared) bytes += std::min(p_.tensors[id].bytes, SIZE_MAX - bytes);
    }
    return bytes;
  }

  Status place(const MemoryPlan& plan) {
    p_.memory.arena_bytes = plan.arena_bytes;
    p_.memory.lower_bound = plan.lower_bound;
    EC_CHECK_OK(check_room(plan.arena_bytes + interface_bytes() + folded_bytes_));
    if (p_.options.plan_only) return {};
    p_.arena = Buffer::allocate(plan.arena_bytes);
    if (!p_.arena.ok())
      return Error(Code::OutOfMemory,
                   "intermediate tensors need " + std::to_string(plan.arena_bytes) + " bytes");
    for (TensorState& state : p_.tensors)
      if (state.item != SIZE_MAX) state.data = p_.arena.data() + plan.offsets[state.item];
    for (TensorState& state : p_.tensors) {
      if (state.tensor == nullptr || state.storage == Storage::Constant) continue;
      const TensorState& root = p_.tensors[state.root];
      state.storage = root.storage;
      state.data = root.data;
      if (root.storage == Storage::Input || root.storage == Storage::Output)
        p_.moving.push_back(state.tensor->id());
      if (root.storage == Storage::Constant) state.value = root_value(state, root);
    }
    for (Step& step : p_.steps)
      if (step.scratch_item != SIZE_MAX)
        step.scratch = p_.arena.data() + plan.offsets[step.scratch_item];
    return {};
  }

  static Value root_value(const TensorState& state, const TensorState& root) {
    return Value(state.dtype, state.shape, root.value.data);
  }

  Program& p_;
  size_t model_bytes_ = 0;   // of the graph's constants
  size_t folded_bytes_ = 0;  // of the constants that were computed here
  std::unordered_map<uint32_t, TensorType> open_;
  std::unordered_map<uint32_t, Attrs> normalised_;  // by operation, where they differ from its own
  AliasSets aliases_;
  std::vector<LiveRange> ranges_;  // by tensor id
};

}  // namespace

Executor::Executor(std::unique_ptr<Program> program) : program_(std::move(program)) {}
Executor::~Executor() = default;

Result<std::unique_ptr<Executor>> Executor::create(const Graph& graph,
                                                   std::span<const TensorType> types,
                                                   const ExecutorOptions& options,
                                                   std::shared_ptr<kernels::ThreadPool> pool) {
  auto program = std::make_unique<Program>();
  program->graph = &graph;
  program->options = options;
  program->pool = std::move(pool);
  program->table = &kernels::kernel_table(options.isa);
  try {
    EC_CHECK_OK(Builder(*program).build(types));
  } catch (const std::bad_alloc&) {
    return Error(Code::OutOfMemory, "not enough memory to prepare graph '" + graph.name() + "'");
  }
  return std::unique_ptr<Executor>(new Executor(std::move(program)));
}

Status check_run_work(const Graph& graph) {
  constexpr uint64_t kCertain = 4;  // what passes and folding may take away
  uint64_t work = 0;
  for (const Operation* op : graph.topological())
    if (reads_results(*op)) work += std::min(fast_work(*op), UINT64_MAX - work);
  return check_work(work / kCertain);
}

}  // namespace ec
