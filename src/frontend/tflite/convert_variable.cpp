// Variables. A handle names one; within a run its value is whatever was assigned last, so reads
// become that tensor. The first run starts from the values that CALL_ONCE assigns, later ones from
// what the run before assigned last.
#include "frontend/tflite/importer.h"
#include "frontend/tflite/table.h"
#include "support/strings.h"

namespace ec::tflite {
namespace {

Status var_handle(OpContext& ctx) {
  const auto& options = ctx.options<VarHandleOptions>();
  ctx.scope().handles[ctx.output_index(0)] =
      std::string(text_of(options.container()).substr(0, 1024)) + "/" +
      std::string(text_of(options.shared_name()).substr(0, 1024));
  return {};
}

Result<std::string> key_of(const OpContext& ctx) {
  const auto it = ctx.scope().handles.find(ctx.input_index(0));
  if (it == ctx.scope().handles.end())
    return ctx.unsupported("the variable's handle does not come from a VAR_HANDLE");
  if (!ctx.scope().is_main)
    return ctx.unsupported("variables in subgraphs of IF and WHILE are not supported");
  return it->second;
}

Status read_variable(OpContext& ctx) {
  EC_TRY(const std::string key, key_of(ctx));
  EC_TRY(ec::Tensor * value, ctx.importer().read_variable(key, ctx.location()));
  if (value == nullptr)
    return ctx.fail(Code::UndefinedName,
                    "variable '" + printable(key) + "' is read before it is assigned");
  return ctx.set(0, value);
}

Status assign_variable(OpContext& ctx) {
  EC_TRY(const std::string key, key_of(ctx));
  if (!ctx.has(1)) return ctx.fail(Code::UnsupportedType, "the value is no tensor");
  ctx.importer().assign_variable(key, ctx.in(1));
  return {};
}

// The subgraph assigns the variables' first values.
Status call_once(OpContext& ctx) {
  if (!ctx.scope().is_main)
    return ctx.unsupported("CALL_ONCE in subgraphs of IF and WHILE is not supported");
  const std::vector<uint32_t> called = ctx.importer().file().called_subgraphs(ctx.source());
  if (called.size() != 1) return ctx.fail(Code::BadAttribute, "the options are missing");
  ctx.importer().set_initialising(true);
  if (!ctx.importer().inline_subgraph(called[0], ctx.graph(), true, {})) ctx.poison();
  ctx.importer().set_initialising(false);
  return {};
}

constexpr Arity k0{0, 0}, k1{1, 1}, k2{2, 2};

constexpr OpRow kRows[] = {
    {BuiltinOperator::VAR_HANDLE, k0, k1, var_handle, true},
    {BuiltinOperator::READ_VARIABLE, k1, k1, read_variable, true},
    {BuiltinOperator::ASSIGN_VARIABLE, k2, k0, assign_variable, true},
    {BuiltinOperator::CALL_ONCE, k0, k0, call_once},
};

}  // namespace

const std::span<const OpRow> kVariableRows = kRows;

}  // namespace ec::tflite
