// Branches and loops: blocks become nested graphs, or part of the graph where the branch is known.
#include "frontend/coreml/nested.h"
#include "frontend/coreml/table.h"
#include "frontend/known_values.h"

namespace ec::mil {
namespace {

// The values that a block gives, with its operations built into the scope's graph. Nothing: its
// problems were reported.
std::optional<std::vector<MilValue>> run_block(OpCall& c, const coreml::Block& block,
                                               Scope& scope) {
  if (!c.importer().import_block(block, scope)) return std::nullopt;
  std::vector<MilValue> values;
  for (const std::string& name : block.outputs) {
    const MilValue* found = scope.find(name);
    if (found == nullptr || found->failed()) {
      c.importer().report(Error(Code::UndefinedName, "a block's output is not defined")
                              .node(std::string(c.location().name()), c.location().op_type));
      return std::nullopt;
    }
    MilValue value = *found;
    if (value.kind == MilValue::Kind::Constant) {
      auto made = c.importer().constant(scope.site, *value.constant, "");
      if (!made.ok()) {
        c.importer().report(std::move(made).error());
        return std::nullopt;
      }
      value = MilValue::of(*made);
    }
    if (carried_tensor(value) == nullptr) {
      c.importer().report(Error(Code::UnsupportedType, "a block's output is no tensor")
                              .node(std::string(c.location().name()), c.location().op_type));
      return std::nullopt;
    }
    values.push_back(std::move(value));
  }
  return values;
}

// An output of a body is a result of an operation in it, and stands there once.
Result<ec::Tensor*> as_output(Graph& graph, ec::Tensor* tensor) {
  if (tensor->producer() != nullptr && !graph.is_output(tensor)) return tensor;
  return graph.add_single(OpKind::Identity, {tensor});
}

Status add_outputs(Graph& graph, const std::vector<MilValue>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    EC_TRY(ec::Tensor * tensor, as_output(graph, carried_tensor(values[i])));
    graph.add_output("value" + std::to_string(i), tensor);
  }
  return {};
}

Tensors poison(OpCall& c) {
  c.poison();
  return {};
}

Tensors give_up(OpCall& c, Error error) {
  c.remember(std::move(error));
  return {};
}

// --- cond ----------------------------------------------------------------------------------------

Tensors inline_branch(OpCall& c, const coreml::Block& block) {
  Scope inner(c.scope().site, &c.scope(), c.opset());
  const auto values = run_block(c, block, inner);
  if (!values) return poison(c);
  if (values->size() != c.num_outputs())
    return {c.fail(Code::BadArity, "the block has another number of outputs")};
  for (size_t i = 0; i < values->size(); ++i) c.bind(i, (*values)[i]);
  return {};
}

Tensors cond(OpCall& c) {
  const auto& blocks = c.source().blocks;
  if (blocks.size() != 2) return {c.fail(Code::BadArity, "a branch has two blocks")};
  Tensor* pred = c.in("pred");
  if (const auto known = known_scalar(pred)) return inline_branch(c, blocks[*known != 0 ? 0 : 1]);
  const std::vector<std::string> names = free_names({&blocks[0], &blocks[1]});
  const Captures captures = capture(c.scope(), names);
  OpSpec spec;
  spec.location = c.location();
  spec.num_outputs = c.num_outputs();
  std::vector<MilValue> shapes;
  for (const coreml::Block& block : blocks) {
    auto body = std::make_unique<Graph>(spec.bodies.empty() ? "then" : "else");
    Site site(*body, false);
    Scope inner(site, nullptr, c.opset());
    bind_captures(captures, inner);
    const auto values = run_block(c, block, inner);
    if (!values) return poison(c);
    if (values->size() != c.num_outputs())
      return {c.fail(Code::BadArity, "a block has another number of outputs")};
    if (Status status = add_outputs(*body, *values); !status.ok())
      return give_up(c, std::move(status).error());
    shapes = *values;
    spec.bodies.push_back(std::move(body));
  }
  Tensors inputs = captures.operands();
  inputs.insert(inputs.begin(), c.cast(c.reshape(pred, Sizes{}), DType::Bool));
  if (!c.ok()) return {};
  auto op = c.graph().add(OpKind::If, std::move(inputs), std::move(spec));
  if (!op.ok()) return give_up(c, std::move(op).error());
  for (size_t i = 0; i < c.num_outputs(); ++i)
    c.bind(i, carried_value(shapes[i], (*op)->output(i)));
  return {};
}

// --- while_loop ----------------------------------------------------------------------------------

struct LoopParts {
  const coreml::Block &test, &body;
  std::vector<MilValue> values;  // loop variables before the first iteration
  Captures captures;
};

// What holds of a value in every iteration.
TensorType common_type(const TensorType& a, const TensorType& b) {
  TensorType type(a.dtype);
  if (!a.shape || !b.shape || a.shape->rank() != b.shape->rank()) return type;
  Shape shape;
  for (size_t i = 0; i < a.shape->rank(); ++i)
    shape.push_back((*a.shape)[i].same_size((*b.shape)[i]) ? (*a.shape)[i] : Dim::unknown());
  type.shape = std::move(shape);
  return type;
}

// The block with its inputs bound to values, in a scope inside `outer`.
std::optional<std::vector<MilValue>> call_block(OpCall& c, const coreml::Block& block, Scope& outer,
                                                const std::vector<MilValue>& values) {
  Scope inner(outer.site, &outer, outer.opset);
  for (size_t i = 0; i < block.inputs.size(); ++i)
    inner.values.insert_or_assign(block.inputs[i].name, values[i]);
  return run_block(c, block, inner);
}

// The one boolean that a condition gives.
Result<ec::Tensor*> as_condition(Graph& graph, const std::vector<MilValue>& values) {
  if (values.size() != 1 || values[0].kind != MilValue::Kind::Tensor)
    return Error(Code::BadArity, "the condition of a loop gives one value");
  GraphBuilder builder(graph, Location());
  ec::Tensor* flag = builder.cast(builder.reshape(values[0].tensor, Sizes{}), DType::Bool);
  EC_CHECK_OK(builder.status());
  return flag;
}

// One iteration: (iteration, condition, values, captures) to (condition, values). Null: reported.
Result<std::unique_ptr<Graph>> loop_body(OpCall& c, const LoopParts& parts,
                                         const std::vector<TensorType>& types) {
  auto body = std::make_unique<Graph>("body");
  body->add_input("iteration", TensorType(DType::I64, Shape{}));
  body->add_input("condition", TensorType(DType::Bool, Shape{}));
  std::vector<MilValue> values;
  for (size_t i = 0; i < types.size(); ++i)
    values.push_back(carried_value(parts.values[i], body->add_input("", types[i])));
  Site site(*body, false);
  Scope outer(site, nullptr, c.opset());
  bind_captures(parts.captures, outer);
  const auto next = call_block(c, parts.body, outer, values);
  if (!next) return std::unique_ptr<Graph>();
  if (next->size() != types.size())
    return Error(Code::BadArity, "the body gives another number of values than it takes");
  const auto test = call_block(c, parts.test, outer, *next);
  if (!test) return std::unique_ptr<Graph>();
  EC_TRY(ec::Tensor * more, as_condition(*body, *test));
  EC_TRY(more, as_output(*body, more));
  body->add_output("condition", more);
  EC_CHECK_OK(add_outputs(*body, *next));
  return body;
}

// Shapes may differ from one iteration to the next: weakens the types until they hold.
Result<std::unique_ptr<Graph>> settled_body(OpCall& c, const LoopParts& parts) {
  std::vector<TensorType> types;
  for (const MilValue& value : parts.values) types.push_back(carried_tensor(value)->type());
  std::unique_ptr<Graph> body;
  constexpr int kAttempts = 3;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    EC_TRY(body, loop_body(c, parts, types));
    if (body == nullptr) return body;
    bool stable = true;
    for (size_t i = 0; i < types.size(); ++i) {
      const TensorType& made = body->outputs()[i + 1]->type();
      if (made.dtype != types[i].dtype)
        return Error(Code::TypeMismatch, "a loop variable changes its type from " +
                                             types[i].text() + " to " + made.text());
      TensorType weaker = common_type(types[i], made);
      stable = stable && weaker.shape == types[i].shape;
      types[i] = attempt + 2 < kAttempts ? std::move(weaker) : TensorType(types[i].dtype);
    }
    if (stable) break;
  }
  return body;
}

// Loop variables as values of this graph. Nothing: an error was remembered.
std::optional<std::vector<MilValue>> loop_values(OpCall& c) {
  const auto* bindings = c.source().input("loop_vars");
  std::vector<MilValue> values;
  for (size_t i = 0; i < bindings->size(); ++i) {
    const coreml::Value* literal = (*bindings)[i].literal.get();
    const MilValue* found = c.value("loop_vars", i);
    MilValue value = literal != nullptr ? MilValue::of(literal)
                     : found != nullptr ? *found
                                        : MilValue();
    if (value.kind == MilValue::Kind::Constant) {
      auto made = c.importer().constant(c.scope().site, *value.constant, "");
      if (!made.ok()) {
        c.remember(std::move(made).error());
        return std::nullopt;
      }
      value = MilValue::of(*made);
    }
    if (carried_tensor(value) == nullptr) {
      c.unsupported("a loop variable that is no tensor");
      return std::nullopt;
    }
    values.push_back(std::move(value));
  }
  return values;
}

Tensors while_loop(OpCall& c) {
  const auto& blocks = c.source().blocks;
  auto values = loop_values(c);
  if (!values) return {};
  if (blocks.size() != 2 || blocks[0].inputs.size() != values->size() ||
      blocks[1].inputs.size() != values->size() || c.num_outputs() != values->size())
    return {c.fail(Code::BadArity, "the numbers of loop variables do not fit")};
  const LoopParts parts{blocks[0], blocks[1], std::move(*values),
                        capture(c.scope(), free_names({&blocks[0], &blocks[1]}))};
  const auto test = call_block(c, parts.test, c.scope(), parts.values);
  if (!test) return poison(c);
  auto first = as_condition(c.graph(), *test);
  if (!first.ok()) return give_up(c, std::move(first).error());
  auto body = settled_body(c, parts);
  if (!body.ok()) return give_up(c, std::move(body).error());
  if (*body == nullptr) return poison(c);
  LoopAttrs attrs;
  attrs.num_carried = static_cast<int64_t>(parts.values.size());
  OpSpec spec;
  spec.attrs = attrs;
  spec.location = c.location();
  spec.num_outputs = parts.values.size();
  spec.bodies.push_back(std::move(*body));
  Tensors inputs = {nullptr, *first};
  for (const MilValue& value : parts.values) inputs.push_back(carried_tensor(value));
  const Tensors captured = parts.captures.operands();
  inputs.insert(inputs.end(), captured.begin(), captured.end());
  auto op = c.graph().add(OpKind::Loop, std::move(inputs), std::move(spec));
  if (!op.ok()) return give_up(c, std::move(op).error());
  for (size_t i = 0; i < parts.values.size(); ++i)
    c.bind(i, carried_value(parts.values[i], (*op)->output(i)));
  return {};
}

constexpr OpRow kRows[] = {
    {"cond", kIos15, "pred", cond},
    {"while_loop", kIos15, "loop_vars", while_loop},
};

}  // namespace

const std::span<const OpRow> kControlRows = kRows;

}  // namespace ec::mil
