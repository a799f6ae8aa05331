// Shape arithmetic at compile time: what is known of the elements of small integer tensors flows
// through element-wise ops as dimensions, so that Shape -> Mul -> Concat -> Reshape stays exact
// where it can be. An element that cannot be told becomes Dim::unknown().
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ops/infer.h"

namespace ec {

// One element: a constant of any sign, a symbol (>= 0), or unknown.
class ShapeElement {
 public:
  ShapeElement(const Dim& dim) : dim_(dim) {  // NOLINT: dimensions convert
    if (dim.is_static()) constant_ = dim.size();
  }
  static ShapeElement constant(int64_t value) {
    ShapeElement element(value < 0 ? Dim::unknown() : Dim(value));
    element.constant_ = value;
    return element;
  }
  std::optional<int64_t> constant() const { return constant_; }
  const Dim& dim() const { return dim_; }
  bool is(int64_t value) const { return constant_ == value; }
  bool is_negative() const { return constant_ && *constant_ < 0; }
  bool same(const ShapeElement& other) const {
    return constant_ && other.constant_ ? *constant_ == *other.constant_
                                        : dim_.same_size(other.dim_);
  }

 private:
  Dim dim_;
  std::optional<int64_t> constant_;
};

// Elements of an integer or boolean operand with a static shape; empty when nothing is known.
std::optional<std::vector<ShapeElement>> shape_elements(const InferContext& ctx, size_t i);

// Sets what is known of result 0 (whose type is set already) from operands 0 and 1, broadcast.
using ElementRule = std::function<Dim(const ShapeElement&)>;
using ElementPairRule = std::function<Dim(const ShapeElement&, const ShapeElement&)>;
void propagate_binary(InferContext& ctx, const ElementPairRule& rule);
// The same for one operand: result element = rule(element).
void propagate_unary(InferContext& ctx, const ElementRule& rule);
// where(condition, x, y).
void propagate_where(InferContext& ctx);

// A dimension from a computed constant: unknown when negative or not computable.
Dim dim_or_unknown(std::optional<int64_t> value);

}  // namespace ec
