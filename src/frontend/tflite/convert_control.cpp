// IF and WHILE: subgraphs become nested graphs. They read nothing from outside but their inputs.
#include "frontend/tflite/importer.h"
#include "frontend/tflite/table.h"

namespace ec::tflite {
namespace {

Status set_all(OpContext& ctx, Operation* op) {
  for (size_t i = 0; i < ctx.num_outputs(); ++i) EC_CHECK_OK(ctx.set(i, op->output(i)));
  return {};
}

Status need_all_inputs(OpContext& ctx) {
  for (size_t i = 0; i < ctx.num_inputs(); ++i)
    if (!ctx.has(i)) return ctx.unsupported("an input is no tensor");
  return {};
}

std::vector<ec::Tensor*> inputs_from(const OpContext& ctx, size_t first) {
  std::vector<ec::Tensor*> list;
  for (size_t i = first; i < ctx.num_inputs(); ++i) list.push_back(ctx.in(i));
  return list;
}

std::vector<ec::TensorType> types_of(const std::vector<ec::Tensor*>& tensors) {
  std::vector<ec::TensorType> types;
  for (const ec::Tensor* tensor : tensors) types.push_back(tensor->type());
  return types;
}

Status convert_if(OpContext& ctx) {
  EC_CHECK_OK(need_all_inputs(ctx));
  const std::vector<uint32_t> branches = ctx.importer().file().called_subgraphs(ctx.source());
  if (branches.size() != 2) return ctx.fail(Code::BadAttribute, "the options are missing");
  const std::vector<ec::Tensor*> operands = inputs_from(ctx, 1);
  if (const auto condition = known_scalar(ctx.in(0))) {
    const auto results = ctx.importer().inline_subgraph(branches[*condition != 0 ? 0 : 1],
                                                        ctx.graph(), ctx.scope().is_main, operands);
    if (!results) return ctx.poison(), ok_status();
    if (results->size() != ctx.num_outputs())
      return ctx.fail(Code::BadArity, "the subgraph has another number of outputs");
    for (size_t i = 0; i < results->size(); ++i) EC_CHECK_OK(ctx.set(i, (*results)[i]));
    return {};
  }
  OpSpec spec;
  spec.location = ctx.location();
  spec.num_outputs = ctx.num_outputs();
  for (const uint32_t branch : branches) {
    auto body = ctx.importer().import_body(branch, types_of(operands));
    if (body == nullptr) return ctx.poison(), ok_status();
    if (body->outputs().size() != ctx.num_outputs())
      return ctx.fail(Code::BadArity, "a subgraph has another number of outputs");
    spec.bodies.push_back(std::move(body));
  }
  std::vector<ec::Tensor*> inputs = operands;
  EC_TRY(ec::Tensor * condition, ctx.reshape(ctx.in(0), std::vector<int64_t>{}));
  inputs.insert(inputs.begin(), condition);
  EC_TRY(Operation * op, ctx.graph().add(OpKind::If, std::move(inputs), std::move(spec)));
  return set_all(ctx, op);
}

// What holds of a value in every iteration.
ec::TensorType common_type(const ec::TensorType& a, const ec::TensorType& b) {
  ec::TensorType type(a.dtype);
  type.quant = a.quant;
  if (!a.shape || !b.shape || a.shape->rank() != b.shape->rank()) return type;
  Shape shape;
  for (size_t i = 0; i < a.shape->rank(); ++i)
    shape.push_back((*a.shape)[i].same_size((*b.shape)[i]) ? (*a.shape)[i] : Dim::unknown());
  type.shape = std::move(shape);
  return type;
}

Result<ec::Tensor*> as_condition(ec::Graph& graph, const Location& location, ec::Tensor* tensor) {
  if (tensor->shape() && tensor->shape()->rank() == 0) return tensor;
  return graph.add_single(OpKind::Reshape, {tensor, graph.add_ints("", {})}, ReshapeAttrs{},
                          location);
}

// One iteration: (iteration, condition, values...) -> (condition, values...). Null: reported.
Result<std::unique_ptr<ec::Graph>> loop_body(OpContext& ctx, const std::vector<uint32_t>& parts,
                                             const std::vector<ec::TensorType>& types) {
  auto body = std::make_unique<ec::Graph>("body");
  body->add_input("iteration", ec::TensorType(DType::I64, Shape{}));
  body->add_input("condition", ec::TensorType(DType::Bool, Shape{}));
  std::vector<ec::Tensor*> values;
  for (const ec::TensorType& type : types) values.push_back(body->add_input("", type));
  const auto next = ctx.importer().inline_subgraph(parts[1], *body, false, values);
  if (!next) return std::unique_ptr<ec::Graph>();
  if (next->size() != types.size())
    return ctx.fail(Code::BadArity, "the body gives another number of values than it takes");
  const auto condition = ctx.importer().inline_subgraph(parts[0], *body, false, *next);
  if (!condition) return std::unique_ptr<ec::Graph>();
  if (condition->size() != 1)
    return ctx.fail(Code::BadArity, "the condition gives more than one value");
  EC_TRY(ec::Tensor * more, as_condition(*body, ctx.location(), (*condition)[0]));
  body->add_output("condition", more);
  for (size_t i = 0; i < next->size(); ++i)
    body->add_output("value" + std::to_string(i), (*next)[i]);
  return body;
}

Status convert_while(OpContext& ctx) {
  EC_CHECK_OK(need_all_inputs(ctx));
  const std::vector<uint32_t> parts = ctx.importer().file().called_subgraphs(ctx.source());
  if (parts.size() != 2) return ctx.fail(Code::BadAttribute, "the options are missing");
  const std::vector<ec::Tensor*> values = inputs_from(ctx, 0);
  const auto condition =
      ctx.importer().inline_subgraph(parts[0], ctx.graph(), ctx.scope().is_main, values);
  if (!condition) return ctx.poison(), ok_status();
  if (condition->size() != 1 || ctx.num_outputs() != values.size())
    return ctx.fail(Code::BadArity, "the numbers of values do not fit");
  EC_TRY(ec::Tensor * first, as_condition(ctx.graph(), ctx.location(), (*condition)[0]));
  // Shapes may differ from one iteration to the next: weaken the types until they hold.
  std::vector<ec::TensorType> types = types_of(values);
  std::unique_ptr<ec::Graph> body;
  constexpr int kAttempts = 3;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    EC_TRY(body, loop_body(ctx, parts, types));
    if (body == nullptr) return ctx.poison(), ok_status();
    bool stable = true;
    for (size_t i = 0; i < types.size(); ++i) {
      ec::TensorType weaker = common_type(types[i], body->outputs()[i + 1]->type());
      stable = stable && weaker.shape == types[i].shape;
      types[i] = attempt + 2 < kAttempts ? std::move(weaker) : ec::TensorType(types[i].dtype);
      if (attempt + 2 >= kAttempts) types[i].quant = values[i]->type().quant;
    }
    if (stable) break;
  }
  LoopAttrs attrs;
  attrs.num_carried = static_cast<int64_t>(values.size());
  OpSpec spec;
  spec.attrs = attrs;
  spec.location = ctx.location();
  spec.num_outputs = values.size();
  spec.bodies.push_back(std::move(body));
  std::vector<ec::Tensor*> inputs = {nullptr, first};
  inputs.insert(inputs.end(), values.begin(), values.end());
  EC_TRY(Operation * op, ctx.graph().add(OpKind::Loop, std::move(inputs), std::move(spec)));
  return set_all(ctx, op);
}

constexpr OpRow kRows[] = {
    {BuiltinOperator::IF, {1, kMany}, {0, kMany}, convert_if},
    {BuiltinOperator::WHILE, {1, kMany}, {1, kMany}, convert_while},
};

}  // namespace

const std::span<const OpRow> kControlRows = kRows;

}  // namespace ec::tflite
