#include "ops/same_padding.h"

#include <algorithm>

namespace ec {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Padding at the end beyond the last window does no harm.
bool is_same(const WindowDim& w) {
  if (w.output != ceil_div(w.input, w.stride)) return false;
  const int64_t total = std::max<int64_t>(0, (w.output - 1) * w.stride + w.extent() - w.input);
  return w.pad_begin == total / 2;
}

bool is_valid(const WindowDim& w) {
  return w.pad_begin == 0 && (w.output - 1) * w.stride + w.extent() <= w.input &&
         w.output == ceil_div(w.input - w.extent() + 1, w.stride);
}

bool is_same(const TransposedDim& w) {
  if (w.dilation != 1 || w.input != ceil_div(w.output, w.stride)) return false;
  const int64_t total = std::max<int64_t>(0, (w.input - 1) * w.stride + w.kernel - w.output);
  return w.pad_begin == total / 2;
}

bool is_valid(const TransposedDim& w) {
  return w.dilation == 1 && w.pad_begin == 0 && w.output >= w.kernel &&
         (w.output - w.kernel) / w.stride + 1 == w.input;
}

template <class W>
PaddingScheme choose(std::span<const W> windows) {
  if (std::all_of(windows.begin(), windows.end(), [](const W& w) { return is_valid(w); }))
    return PaddingScheme::Valid;
  if (std::all_of(windows.begin(), windows.end(), [](const W& w) { return is_same(w); }))
    return PaddingScheme::Same;
  return PaddingScheme::Other;
}

}  // namespace

PaddingScheme padding_scheme(std::span<const WindowDim> windows) { return choose(windows); }
PaddingScheme padding_scheme(std::span<const TransposedDim> windows) { return choose(windows); }

PaddingScheme padding_scheme(const WindowSpec& spec, std::span<const Dim> inputs) {
  if (std::all_of(inputs.begin(), inputs.end(), [](const Dim& d) { return d.is_static(); })) {
    std::vector<int64_t> sizes;
    for (const Dim& dim : inputs) sizes.push_back(dim.size());
    return padding_scheme(resolve_windows(spec, sizes));
  }
  if (spec.ceil_mode) return PaddingScheme::Other;
  if (spec.auto_pad == AutoPad::SameUpper) return PaddingScheme::Same;
  if (spec.auto_pad == AutoPad::Valid) return PaddingScheme::Valid;
  if (spec.auto_pad != AutoPad::Explicit) return PaddingScheme::Other;
  bool none = true, same = true;
  for (size_t d = 0; d < spec.rank(); ++d) {
    const int64_t begin = spec.pads[d], end = spec.pads[d + spec.rank()];
    none = none && begin == 0 && end == 0;
    same = same && spec.strides[d] == 1 && begin == end &&
           2 * begin == (spec.kernel[d] - 1) * spec.dilations[d];
  }
  return none ? PaddingScheme::Valid : same ? PaddingScheme::Same : PaddingScheme::Other;
}

}  // namespace ec
