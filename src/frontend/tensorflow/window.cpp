#include "frontend/tensorflow/window.h"

namespace ec::tf {
namespace {

// Strides, dilations and windows come from the file: positive, and small enough to multiply.
constexpr int64_t kLargest = 1 << 24;

}  // namespace

Result<Layout> layout_of(const OpContext& ctx, size_t spatial) {
  const bool three = spatial == 3;
  const std::string_view format = ctx.attr_text("data_format", three ? "NDHWC" : "NHWC");
  if (format == "NHWC" || format == "NDHWC" || format == "NWC") return Layout::ChannelsLast;
  if (format == "NCHW" || format == "NCDHW" || format == "NCW") return Layout::ChannelsFirst;
  return ctx.unsupported("data format '" + std::string(format) + "' is not supported");
}

Result<std::vector<int64_t>> spatial_ints(const OpContext& ctx, std::string_view name,
                                          Layout layout, size_t spatial) {
  const std::vector<int64_t> all = ctx.attr_ints(name);
  if (all.empty()) return std::vector<int64_t>(spatial, 1);
  if (all.size() != spatial + 2)
    return ctx.fail(Code::BadAttribute, "attribute '" + std::string(name) + "' has " +
                                            std::to_string(all.size()) + " numbers");
  const size_t first = first_spatial(layout);
  std::vector<int64_t> values(all.begin() + static_cast<std::ptrdiff_t>(first),
                              all.begin() + static_cast<std::ptrdiff_t>(first + spatial));
  const size_t channel = layout == Layout::ChannelsLast ? spatial + 1 : 1;
  if (all[0] != 1 || all[channel] != 1)
    return ctx.unsupported("attribute '" + std::string(name) + "' names the batch or the channels");
  for (const int64_t value : values)
    if (value < 1 || value > kLargest)
      return ctx.fail(Code::BadAttribute,
                      "a stride, dilation or window size is " + std::to_string(value));
  return values;
}

Result<PaddingRule> padding_rule(const OpContext& ctx) {
  const std::string_view padding = ctx.attr_text("padding");
  if (padding == "VALID") return PaddingRule::Valid;
  if (padding == "SAME") return PaddingRule::Same;
  if (padding == "EXPLICIT") return PaddingRule::Explicit;
  return ctx.fail(Code::BadAttribute, "padding '" + std::string(padding.substr(0, 20)) + "'");
}

Result<std::vector<int64_t>> explicit_pads(const OpContext& ctx, Layout layout, size_t spatial) {
  const std::vector<int64_t> all = ctx.attr_ints("explicit_paddings");
  if (all.size() != 2 * (spatial + 2))
    return ctx.fail(Code::BadAttribute, "explicit paddings are missing");
  std::vector<int64_t> pads(2 * spatial, 0);
  for (size_t i = 0; i < spatial; ++i)
    for (size_t side = 0; side < 2; ++side) {
      const int64_t pad = all[2 * (i + first_spatial(layout)) + side];
      if (pad < 0 || pad > kLargest)
        return ctx.fail(Code::BadAttribute, "a padding is " + std::to_string(pad));
      pads[side * spatial + i] = pad;
    }
  return pads;
}

}  // namespace ec::tf
