// Where files say how images become their input: entries of a graph's metadata.
#pragma once

#include <string_view>

namespace ec::quantize {

// What a caller has to do to images (Preprocessing::text()).
inline constexpr std::string_view kPreprocessingKey = "preprocessing";
// What the network does itself: the part that --fold-preprocessing put into it.
inline constexpr std::string_view kFoldedPreprocessingKey = "preprocessing.folded";

}  // namespace ec::quantize
