#include "passes/permute_axes.h"

#include <algorithm>

#include "passes/match.h"

namespace ec {

int64_t AxisRewrite::position(int64_t axis) const {
  return inverse(perm)[static_cast<size_t>(positive_axis(axis, rank()))];
}

void AxisRewrite::set_axes(size_t i, std::vector<int64_t> axes) {
  for (int64_t& axis : axes) axis = position(axis);
  inputs[i] = rewriter.ints(axes);
}

Status AxisRewrite::reorder(size_t i, const Perm& order) {
  EC_TRY(inputs[i], rewriter.add_folded(OpKind::Gather, {op->input(i), rewriter.ints(order)},
                                        GatherAttrs{.axis = 0}));
  return {};
}

namespace {

using Role = PermuteRole;

// --- roles ---------------------------------------------------------------------------------------

bool known_or_absent(const Tensor* tensor) { return tensor == nullptr || is_constant(tensor); }

void set_others(PermuteRoles& roles, Role role) {
  for (size_t i = 1; i < roles.inputs.size(); ++i) roles.inputs[i] = role;
}

// Remaining dimensions of a reduction that drops its axes keep their order under the permutation.
bool drop_keeps_order(const std::vector<int64_t>& axes, const Perm& perm) {
  int64_t last = -1;
  for (const int64_t axis : perm) {
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

// Other operands (the sizes of a split) say nothing about axes.
bool first_operand(const Operation*, const Perm&, PermuteRoles& roles) {
  set_others(roles, Role::Plain);
  return true;
}

bool all_operands(const Operation* op, const Perm& perm, PermuteRoles& roles) {
  set_others(roles, Role::Data);
  return std::ranges::all_of(op->inputs(),
                             [&](const Tensor* input) { return rank_of(input) == perm.size(); });
}

bool reduce_roles(const Operation* op, const Perm& perm, PermuteRoles& roles) {
  const auto axes = reduce_axes(op);
  if (!axes) return false;
  if (axes->empty() || op->attrs_as<ReduceAttrs>().keep_dims) return true;
  roles.outputs[0] = Role::Plain;
  return drop_keeps_order(*axes, perm);
}

bool arg_reduce_roles(const Operation* op, const Perm& perm, PermuteRoles& roles) {
  const auto& attrs = op->attrs_as<ArgReduceAttrs>();
  if (attrs.keep_dims) return true;
  roles.outputs[0] = Role::Plain;
  return drop_keeps_order({positive_axis(attrs.axis, perm.size())}, perm);
}

// Starts, ends and steps follow their axes; only the list of axes changes.
bool slice_roles(const Operation* op, const Perm&, PermuteRoles& roles) {
  for (size_t i = 1; i < roles.inputs.size(); ++i)
    if (i != 3) roles.inputs[i] = Role::Plain;
  if (op->input(3) == nullptr && rank_of(op->input(1)) != 1) return false;
  return known_or_absent(op->input(3)) && op->input(1)->type().is_static();
}

bool pad_roles(const Operation* op, const Perm&, PermuteRoles& roles) {
  if (roles.inputs.size() > 2) roles.inputs[2] = Role::Plain;
  return is_constant(op->input(1)) && known_or_absent(op->input(3));
}

bool repeat_roles(const Operation* op, const Perm& perm, PermuteRoles&) {
  return is_constant(op->input(1)) && rank_of(op->output()) == perm.size();
}

bool resize_roles(const Operation* op, const Perm&, PermuteRoles&) {
  return std::all_of(op->inputs().begin() + 1, op->inputs().end(), known_or_absent);
}

// With one list of indices the rank stays.
bool gather_roles(const Operation* op, const Perm&, PermuteRoles& roles) {
  set_others(roles, Role::Plain);
  return rank_of(op->input(1)) == 1;
}

// Scales and zero points have one element, or one per index of an axis.
template <class A>
bool unblocked(const Operation* op, const Perm&, PermuteRoles& roles) {
  set_others(roles, Role::Plain);
  return op->attrs_as<A>().block_size == 0;
}

// --- rewrites ------------------------------------------------------------------------------------

template <class A>
Status move_axis(AxisRewrite& r) {
  int64_t& axis = r.attrs.edit<A>().axis;
  axis = r.position(axis);
  return {};
}

// Parameters for the whole tensor ignore the axis, which may then be anything.
template <class A>
Status move_axis_in_range(AxisRewrite& r) {
  const int64_t axis = positive_axis(r.op->attrs_as<A>().axis, r.rank());
  if (axis < 0 || axis >= static_cast<int64_t>(r.rank())) return {};
  return move_axis<A>(r);
}

Status reduce(AxisRewrite& r) {
  if (r.op->input(1) != nullptr) r.set_axes(1, *reduce_axes(r.op));
  return {};
}

Status slice(AxisRewrite& r) {
  if (r.op->input(3) != nullptr) {
    r.set_axes(3, *int_values(r.op->input(3)));
    return {};
  }
  r.inputs.resize(std::max<size_t>(r.inputs.size(), 4), nullptr);
  r.set_axes(3, identity_perm(static_cast<size_t>(*r.op->input(1)->type().num_elements())));
  return {};
}

// The permutation of a list that has an entry per dimension twice: starts, then ends.
Perm twice(const Perm& perm) {
  Perm both = perm;
  for (const int64_t axis : perm) both.push_back(axis + static_cast<int64_t>(perm.size()));
  return both;
}

Status pad(AxisRewrite& r) {
  if (r.op->input(3) == nullptr) return r.reorder(1, twice(r.perm));
  r.set_axes(3, *int_values(r.op->input(3)));
  return {};
}

Status tile(AxisRewrite& r) { return r.reorder(1, r.perm); }

Status expand(AxisRewrite& r) {
  std::vector<int64_t> sizes = *int_values(r.op->input(1)), permuted;
  sizes.insert(sizes.begin(), r.rank() - sizes.size(), 1);
  for (const int64_t axis : r.perm) permuted.push_back(sizes[static_cast<size_t>(axis)]);
  r.inputs[1] = r.rewriter.ints(permuted);
  return {};
}

// roi, scales and sizes have an entry per listed axis; without a list, per dimension.
Status resize(AxisRewrite& r) {
  auto& axes = r.attrs.edit<ResizeAttrs>().axes;
  for (int64_t& axis : axes) axis = r.position(axis);
  if (!axes.empty()) return {};
  for (size_t i = 1; i < r.inputs.size(); ++i) {
    const Tensor* list = r.op->input(i);
    if (list == nullptr || list->type().num_elements() == 0) continue;
    const bool region = i == 1;  // starts, then ends
    EC_CHECK_OK(r.reorder(i, region ? twice(r.perm) : r.perm));
  }
  return {};
}

// --- the table -----------------------------------------------------------------------------------

constexpr AxisForm kForms[] = {
    {OpKind::Softmax, first_operand, move_axis<AxisAttrs>},
    {OpKind::LogSoftmax, first_operand, move_axis<AxisAttrs>},
    {OpKind::Hardmax, first_operand, move_axis<AxisAttrs>},
    {OpKind::LpNorm, first_operand, move_axis<LpNormAttrs>},
    {OpKind::ArgMax, arg_reduce_roles, move_axis<ArgReduceAttrs>},
    {OpKind::ArgMin, arg_reduce_roles, move_axis<ArgReduceAttrs>},
    {OpKind::ReduceSum, reduce_roles, reduce},
    {OpKind::ReduceMean, reduce_roles, reduce},
    {OpKind::ReduceMax, reduce_roles, reduce},
    {OpKind::ReduceMin, reduce_roles, reduce},
    {OpKind::ReduceProd, reduce_roles, reduce},
    {OpKind::ReduceL1, reduce_roles, reduce},
    {OpKind::ReduceL2, reduce_roles, reduce},
    {OpKind::ReduceLogSum, reduce_roles, reduce},
    {OpKind::ReduceLogSumExp, reduce_roles, reduce},
    {OpKind::ReduceSumSquare, reduce_roles, reduce},
    {OpKind::Concat, all_operands, move_axis<AxisAttrs>},
    {OpKind::Split, first_operand, move_axis<AxisAttrs>},
    {OpKind::Slice, slice_roles, slice},
    {OpKind::Pad, pad_roles, pad},
    {OpKind::Tile, repeat_roles, tile},
    {OpKind::Expand, repeat_roles, expand},
    {OpKind::Resize, resize_roles, resize},
    {OpKind::Gather, gather_roles, move_axis<GatherAttrs>},
    {OpKind::Quantize, unblocked<QuantizeAttrs>, move_axis_in_range<QuantizeAttrs>},
    {OpKind::Dequantize, unblocked<DequantizeAttrs>, move_axis_in_range<DequantizeAttrs>},
};

}  // namespace

const AxisForm* axis_form(OpKind kind) {
  const auto form = std::ranges::find(kForms, kind, &AxisForm::kind);
  return form == std::end(kForms) ? nullptr : form;
}

}  // namespace ec
