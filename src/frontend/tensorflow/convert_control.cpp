// Branches: If and Case with functions, and Switch and Merge where the condition is known.
#include "frontend/tensorflow/nested_graph.h"
#include "frontend/tensorflow/table.h"

namespace ec::tf {
namespace {

std::string branch_prefix(const OpContext& ctx) { return std::string(ctx.location().name()) + "/"; }

Status set_results(OpContext& ctx, const std::vector<TfValue>& results) {
  for (size_t i = 0; i < results.size(); ++i) EC_CHECK_OK(ctx.set_value(i, results[i]));
  return {};
}

std::vector<TfValue> arguments_of(const OpContext& ctx) {
  return {ctx.values().begin() + 1, ctx.values().end()};
}

// The branch that is known to be taken.
Status inline_branch(OpContext& ctx, std::string_view name) {
  EC_TRY(const FunctionBody* body, ctx.importer().library().find(name));
  const auto results = ctx.importer().call(*body, ctx.site(), arguments_of(ctx), branch_prefix(ctx),
                                           ctx.frame().depth + 1, &ctx.source());
  if (!results) return ctx.poison(), ok_status();
  return set_results(ctx, *results);
}

// Numbers and texts count as true when they are not zero or empty.
Result<ec::Tensor*> as_condition(OpContext& ctx) {
  if (!ctx.value(0).is_tensor()) return ctx.unsupported("the condition is no number");
  EC_TRY(ec::Tensor * condition, ctx.cast(ctx.in(0), DType::Bool));
  return ctx.reshape(condition, std::vector<int64_t>{});
}

// Both branches read the same operands: each has inputs for all of them.
Status convert_branches(OpContext& ctx, std::span<const std::string_view> names,
                        ec::Tensor* condition) {
  OpSpec spec;
  spec.location = ctx.location();
  std::vector<ec::Tensor*> operands;
  const std::vector<TfValue> arguments = arguments_of(ctx);
  for (const std::string_view name : names) {
    NestedGraph nested(ctx.importer(), "branch");
    std::vector<TfValue> inner;
    for (const TfValue& argument : arguments)
      inner.push_back(capture(ctx.importer(), nested, argument));
    EC_TRY(const FunctionBody* body, ctx.importer().library().find(name));
    const auto results =
        ctx.importer().call(*body, nested.site, std::move(inner), branch_prefix(ctx),
                            ctx.frame().depth + 1, &ctx.source());
    if (!results) return ctx.poison(), ok_status();
    for (size_t i = 0; i < results->size(); ++i) {
      if (!(*results)[i].is_tensor() || (*results)[i].complex)
        return ctx.unsupported("result " + std::to_string(i) + " of a branch is no tensor");
      nested.graph->add_output("output" + std::to_string(i), (*results)[i].tensor);
    }
    operands = nested.captures;
    spec.num_outputs = results->size();
    spec.bodies.push_back(std::move(nested.graph));
  }
  if (spec.bodies[0]->outputs().size() != spec.bodies[1]->outputs().size())
    return ctx.fail(Code::BadArity, "the branches give different numbers of results");
  const size_t count = spec.num_outputs;
  operands.insert(operands.begin(), condition);
  EC_TRY(Operation * op, ctx.graph().add(OpKind::If, std::move(operands), std::move(spec)));
  for (size_t i = 0; i < count; ++i) EC_CHECK_OK(ctx.set(i, op->output(i)));
  return {};
}

Status convert_if(OpContext& ctx) {
  const std::vector<std::string_view> yes = ctx.attr_functions("then_branch"),
                                      no = ctx.attr_functions("else_branch");
  if (yes.size() != 1 || no.size() != 1)
    return ctx.fail(Code::BadAttribute, "the branches are missing");
  if (ctx.value(0).is_tensor())
    if (const auto known = known_scalar(ctx.in(0)))
      return inline_branch(ctx, *known != 0.0 ? yes[0] : no[0]);
  EC_TRY(ec::Tensor * condition, as_condition(ctx));
  const std::string_view names[] = {yes[0], no[0]};
  return convert_branches(ctx, names, condition);
}

Status convert_case(OpContext& ctx) {
  const std::vector<std::string_view> branches = ctx.attr_functions("branches");
  if (branches.empty() || !ctx.value(0).is_tensor())
    return ctx.fail(Code::BadAttribute, "the branches are missing");
  const auto last = static_cast<double>(branches.size() - 1);
  if (const auto known = known_scalar(ctx.in(0)))
    return inline_branch(
        ctx, branches[static_cast<size_t>(*known >= 0 && *known <= last ? *known : last)]);
  if (branches.size() != 2)
    return ctx.unsupported(std::to_string(branches.size()) +
                           " branches with an index that is not constant");
  EC_TRY(ec::Tensor * first, ctx.add(OpKind::Equal, {ctx.in(0), ctx.scalar(ctx.dtype(), 0.0)}));
  EC_TRY(first, ctx.reshape(first, std::vector<int64_t>{}));
  return convert_branches(ctx, branches, first);
}

// switch(data, condition): output 0 is alive when the condition is false.
Status convert_switch(OpContext& ctx) {
  std::optional<double> known;
  if (ctx.value(1).is_tensor()) known = known_scalar(ctx.in(1));
  if (!known)
    return ctx.unsupported("a condition of TensorFlow 1 (Switch/Merge) that is not constant")
        .hint("freeze with lower_control_flow=False or give the SavedModel");
  EC_CHECK_OK(ctx.set_value(0, *known == 0.0 ? ctx.value(0) : TfValue::dead()));
  return ctx.set_value(1, *known != 0.0 ? ctx.value(0) : TfValue::dead());
}

Status convert_merge(OpContext& ctx) {
  for (size_t i = 0; i < ctx.num_inputs(); ++i) {
    if (ctx.value(i).kind == TfValue::Kind::Dead) continue;
    EC_CHECK_OK(ctx.set_value(0, ctx.value(i)));
    return ctx.set(1, ctx.scalar(DType::I32, static_cast<double>(i)));
  }
  EC_CHECK_OK(ctx.set_value(0, TfValue::dead()));
  return ctx.set_value(1, TfValue::dead());
}

constexpr Takes kAll = Takes::Anything;

constexpr OpRow kRows[] = {
    {"If", {1, kMany}, convert_if, kAll},
    {"StatelessIf", {1, kMany}, convert_if, kAll},
    {"Case", {1, kMany}, convert_case, kAll},
    {"StatelessCase", {1, kMany}, convert_case, kAll},
    {"Switch", {2, 2}, convert_switch, kAll, "output_false,output_true"},
    {"RefSwitch", {2, 2}, convert_switch, kAll, "output_false,output_true"},
    {"Merge", {1, kMany}, convert_merge, kAll, "output,value_index"},
    {"RefMerge", {1, kMany}, convert_merge, kAll, "output,value_index"},
};

}  // namespace

const std::span<const OpRow> kControlRows = kRows;

}  // namespace ec::tf
