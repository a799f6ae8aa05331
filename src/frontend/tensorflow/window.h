// Windows of convolutions and pools: strides, dilations and padding by the node's data format.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "frontend/tensorflow/op_context.h"

namespace ec::tf {

// NHWC, NDHWC: channels last. NCHW, NCDHW: channels first.
Result<Layout> layout_of(const OpContext& ctx, size_t spatial);
// The spatial entries of a list with one number per dimension. A list that is missing gives ones.
Result<std::vector<int64_t>> spatial_ints(const OpContext& ctx, std::string_view name,
                                          Layout layout, size_t spatial);
// The spatial dimensions of a shape.
inline size_t first_spatial(Layout layout) { return layout == Layout::ChannelsLast ? 1 : 2; }

enum class PaddingRule : uint8_t { Valid, Same, Explicit };
Result<PaddingRule> padding_rule(const OpContext& ctx);

// Sets attrs.pads for input x and a kernel: begins, then ends. Where a size is open, the rule
// stays.
template <class A>
Status set_padding(const OpContext& ctx, const ec::Tensor* x, std::span<const int64_t> kernel,
                   A& attrs);

// How much SAME padding adds to a dimension for a filter that reaches over so many elements. Sizes
// come from the file: the order of the terms keeps them in range.
inline int64_t same_padding(int64_t size, int64_t stride, int64_t reach) {
  const int64_t last = size > 0 ? (size - 1) / stride * stride : -stride;  // where a filter begins
  return std::max<int64_t>(0, last - size + reach);
}

// Begins, then ends, of EXPLICIT padding.
Result<std::vector<int64_t>> explicit_pads(const OpContext& ctx, Layout layout, size_t spatial);

template <class A>
Status set_padding(const OpContext& ctx, const ec::Tensor* x, std::span<const int64_t> kernel,
                   A& attrs) {
  const size_t spatial = kernel.size();
  EC_TRY(const PaddingRule rule, padding_rule(ctx));
  attrs.auto_pad = AutoPad::Explicit;
  attrs.pads.assign(2 * spatial, 0);
  if (rule == PaddingRule::Valid) return {};
  if (rule == PaddingRule::Explicit) {
    EC_TRY(attrs.pads, explicit_pads(ctx, attrs.layout, spatial));
    return {};
  }
  std::vector<int64_t> pads(2 * spatial, 0);
  for (size_t i = 0; i < spatial; ++i) {
    const Dim& size = (*x->shape())[i + first_spatial(attrs.layout)];
    if (!size.is_static()) {
      attrs.pads.clear();
      attrs.auto_pad = AutoPad::SameUpper;
      return {};
    }
    const int64_t stride = attrs.strides[i];
    const int64_t reach = (kernel[i] - 1) * attrs.dilations[i] + 1;
    const int64_t total = same_padding(size.size(), stride, reach);
    pads[i] = total / 2;
    pads[spatial + i] = total - total / 2;
  }
  attrs.pads = std::move(pads);
  return {};
}

}  // namespace ec::tf
