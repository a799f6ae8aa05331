// Calls of functions, which are inlined, and nodes that pass values on.
#include "frontend/tensorflow/table.h"

namespace ec::tf {
namespace {

Status identity(OpContext& ctx) { return ctx.set_value(0, ctx.value(0)); }

Status identity_n(OpContext& ctx) {
  for (size_t i = 0; i < ctx.num_inputs(); ++i) EC_CHECK_OK(ctx.set_value(i, ctx.value(i)));
  return {};
}

Status call(OpContext& ctx) {
  const std::vector<std::string_view> names = ctx.attr_functions("f");
  // A node may also be named after the function that it calls.
  EC_TRY(const FunctionBody* body,
         ctx.importer().library().find(names.size() == 1 ? names[0] : ctx.source().op));
  const auto results =
      ctx.importer().call(*body, ctx.site(), ctx.values(), call_prefix(ctx.frame(), ctx.source()),
                          ctx.frame().depth + 1, &ctx.source());
  if (!results) return ctx.poison(), ok_status();
  for (size_t i = 0; i < results->size(); ++i) EC_CHECK_OK(ctx.set_value(i, (*results)[i]));
  return {};
}

constexpr Arity k1{1, 1}, kAny{0, kMany};
constexpr Takes kAll = Takes::Anything;

constexpr OpRow kRows[] = {
    {"Identity", k1, identity, kAll},
    {"IdentityN", kAny, identity_n, kAll},
    {"StopGradient", k1, identity, kAll},
    {"PreventGradient", k1, identity, kAll},
    {"CheckNumerics", k1, identity, kAll},
    {"Snapshot", k1, identity, kAll},
    {"PlaceholderWithDefault", k1, identity, kAll},
    {"OptimizationBarrier", kAny, identity_n, kAll},
    {"PartitionedCall", kAny, call, kAll},
    {"StatefulPartitionedCall", kAny, call, kAll},
    {"NoOp", kAny, nullptr},
    {"Assert", kAny, nullptr},
    {"Print", {1, kMany}, identity, kAll},
    {"PrintV2", kAny, nullptr},
};

}  // namespace

const std::span<const OpRow> kCallRows = kRows;

}  // namespace ec::tf
