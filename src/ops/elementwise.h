// Shared by the element-wise families: loops over compute types and inference with a type check.
#pragma once

#include <algorithm>

#include "ops/broadcast.h"
#include "ops/define.h"
#include "support/budget.h"

namespace ec::ops {

// Which element types an op accepts, with the words for the message.
struct TypeClass {
  bool (*accepts)(DType);
  std::string_view what;
};
inline bool is_numeric(DType dtype) { return dtype != DType::Bool; }
inline bool is_bool(DType dtype) { return dtype == DType::Bool; }
inline bool is_any(DType) { return true; }
inline constexpr TypeClass kFloats{is_float, "floating point"};
inline constexpr TypeClass kNumbers{is_numeric, "numeric"};
inline constexpr TypeClass kIntegers{is_integer, "integer"};
inline constexpr TypeClass kBooleans{is_bool, "boolean"};
inline constexpr TypeClass kAnything{is_any, "any"};

Status check_type(const InferContext& ctx, size_t operand, const TypeClass& types);
// The operand must broadcast to operand 0 without growing it.
Status check_broadcasts(const InferContext& ctx, size_t operand);

// Result 0 has the type and shape of operand 0, whose element type must be of the class.
template <const TypeClass& kTypes>
Status infer_unary(InferContext& ctx) {
  EC_CHECK_OK(check_type(ctx, 0, kTypes));
  return infer_same_as_first(ctx);
}

// Elements between two looks at the budget.
inline constexpr size_t kElementBlock = size_t{1} << 14;

// y[i] = f(x[i]) computed in C.
template <class C, class F>
void map_as(const ConstView& x, const MutableView& y, F&& f) {
  const Reader<C> in(x);
  Writer<C> out(y);
  const C* source = in.data();
  C* target = out.data();
  const size_t n = in.size();
  Ticker ticker;
  for (size_t first = 0; first < n;) {
    const size_t last = std::min(n, first + kElementBlock);
    for (size_t i = first; i < last; ++i) target[i] = f(source[i]);
    // Functions such as tanh take some nanoseconds.
    if (ticker.tick(4 * static_cast<int64_t>(last - first))) return;
    first = last;
  }
  out.commit();
}

// F has a call operator template; floats compute in float or double, integers in double.
template <class F>
Status map_float(KernelContext& ctx, const F& f) {
  with_float_type(ctx.input(0).dtype,
                  [&](auto c) { map_as<decltype(c)>(ctx.input(0), ctx.output(0), f); });
  return {};
}
template <class F>
Status map_float(KernelContext& ctx) {
  return map_float(ctx, F{});
}
// Every type in its own compute type.
template <class F>
Status map_numeric(KernelContext& ctx) {
  with_compute_type(ctx.input(0).dtype,
                    [&](auto c) { map_as<decltype(c)>(ctx.input(0), ctx.output(0), F{}); });
  return {};
}

// How operands [0, count) broadcast to result 0. Fails when they do not: a result's shape can be
// planned while an operand's is still open.
Result<BroadcastPlan> plan_operands(const KernelContext& ctx, size_t count);
// Whether a shape broadcasts to the target without growing it.
bool broadcasts_to(std::span<const int64_t> shape, std::span<const int64_t> target);

// Maximum and minimum as numpy has them: NaN wins.
template <class C>
C max_of(C a, C b) {
  if constexpr (std::is_floating_point_v<C>)
    if (a != a) return a;
  return a >= b ? a : b;  // a NaN in b fails the comparison and is taken
}
template <class C>
C min_of(C a, C b) {
  if constexpr (std::is_floating_point_v<C>)
    if (a != a) return a;
  return a <= b ? a : b;
}

}  // namespace ec::ops
