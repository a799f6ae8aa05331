// How weights are stored, as the option asks for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/result.h"

namespace ec::metal {

struct WeightForm {
  enum class Kind : uint8_t { Dense, Palette, Int4, Int8, Sparse, Threshold };
  Kind kind = Kind::Dense;
  int bits = 4;        // Palette
  int64_t block = 32;  // Int4: weights along the inputs of a layer that share a scale
  double share = 0.5;  // Sparse: of the weights that become zero
  float threshold = 0;

  bool compresses() const { return kind != Kind::Dense; }
  std::string text() const;  // "palettize:4"
};

// Usage: no form, or a parameter that it does not have. Empty text: weights stay as they are.
Result<WeightForm> parse_weight_form(std::string_view text);
// The oldest version of the specification that has the form.
int version_of(const WeightForm& form);

}  // namespace ec::metal
