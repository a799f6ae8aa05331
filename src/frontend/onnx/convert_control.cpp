// If, Loop and Scan: bodies become closed graphs, names they read from outside become operands.
#include <algorithm>

#include "frontend/onnx/importer.h"
#include "frontend/onnx/table.h"

namespace ec::onnx {
namespace {

// --- captures -----------------------------------------------------------------------------------

// The tensors that bodies capture, as operands; each body gets inputs in the same order.
std::vector<ec::Tensor*> join_captures(std::vector<Body>& bodies) {
  std::vector<ec::Tensor*> operands;
  for (const Body& body : bodies)
    for (const Capture& capture : body.captures)
      if (std::find(operands.begin(), operands.end(), capture.outer) == operands.end())
        operands.push_back(capture.outer);
  return operands;
}

Result<Operation*> add_with_bodies(NodeContext& ctx, OpKind kind, std::vector<ec::Tensor*> inputs,
                                   Attrs attrs, size_t num_outputs, std::vector<Body> bodies) {
  OpSpec spec;
  spec.attrs = std::move(attrs);
  spec.location = ctx.location();
  spec.num_outputs = num_outputs;
  for (Body& body : bodies) spec.bodies.push_back(std::move(body.graph));
  return ctx.graph().add(kind, std::move(inputs), std::move(spec));
}

Status set_outputs(NodeContext& ctx, Operation* op) {
  const size_t named = std::min(op->outputs().size(), ctx.node().outputs.size());
  for (size_t i = 0; i < named; ++i) ctx.set(i, op->output(i));
  return {};
}

// --- If -----------------------------------------------------------------------------------------

// Both branches take all captures of either; a branch that does not use one ignores it.
void align_captures(Body& body, const std::vector<ec::Tensor*>& operands) {
  ec::Graph& old = *body.graph;
  bool same = body.captures.size() == operands.size();
  for (size_t i = 0; same && i < operands.size(); ++i) same = body.captures[i].outer == operands[i];
  if (same) return;
  // Inputs are ordered by creation: move every use to fresh inputs in the operands' order.
  const size_t old_inputs = old.inputs().size();
  std::vector<ec::Tensor*> fresh;
  for (ec::Tensor* operand : operands) {
    ec::Tensor* input = old.add_input(operand->name(), operand->type());
    old.set_dim_values(input, operand->dim_values());
    for (const Capture& capture : body.captures)
      if (capture.outer == operand) old.replace_all_uses(capture.inner, input);
    fresh.push_back(input);
  }
  for (size_t i = 0; i < old_inputs; ++i) old.erase_input(0);
  body.captures.clear();
  for (size_t i = 0; i < operands.size(); ++i) body.captures.push_back({operands[i], fresh[i]});
}

Status convert_if(NodeContext& ctx) {
  const Bytes branches[] = {ctx.attr_message("then_branch", AttributeType::Graph),
                            ctx.attr_message("else_branch", AttributeType::Graph)};
  EC_CHECK_OK(ctx.attr_status());
  if (const auto condition = NodeContext::known_scalar(ctx.in(0))) {
    const Bytes branch = *condition != 0 ? branches[0] : branches[1];
    const auto outputs = ctx.importer().inline_graph(branch, ctx.scope(), ctx.frame(), {});
    if (!outputs) return ctx.poison(), ok_status();
    if (outputs->size() < ctx.num_outputs())
      return ctx.fail(Code::BadArity, "the branch has fewer outputs than the node");
    for (size_t i = 0; i < ctx.num_outputs(); ++i) ctx.set(i, (*outputs)[i]);
    return {};
  }
  std::vector<Body> bodies;
  for (const Bytes branch : branches)
    bodies.push_back(ctx.importer().import_body(branch, ctx.scope(), ctx.frame(), {}));
  for (const Body& body : bodies)
    if (!body.ok) return ctx.poison(), ok_status();
  const size_t outputs = bodies[0].graph->outputs().size();
  if (bodies[1].graph->outputs().size() != outputs || outputs < ctx.num_outputs())
    return ctx.fail(Code::BadArity, "the branches have different numbers of outputs");
  std::vector<ec::Tensor*> operands = join_captures(bodies);
  for (Body& body : bodies) align_captures(body, operands);
  operands.insert(operands.begin(), ctx.in(0));
  EC_TRY(Operation * op,
         add_with_bodies(ctx, OpKind::If, std::move(operands), {}, outputs, std::move(bodies)));
  return set_outputs(ctx, op);
}

// --- Loop and Scan ------------------------------------------------------------------------------

// What holds of a value in every iteration: a type of the first one, weakened where later ones
// differ.
TensorType common_type(const TensorType& a, const TensorType& b) {
  if (!a.shape || !b.shape || a.shape->rank() != b.shape->rank()) return TensorType(a.dtype);
  Shape shape;
  for (size_t i = 0; i < a.shape->rank(); ++i)
    shape.push_back((*a.shape)[i].same_size((*b.shape)[i]) ? (*a.shape)[i] : Dim::unknown());
  return TensorType(a.dtype, std::move(shape));
}

bool same_dims(const TensorType& a, const TensorType& b) { return a.shape == b.shape; }

// Imports a loop body whose inputs [first, first + carried) are fed back from its outputs
// [first_out, ...). Starts with the initial types and weakens them until they are stable.
Body import_loop_body(NodeContext& ctx, Bytes message, std::vector<TensorType> inputs, size_t first,
                      size_t carried, size_t first_out) {
  Importer& importer = ctx.importer();
  constexpr int kAttempts = 3;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Body body = importer.try_body(message, ctx.scope(), ctx.frame(), inputs);
    bool stable = body.ok;
    for (size_t i = 0; i < carried; ++i) {
      TensorType& type = inputs[first + i];
      TensorType weaker = TensorType(type.dtype);
      if (body.ok && first_out + i < body.graph->outputs().size())
        weaker = common_type(type, body.graph->outputs()[first_out + i]->type());
      else if (type.shape && attempt == 0)
        weaker =
            TensorType(type.dtype, Shape(std::vector<Dim>(type.shape->rank(), Dim::unknown())));
      stable = stable && same_dims(type, weaker);
      type = std::move(weaker);
    }
    if (stable) return body;
  }
  return importer.import_body(message, ctx.scope(), ctx.frame(), inputs);
}

Status convert_loop(NodeContext& ctx) {
  const Bytes message = ctx.attr_message("body", AttributeType::Graph);
  EC_CHECK_OK(ctx.attr_status());
  LoopAttrs attrs;
  const size_t carried = ctx.num_inputs() > 2 ? ctx.num_inputs() - 2 : 0;
  attrs.num_carried = static_cast<int64_t>(carried);
  EC_TRY(const auto interface, ctx.importer().count_interface(message));
  if (interface.first != carried + 2 || interface.second < carried + 1)
    return ctx.fail(Code::BadArity, "the body has " + std::to_string(interface.first) +
                                        " inputs and " + std::to_string(interface.second) +
                                        " outputs, which does not fit " + std::to_string(carried) +
                                        " carried values");
  std::vector<TensorType> types = {TensorType(DType::I64, Shape{}),
                                   TensorType(DType::Bool, Shape{})};
  for (size_t i = 0; i < carried; ++i) {
    if (ctx.in(i + 2) == nullptr) return ctx.fail(Code::BadArity, "a carried value is missing");
    types.push_back(ctx.in(i + 2)->type());
  }
  std::vector<Body> bodies;
  bodies.push_back(import_loop_body(ctx, message, std::move(types), 2, carried, 1));
  if (!bodies[0].ok) return ctx.poison(), ok_status();
  const size_t outputs = bodies[0].graph->outputs().size() - 1;
  if (outputs < ctx.num_outputs())
    return ctx.fail(Code::BadArity, "the body gives fewer values than the node has outputs");
  std::vector<ec::Tensor*> operands = {ctx.in(0), ctx.in(1)};
  for (size_t i = 0; i < carried; ++i) operands.push_back(ctx.in(i + 2));
  for (const Capture& capture : bodies[0].captures) operands.push_back(capture.outer);
  EC_TRY(Operation * op, add_with_bodies(ctx, OpKind::Loop, std::move(operands), attrs, outputs,
                                         std::move(bodies)));
  return set_outputs(ctx, op);
}

// One slice of a scanned input.
TensorType slice_type(const TensorType& type, int64_t axis) {
  TensorType slice(type.dtype);
  if (!type.shape) return slice;
  const auto rank = static_cast<int64_t>(type.shape->rank());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return slice;
  std::vector<Dim> dims = type.shape->dims();
  dims.erase(dims.begin() + axis);
  slice.shape = Shape(std::move(dims));
  return slice;
}

struct ScanForm {
  std::vector<ec::Tensor*> states, scans;
  ScanAttrs attrs;
  Bytes body;
};

Result<Operation*> add_scan(NodeContext& ctx, const ScanForm& form) {
  std::vector<TensorType> types;
  for (const ec::Tensor* state : form.states) types.push_back(state->type());
  for (size_t i = 0; i < form.scans.size(); ++i)
    types.push_back(slice_type(form.scans[i]->type(),
                               i < form.attrs.input_axes.size() ? form.attrs.input_axes[i] : 0));
  std::vector<Body> bodies;
  bodies.push_back(import_loop_body(ctx, form.body, std::move(types), 0, form.states.size(), 0));
  if (!bodies[0].ok) return ctx.poison(), static_cast<Operation*>(nullptr);
  const size_t outputs = bodies[0].graph->outputs().size();
  std::vector<ec::Tensor*> operands = form.states;
  operands.insert(operands.end(), form.scans.begin(), form.scans.end());
  for (const Capture& capture : bodies[0].captures) operands.push_back(capture.outer);
  return add_with_bodies(ctx, OpKind::Scan, std::move(operands), form.attrs, outputs,
                         std::move(bodies));
}

Result<ScanForm> read_scan(NodeContext& ctx, size_t first_input) {
  ScanForm form;
  form.body = ctx.attr_message("body", AttributeType::Graph);
  const int64_t scans = ctx.attr_int("num_scan_inputs");
  EC_CHECK_OK(ctx.attr_status());
  const size_t values = ctx.num_inputs() - first_input;
  if (scans < 1 || static_cast<size_t>(scans) > values)
    return ctx.fail(Code::BadAttribute, "attribute 'num_scan_inputs' does not fit the inputs");
  EC_TRY(const auto interface, ctx.importer().count_interface(form.body));
  const size_t states = values - static_cast<size_t>(scans);
  if (interface.first != values || interface.second < states)
    return ctx.fail(Code::BadArity, "the body's inputs and outputs do not fit the node");
  for (size_t i = 0; i < values; ++i) {
    if (ctx.in(first_input + i) == nullptr) return ctx.fail(Code::BadArity, "an input has no name");
    (i < states ? form.states : form.scans).push_back(ctx.in(first_input + i));
  }
  form.attrs.num_states = static_cast<int64_t>(states);
  form.attrs.num_scan_inputs = scans;
  return form;
}

Status convert_scan(NodeContext& ctx) {
  EC_TRY(ScanForm form, read_scan(ctx, 0));
  form.attrs.input_axes = ctx.attr_ints("scan_input_axes");
  form.attrs.input_directions = ctx.attr_ints("scan_input_directions");
  form.attrs.output_axes = ctx.attr_ints("scan_output_axes");
  form.attrs.output_directions = ctx.attr_ints("scan_output_directions");
  EC_TRY(Operation * op, add_scan(ctx, form));
  if (op == nullptr) return {};
  return set_outputs(ctx, op);
}

// Opset 8 scans over dimension 1 of batches in dimension 0: one scan per batch, then joined.
Status convert_batched_scan(NodeContext& ctx) {
  if (ctx.num_inputs() < 2) return ctx.fail(Code::BadArity, "there is nothing to scan");
  if (ctx.has(0)) return ctx.unsupported("sequence lengths per batch are not supported");
  EC_TRY(const ScanForm whole, read_scan(ctx, 1));
  const std::vector<int64_t> directions = ctx.attr_ints("directions");
  const auto& shape = whole.scans[0]->shape();
  constexpr int64_t kMaxBatch = 256;
  if (!shape || shape->rank() < 2 || !(*shape)[0].is_static())
    return ctx.fail(Code::DynamicShape, "the batch size has to be known");
  const int64_t batches = (*shape)[0].size();
  if (batches < 1 || batches > kMaxBatch)
    return ctx.unsupported("a batch of " + std::to_string(batches) + " is not supported");
  std::vector<std::vector<ec::Tensor*>> results;
  for (int64_t b = 0; b < batches; ++b) {
    ScanForm form = whole;
    form.attrs.input_directions = directions;
    for (auto* list : {&form.states, &form.scans})
      for (ec::Tensor*& tensor : *list) {
        EC_TRY(tensor,
               ctx.add(OpKind::Gather, {tensor, ctx.scalar(DType::I64, static_cast<double>(b))},
                       GatherAttrs{}));
      }
    EC_TRY(Operation * op, add_scan(ctx, form));
    if (op == nullptr) return {};
    results.resize(op->outputs().size());
    for (size_t i = 0; i < results.size(); ++i) {
      EC_TRY(ec::Tensor * row, ctx.unsqueeze(op->output(i), std::vector<int64_t>{0}));
      results[i].push_back(row);
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    EC_TRY(ec::Tensor * joined, ctx.add(OpKind::Concat, results[i], AxisAttrs{}));
    ctx.set(i, joined);
  }
  return {};
}

constexpr OpRow kRows[] = {
    {"If", 1, kLatest, {1, 1}, {1, kMany}, convert_if},
    {"Loop", 1, kLatest, {0, kMany}, {0, kMany}, convert_loop},
    {"Scan", 8, 8, {0, kMany}, {1, kMany}, convert_batched_scan},
    {"Scan", 9, kLatest, {1, kMany}, {1, kMany}, convert_scan},
};

}  // namespace

const std::span<const OpRow> kControlRows = kRows;

}  // namespace ec::onnx
