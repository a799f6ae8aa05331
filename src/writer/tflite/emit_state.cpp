// State that outlives a run (ADR 15). The states of recurrent operators are variable tensors of
// theirs; every other state is a variable with a handle, whose first value CALL_ONCE assigns.
#include "writer/tflite/emit_state.h"

#include <algorithm>

namespace ec::tflite {
namespace {

using Op = BuiltinOperator;

bool reads_state(const ec::Tensor* tensor) {
  return tensor != nullptr && tensor->producer() != nullptr &&
         tensor->producer()->kind() == OpKind::ReadState;
}

const std::string& name_of(const Operation& op) { return op.attrs_as<StateAttrs>().name; }

// An operand of the op that is state, and the result with the state after the run.
struct StateOperand {
  size_t operand, result;
};
std::span<const StateOperand> state_operands(OpKind kind) {
  static constexpr StateOperand kLstm[] = {{18, 1}, {19, 2}}, kCell[] = {{4, 1}};
  static constexpr StateOperand kSignal[] = {{1, 1}}, kStream[] = {{1, 2}, {2, 3}};
  switch (kind) {
    case OpKind::LstmSequence:
      return kLstm;
    case OpKind::RnnSequence:
    case OpKind::Svdf:
      return kCell;
    case OpKind::SignalDelay:
    case OpKind::SignalOverlapAdd:
    case OpKind::SignalSpectralSubtraction:
      return kSignal;
    case OpKind::SignalFramer:
    case OpKind::SignalStacker:
      return kStream;
    default:
      return {};
  }
}

// The write of a result. Only where the result is an output of the operator, too, may others read
// it.
const Operation* write_of(const Operation& cell, const ec::Tensor* result) {
  const auto writes = [](const Use& use) { return use.op->kind() == OpKind::WriteState; };
  if (cell.kind() != OpKind::SignalSpectralSubtraction && !cell.graph().has_single_use(result))
    return nullptr;
  const auto found = std::ranges::find_if(result->uses(), writes);
  return found != result->uses().end() ? found->op : nullptr;
}

bool is_cell_state(const Operation& op) {
  const ec::Tensor* link = op.kind() == OpKind::ReadState ? op.output() : op.input(0);
  const Operation* cell = op.kind() == OpKind::ReadState
                              ? (link->uses().size() == 1 ? link->uses().front().op : nullptr)
                              : link->producer();
  if (cell == nullptr) return false;
  for (size_t k = 0; k < state_operands(cell->kind()).size(); ++k)
    if (const auto state = cell_state(*cell, k);
        state && (state->read == &op || state->write == &op))
      return true;
  return false;
}

// The number of a handle to the variable, in graph `index` of the file.
int32_t add_handle(FileBuilder& model, uint32_t index, const std::string& name) {
  GraphRecord& graph = model.graph(index);
  const auto number = static_cast<int32_t>(graph.tensors.size());
  TensorRecord handle{name + "_handle", ec::TensorType(DType::I32, Shape{}), 0};
  handle.is_resource = true;
  graph.tensors.push_back(std::move(handle));
  OperatorRecord op;
  op.code = model.add_code(Op::VAR_HANDLE, 1);
  op.outputs = {number};
  const auto container = model.fbb().CreateString("");
  const auto shared_name = model.fbb().CreateString(name);
  op.options = options(BuiltinOptions::VarHandleOptions,
                       CreateVarHandleOptions(model.fbb(), container, shared_name));
  graph.operators.push_back(std::move(op));
  return number;
}

void add_assignment(FileBuilder& model, uint32_t index, int32_t handle, int32_t value) {
  OperatorRecord op;
  op.code = model.add_code(Op::ASSIGN_VARIABLE, 1);
  op.inputs = {handle, value};
  op.options =
      options(BuiltinOptions::AssignVariableOptions, CreateAssignVariableOptions(model.fbb()));
  model.graph(index).operators.push_back(std::move(op));
}

Status emit_read_state(OpEmitter& e) {
  if (is_cell_state(e.op())) return {};
  const int32_t handle = add_handle(e.graph().model(), e.graph().index(), name_of(e.op()));
  e.add(Op::READ_VARIABLE, {handle}, {e.out()},
        options(BuiltinOptions::ReadVariableOptions, CreateReadVariableOptions(e.fbb())));
  return {};
}

Status emit_write_state(OpEmitter& e) {
  if (is_cell_state(e.op())) return {};
  if (!e.op().output()->uses().empty() || e.graph().graph().is_output(e.op().output()))
    return e.fail("the result of write_state is read", std::string(kPipelineHint));
  const int32_t handle = add_handle(e.graph().model(), e.graph().index(), name_of(e.op()));
  add_assignment(e.graph().model(), e.graph().index(), handle, e.in(0));
  return {};
}

constexpr EmitRow kRows[] = {
    {OpKind::ReadState, emit_read_state},
    {OpKind::WriteState, emit_write_state},
};

}  // namespace

const std::span<const EmitRow> kEmitState = kRows;

std::optional<CellState> cell_state(const Operation& cell, size_t k) {
  const std::span<const StateOperand> operands = state_operands(cell.kind());
  if (k >= operands.size() || cell.outputs().size() <= operands[k].result) return std::nullopt;
  const ec::Tensor* before = cell.input(operands[k].operand);
  const ec::Graph& graph = cell.graph();
  if (!reads_state(before) || !graph.has_single_use(before)) return std::nullopt;
  const Operation* read = before->producer();
  const Operation* write = write_of(cell, cell.output(operands[k].result));
  if (write == nullptr || name_of(*write) != name_of(*read) || !write->output()->uses().empty() ||
      graph.is_output(write->output()))
    return std::nullopt;
  return CellState{read, write};
}

Status emit_initial_states(GraphEmitter& graph, std::span<Operation* const> order) {
  std::vector<const Operation*> reads;
  for (const Operation* op : order)
    if (op->kind() == OpKind::ReadState && !is_cell_state(*op)) reads.push_back(op);
  if (reads.empty()) return {};
  FileBuilder& model = graph.model();
  const uint32_t index = model.add_graph("initial_states");
  for (const Operation* read : reads) {
    const ec::Tensor& initial = *read->input(0);
    OpEmitter emitter(graph, *read);
    if (!initial.is_constant())
      return emitter.fail("the initial value of state '" + name_of(*read) + "' is computed",
                          std::string(kPipelineHint));
    const int32_t handle = add_handle(model, index, name_of(*read));
    GraphRecord& record = model.graph(index);
    const auto value = static_cast<int32_t>(record.tensors.size());
    record.tensors.push_back(
        {initial.name(), initial.type(),
         model.add_buffer(packed(initial.raw_data().aligned(), initial.dtype()))});
    add_assignment(model, index, handle, value);
  }
  OperatorRecord call;
  call.code = model.add_code(Op::CALL_ONCE, 1);
  call.options = options(BuiltinOptions::CallOnceOptions,
                         CreateCallOnceOptions(model.fbb(), static_cast<int32_t>(index)));
  graph.record().operators.push_back(std::move(call));
  return {};
}

std::vector<Operation*> in_order_of_states(std::vector<Operation*> order) {
  std::stable_partition(order.begin(), order.end(), [](const Operation* op) {
    return op->kind() == OpKind::ReadState && op->input(0)->is_constant();
  });
  std::stable_partition(order.begin(), order.end(),
                        [](const Operation* op) { return op->kind() != OpKind::WriteState; });
  return order;
}

}  // namespace ec::tflite
