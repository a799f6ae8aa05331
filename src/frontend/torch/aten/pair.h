// Operators on two operands that meet in one element type, and how their rows are written.
#pragma once

#include "frontend/torch/aten/table.h"

namespace ec::torch {

inline std::string_view first_name(const Call& c) { return c.schema().args[0].name; }
inline std::string_view second_name(const Call& c) { return c.schema().args[1].name; }

// Two operands of the promoted type; integers as floats when asked.
struct Pair {
  ec::Tensor* a;
  ec::Tensor* b;
};
Result<Pair> operands(Call& c, bool as_float = false);

template <OpKind kKind>
Result<ec::Tensor*> binary(Call& c) {
  EC_TRY(const Pair p, operands(c));
  return c.add(kKind, {p.a, p.b});
}

#define EC_UNARY(name) "aten::" name "(Tensor self) -> Tensor"
// Forms with a tensor and with a number on the right.
#define EC_BINARY(name, convert)                                             \
  {"aten::" name ".Tensor(Tensor self, Tensor other) -> Tensor", convert}, { \
    "aten::" name ".Scalar(Tensor self, Scalar other) -> Tensor", convert    \
  }
#define EC_BINARY_TENSORS(name, convert) \
  { "aten::" name "(Tensor self, Tensor other) -> Tensor", convert }

}  // namespace ec::torch
