// Channels of very different size in one tensor: an 8-bit scale for the largest leaves the small
// ones no steps. A depthwise convolution behind it makes them all alike again, and with them the
// error. Where an activation such as hard swish stands between, no factor can be moved over it
// (equalize.h); but the channels can be computed in parts, each with a scale of its own.
#pragma once

#include "quantize/ranges/calibrate.h"
#include "quantize/rescale/channel_order.h"

namespace ec::quantize {

struct UnevenChannels {
  Operation* made_by = nullptr;     // the convolution that makes the channels
  std::vector<Operation*> between;  // operations on single elements, in order
  Operation* read_by = nullptr;     // the depthwise convolution
  Operation* clamp = nullptr;       // directly behind it; null: none
  ChannelOrder behind;              // what follows if the channels change places
  // Channels with ranges of about the same size, as numbers of the present order.
  std::vector<std::vector<uint32_t>> parts;

  // What the depthwise convolution gives, its clamp included.
  Tensor* result() const { return (clamp != nullptr ? clamp : read_by)->output(); }
};

// Those where parts lower the error of rounding considerably (tuning::kUnevenNoise,
// tuning::kUnevenGain). `plan` and `run` are of this graph.
std::vector<UnevenChannels> uneven_channels(const Graph& graph, const Plan& plan,
                                            const CalibrationRun& run);

}  // namespace ec::quantize
