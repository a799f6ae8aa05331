// Building an executor: inference with fixed input shapes, folding, kernels, storage.
#include <algorithm>
#include <limits>

#include "ops/infer.h"
#include "runtime/program.h"

namespace ec {

namespace {

// A value folded at preparation may not be larger than this: expanding a constant is cheaper done
// at run time than kept.
constexpr size_t kFoldLimit = size_t{16} << 20;
constexpr int64_t kForever = std::numeric_limits<int64_t>::max() / 2;

class Builder {
 public:
  explicit Builder(Program& program) : p_(program) {}

  Status build(std::span<const TensorType> types) {
    declare(types);
    std::vector<const Operation*> order;
    for (const Operation* op : p_.graph->topological()) {
      EC_TRY(const bool folded, infer(*op));
      if (!folded) order.push_back(op);
    }
    keep_needed(order);
    for (const Operation* op : order) add_step(*op);
    bind_results();
    compute_uses();
    share_in_place();
    return lay_out();
  }

 private:
  // --- types and constants ----------------------------------------------------------------------
  void declare(std::span<const TensorType> types) {
    p_.tensors.resize(p_.graph->tensor_id_bound());
    for (const Tensor* tensor : p_.graph->tensors()) {
      TensorState& state = p_.state(tensor);
      state.tensor = tensor;
      state.root = tensor->id();
      if (tensor->is_constant())
        set_known(state, Value(tensor->dtype(), tensor->shape()->sizes(), tensor->data()));
    }
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
        open_[op.output(i)->id()] = type;
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
    Result<std::vector<Value>> results = evaluate(op, values, kFoldLimit);
    if (!results.ok()) return false;  // the run will say why
    for (size_t i = 0; i < op.outputs().size(); ++i) {
      Value& value = (*results)[i];
      p_.memory.constant_bytes += value.data.size();
      set_known(p_.state(op.output(i)), std::move(value));
    }
    return true;
  }

  // --- steps ------------------------------------------------------------------------------------
  // Drops operations whose results only served folded ones.
  void keep_needed(std::vector<const Operation*>& order) const {
    std::vector<bool> needed(p_.tensors.size(), false);
    for (const uint32_t id : p_.outputs) needed[id] = true;
    std::vector<const Operation*> kept;
    for (size_t i = order.size(); i-- > 0;) {
      const Operation* op = order[i];
      const bool wanted = op->kind() == OpKind::WriteState ||
                          std::any_of(op->outputs().begin(), op->outputs().end(),
                                      [&](const Tensor* tensor) { return needed[tensor->id()]; });
      if (!wanted) continue;
      for (const Tensor* tensor : op->inputs())
        if (tensor != nullptr) needed[tensor->id()] = true;
      kept.push_back(op);
    }
    std::reverse(kept.begin(), kept.end());
    order = std::move(kept);
  }

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
    to.root = from.root;
    to.storage = p_.tensors[from.root].storage;
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
      TensorState& root = p_.tensors[p_.tensors[p_.outputs[i]].root];
      if (root.storage != Storage::Arena) continue;
      root.storage = Storage::Output;
      root.output = i;
    }
  }

  void compute_uses() {
    last_use_.assign(p_.tensors.size(), -1);
    first_def_.assign(p_.tensors.size(), -1);
    for (size_t s = 0; s < p_.steps.size(); ++s) {
      const Operation& op = *p_.steps[s].op;
      const auto step = static_cast<int64_t>(s);
      for (const Tensor* tensor : op.outputs()) {
        const uint32_t root = p_.state(tensor).root;
        if (first_def_[root] < 0) first_def_[root] = step;
        last_use_[root] = std::max(last_use_[root], step);
      }
      for (const Tensor* tensor : op.inputs()) {
        if (tensor == nullptr) continue;
        TensorState& state = p_.state(tensor);
        last_use_[state.root] = std::max(last_use_[state.root], step);
        state.last_step = static_cast<uint32_t>(s);
      }
    }
    // Copied out at the end.
    for (const uint32_t id : p_.outputs) last_use_[p_.tensors[id].root] = kForever;
  }

  // Lets a result take over the memory of an operand that dies with this step.
  void share_in_place() {
    for (size_t s = 0; s < p_.steps.size(); ++s) {
      Step& step = p_.steps[s];
      if (step.fast == nullptr) continue;
      TensorState& result = p_.state(step.op->output());
      if (result.root != step.op->output()->id()) continue;
      for (size_t i = 0; i < step.op->inputs().size(); ++i) {
        if (step.op->input(i) == nullptr || !step.fast->in_place(i)) continue;
        if (try_share(step, i, static_cast<int64_t>(s), result)) break;
      }
    }
  }

  bool try_share(const Step& step, size_t input, int64_t s, TensorState& result) {
    const uint32_t root = p_.state(step.op->input(input)).root;
    TensorState& donor = p_.tensors[root];
    if (donor.storage != Storage::Arena || donor.bytes != result.bytes || last_use_[root] != s)
      return false;
    for (size_t i = 0; i < step.op->inputs().size(); ++i) {
      if (i == input || step.op->input(i) == nullptr) continue;
      if (p_.state(step.op->input(i)).root == root) return false;
    }
    // The two sets of tensors become one; the caller's memory wins over the arena.
    const uint32_t other = result.root;
    const bool external = result.storage == Storage::Output;
    for (TensorState& state : p_.tensors) {
      if (state.tensor == nullptr || state.root != other) continue;
      state.root = root;
    }
    if (external) {
      donor.storage = Storage::Output;
      donor.output = result.output;
    }
    last_use_[root] = std::max(last_use_[root], last_use_[other]);
    return true;
  }

  Status lay_out() {
    std::vector<PlanItem> items;
    for (TensorState& state : p_.tensors) {
      if (state.tensor == nullptr || state.storage == Storage::Constant) continue;
      if (state.root != state.tensor->id() || state.storage != Storage::Arena) continue;
      const uint32_t root = state.root;
      if (first_def_[root] < 0) {
        state.storage = Storage::None;
        continue;
      }
      state.item = items.size();
      items.push_back({state.bytes, first_def_[root], last_use_[root]});
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

  Status place(const MemoryPlan& plan) {
    p_.memory.arena_bytes = plan.arena_bytes;
    p_.memory.lower_bound = plan.lower_bound;
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
  std::unordered_map<uint32_t, TensorType> open_;
  std::unordered_map<uint32_t, Attrs> normalised_;  // by operation, where they differ from its own
  std::vector<int64_t> last_use_, first_def_;       // of roots, by tensor id
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

}  // namespace ec
