// Reading a graph the way patterns do: who produces a tensor, which operand is the constant, what
// value it has.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "ops/attrs.h"

namespace ec {

// The producer when it is of this kind, else null.
Operation* produced_by(const Tensor* tensor, OpKind kind);
// The only reader, when there is exactly one and the tensor is no graph output.
Operation* only_user(const Tensor* tensor);
bool has_single_use(const Tensor* tensor);

bool is_constant(const Tensor* tensor);  // null: false
// Plain values: neither the operands nor the results carry quantisation parameters.
bool is_plain(const Operation* op);
bool has_quant(const Operation* op);

// Rank and sizes, when known.
std::optional<size_t> rank_of(const Tensor* tensor);
std::optional<std::vector<int64_t>> static_shape(const Tensor* tensor);
// Both shapes are known and provably equal.
bool same_shape(const Tensor* a, const Tensor* b);
bool same_shape(const Shape& a, const Shape& b);
// Element-wise with a tensor of x's shape, `other` broadcasts to x's shape whatever open sizes are.
bool broadcasts_into(const Tensor* other, const Tensor* x);
bool broadcasts_into(const Shape& other, const Shape& x);

// All elements of a constant equal this value (bool: 0 or 1).
std::optional<double> splat_value(const Tensor* tensor);
bool is_splat(const Tensor* tensor, double value, double tolerance = 0);
// A constant with one element.
std::optional<double> scalar_value(const Tensor* tensor);
// Elements of an integer constant, or integers that inference knows.
std::optional<std::vector<int64_t>> int_values(const Tensor* tensor);
// Elements of a float constant.
std::vector<float> float_values(const Tensor* tensor);
std::vector<double> double_values(const Tensor* tensor);

// A binary operation's operands with the constant one second. For operations that do not commute
// only a constant second operand counts.
struct WithConstant {
  Tensor* x = nullptr;
  Tensor* constant = nullptr;
  explicit operator bool() const { return constant != nullptr; }
};
WithConstant with_constant(const Operation* op);
// x and the value, when the constant operand has one value and broadcasts into x.
struct WithScalar {
  Tensor* x = nullptr;
  double value = 0;
  explicit operator bool() const { return x != nullptr; }
};
WithScalar with_scalar(const Operation* op);
// Operands of a commutative operation: the one produced by `kind` and the other one.
struct Operands {
  Operation* producer = nullptr;
  Tensor* other = nullptr;
  explicit operator bool() const { return producer != nullptr; }
};
Operands operand_from(const Operation* op, OpKind kind);
// The operand that is not `x`; null when x is none of the two.
Tensor* other_operand(const Operation* op, const Tensor* x);

// Relative closeness of constants that exporters print and round.
bool near(double value, double expected, double tolerance = 1e-4);

// Axes of a reduction, non-negative and sorted; empty when unknown. All axes when none is
// given (unless that means none).
std::optional<std::vector<int64_t>> reduce_axes(const Operation* op);
// axis in [-rank, rank) to [0, rank).
inline int64_t positive_axis(int64_t axis, size_t rank) {
  return axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
}

}  // namespace ec
