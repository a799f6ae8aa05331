// The numbers of uneven_channels.h that were chosen rather than derived, as in quantize/tuning.h.
#pragma once

#include <cstddef>

namespace ec::quantize::tuning {

// The noise, as a share of the signal, that has to come from one scale for all channels; the factor
// below which parts have to bring it; the factor for which there is one part more; and how many
// there may be.
inline constexpr double kUnevenNoise = 0.01, kUnevenGain = 0.25, kAnotherPart = 0.5;
inline constexpr size_t kMostChannelParts = 4;
// Channels up to which parts are looked for: the time grows with the square.
inline constexpr size_t kMostUnevenChannels = 4096;
// Gain for which a network with such parts is kept: they are operations more.
inline constexpr double kSplitChannelsGain = 1;

}  // namespace ec::quantize::tuning
