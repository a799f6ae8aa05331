#include "quantize/calibration/sample_shapes.h"

#include <optional>

#include "formats/npy/array_file.h"
#include "quantize/calibration/sample_files.h"

namespace ec::quantize {
namespace {

namespace fs = std::filesystem;
using Shapes = std::map<std::string, std::vector<int64_t>>;

// The shape of one sample with a batch of 1. Nothing where the array does not fit the input.
std::optional<std::vector<int64_t>> shape_of_sample(const std::vector<int64_t>& array,
                                                    const ModelInput& input) {
  if (!input.type.shape || input.type.shape->rank() == 0) return std::nullopt;
  const Shape& wanted = *input.type.shape;
  std::vector<int64_t> shape = array;
  if (shape.size() + 1 == wanted.rank())
    shape.insert(shape.begin(), 1);
  else if (shape.size() == wanted.rank())
    shape[0] = wanted[0].is_static() ? wanted[0].size() : 1;
  else
    return std::nullopt;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] <= 0 || (wanted[d].is_static() && wanted[d].size() != shape[d]))
      return std::nullopt;
  return shape;
}

void add_npz(const fs::path& path, const std::vector<ModelInput>& inputs, Shapes& shapes) {
  const auto names = npy::npz_names(path);
  if (!names.ok()) return;
  for (const ModelInput& input : inputs)
    for (const std::string& name : *names) {
      const bool only = names->size() == 1 && inputs.size() == 1;
      if (name != input.name && !only) continue;
      const auto array = npy::ArrayFile::open_npz(path, name);
      if (!array.ok()) continue;
      if (auto shape = shape_of_sample(array->array().shape, input))
        shapes[input.name] = std::move(*shape);
    }
}

}  // namespace

Shapes sample_shapes(const std::string& path, const std::vector<ModelInput>& inputs) {
  Shapes shapes;
  fs::path file = path;
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) {
    const auto files = files_in_folder(file);
    if (!files.ok()) return shapes;
    file = files->front();
  }
  switch (file_kind(file)) {
    case FileKind::Npy:
      if (inputs.size() != 1) break;
      if (const auto array = npy::ArrayFile::open(file); array.ok())
        if (auto shape = shape_of_sample(array->array().shape, inputs[0]))
          shapes[inputs[0].name] = std::move(*shape);
      break;
    case FileKind::Npz:
      add_npz(file, inputs, shapes);
      break;
    default:
      break;
  }
  return shapes;
}

}  // namespace ec::quantize
