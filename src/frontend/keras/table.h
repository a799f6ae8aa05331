// The classes of layers and operations that are read, one row each, by families.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "frontend/keras/layer_call.h"

namespace ec::keras {

using LayerFn = Value (*)(LayerCall& call);

// What becomes of the mask of the first input.
enum class MaskRule : uint8_t {
  Drop,
  Pass,  // the result has it, too
  Own,   // the converter gives the result's mask
};

struct LayerRow {
  std::string_view name;
  LayerFn convert;
  MaskRule mask = MaskRule::Drop;
  bool weighted = false;  // has variables in the file
};

// A class that is known and refused.
struct RefusedRow {
  std::string_view name, why;
};

const LayerRow* find_layer(std::string_view class_name);
const LayerRow* find_operation(std::string_view class_name);  // keras.ops
const RefusedRow* find_refused(std::string_view class_name);
std::vector<std::string_view> layer_names();

extern const std::span<const LayerRow> kActivationRows, kAttentionRows, kConvolutionRows, kCoreRows,
    kMergeRows, kNormalizationRows, kPoolRows, kPreprocessingRows, kQuantizeRows, kRecurrentRows,
    kReshapeRows, kSpectrogramRows;
extern const std::span<const LayerRow> kMathOperations, kArrayOperations, kNnOperations;
extern const std::span<const LayerRow> kFunctions;

}  // namespace ec::keras
