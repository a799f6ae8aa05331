// Branches and loops: every body becomes a graph of its own in the file. Bodies are closed, so what
// they read is among the operator's operands.
#include "writer/tflite/emitter.h"

namespace ec::tflite {
namespace {

using Op = BuiltinOperator;

Status emit_if(OpEmitter& e) {
  int32_t branches[2];
  for (size_t i = 0; i < 2; ++i) {
    GraphEmitter body = e.graph().nested(*e.op().bodies()[i]);
    body.emit();
    branches[i] = static_cast<int32_t>(body.index());
  }
  e.add(Op::IF, e.inputs(), e.outputs(),
        options(BuiltinOptions::IfOptions, CreateIfOptions(e.fbb(), branches[0], branches[1])));
  return {};
}

// --- loops ---------------------------------------------------------------------------------------

constexpr size_t kTripCount = 0, kCondition = 1, kFirstValue = 2;

// The values that WHILE carries: the number of the iteration and its limit where there is one,
// whether to go on, then the loop's own. Iteration and condition are what the body takes first,
// too.
struct Carried {
  bool counted;  // iteration and limit are among them
  std::vector<ec::TensorType> types;
  std::vector<int32_t> initial;

  size_t limit() const { return types.size() - 1; }  // requires `counted`
};

Carried carried_by(OpEmitter& e) {
  const ec::Graph& body = *e.op().bodies()[0];
  const bool limited = e.has(kTripCount);
  Carried carried;
  carried.counted = limited || !body.is_unused(body.inputs()[0]);
  const ec::TensorType count(DType::I64, Shape{});
  if (carried.counted) {
    carried.types.push_back(count);
    carried.initial.push_back(e.number(count, 0));
  }
  const ec::TensorType truth(DType::Bool, Shape{});
  carried.types.push_back(truth);
  carried.initial.push_back(e.has(kCondition) ? e.in(kCondition) : e.number(truth, 1));
  for (size_t i = kFirstValue; i < e.op().inputs().size(); ++i) {
    carried.types.push_back(e.input(i).type());
    carried.initial.push_back(e.in(i));
  }
  if (carried.counted) {
    carried.types.push_back(count);
    carried.initial.push_back(limited ? e.in(kTripCount)
                                      : e.number(count, static_cast<double>(int64_t{1} << 52)));
  }
  return carried;
}

// Whether to go on: the condition, and the iteration below the limit.
uint32_t emit_condition(OpEmitter& e, const Carried& carried) {
  FileBuilder& model = e.graph().model();
  const uint32_t index = model.add_graph(e.op().output()->name() + "_condition");
  GraphRecord& graph = model.graph(index);
  for (size_t i = 0; i < carried.types.size(); ++i) {
    graph.inputs.push_back(static_cast<int32_t>(i));
    graph.tensors.push_back({"value" + std::to_string(i), carried.types[i]});
  }
  const auto add = [&](Op code, int32_t version, std::vector<int32_t> inputs, BuiltinOptions kind,
                       const char* name) {
    OperatorRecord op;
    op.code = model.add_code(code, version);
    op.inputs = std::move(inputs);
    op.outputs = {static_cast<int32_t>(graph.tensors.size())};
    const flatbuffers::uoffset_t start = e.fbb().StartTable();
    op.options = {kind, e.fbb().EndTable(start)};
    graph.tensors.push_back({name, ec::TensorType(DType::Bool, Shape{})});
    graph.operators.push_back(std::move(op));
    return static_cast<int32_t>(graph.tensors.size() - 1);
  };
  int32_t more = carried.counted ? 1 : 0;
  int32_t below = more;
  if (carried.counted)
    below = add(Op::LESS, 1, {0, static_cast<int32_t>(carried.limit())},
                BuiltinOptions::LessOptions, "below");
  more = add(Op::LOGICAL_AND, 1, {more, below}, BuiltinOptions::LogicalAndOptions, "more");
  graph.outputs = {more};
  return index;
}

uint32_t emit_body(OpEmitter& e, const Carried& carried) {
  const ec::Graph& source = *e.op().bodies()[0];
  const auto num_carried = static_cast<size_t>(e.attrs<LoopAttrs>().num_carried);
  GraphEmitter body = e.graph().nested(source);
  body.emit();
  GraphRecord& record = body.record();
  std::vector<int32_t> inputs = record.inputs, results = record.outputs;
  // Values that the loop only reads go out as they came in.
  for (size_t i = kFirstValue + num_carried; i < inputs.size(); ++i) results.push_back(inputs[i]);
  if (carried.counted) {
    const ec::TensorType count(DType::I64, Shape{});
    const int64_t one = 1;
    const uint32_t bytes =
        e.graph().model().add_buffer(Blob::copy_of(std::span<const int64_t>(&one, 1)));
    const int32_t step = body.add_tensor("one", count, bytes);
    const int32_t next = body.add_tensor("next_iteration", count);
    OperatorRecord add;
    constexpr int32_t kOf64Bits = 4;
    add.code = e.graph().model().add_code(Op::ADD, kOf64Bits);
    add.inputs = {inputs[0], step};
    add.outputs = {next};
    add.options = options(BuiltinOptions::AddOptions, CreateAddOptions(e.fbb()));
    record.operators.push_back(std::move(add));
    const int32_t limit = body.add_tensor("limit", count);
    inputs.push_back(limit);
    results.push_back(limit);
    results.insert(results.begin(), next);
  } else {
    inputs.erase(inputs.begin());
  }
  record.inputs = std::move(inputs);
  record.outputs = std::move(results);
  return body.index();
}

Status emit_loop(OpEmitter& e) {
  const auto num_carried = static_cast<size_t>(e.attrs<LoopAttrs>().num_carried);
  if (e.op().bodies()[0]->outputs().size() != 1 + num_carried)
    return e.fail("results that grow by one row in each of an unknown number of iterations");
  const Carried carried = carried_by(e);
  const uint32_t condition = emit_condition(e, carried);
  const uint32_t body = emit_body(e, carried);
  // Values that only pass through are results of the operator, too; nobody reads them.
  const size_t first = carried.counted ? 2 : 1;
  std::vector<int32_t> outputs;
  for (size_t i = 0; i < carried.types.size(); ++i)
    outputs.push_back(
        i >= first && i < first + num_carried
            ? e.out(i - first)
            : e.graph().add_tensor(e.op().output()->name() + "_last", carried.types[i]));
  e.add(Op::WHILE, carried.initial, std::move(outputs),
        options(BuiltinOptions::WhileOptions,
                CreateWhileOptions(e.fbb(), static_cast<int32_t>(condition),
                                   static_cast<int32_t>(body))));
  return {};
}

constexpr EmitRow kRows[] = {
    {OpKind::If, emit_if},
    {OpKind::Loop, emit_loop},
};

}  // namespace

const std::span<const EmitRow> kEmitControl = kRows;

}  // namespace ec::tflite
