// Geometry of windows that slide over spatial dimensions: what convolutions and pools share. The
// rules for effective pads and output sizes live here only; inference, reference kernels and fast
// kernels all ask.
#pragma once

#include <span>
#include <vector>

#include "ops/attrs.h"
#include "ops/infer.h"

namespace ec {

// Window lists of an op with every entry filled in; pads are all begins, then all ends.
struct WindowSpec {
  std::vector<int64_t> kernel, strides, dilations, pads;
  AutoPad auto_pad = AutoPad::Explicit;
  bool ceil_mode = false;

  size_t rank() const { return kernel.size(); }
};

// One spatial dimension with its input size known. Output element o reads input elements
// o * stride - pad_begin + k * dilation for k in [0, kernel) that lie in [0, input).
struct WindowDim {
  int64_t input = 0, output = 0;
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t pad_begin = 0, pad_end = 0;

  int64_t extent() const { return (kernel - 1) * dilation + 1; }
  // Kernel positions [first, last) that fall inside the input for output element o.
  std::pair<int64_t, int64_t> taps(int64_t o) const;
  // Output elements [first, last) for which kernel position k falls inside the input.
  std::pair<int64_t, int64_t> outputs_of_tap(int64_t k) const;
};

void complete_window(WindowSpec& spec);
// The lists of an attribute struct, empty ones filled with their defaults; not checked.
template <class A>
WindowSpec window_spec(const A& attrs, std::span<const int64_t> kernel) {
  WindowSpec spec{
      {kernel.begin(), kernel.end()}, attrs.strides, attrs.dilations, attrs.pads, {}, {}};
  if constexpr (requires { attrs.auto_pad; }) spec.auto_pad = attrs.auto_pad;
  if constexpr (requires { attrs.ceil_mode; }) spec.ceil_mode = attrs.ceil_mode;
  complete_window(spec);
  return spec;
}

// List lengths, positive kernel, strides and dilations, pads in range: after this all arithmetic
// below is free of overflow for inputs up to kMaxSpatialSize.
Status check_window(const InferContext& ctx, const WindowSpec& spec);
inline constexpr int64_t kMaxSpatialSize = int64_t{1} << 40;

// Effective pads and output size of dimension d; output < 1: the window does not fit the input.
WindowDim resolve_window(const WindowSpec& spec, size_t d, int64_t input);
std::vector<WindowDim> resolve_windows(const WindowSpec& spec, std::span<const int64_t> inputs);
// Output size as a dimension, open where the input is.
Result<Dim> infer_window(const InferContext& ctx, const WindowSpec& spec, size_t d,
                         const Dim& input);

// The transposed direction: input element i adds to output elements
// i * stride - pad_begin + k * dilation that lie in [0, output).
struct TransposedDim {
  int64_t input = 0, output = 0;
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t pad_begin = 0, pad_end = 0;
};
Status check_transposed_window(const InferContext& ctx, const ConvTransposeAttrs& attrs,
                               const WindowSpec& spec);
TransposedDim resolve_transposed(const ConvTransposeAttrs& attrs, const WindowSpec& spec, size_t d,
                                 int64_t input);
Result<Dim> infer_transposed(const InferContext& ctx, const ConvTransposeAttrs& attrs,
                             const WindowSpec& spec, size_t d, const Dim& input);

// Where a layout keeps channels and spatial dimensions.
inline size_t channel_axis(Layout layout, size_t rank) {
  return layout == Layout::ChannelsFirst ? 1 : rank - 1;
}
inline size_t spatial_axis(Layout layout, size_t d) {
  return layout == Layout::ChannelsFirst ? d + 2 : d + 1;
}
std::vector<int64_t> spatial_sizes(Layout layout, std::span<const int64_t> shape);
// The sizes a kernel sees, channels first, whatever the layout.
std::vector<int64_t> channels_first_shape(Layout layout, std::span<const int64_t> shape);

}  // namespace ec
