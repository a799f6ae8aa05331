// depth_to_space as a transposed convolution that selects elements, and broadcasts as tiles.
#include "backend/coral/passes/rules.h"

namespace ec::passes {
namespace {

constexpr int64_t kMostFilters = int64_t{1} << 20;

// Pixel (i, j) of a block comes from channels [(i block + j) C, ...): every filter has a single
// one among zeros.
Result<bool> depth_to_space_by_convolution(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<DepthToSpaceAttrs>();
  const auto in = static_shape(op->input(0)), out = static_shape(op->output());
  const Tensor* x = op->input(0);
  const bool byte = x->type().quant && (x->dtype() == DType::I8 || x->dtype() == DType::U8);
  if (!in || !out || in->size() != 4 || attrs.layout != Layout::ChannelsLast ||
      attrs.order != DepthOrder::Dcr || !moves_elements_only(op) ||
      !(byte || (is_float_form(op) && x->dtype() == DType::F32)))
    return false;
  const int64_t block = attrs.block, channels = out->back(), depth = in->back();
  if (block < 2 || depth * block * block * channels > kMostFilters) return false;
  std::vector<int64_t> ones;  // in [depth, block, block, channels]
  for (int64_t i = 0; i < block; ++i)
    for (int64_t j = 0; j < block; ++j)
      for (int64_t c = 0; c < channels; ++c)
        ones.push_back(((((i * block + j) * channels + c) * block + i) * block + j) * channels + c);
  Replacement p(r, op);
  ConvTransposeAttrs window;
  window.layout = Layout::ChannelsLast;
  window.strides = {block, block};
  Tensor* filters = selection_filters(p, x, {depth, block, block, channels}, ones);
  Tensor* y =
      with_parameters_of(p, p.op(OpKind::ConvTranspose, {op->input(0), filters}, window), x);
  return rewritten(p, y, "TRANSPOSE_CONV that picks");
}

// BROADCAST_TO is not among the device's operators; TILE is seen in compiled files.
Result<bool> expand_to_tile(Rewriter& r, Operation* op) {
  const auto in = static_shape(op->input(0)), out = static_shape(op->output());
  if (!in || !out || !moves_elements_only(op) || in->size() > out->size()) return false;
  std::vector<int64_t> sizes(out->size() - in->size(), 1), repeats;
  sizes.insert(sizes.end(), in->begin(), in->end());
  for (size_t d = 0; d < out->size(); ++d) {
    if (sizes[d] == 0 || (*out)[d] % sizes[d] != 0) return false;
    repeats.push_back((*out)[d] / sizes[d]);
  }
  Replacement p(r, op);
  Tensor* x = op->input(0);
  if (in->size() != out->size()) x = with_parameters_of(p, p.sized(x, sizes), op->input(0));
  return rewritten(p, p.op(OpKind::Tile, {x, p.ints(repeats)}), "TILE");
}

constexpr RewriteRule kRules[] = {
    {OpKind::DepthToSpace, depth_to_space_by_convolution, "channels to pixels"},
    {OpKind::Expand, expand_to_tile, "broadcasts"},
};

}  // namespace

const std::span<const RewriteRule> kCoralBlocksAndTiles = kRules;

}  // namespace ec::passes
