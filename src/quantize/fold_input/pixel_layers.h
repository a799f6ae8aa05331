// Layers that read pixels, whole numbers from 0 to 255, in place of (pixel - mean) / std.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"
#include "quantize/calibration/preprocess.h"
#include "support/result.h"

namespace ec::quantize {

// What happens to a pixel of the input's channel: scale * pixel + shift.
struct ChannelAffine {
  std::vector<double> scale, shift;
  bool reversed = false;  // channel c of the model is channel C - 1 - c of the image

  bool keeps_zero() const;
  bool changes_nothing() const;
  size_t source_of(size_t channel) const { return reversed ? scale.size() - 1 - channel : channel; }
};
ChannelAffine affine_of(const Preprocessing& preprocessing, size_t channels);

// The affine goes into weights and bias. Exact where zero stays zero or the convolution pads
// nothing: its padding is zero, which is another pixel than the one that normalises to zero.
void fold_affine(Graph& graph, Operation* conv, const ChannelAffine& affine);

// (pixel - mean) / std by a convolution of one tap: every channel by itself, or all of them where
// their order changes. The result has the order of the model's channels.
Result<Tensor*> normalised_pixels(Graph& graph, Tensor* pixels, const ChannelAffine& affine,
                                  Layout layout);

// For integers, where the convolution pads and the mean is not zero: a convolution of one tap whose
// results are whole numbers again, so that nothing is rounded,
//
//   pixel - m, m the whole number in the middle of the channels' means, and a channel of k,
//
// and `conv` with its weights / std for the pixels and the sum of weights * (m - mean) / std / k
// for the channel of k. What is padded is zero in all of them, as it is in normalised values; the
// bias stays. k is the smallest number for which the new weights do not widen the scale of an
// output: their rounding counts k times. Returns what `conv` has to read.
Result<Tensor*> fold_centred(Graph& graph, Operation* conv, Tensor* pixels,
                             const ChannelAffine& affine);

// Parameters of a quantised input that takes pixels: every step is one.
QuantParams pixel_params(DType dtype);
// Parameters in 8 bits of what a convolution makes of pixels where that is exact: it only picks
// them and adds whole numbers, and the results span no more than 256 values.
std::optional<QuantParams> picked_pixel_params(const Operation& op);

}  // namespace ec::quantize
