// Models as a function of a seed.
#pragma once

#include <string>

#include "fuzz/op/builder.h"
#include "fuzz/op/model.h"

namespace ec::fuzz {

struct GenerateOptions {
  std::optional<Level> level;    // empty: chosen by the seed
  std::vector<OpKind> subjects;  // ops that models are about; empty: all
};

Model generate(uint64_t seed, const GenerateOptions& options);

// Adds operations by their recipes; used for models and for the bodies in them.
void add_operations(Builder& b, int64_t count);

// An ONNX file of nodes that follow no rule: fills `file` and `file_subject` (generate_file.cpp).
void generate_file(RandomSource& random, Model& model);

}  // namespace ec::fuzz
