#include "frontend/torch/aten/resolve.h"

#include <algorithm>
#include <optional>

#include "support/strings.h"

namespace ec::torch {
namespace {

using Base = ArgType::Base;

// How far a value is from the type that the signature wants: what Python would pass as it is costs
// nothing, conversions that PyTorch does by itself cost more the less usual they are.
constexpr int kWiden = 1, kNumberAsTensor = 2, kTensorAsNumber = 3;

bool is_single(const TorchValue& value) {
  const ec::Tensor* tensor = value.tensor();
  return tensor != nullptr &&
         ((tensor->shape() && tensor->shape()->rank() == 0) || tensor->type().num_elements() == 1);
}

std::optional<int> number_cost(Base base, const TorchValue& value) {
  if (is_single(value)) return kTensorAsNumber;
  const auto* symbol = value.get_if<SymScalar>();
  const bool is_bool =
      value.is<bool>() || (symbol != nullptr && symbol->kind == SymScalar::Kind::Bool);
  const bool is_int =
      value.is<int64_t>() || (symbol != nullptr && symbol->kind == SymScalar::Kind::Int);
  const bool is_float =
      value.is<double>() || (symbol != nullptr && symbol->kind == SymScalar::Kind::Float);
  if (!is_bool && !is_int && !is_float) return std::nullopt;
  switch (base) {
    case Base::Bool:
      if (is_float) return std::nullopt;
      return is_bool ? 0 : kWiden;
    case Base::Int:
      // TorchScript prints large whole floats without a dot, and some integers with one.
      if (is_float) return known_int(value) ? std::optional(kTensorAsNumber) : std::nullopt;
      return is_int ? 0 : kWiden;
    case Base::Float:
      return is_float ? 0 : kWiden;
    default:
      return 0;
  }
}

std::optional<int> item_cost(Base base, const TorchValue& value) {
  switch (base) {
    case Base::Any:
      return 0;
    case Base::Str:
      return value.is<std::string>() ? std::optional(0) : std::nullopt;
    case Base::Tensor:
      if (value.is_tensor()) return 0;
      if (value.is_number() || value.is<SymScalar>()) return kNumberAsTensor;
      return std::nullopt;
    default:
      return number_cost(base, value);
  }
}

std::optional<int> cost(const ArgType& type, const TorchValue& value) {
  if (value.is_none())
    return type.optional || type.base == Base::Any ? std::optional(0) : std::nullopt;
  if (!type.list) return item_cost(type.base, value);
  const auto* items = value.items();
  if (items == nullptr) {
    if (type.list_size == 0) return std::nullopt;
    const auto single = item_cost(type.base, value);
    return single ? std::optional(*single + kWiden) : std::nullopt;
  }
  int worst = 0;
  for (const TorchValue& item : *items) {
    if (item.is_none()) {
      if (!type.optional_items) return std::nullopt;
      continue;
    }
    const auto item_price = item_cost(type.base, item);
    if (!item_price) return std::nullopt;
    worst = std::max(worst, *item_price);
  }
  return worst;
}

struct Fit {
  std::vector<TorchValue> args;
  int cost = 0;
  std::string fault;
  bool arity_fault = false;
  bool ok() const { return fault.empty(); }
};

Fit misfit(std::string fault, bool arity) { return {{}, 0, std::move(fault), arity}; }

Fit try_bind(const Schema& schema, std::span<const TorchValue> args, const NamedValues& kwargs) {
  if (args.size() > schema.num_positional())
    return misfit("takes " + std::to_string(schema.num_positional()) +
                      " arguments in order, the call has " + std::to_string(args.size()),
                  true);
  for (const auto& [name, value] : kwargs)
    if (schema.find(name) == nullptr)
      return misfit("has no argument '" + printable(name) + "'", true);
  Fit fit;
  for (size_t i = 0; i < schema.args.size(); ++i) {
    const SchemaArg& arg = schema.args[i];
    const TorchValue* given = i < args.size() ? &args[i] : nullptr;
    for (const auto& [name, value] : kwargs)
      if (name == arg.name) given = &value;
    if (given == nullptr) {
      if (!arg.fallback) return misfit("needs argument '" + arg.name + "'", true);
      fit.args.push_back(*arg.fallback);
      continue;
    }
    const auto price = cost(arg.type, *given);
    if (!price) return misfit("argument '" + arg.name + "' cannot be " + describe(*given), false);
    fit.cost += *price;
    fit.args.push_back(*given);
  }
  return fit;
}

std::string full_name(const Schema& schema) {
  return schema.name + (schema.overload.empty() ? "" : "." + schema.overload);
}

}  // namespace

Result<Resolved> resolve(std::string_view name, std::span<const Operator> overloads,
                         std::string_view overload, bool exact, std::span<const TorchValue> args,
                         const NamedValues& kwargs) {
  std::optional<Fit> best;
  const Operator* best_op = nullptr;
  std::string faults;
  bool arity_fault = true;
  const auto attempt = [&](const Operator& op) {
    Fit fit = try_bind(op.schema, args, kwargs);
    if (!fit.ok()) {
      faults += (faults.empty() ? "" : "; ") + full_name(op.schema) + " " + fit.fault;
      arity_fault = arity_fault && fit.arity_fault;
    } else if (!best || fit.cost < best->cost) {
      best = std::move(fit);
      best_op = &op;
    }
  };
  if (exact)
    for (const Operator& op : overloads)
      if (op.schema.overload == overload) attempt(op);
  // An overload that is not listed has the meaning of its siblings when its arguments fit one.
  if (!best && faults.empty())
    for (const Operator& op : overloads) attempt(op);
  if (best) return Resolved{best_op, std::move(best->args)};
  return Error(arity_fault ? Code::BadArity : Code::TypeMismatch,
               "the arguments fit no form of " + std::string(name) + ": " + faults);
}

}  // namespace ec::torch
