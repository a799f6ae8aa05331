#include "ops/window.h"

#include <algorithm>

namespace ec {
namespace {

// Far beyond any real window, small enough that products of two stay within int64.
constexpr int64_t kMaxWindowValue = int64_t{1} << 30;

int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

std::string list_text(std::span<const int64_t> values) {
  std::string out = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ",";
    out += std::to_string(values[i]);
  }
  return out + "]";
}

Status check_list(const InferContext& ctx, const char* name, std::span<const int64_t> values,
                  size_t count, int64_t low) {
  if (values.size() != count)
    return ctx.bad_value(std::string(name) + " " + list_text(values) + " should have " +
                         std::to_string(count) + " entries");
  for (const int64_t v : values)
    if (v < low || v > kMaxWindowValue)
      return ctx.bad_value(std::string(name) + " " + list_text(values) + " has a value outside [" +
                           std::to_string(low) + ", " + std::to_string(kMaxWindowValue) + "]");
  return {};
}

// Splits padding over both ends; the odd element goes where the mode says.
void split_padding(int64_t total, AutoPad mode, int64_t& begin, int64_t& end) {
  const int64_t small = total / 2;
  begin = mode == AutoPad::SameUpper ? small : total - small;
  end = total - begin;
}

Status check_input_size(const InferContext& ctx, const Dim& input) {
  if (input.is_static() && input.size() > kMaxSpatialSize)
    return ctx.bad_shape("spatial size " + input.text() + " of the input is too large");
  return {};
}

}  // namespace

std::pair<int64_t, int64_t> WindowDim::taps(int64_t o) const {
  const int64_t start = o * stride - pad_begin;
  const int64_t first = start >= 0 ? 0 : ceil_div(-start, dilation);
  const int64_t last = start >= input ? 0 : ceil_div(input - start, dilation);
  return {std::min(first, kernel), std::max(std::min(first, kernel), std::min(last, kernel))};
}

std::pair<int64_t, int64_t> WindowDim::outputs_of_tap(int64_t k) const {
  const int64_t offset = k * dilation - pad_begin;
  const int64_t first = std::clamp<int64_t>(ceil_div(-offset, stride), 0, output);
  const int64_t last = std::clamp<int64_t>(ceil_div(input - offset, stride), first, output);
  return {first, last};
}

void complete_window(WindowSpec& spec) {
  const size_t rank = spec.kernel.size();
  if (spec.strides.empty()) spec.strides.assign(rank, 1);
  if (spec.dilations.empty()) spec.dilations.assign(rank, 1);
  if (spec.pads.empty()) spec.pads.assign(2 * rank, 0);
}

Status check_window(const InferContext& ctx, const WindowSpec& spec) {
  const size_t rank = spec.rank();
  EC_CHECK_OK(check_list(ctx, "kernel", spec.kernel, rank, 1));
  int64_t taps = 1;
  for (const int64_t size : spec.kernel)
    if (__builtin_mul_overflow(taps, size, &taps))
      return ctx.bad_value("kernel " + list_text(spec.kernel) + " is too large");
  EC_CHECK_OK(check_list(ctx, "strides", spec.strides, rank, 1));
  EC_CHECK_OK(check_list(ctx, "dilations", spec.dilations, rank, 1));
  return check_list(ctx, "pads", spec.pads, 2 * rank, 0);
}

WindowDim resolve_window(const WindowSpec& spec, size_t d, int64_t input) {
  WindowDim w;
  w.input = input;
  w.kernel = spec.kernel[d];
  w.stride = spec.strides[d];
  w.dilation = spec.dilations[d];
  const int64_t extent = w.extent();
  if (spec.auto_pad == AutoPad::SameUpper || spec.auto_pad == AutoPad::SameLower) {
    w.output = ceil_div(input, w.stride);
    const int64_t total = std::max<int64_t>((w.output - 1) * w.stride + extent - input, 0);
    split_padding(total, spec.auto_pad, w.pad_begin, w.pad_end);
    return w;
  }
  if (spec.auto_pad == AutoPad::Explicit) {
    w.pad_begin = spec.pads[d];
    w.pad_end = spec.pads[d + spec.rank()];
  }
  const int64_t room = input + w.pad_begin + w.pad_end - extent;
  // The formula for "valid" counts whole windows in either rounding mode.
  const bool round_up = spec.ceil_mode && spec.auto_pad == AutoPad::Explicit;
  w.output = (round_up ? ceil_div(room, w.stride) : floor_div(room, w.stride)) + 1;
  // A window that starts in the padding at the end sees no input: it is dropped.
  if (round_up && (w.output - 1) * w.stride >= input + w.pad_begin) --w.output;
  return w;
}

std::vector<WindowDim> resolve_windows(const WindowSpec& spec, std::span<const int64_t> inputs) {
  std::vector<WindowDim> out;
  for (size_t d = 0; d < inputs.size(); ++d) out.push_back(resolve_window(spec, d, inputs[d]));
  return out;
}

Result<Dim> infer_window(const InferContext& ctx, const WindowSpec& spec, size_t d,
                         const Dim& input) {
  EC_CHECK_OK(check_input_size(ctx, input));
  if (!input.is_static()) {
    // With stride 1, and as much padding as the window takes away, the size stays the same.
    const bool same = spec.auto_pad == AutoPad::SameUpper || spec.auto_pad == AutoPad::SameLower;
    const int64_t padding =
        spec.auto_pad == AutoPad::Explicit ? spec.pads[d] + spec.pads[d + spec.rank()] : 0;
    const int64_t taken = (spec.kernel[d] - 1) * spec.dilations[d];
    if (spec.strides[d] == 1 && (same || padding == taken)) return input;
    return Dim::unknown();
  }
  const WindowDim w = resolve_window(spec, d, input.size());
  if (w.output < 1)
    return ctx.bad_shape("window of " + std::to_string(w.extent()) + " does not fit spatial size " +
                         input.text() + " with padding " + std::to_string(w.pad_begin) + " and " +
                         std::to_string(w.pad_end));
  return Dim(w.output);
}

Status check_transposed_window(const InferContext& ctx, const ConvTransposeAttrs& attrs,
                               const WindowSpec& spec) {
  EC_CHECK_OK(check_window(ctx, spec));
  if (!attrs.output_padding.empty())
    EC_CHECK_OK(check_list(ctx, "output_padding", attrs.output_padding, spec.rank(), 0));
  if (!attrs.output_sizes.empty())
    EC_CHECK_OK(check_list(ctx, "output_sizes", attrs.output_sizes, spec.rank(), 1));
  return {};
}

TransposedDim resolve_transposed(const ConvTransposeAttrs& attrs, const WindowSpec& spec, size_t d,
                                 int64_t input) {
  TransposedDim t;
  t.input = input;
  t.kernel = spec.kernel[d];
  t.stride = spec.strides[d];
  t.dilation = spec.dilations[d];
  const int64_t extra = attrs.output_padding.empty() ? 0 : attrs.output_padding[d];
  const int64_t full = (input - 1) * t.stride + (t.kernel - 1) * t.dilation + 1 + extra;
  const bool same = spec.auto_pad == AutoPad::SameUpper || spec.auto_pad == AutoPad::SameLower;
  if (!attrs.output_sizes.empty() || same) {
    t.output = attrs.output_sizes.empty() ? input * t.stride : attrs.output_sizes[d];
    // A wanted size beyond the full one leaves the rest, at the end, without contributions.
    split_padding(std::max<int64_t>(full - t.output, 0), spec.auto_pad, t.pad_begin, t.pad_end);
    return t;
  }
  if (spec.auto_pad == AutoPad::Explicit) {
    t.pad_begin = spec.pads[d];
    t.pad_end = spec.pads[d + spec.rank()];
  }
  t.output = full - t.pad_begin - t.pad_end;
  return t;
}

Result<Dim> infer_transposed(const InferContext& ctx, const ConvTransposeAttrs& attrs,
                             const WindowSpec& spec, size_t d, const Dim& input) {
  EC_CHECK_OK(check_input_size(ctx, input));
  if (input.is_static() && input.size() == 0)
    return ctx.bad_shape("a spatial dimension of the input is empty");
  if (!attrs.output_sizes.empty()) return Dim(attrs.output_sizes[d]);
  if (!input.is_static()) {
    const bool same = spec.auto_pad == AutoPad::SameUpper || spec.auto_pad == AutoPad::SameLower;
    // Sizes with stride 1 grow by a constant; when that is 0 the symbol is kept.
    const int64_t growth = resolve_transposed(attrs, spec, d, 1).output - 1;
    if (spec.strides[d] == 1 && (same || growth == 0)) return input;
    return Dim::unknown();
  }
  const auto scaled = checked_mul(input.size(), spec.strides[d]);
  if (!scaled || *scaled > kMaxSpatialSize)
    return ctx.bad_shape("spatial size " + input.text() + " with stride " +
                         std::to_string(spec.strides[d]) + " is too large");
  const TransposedDim t = resolve_transposed(attrs, spec, d, input.size());
  if (t.output < 1)
    return ctx.bad_shape("pads " + list_text(spec.pads) + " leave nothing of spatial size " +
                         input.text());
  return Dim(t.output);
}

std::vector<int64_t> spatial_sizes(Layout layout, std::span<const int64_t> shape) {
  std::vector<int64_t> out;
  for (size_t d = 0; d + 2 < shape.size(); ++d) out.push_back(shape[spatial_axis(layout, d)]);
  return out;
}

std::vector<int64_t> channels_first_shape(Layout layout, std::span<const int64_t> shape) {
  std::vector<int64_t> out(shape.begin(), shape.end());
  if (layout == Layout::ChannelsLast && out.size() > 2)
    std::rotate(out.begin() + 1, out.end() - 1, out.end());
  return out;
}

}  // namespace ec
