#include "frontend/keras/table.h"

#include <algorithm>
#include <unordered_map>

namespace ec::keras {
namespace {

using Rows = std::unordered_map<std::string_view, const LayerRow*>;

Rows collect(std::initializer_list<std::span<const LayerRow>> families) {
  Rows rows;
  for (const auto& family : families)
    for (const LayerRow& row : family) rows.emplace(row.name, &row);
  return rows;
}

const LayerRow* look_up(const Rows& rows, std::string_view name) {
  const auto found = rows.find(name);
  return found == rows.end() ? nullptr : found->second;
}

const Rows& layers() {
  static const Rows kRows =
      collect({kActivationRows, kAttentionRows, kConvolutionRows, kCoreRows, kMergeRows,
               kNormalizationRows, kPoolRows, kPreprocessingRows, kQuantizeRows, kRecurrentRows,
               kReshapeRows, kSpectrogramRows, kFunctions});
  return kRows;
}

constexpr RefusedRow kRefused[] = {
    {"StringLookup", "text is not computed with"},
    {"TextVectorization", "text is not computed with"},
    {"Hashing", "text is not computed with"},
    {"HashedCrossing", "text is not computed with"},
    {"IntegerLookup", "its table is not read"},
    {"FeatureSpace", "its features are not read"},
    {"DenseFeatures", "its features are not read"},
    {"TFSMLayer", "it runs a TensorFlow SavedModel, which is another file"},
    {"TorchModuleWrapper", "it holds a pickled PyTorch module"},
    {"FlaxLayer", "it holds Python code"},
    {"JaxLayer", "it holds Python code"},
    {"TensorFlowOpLayer", "it holds a node of a TensorFlow graph"},
    {"MaxNumBoundingBoxes", "boxes are no tensors of the model"},
    {"LocallyConnected1D", "kernels of each place are not supported"},
    {"LocallyConnected2D", "kernels of each place are not supported"},
};

}  // namespace

const LayerRow* find_layer(std::string_view class_name) { return look_up(layers(), class_name); }

const LayerRow* find_operation(std::string_view class_name) {
  static const Rows kRows = collect({kMathOperations, kArrayOperations, kNnOperations});
  return look_up(kRows, class_name);
}

const RefusedRow* find_refused(std::string_view class_name) {
  const auto found = std::ranges::find(kRefused, class_name, &RefusedRow::name);
  return found == std::end(kRefused) ? nullptr : found;
}

std::vector<std::string_view> layer_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, row] : layers()) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

}  // namespace ec::keras
