// Builds the operations that replace one operation. The first error is kept and everything after it
// does nothing, so that a formula reads as one:
//
//   return p.replace(p.mul(x, p.unary(OpKind::Sigmoid, x)));
//
// Several operands that are built in the call itself belong into a braced list for op(): C++ builds
// the elements of a braced list in order, the arguments of a function in any order.
#pragma once

#include "passes/match.h"
#include "passes/rewriter.h"
#include "passes/shapes.h"

namespace ec::passes {

class Replacement {
 public:
  Replacement(Rewriter& rewriter, Operation* op) : rewriter_(rewriter), op_(op) {}

  Tensor* op(OpKind kind, std::vector<Tensor*> inputs, Attrs attrs = NoAttrs{});
  // Every result of an operation with several.
  std::vector<Tensor*> op_many(OpKind kind, std::vector<Tensor*> inputs, Attrs attrs,
                               size_t num_outputs);
  Tensor* unary(OpKind kind, Tensor* x) { return op(kind, {x}); }
  Tensor* add(Tensor* a, Tensor* b) { return op(OpKind::Add, {a, b}); }
  Tensor* sub(Tensor* a, Tensor* b) { return op(OpKind::Sub, {a, b}); }
  Tensor* mul(Tensor* a, Tensor* b) { return op(OpKind::Mul, {a, b}); }
  Tensor* div(Tensor* a, Tensor* b) { return op(OpKind::Div, {a, b}); }
  Tensor* max(Tensor* a, Tensor* b) { return op(OpKind::Max, {a, b}); }
  Tensor* min(Tensor* a, Tensor* b) { return op(OpKind::Min, {a, b}); }
  // The same with a scalar of the operand's type.
  Tensor* add(Tensor* a, double b) { return add(a, number(a, b)); }
  Tensor* sub(Tensor* a, double b) { return sub(a, number(a, b)); }
  Tensor* mul(Tensor* a, double b) { return mul(a, number(a, b)); }
  Tensor* max(Tensor* a, double b) { return max(a, number(a, b)); }
  Tensor* min(Tensor* a, double b) { return min(a, number(a, b)); }
  Tensor* number(const Tensor* like, double value);

  Tensor* reduce(OpKind kind, Tensor* x, std::vector<int64_t> axes, bool keep_dims = true);
  Tensor* sized(Tensor* x, std::vector<int64_t> sizes);
  Tensor* reshape(Tensor* x, const Shape& shape);  // at most one open size, or those of x
  Tensor* transpose(Tensor* x, Perm perm);         // x itself when nothing moves
  Tensor* slice(Tensor* x, int64_t axis, int64_t begin, int64_t end);
  Tensor* concat(std::vector<Tensor*> parts, int64_t axis);
  Tensor* cast(Tensor* x, DType to);
  Tensor* pad(Tensor* x, const std::vector<int64_t>& pads, std::optional<double> value = {});
  Tensor* gather(Tensor* x, std::span<const int64_t> indices, int64_t axis);
  Tensor* floats(Shape shape, std::span<const float> values);
  Tensor* ints(std::span<const int64_t> values) { return rewriter_.ints(values); }

  bool ok() const { return status_.ok(); }
  // The operation's results are these now. True, or the error.
  Result<bool> replace(Tensor* result);
  Result<bool> replace_all(std::span<Tensor* const> results);
  Rewriter& rewriter() { return rewriter_; }
  Operation* from() const { return op_; }

 private:
  Rewriter& rewriter_;
  Operation* op_;
  Status status_;
};

}  // namespace ec::passes
