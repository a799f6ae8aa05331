#include "fuzz/op/model.h"

#include <fstream>

namespace ec::fuzz {

std::filesystem::path write_model(const Model& model, const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / model.file_name;
  for (const ModelFile& file : model.files) {
    const std::filesystem::path place = file.name.empty() ? path : path / file.name;
    std::filesystem::create_directories(place.parent_path());
    std::ofstream(place, std::ios::binary) << file.bytes;
  }
  return path;
}

}  // namespace ec::fuzz
