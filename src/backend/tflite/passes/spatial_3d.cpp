// Pools and convolutions over three spatial dimensions.
#include "backend/tflite/passes/rules.h"
#include "backend/tflite/passes/windows.h"
#include "ops/same_padding.h"
#include "passes/replacement.h"

namespace ec::passes {
namespace {

// Over height and width with the depth in the batch, then over the depth with the rest in the
// width.
Result<bool> split_pool_3d(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<PoolAttrs>();
  const auto in = static_shape(op->input(0)), out = static_shape(op->output());
  if (!is_channels_last(op) || has_quant(op) || !in || !out || in->size() != 5) return false;
  if (op->outputs().size() != 1) return false;
  const WindowSpec spec = window_spec(attrs, attrs.kernel);
  const auto windows = resolve_windows(spec, std::span(*in).subspan(1, 3));
  const bool average = op->kind() == OpKind::AvgPool;
  if (average && !attrs.count_include_pad && padding_scheme(windows) != PaddingScheme::Valid)
    return false;
  const auto part = [&](std::vector<size_t> dims) {
    PoolAttrs a = attrs;
    a.kernel.clear(), a.strides.clear(), a.dilations.clear(), a.pads.clear();
    a.auto_pad = AutoPad::Explicit;
    for (const size_t d : dims) {
      const bool used = d < 3;
      a.kernel.push_back(used ? windows[d].kernel : 1);
      a.strides.push_back(used ? windows[d].stride : 1);
      a.dilations.push_back(used ? windows[d].dilation : 1);
    }
    for (const bool begin : {true, false})
      for (const size_t d : dims)
        a.pads.push_back(d >= 3 ? 0 : begin ? windows[d].pad_begin : windows[d].pad_end);
    return a;
  };
  Replacement p(r, op);
  const int64_t n = (*in)[0], depth = (*in)[1], c = (*in)[4];
  Tensor* x = p.sized(op->input(0), {n * depth, (*in)[2], (*in)[3], c});
  x = p.op(op->kind(), {x}, part({1, 2}));
  const int64_t area = (*out)[2] * (*out)[3];
  x = p.sized(x, {n, depth, area, c});
  x = p.op(op->kind(), {x}, part({0, 3}));
  return p.replace(p.sized(x, *out));
}

// Groups of a three-dimensional convolution one by one.
Result<bool> split_groups_3d(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<ConvAttrs>();
  const auto in = static_shape(op->input(0)), weights = static_shape(op->input(1));
  if (!is_channels_last(op) || has_quant(op) || !in || !weights || in->size() != 5) return false;
  constexpr int64_t kMaxGroups = 256;
  if (attrs.groups == 1 || attrs.groups > kMaxGroups) return false;
  const int64_t from = in->back() / attrs.groups, to = (*weights)[0] / attrs.groups;
  Attrs plain = op->attrs();
  plain.edit<ConvAttrs>().groups = 1;
  Replacement p(r, op);
  std::vector<Tensor*> parts;
  for (int64_t g = 0; g < attrs.groups; ++g) {
    std::vector<Tensor*> inputs{p.slice(op->input(0), 4, g * from, (g + 1) * from),
                                p.slice(op->input(1), 0, g * to, (g + 1) * to)};
    if (op->input(2) != nullptr) inputs.push_back(p.slice(op->input(2), 0, g * to, (g + 1) * to));
    parts.push_back(p.op(OpKind::Conv, std::move(inputs), plain));
  }
  return p.replace(p.concat(std::move(parts), 4));
}

constexpr RewriteRule kRules[] = {
    {OpKind::MaxPool, split_pool_3d, "3-D pools"},
    {OpKind::AvgPool, split_pool_3d, "3-D pools"},
    {OpKind::Conv, split_groups_3d, "groups of 3-D convolutions"},
};

}  // namespace

const std::span<const RewriteRule> kTfliteSpatial3d = kRules;

}  // namespace ec::passes
