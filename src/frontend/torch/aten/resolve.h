// Picking the overload for a call and putting its arguments in the signature's order.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "frontend/torch/aten/operators.h"
#include "frontend/torch/aten/table.h"

namespace ec::torch {

struct Resolved {
  const Operator* op = nullptr;
  std::vector<TorchValue> args;  // one per argument of the signature, defaults filled in
};

// `overload` empty and `exact` false: the overload that fits best by arity, names and types; the
// earlier one of the table when several fit equally. Errors: BadArity, TypeMismatch.
Result<Resolved> resolve(std::string_view name, std::span<const Operator> overloads,
                         std::string_view overload, bool exact, std::span<const TorchValue> args,
                         const NamedValues& kwargs);

}  // namespace ec::torch
