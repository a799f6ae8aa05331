// Products of complex numbers, which are pairs along a last dimension (ADR 14), for TensorFlow and
// TFLite. `Context` is what the converters of a front end see; beside it stand the functions
// complex_part and complex_number of the same front end.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/graph.h"
#include "support/result.h"

namespace ec {

enum class ComplexPart : int64_t { Real = 0, Imaginary = 1 };

// Input 0 times input 1.
template <class Context>
Result<Tensor*> complex_product(Context& ctx) {
  Tensor* parts[2][2];
  for (size_t i = 0; i < 2; ++i) {
    EC_TRY(parts[i][0], complex_part(ctx, ctx.in(i), ComplexPart::Real));
    EC_TRY(parts[i][1], complex_part(ctx, ctx.in(i), ComplexPart::Imaginary));
  }
  const auto product = [&](size_t a, size_t b) {
    return ctx.add(OpKind::Mul, {parts[0][a], parts[1][b]});
  };
  EC_TRY(Tensor * rr, product(0, 0));
  EC_TRY(Tensor * ii, product(1, 1));
  EC_TRY(Tensor * ri, product(0, 1));
  EC_TRY(Tensor * ir, product(1, 0));
  EC_TRY(Tensor * real, ctx.add(OpKind::Sub, {rr, ii}));
  EC_TRY(Tensor * imaginary, ctx.add(OpKind::Add, {ri, ir}));
  return complex_number(ctx, real, imaginary);
}

}  // namespace ec
