// The op table: one definition per op with everything the compiler knows about it. Definitions live
// in one block per op in ops/<family>.cpp; ops.def lists them. A listed op without a definition is
// a link error that names it.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "ir/attrs.h"
#include "ops/op_kind.h"
#include "ops/rules.h"
#include "support/result.h"

namespace ec {

class InferContext;
class KernelContext;

// Where quantisation takes the result's scale and zero point from. The rules of targets
// (quantize/target/target_spec.h) start from here and add what only they know.
enum class QuantRule : uint8_t {
  Never,        // is never quantised: stays in float, or has nothing to do with real numbers
  Free,         // parameters of its own, from the range of the result
  SameAsInput,  // those of the operand that elements are taken from: data movement, max pooling
  WeightedSum,  // as Free; activations x weights, and bias scale = input scale x weight scale
  FixedOutput,  // prescribed, because the result's range is known (softmax, sigmoid, tanh)
  Compared,     // none: reads real numbers and gives truth values or indices
};

// How transposes move over the op (passes/permute.h) and what the layout pass does with it.
enum class LayoutRule : uint8_t {
  Agnostic,      // element by element: any permutation passes through
  FollowsInput,  // computes in the order that its `layout` attribute names (conv, pool)
  AxisAttr,      // names axes by attributes or operands, which are rewritten
  Fixed,         // reads and gives the order it was written for: no transpose moves over it
};

struct OpTraits {
  bool elementwise = false;  // each output element depends on the broadcast input elements only
  bool commutative = false;  // the first two operands may be swapped
  bool view = false;         // same elements in the same order: a new shape on the same bytes
  bool random = false;       // not a function of its inputs; never folded, merged or duplicated
};

// Counts from a signature such as "(x, w, bias?) -> (y, indices?)" or "(inputs...) -> y".
struct Arity {
  int min = 0;
  int max = 0;  // -1: any number
  bool accepts(size_t n) const {
    return static_cast<int>(n) >= min && (max < 0 || static_cast<int>(n) <= max);
  }
};

using InferFn = Status (*)(InferContext&);
using KernelFn = Status (*)(KernelContext&);

struct OpDef {
  OpKind kind;
  std::string_view name;
  std::string_view signature;      // names of operands and results; '?' optional, '...' any number
  std::string_view summary;        // documentation: what it computes, in one or two sentences
  std::span<const Rule> rules{};   // what the border checks; see ops/rules.h
  bool sizes_from_values = false;  // the kernel allocates its results: values decide about sizes
  OpTraits traits{};
  InferFn infer = nullptr;
  KernelFn reference = nullptr;
  KernelFn quantized = nullptr;  // on integers whose tensors carry parameters; see kernel_of()
  QuantRule quant = QuantRule::Never;
  LayoutRule layout = LayoutRule::Fixed;
  const AttrSchema& (*attrs)() = nullptr;

  Arity inputs() const;
  Arity outputs() const;
};

std::span<const OpDef* const> all_ops();
const OpDef& op_def(OpKind kind);
const OpDef* find_op(std::string_view name);
inline std::string_view op_name(OpKind kind) { return op_def(kind).name; }

namespace ops {
#define EC_OP(Name, text, AttrsType) extern const OpDef k##Name##Def;
#include "ops/ops.def"
#undef EC_OP
}  // namespace ops

}  // namespace ec
