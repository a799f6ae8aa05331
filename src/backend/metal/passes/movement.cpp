// Repeats, pads, gathers and rearrangements in forms that programs do not take.
#include <algorithm>
#include <numeric>

#include "backend/metal/passes/rules.h"
#include "backend/tflite/formulas.h"
#include "passes/replacement.h"
#include "writer/coreml/forms.h"

namespace ec::passes {
namespace {

// A broadcast as a view with the missing dimensions and repeats of those of size 1.
Result<bool> expand_as_tile(Rewriter& r, Operation* op) {
  const auto from = static_shape(op->input(0)), to = static_shape(op->output());
  if (!from || !to || has_quant(op)) return false;
  std::vector<int64_t> sizes(to->size() - from->size(), 1), repeats;
  sizes.insert(sizes.end(), from->begin(), from->end());
  for (size_t d = 0; d < sizes.size(); ++d) repeats.push_back(sizes[d] == (*to)[d] ? 1 : (*to)[d]);
  Replacement p(r, op);
  Tensor* x = sizes == *from ? op->input(0) : p.sized(op->input(0), sizes);
  if (std::ranges::any_of(repeats, [](int64_t n) { return n != 1; }))
    x = p.op(OpKind::Tile, {x, p.ints(repeats)});
  return p.replace(x);
}

struct Pads {
  std::vector<int64_t> begin, end;
};
std::optional<Pads> pads_of(const Operation* op) {
  const auto rank = rank_of(op->input(0));
  const auto pads = int_values(op->input(1));
  if (!rank || !pads || !is_constant(op->input(1))) return std::nullopt;
  std::vector<int64_t> axes(pads->size() / 2);
  std::iota(axes.begin(), axes.end(), 0);
  if (op->input(3) != nullptr) {
    const auto given = int_values(op->input(3));
    if (!given) return std::nullopt;
    axes = *given;
  }
  Pads result{std::vector<int64_t>(*rank, 0), std::vector<int64_t>(*rank, 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<size_t>(positive_axis(axes[i], *rank));
    result.begin[d] = (*pads)[i];
    result.end[d] = (*pads)[i + axes.size()];
  }
  return result;
}

// Negative pads are slices; repeating pads beyond the last two dimensions are gathers.
Result<bool> lower_pad(Rewriter& r, Operation* op) {
  const auto pads = pads_of(op);
  if (!pads || has_quant(op)) return false;
  const PadMode mode = op->attrs_as<PadAttrs>().mode;
  bool negative = false, early = false, anywhere = false;
  for (size_t d = 0; d < pads->begin.size(); ++d) {
    negative = negative || pads->begin[d] < 0 || pads->end[d] < 0;
    const bool padded = pads->begin[d] != 0 || pads->end[d] != 0;
    early = early || (padded && d + 2 < pads->begin.size());
    anywhere = anywhere || padded;
  }
  if (!anywhere) {
    Replacement p(r, op);
    return p.replace(p.unary(OpKind::Identity, op->input(0)));
  }
  const bool gathers = mode == PadMode::Wrap || (mode == PadMode::Edge && early) ||
                       (mode == PadMode::Edge && !is_float(op->output()->dtype()));
  if (negative || gathers) return apply_formula(r, op);
  return false;
}

// Programs pad floats: constants in front of and behind integers.
Result<bool> pad_integers(Rewriter& r, Operation* op) {
  const auto pads = pads_of(op);
  auto shape = static_shape(op->input(0));
  const DType dtype = op->output()->dtype();
  const auto value =
      op->input(2) == nullptr ? std::optional<double>(0) : scalar_value(op->input(2));
  if (!pads || !shape || !value || has_quant(op) || is_float(dtype) ||
      op->attrs_as<PadAttrs>().mode != PadMode::Constant)
    return false;
  Replacement p(r, op);
  Tensor* x = op->input(0);
  const auto block = [&](size_t d, int64_t count) {
    std::vector<int64_t> sizes = *shape;
    sizes[d] = count;
    return p.op(OpKind::Expand, {p.number(x, *value), p.ints(sizes)});
  };
  for (size_t d = 0; d < shape->size(); ++d) {
    if (pads->begin[d] < 0 || pads->end[d] < 0) return false;
    std::vector<Tensor*> parts{x};
    if (pads->begin[d] > 0) parts.insert(parts.begin(), block(d, pads->begin[d]));
    if (pads->end[d] > 0) parts.push_back(block(d, pads->end[d]));
    if (parts.size() > 1) x = p.concat(std::move(parts), static_cast<int64_t>(d));
    (*shape)[d] += pads->begin[d] + pads->end[d];
  }
  return p.replace(x);
}

// A triangle that programs have no band for: chosen by a mask.
Result<bool> mask_triangle(Rewriter& r, Operation* op) {
  const auto k = op->input(1) == nullptr ? std::optional<double>(0) : scalar_value(op->input(1));
  if (!k || !is_plain(op)) return false;
  const bool upper = op->attrs_as<TriluAttrs>().upper;
  if ((upper ? *k <= 0 : *k >= 0) && is_float(op->output()->dtype())) return false;
  return apply_formula(r, op);
}

// Gathers along an axis want as many indices beside it as there are elements.
Result<bool> lower_gather_elements(Rewriter& r, Operation* op) {
  const auto x = static_shape(op->input(0)), at = static_shape(op->input(1));
  if (!x || !at || has_quant(op)) return false;
  const auto axis = static_cast<size_t>(positive_axis(op->attrs_as<GatherAttrs>().axis, x->size()));
  for (size_t d = 0; d < x->size(); ++d)
    if (d != axis && (*x)[d] != (*at)[d]) return apply_formula(r, op);
  return false;
}

Result<bool> order_depth(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<DepthToSpaceAttrs>();
  const auto rank = rank_of(op->input(0));
  if (attrs.layout == Layout::ChannelsFirst || rank != 4 || has_quant(op)) return false;
  Replacement p(r, op);
  Attrs plain = op->attrs();
  plain.edit<DepthToSpaceAttrs>().layout = Layout::ChannelsFirst;
  Tensor* x = p.transpose(op->input(0), {0, 3, 1, 2});
  return p.replace(p.transpose(p.op(OpKind::DepthToSpace, {x}, plain), {0, 2, 3, 1}));
}
Result<bool> order_space(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<SpaceToDepthAttrs>();
  const auto rank = rank_of(op->input(0));
  if (attrs.layout == Layout::ChannelsFirst || rank != 4 || has_quant(op)) return false;
  Replacement p(r, op);
  Attrs plain = op->attrs();
  plain.edit<SpaceToDepthAttrs>().layout = Layout::ChannelsFirst;
  Tensor* x = p.transpose(op->input(0), {0, 3, 1, 2});
  return p.replace(p.transpose(p.op(OpKind::SpaceToDepth, {x}, plain), {0, 2, 3, 1}));
}

// Images with channels last are resized with channels first.
Result<bool> resize_channels_first(Rewriter& r, Operation* op) {
  const auto in = static_shape(op->input(0)), out = static_shape(op->output());
  if (!in || !out || in->size() != 4 || has_quant(op) || !is_float(op->output()->dtype()) ||
      (*in)[0] != (*out)[0] || (*in)[3] != (*out)[3] ||
      ((*in)[1] == (*out)[1] && (*in)[2] == (*out)[2]) || has_coreml_resize(*op))
    return false;
  const auto& attrs = op->attrs_as<ResizeAttrs>();
  if (op->input(1) != nullptr || attrs.aspect != AspectPolicy::Stretch) return false;
  constexpr int64_t kOrder[] = {0, 3, 1, 2};
  std::vector<Tensor*> inputs = op->inputs();
  for (size_t i = 2; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr || !attrs.axes.empty()) continue;
    if (!is_constant(inputs[i])) return false;
    EC_TRY(inputs[i], r.add_folded(OpKind::Gather, {inputs[i], r.ints(kOrder)}, GatherAttrs{}));
  }
  Replacement p(r, op);
  ResizeAttrs moved = attrs;
  for (int64_t& axis : moved.axes)
    axis = std::ranges::find(kOrder, positive_axis(axis, 4)) - std::begin(kOrder);
  inputs[0] = p.transpose(inputs[0], to_channels_first(4));
  Tensor* y = p.op(OpKind::Resize, std::move(inputs), moved);
  return p.replace(p.transpose(y, to_channels_last(4)));
}

// --- space and batch: one dimension after the other, within five dimensions ----------------------

struct Blocks {
  std::vector<int64_t> sizes, begin, end;
};
std::optional<Blocks> blocks_of(const Operation* op) {
  const auto sizes = int_values(op->input(1)), pads = int_values(op->input(2));
  if (!sizes || !pads || pads->size() != 2 * sizes->size()) return std::nullopt;
  // An operand that passes computed was not known to inference.
  const auto rank = rank_of(op->input(0));
  if (!rank || *rank <= sizes->size() || !static_shape(op->output()) ||
      std::ranges::any_of(*sizes, [](int64_t size) { return size < 1; }))
    return std::nullopt;
  Blocks blocks{*sizes, {}, {}};
  for (size_t i = 0; i < sizes->size(); ++i) {
    blocks.begin.push_back((*pads)[2 * i]);
    blocks.end.push_back((*pads)[2 * i + 1]);
  }
  return blocks;
}

int64_t product(const std::vector<int64_t>& sizes, size_t first, size_t last) {
  return std::accumulate(sizes.begin() + static_cast<std::ptrdiff_t>(first),
                         sizes.begin() + static_cast<std::ptrdiff_t>(last), int64_t{1},
                         std::multiplies<>());
}

Result<bool> expand_space_to_batch(Rewriter& r, Operation* op) {
  auto shape = static_shape(op->input(0));
  const auto blocks = blocks_of(op);
  if (!shape || !blocks || has_quant(op)) return false;
  const size_t spatial = blocks->sizes.size();
  std::vector<int64_t> pads(2 * shape->size(), 0);
  for (size_t i = 0; i < spatial; ++i) {
    pads[i + 1] = blocks->begin[i];
    pads[i + 1 + shape->size()] = blocks->end[i];
    (*shape)[i + 1] += blocks->begin[i] + blocks->end[i];
  }
  Replacement p(r, op);
  Tensor* x = op->input(0);
  if (std::ranges::any_of(pads, [](int64_t pad) { return pad != 0; })) x = p.pad(x, pads);
  for (size_t i = spatial; i-- > 0;) {
    const size_t d = i + 1;
    const int64_t block = blocks->sizes[i], rest = product(*shape, d + 1, shape->size());
    x = p.sized(x, {product(*shape, 0, d), (*shape)[d] / block, block, rest});
    x = p.transpose(x, {2, 0, 1, 3});
    (*shape)[0] *= block;
    (*shape)[d] /= block;
    x = p.sized(x, *shape);
  }
  return p.replace(x);
}

Result<bool> expand_batch_to_space(Rewriter& r, Operation* op) {
  auto shape = static_shape(op->input(0));
  const auto blocks = blocks_of(op);
  if (!shape || !blocks || has_quant(op)) return false;
  Replacement p(r, op);
  Tensor* x = op->input(0);
  for (size_t i = 0; i < blocks->sizes.size(); ++i) {
    const size_t d = i + 1;
    const int64_t block = blocks->sizes[i], rest = product(*shape, d + 1, shape->size());
    (*shape)[0] /= block;
    x = p.sized(x, {block, product(*shape, 0, d), (*shape)[d], rest});
    x = p.transpose(x, {1, 2, 0, 3});
    (*shape)[d] *= block;
    x = p.sized(x, *shape);
  }
  for (size_t i = 0; i < blocks->sizes.size(); ++i)
    if (blocks->begin[i] != 0 || blocks->end[i] != 0)
      x = p.slice(x, static_cast<int64_t>(i + 1), blocks->begin[i],
                  (*shape)[i + 1] - blocks->end[i]);
  return p.replace(x);
}

constexpr RewriteRule kRules[] = {
    {OpKind::Expand, expand_as_tile, "broadcasts"},
    {OpKind::Pad, lower_pad, "pads"},
    {OpKind::Pad, pad_integers, "pads"},
    {OpKind::Trilu, mask_triangle, "triangles"},
    {OpKind::GatherElements, lower_gather_elements, "gathers"},
    {OpKind::DepthToSpace, order_depth, "channel orders"},
    {OpKind::SpaceToDepth, order_space, "channel orders"},
    {OpKind::Resize, resize_channels_first, "channel orders"},
    {OpKind::SpaceToBatch, expand_space_to_batch, "blocks"},
    {OpKind::BatchToSpace, expand_batch_to_space, "blocks"},
};

}  // namespace

const std::span<const RewriteRule> kMilMovement = kRules;

}  // namespace ec::passes
