// Models as a function of a seed.
#pragma once

#include <string>

#include "fuzz/op/builder.h"
#include "fuzz/op/model.h"

namespace ec::fuzz {

struct GenerateOptions {
  std::optional<Level> level;                 // empty: chosen by the seed
  std::vector<OpKind> subjects;               // ops that models are about; empty: all
  std::string recorded = EC_RECORDED_MODELS;  // the folder of recorded models
};

Model generate(uint64_t seed, const GenerateOptions& options);

// Adds operations by their recipes; used for models and for the bodies in them.
void add_operations(Builder& b, int64_t count);

// A file of nodes that follow no rule, made from an importer's own tables: fills what a model knows
// of its file. One function a format, each in a file of its own.
void generate_onnx_file(RandomSource& random, Model& model);
void generate_tensorflow_file(RandomSource& random, Model& model);
void generate_coreml_file(RandomSource& random, Model& model);
void generate_keras_file(RandomSource& random, Model& model);
void generate_torchscript_file(RandomSource& random, Model& model);
void generate_torch_export_file(RandomSource& random, Model& model);

// A file that our writers made, ONNX or TFLite, with something in it changed
// (generate_damaged.cpp). False: no writer took the model.
bool generate_damaged(RandomSource& random, const GenerateOptions& options, Model& model);

// A recorded model of the folder with something in one of its files changed
// (generate_recorded.cpp). False: the folder has none.
bool generate_recorded(RandomSource& random, const std::string& folder, Model& model);

}  // namespace ec::fuzz
