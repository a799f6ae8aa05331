// Which of the file's two ways of padding a window's pads are.
#pragma once

#include "formats/tflite/schema.h"
#include "ir/graph.h"
#include "ops/same_padding.h"

namespace ec::tflite {

// Nothing: the pads need an operator of their own.
inline std::optional<Padding> padding_code(PaddingScheme scheme) {
  if (scheme == PaddingScheme::Other) return std::nullopt;
  return scheme == PaddingScheme::Same ? Padding::SAME : Padding::VALID;
}

// The padding of a window over the dimensions [1, rank - 1) of x.
inline std::optional<Padding> padding_of(const ec::Tensor& x, const WindowSpec& spec) {
  return padding_code(padding_scheme(spec, std::span(x.shape()->dims()).subspan(1, spec.rank())));
}

}  // namespace ec::tflite
