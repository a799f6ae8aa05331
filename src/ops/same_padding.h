// SAME and VALID, the two ways of padding that TensorFlow's formats have, told from explicit pads.
#pragma once

#include <span>

#include "ops/window.h"

namespace ec {

enum class PaddingScheme : uint8_t {
  Valid,  // no pads; what is left of the input at the end is not read
  Same,   // output = ceil(input / stride), the odd element of padding at the end
  Other,
};

PaddingScheme padding_scheme(std::span<const WindowDim> windows);
PaddingScheme padding_scheme(std::span<const TransposedDim> windows);
// The scheme of windows along dimensions that may be open: Other unless the pads are right for
// every size.
PaddingScheme padding_scheme(const WindowSpec& spec, std::span<const Dim> inputs);

}  // namespace ec
