// Movement of elements: what TFLite lacks is gathered with constant indices, masked or sliced.
#include <algorithm>

#include "backend/tflite/passes/rules.h"
#include "ops/value.h"
#include "passes/replacement.h"
#include "passes/tables.h"

namespace ec::passes {
namespace {

// --- pads ----------------------------------------------------------------------------------------

struct AxisPad {
  int64_t begin = 0, end = 0;
};
std::optional<std::vector<AxisPad>> pads_of(const Operation* op) {
  const auto rank = rank_of(op->input(0));
  const auto values = int_values(op->input(1));
  if (!rank || !values || !is_constant(op->input(1))) return std::nullopt;
  std::vector<int64_t> axes;
  if (op->input(3) != nullptr) {
    const auto given = int_values(op->input(3));
    if (!given) return std::nullopt;
    axes = *given;
  } else {
    axes = identity_perm(*rank);
  }
  std::vector<AxisPad> pads(*rank);
  for (size_t i = 0; i < axes.size(); ++i)
    pads[static_cast<size_t>(positive_axis(axes[i], *rank))] = {(*values)[i],
                                                                (*values)[i + axes.size()]};
  return pads;
}

// Negative pads are a slice.
Result<bool> crop_pad(Rewriter& r, Operation* op) {
  const auto pads = pads_of(op);
  const auto sizes = static_shape(op->input(0));
  if (!pads || !sizes || has_quant(op)) return false;
  if (std::none_of(pads->begin(), pads->end(), [](AxisPad a) { return a.begin < 0 || a.end < 0; }))
    return false;
  Replacement p(r, op);
  Tensor* x = op->input(0);
  std::vector<int64_t> begin, end;
  for (size_t d = 0; d < pads->size(); ++d) {
    const AxisPad& pad = (*pads)[d];
    const int64_t from = std::max<int64_t>(0, -pad.begin);
    const int64_t to = (*sizes)[d] - std::max<int64_t>(0, -pad.end);
    if (from != 0 || to != (*sizes)[d]) x = p.slice(x, static_cast<int64_t>(d), from, to);
    begin.push_back(std::max<int64_t>(0, pad.begin));
    end.push_back(std::max<int64_t>(0, pad.end));
  }
  begin.insert(begin.end(), end.begin(), end.end());
  if (std::all_of(begin.begin(), begin.end(), [](int64_t v) { return v == 0; }))
    return p.replace(x);
  std::vector<Tensor*> inputs{x, p.ints(begin)};
  if (op->input(2) != nullptr) inputs.push_back(op->input(2));
  return p.replace(p.op(OpKind::Pad, std::move(inputs), op->attrs()));
}

// Repeating the edge or the whole: gathered along each dimension.
Result<bool> gather_pad(Rewriter& r, Operation* op) {
  const PadMode mode = op->attrs_as<PadAttrs>().mode;
  const auto pads = pads_of(op);
  const auto sizes = static_shape(op->input(0));
  if (!pads || !sizes || has_quant(op)) return false;
  // The operator for mirrored pads takes no more than one image's worth of them.
  bool long_mirror = false;
  for (size_t d = 0; d < pads->size(); ++d)
    long_mirror = long_mirror || (*pads)[d].begin >= (*sizes)[d] || (*pads)[d].end >= (*sizes)[d];
  if (mode == PadMode::Constant || (mode == PadMode::Reflect && !long_mirror)) return false;
  for (const int64_t size : static_shape(op->output()).value_or(*sizes))
    if (size > kMostTableEntries) return false;
  Replacement p(r, op);
  Tensor* x = op->input(0);
  for (size_t d = 0; d < pads->size(); ++d) {
    const auto [begin, end] = (*pads)[d];
    const int64_t size = (*sizes)[d];
    if ((begin == 0 && end == 0) || size == 0) continue;
    std::vector<int64_t> indices;
    for (int64_t i = -begin; i < size + end; ++i) {
      if (mode == PadMode::Edge) {
        indices.push_back(std::clamp<int64_t>(i, 0, size - 1));
      } else if (mode == PadMode::Wrap) {
        indices.push_back((i % size + size) % size);
      } else {
        const int64_t period = std::max<int64_t>(1, 2 * (size - 1));
        const int64_t at = (i % period + period) % period;
        indices.push_back(std::min(at, period - at));
      }
    }
    x = p.gather(x, indices, static_cast<int64_t>(d));
  }
  return p.replace(x);
}

// --- channels and blocks -------------------------------------------------------------------------

// depth_to_space of channels in the order [C, block, block]: reordered first.
Result<bool> order_depth(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<DepthToSpaceAttrs>();
  const auto sizes = static_shape(op->input(0));
  if (attrs.order != DepthOrder::Crd || attrs.layout != Layout::ChannelsLast || !sizes)
    return false;
  if (!fits_table(attrs.block * attrs.block, sizes->back())) return false;
  if (has_quant(op)) return false;
  const int64_t blocks = attrs.block * attrs.block, channels = sizes->back() / blocks;
  std::vector<int64_t> indices;
  for (int64_t b = 0; b < blocks; ++b)
    for (int64_t c = 0; c < channels; ++c) indices.push_back(c * blocks + b);
  Replacement p(r, op);
  Attrs plain = op->attrs();
  plain.edit<DepthToSpaceAttrs>().order = DepthOrder::Dcr;
  Tensor* x = channels == 1 ? op->input(0) : p.gather(op->input(0), indices, 3);
  return p.replace(p.op(OpKind::DepthToSpace, {x}, std::move(plain)));
}

Result<bool> order_space(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<SpaceToDepthAttrs>();
  const auto sizes = static_shape(op->input(0));
  if (attrs.order != DepthOrder::Crd || attrs.layout != Layout::ChannelsLast || !sizes)
    return false;
  if (!fits_table(attrs.block * attrs.block, sizes->back())) return false;
  if (has_quant(op)) return false;
  const int64_t blocks = attrs.block * attrs.block, channels = sizes->back();
  std::vector<int64_t> indices;
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t b = 0; b < blocks; ++b) indices.push_back(b * channels + c);
  Replacement p(r, op);
  Attrs plain = op->attrs();
  plain.edit<SpaceToDepthAttrs>().order = DepthOrder::Dcr;
  Tensor* y = p.op(OpKind::SpaceToDepth, {op->input(0)}, std::move(plain));
  return p.replace(channels == 1 ? y : p.gather(y, indices, 3));
}

// view [..., C] as [..., factors], transpose of the factors, view back: one gather.
Result<bool> gather_shuffle(Rewriter& r, Operation* op) {
  if (!is_view(op) || has_quant(op)) return false;
  const Operation* moved = produced_by(op->input(0), OpKind::Transpose);
  if (moved == nullptr || !has_single_use(op->input(0))) return false;
  Operation* split = moved->input(0)->producer();
  if (split == nullptr || !is_view(split)) return false;
  const auto x = static_shape(split->input(0)), middle = static_shape(split->output());
  const auto perm = perm_of(moved);
  if (!x || !middle || !perm || x->empty() || static_shape(op->output()) != x) return false;
  const size_t lead = x->size() - 1;
  if (middle->size() <= x->size() || !std::equal(x->begin(), x->end() - 1, middle->begin()))
    return false;
  if (x->back() > kMostTableEntries) return false;
  for (size_t d = 0; d < lead; ++d)
    if ((*perm)[d] != static_cast<int64_t>(d)) return false;
  // The index of the element that each element of the result reads.
  std::vector<int64_t> stride(middle->size(), 1);
  for (size_t d = middle->size(); d-- > lead + 1;) stride[d - 1] = stride[d] * (*middle)[d];
  std::vector<int64_t> indices{0};
  for (size_t d = lead; d < perm->size(); ++d) {
    const auto from = static_cast<size_t>((*perm)[d]);
    std::vector<int64_t> next;
    for (const int64_t base : indices)
      for (int64_t i = 0; i < (*middle)[from]; ++i) next.push_back(base + i * stride[from]);
    indices = std::move(next);
  }
  Replacement p(r, op);
  return p.replace(p.gather(split->input(0), indices, static_cast<int64_t>(lead)));
}

// Channels gathered in another order behind a convolution: its filters are reordered instead.
Result<bool> gather_filters(Rewriter& r, Operation* op) {
  Operation* conv = produced_by(op->input(0), OpKind::Conv);
  if (conv == nullptr || !has_single_use(op->input(0)) || has_quant(op) || has_quant(conv))
    return false;
  const auto& attrs = conv->attrs_as<ConvAttrs>();
  const auto indices = is_constant(op->input(1)) ? int_values(op->input(1)) : std::nullopt;
  const auto rank = rank_of(op->input(0));
  if (!indices || rank_of(op->input(1)) != 1 || !rank || attrs.groups != 1 ||
      conv->input(3) != nullptr || !is_constant(conv->input(1)))
    return false;
  const auto channel = static_cast<int64_t>(attrs.layout == Layout::ChannelsLast ? *rank - 1 : 1);
  if (positive_axis(op->attrs_as<GatherAttrs>().axis, *rank) != channel) return false;
  if (conv->input(2) != nullptr && !is_constant(conv->input(2))) return false;
  if (indices->size() > static_cast<size_t>(conv->input(1)->shape()->sizes()[0])) return false;
  std::vector<Tensor*> inputs = conv->inputs();
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    EC_TRY(inputs[i],
           r.add_folded(OpKind::Gather, {inputs[i], op->input(1)}, GatherAttrs{.axis = 0}));
  }
  EC_TRY(Tensor * y, r.add(OpKind::Conv, std::move(inputs), conv->attrs(), {conv, op}));
  r.replace(op, y);
  return true;
}

// --- indices -------------------------------------------------------------------------------------

// Indices counted from the end: constants become counted from the begin, others are computed.
Result<bool> positive_indices(Rewriter& r, Operation* op) {
  const auto rank = rank_of(op->input(0));
  if (!rank || !is_constant(op->input(1))) return false;
  const auto indices = int_values(op->input(1));
  const auto axis = static_cast<size_t>(positive_axis(op->attrs_as<GatherAttrs>().axis, *rank));
  const Dim size = (*op->input(0)->shape())[axis];
  if (!indices || !size.is_static()) return false;
  if (std::none_of(indices->begin(), indices->end(), [](int64_t i) { return i < 0; })) return false;
  std::vector<int64_t> moved = *indices;
  for (int64_t& i : moved) i += i < 0 ? size.size() : 0;
  // An index outside the axis stays as it is: no sum makes it right, and the run says so.
  if (std::any_of(moved.begin(), moved.end(), [](int64_t i) { return i < 0; })) return false;
  Tensor* constant = r.graph().add_constant<int64_t>("", *op->input(1)->shape(), moved);
  r.set_operand(op, 1, constant);
  return true;
}

// Indices of one_hot counted from the end; those that arg_max gives never are.
Result<bool> positive_one_hot(Rewriter& r, Operation* op) {
  const auto depth = scalar_value(op->input(1));
  Tensor* at = op->input(0);
  const Operation* producer = at->producer();
  if (!depth || !is_plain(op) || !is_integer(at->dtype())) return false;
  if (producer != nullptr &&
      (producer->kind() == OpKind::ArgMax || producer->kind() == OpKind::ArgMin ||
       producer->kind() == OpKind::Where))
    return false;
  if (const auto known = int_values(at); known && is_constant(at))
    if (std::none_of(known->begin(), known->end(), [](int64_t i) { return i < 0; })) return false;
  Replacement p(r, op);
  at = p.cast(at, DType::I32);
  if (!p.ok()) return p.replace(nullptr);
  Tensor* wrapped = p.add(at, *depth);
  const auto is_negative = [&](Tensor* x) { return p.op(OpKind::Less, {x, p.number(x, 0)}); };
  at = p.op(OpKind::Where, {is_negative(at), wrapped, at});
  if (!p.ok()) return p.replace(nullptr);
  // What is still negative names no place: it would be counted from the end a second time.
  at = p.op(OpKind::Where, {is_negative(at), p.number(at, *depth), at});
  return p.replace(p.op(OpKind::OneHot, {at, op->input(1), op->input(2)}, op->attrs()));
}

// gather_elements along an axis: flat indices into the flattened tensor.
Result<bool> expand_gather_elements(Rewriter& r, Operation* op) {
  const auto from = static_shape(op->input(0)), to = static_shape(op->output());
  if (!from || !to || has_quant(op) || !fits_table(*to)) return false;
  const auto axis =
      static_cast<size_t>(positive_axis(op->attrs_as<GatherAttrs>().axis, from->size()));
  std::vector<int64_t> stride(from->size(), 1);
  for (size_t d = from->size(); d-- > 1;) stride[d - 1] = stride[d] * (*from)[d];
  // Where each result's row begins: constant, but for the gathered axis.
  std::vector<int64_t> base(static_cast<size_t>(count_elements(*to)));
  for (size_t i = 0; i < base.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    for (size_t d = to->size(); d-- > 0;) {
      const int64_t at = rest % (*to)[d];
      rest /= (*to)[d];
      base[i] += d == axis ? 0 : at * stride[d];
    }
  }
  Replacement p(r, op);
  const std::vector<int32_t> narrow(base.begin(), base.end());
  Tensor* rows =
      r.graph().add_constant<int32_t>("", Shape::of(*to), std::span<const int32_t>(narrow));
  Tensor* at = p.cast(op->input(1), DType::I32);
  if (!p.ok()) return p.replace(nullptr);
  Tensor* wrapped = p.add(at, static_cast<double>((*from)[axis]));
  at = p.op(OpKind::Where, {p.op(OpKind::Less, {at, p.number(at, 0)}), wrapped, at});
  at = p.add(p.mul(at, static_cast<double>(stride[axis])), rows);
  Tensor* flat = p.sized(op->input(0), {count_elements(*from)});
  return p.replace(p.op(OpKind::Gather, {flat, at}, GatherAttrs{.axis = 0}));
}

// A computed target in which 0 may copy a size: the format has no such zeros.
Result<bool> copy_sizes(Rewriter& r, Operation* op) {
  Tensor *x = op->input(0), *target = op->input(1);
  const auto count = target->type().num_elements();
  if (is_constant(target) || op->attrs_as<ReshapeAttrs>().allow_zero || !x->shape() || !count)
    return false;
  const auto& known = target->dim_values();
  if (known && std::ranges::none_of(
                   *known, [](const Dim& dim) { return dim.is_unknown() || dim == Dim(0); }))
    return false;
  const auto rank = static_cast<int64_t>(x->shape()->rank());
  Replacement p(r, op);
  Tensor* sizes = p.unary(OpKind::Shape, x);
  if (rank > *count) sizes = p.slice(sizes, 0, 0, *count);
  if (rank < *count) sizes = p.pad(sizes, {0, *count - rank});
  target = p.cast(target, DType::I64);
  if (!p.ok()) return p.replace(nullptr);
  target = p.op(OpKind::Where, {p.op(OpKind::Equal, {target, p.number(target, 0)}), sizes, target});
  return p.replace(p.op(OpKind::Reshape, {x, target}, ReshapeAttrs{.allow_zero = true}));
}

// Two transposes in a row are one, or none.
Result<bool> merge_transposes(Rewriter& r, Operation* op) {
  const Operation* first = produced_by(op->input(0), OpKind::Transpose);
  if (first == nullptr || has_quant(op) || has_quant(first)) return false;
  const auto a = perm_of(first), b = perm_of(op);
  if (!a || !b) return false;
  Replacement p(r, op);
  return p.replace(p.transpose(first->input(0), compose(*a, *b)));
}

// --- masks ---------------------------------------------------------------------------------------

Result<bool> expand_trilu(Rewriter& r, Operation* op) {
  const auto sizes = static_shape(op->input(0));
  const auto offset =
      op->input(1) == nullptr ? std::optional<double>(0) : scalar_value(op->input(1));
  if (!sizes || sizes->size() < 2 || !offset || !is_plain(op)) return false;
  if (!fits_table(std::span(*sizes).last(2))) return false;
  const bool upper = op->attrs_as<TriluAttrs>().upper;
  const int64_t rows = (*sizes)[sizes->size() - 2], columns = sizes->back();
  // Behind all rows and columns one offset is like another.
  constexpr double kMost = 0x1p46;
  const auto k = static_cast<int64_t>(std::clamp(*offset, -kMost, kMost));
  std::vector<uint8_t> keep;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) keep.push_back(upper ? j >= i + k : j <= i + k);
  Replacement p(r, op);
  Tensor* mask = r.graph().add_constant("", TensorType(DType::Bool, Shape{rows, columns}),
                                        Blob::copy_of(std::span<const uint8_t>(keep)));
  Tensor* x = op->input(0);
  return p.replace(p.op(OpKind::Where, {mask, x, p.number(x, 0)}));
}

constexpr RewriteRule kRules[] = {
    {OpKind::Pad, crop_pad, "negative pads"},
    {OpKind::Pad, gather_pad, "repeating pads"},
    {OpKind::DepthToSpace, order_depth, "channel orders"},
    {OpKind::SpaceToDepth, order_space, "channel orders"},
    {OpKind::Reshape, gather_shuffle, "channel shuffles"},
    {OpKind::Flatten, gather_shuffle, "channel shuffles"},
    {OpKind::Reshape, copy_sizes, "copied sizes"},
    {OpKind::Gather, gather_filters, "channel orders"},
    {OpKind::Gather, positive_indices, "indices from the end"},
    {OpKind::OneHot, positive_one_hot, "indices from the end"},
    {OpKind::GatherElements, expand_gather_elements, "gathers"},
    {OpKind::Transpose, merge_transposes, "transposes merged"},
    {OpKind::Trilu, expand_trilu, "triangles"},
};

}  // namespace

const std::span<const RewriteRule> kTfliteMovement = kRules;

}  // namespace ec::passes
