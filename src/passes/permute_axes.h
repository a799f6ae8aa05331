// Operations that name axes (LayoutRule::AxisAttr): how each is permuted. permute.cpp asks for
// them.
#pragma once

#include "passes/permute.h"

namespace ec {

// One operation whose operands are permuted: the axes that it names change with them.
struct AxisRewrite {
  Rewriter& rewriter;
  const Operation* op;
  const Perm& perm;
  std::vector<Tensor*>& inputs;  // of the permuted operation; those of role Data are permuted
  Attrs& attrs;                  // of the permuted operation

  size_t rank() const { return perm.size(); }
  // The new position of an axis, which may count from the end.
  int64_t position(int64_t axis) const;
  // Operand i becomes the list of these axes at their new positions.
  void set_axes(size_t i, std::vector<int64_t> axes);
  // Operand i, a constant with an entry per dimension, becomes the same with the entries in
  // `order`.
  Status reorder(size_t i, const Perm& order);
};

struct AxisForm {
  OpKind kind;
  // Sets the roles, which come as: operand 0 and the results are Data, the other operands Constant.
  // False: this operation has no permuted form.
  bool (*find_roles)(const Operation* op, const Perm& perm, PermuteRoles& roles);
  Status (*rewrite)(AxisRewrite& rewrite);
};

// Null for operations without LayoutRule::AxisAttr.
const AxisForm* axis_form(OpKind kind);

}  // namespace ec
