// The user's sizes for open dimensions, applied to the types of the model's inputs before anything
// is converted, so that inference runs with them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "frontend/frontend.h"

namespace ec {

struct NamedInput {
  std::string name;
  TensorType type;
};

// Reports every option that does not fit; the inputs change only where options do.
void apply_input_options(std::vector<NamedInput>& inputs, const ImportOptions& options,
                         DiagnosticSink& sink);

}  // namespace ec
