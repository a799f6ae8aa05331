// How a graph's metadata holds what a TFLite file says beside its graphs.
#pragma once

#include <string_view>

namespace ec::tflite {

// Followed by the entry's name. Values are text, or bytes as base64 behind the prefix.
inline constexpr std::string_view kTfliteMetadata = "tflite.metadata.";
inline constexpr std::string_view kBase64Prefix = "base64:";
inline constexpr std::string_view kTfliteDescription = "tflite.description";

}  // namespace ec::tflite
