// External tensor data: the second file of a model. References come from the model, so they are
// confined to its folder: no absolute path, no "..", no symbolic link that leads elsewhere, no file
// with a second hard link, whose other name may be anywhere.
#include <algorithm>

#include "formats/onnx/tensor_data.h"
#include "support/input_file.h"
#include "support/strings.h"

namespace ec::onnx {
namespace {

namespace fs = std::filesystem;

struct Reference {
  std::string_view location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

Error invalid(const Tensor& tensor, const std::string& what) {
  return Error(Code::ExternalDataInvalid,
               "external data of tensor '" + printable(tensor.name) + "' " + what);
}

std::optional<uint64_t> parse_size(std::string_view text) {
  const auto value = parse_int(text);
  if (!value || *value < 0) return std::nullopt;
  return static_cast<uint64_t>(*value);
}

Result<Reference> read_reference(const Tensor& tensor) {
  Reference reference;
  for (const StringEntry& entry : tensor.external_data) {
    if (entry.key == "location") {
      reference.location = entry.value;
    } else if (entry.key == "offset" || entry.key == "length") {
      const auto value = parse_size(entry.value);
      if (!value)
        return invalid(tensor, "has no valid " + std::string(entry.key) + ": '" +
                                   printable(entry.value) + "'");
      if (entry.key == "offset")
        reference.offset = *value;
      else
        reference.length = *value;
    }
  }
  if (reference.location.empty()) return invalid(tensor, "names no file");
  return reference;
}

bool stays_inside(const fs::path& path) {
  if (path.is_absolute() || path.has_root_path()) return false;
  return std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
}

bool is_below(const fs::path& file, const fs::path& folder) {
  const auto [end, _] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return end == folder.end();
}

}  // namespace

Result<FileImage*> ExternalData::open(std::string_view location) {
  if (const auto it = files_.find(location); it != files_.end()) return &it->second;
  const std::string shown = printable(location);
  const fs::path relative{std::string(location)};
  if (location.find('\0') != std::string_view::npos || !stays_inside(relative))
    return Error(Code::ExternalDataInvalid,
                 "external data reference '" + shown + "' leaves the model's folder")
        .hint("keep the data file beside the model and refer to it by its plain name");
  if (model_.empty())
    return Error(Code::ExternalDataMissing,
                 "the model was given as bytes and has no folder to find '" + shown + "' in")
        .hint("give the model by its path");
  std::error_code error;
  const fs::path folder = model_.has_parent_path() ? model_.parent_path() : fs::path(".");
  const fs::path target = fs::canonical(folder / relative, error);
  if (error || !fs::is_regular_file(target, error))
    return Error(Code::ExternalDataMissing, "external data file '" + shown + "' is not there")
        .hint("copy '" + shown + "' into the folder of the model");
  // A model that is itself a link may have its data beside the link's target (download caches).
  const fs::path beside_link = fs::canonical(folder, error);
  const fs::path beside_target = fs::canonical(model_, error).parent_path();
  if (!is_below(target, beside_link) && (beside_target.empty() || !is_below(target, beside_target)))
    return Error(Code::ExternalDataInvalid,
                 "external data reference '" + shown + "' is a link that leaves the model's folder")
        .hint("copy the file that the link points to into the folder of the model");
  EC_TRY(InputFile file, InputFile::open(target));
  if (file.links() > 1)
    return Error(Code::ExternalDataInvalid,
                 "external data file '" + shown + "' has " + std::to_string(file.links()) +
                     " hard links: it may be a file from outside the model's folder")
        .hint(
            "if it belongs to the model, replace the link by a copy: cp DATA COPY, then mv COPY "
            "DATA");
  file_bytes_ += file.size();
  EC_TRY(FileImage image, FileImage::open(std::move(file)));
  return &files_.emplace(std::string(location), std::move(image)).first->second;
}

Status ExternalData::check_unchanged() const {
  for (const auto& [location, image] : files_) EC_CHECK_OK(image.file().check_unchanged());
  return {};
}

Result<Blob> ExternalData::bytes(const Tensor& tensor, size_t needed) {
  EC_TRY(const Reference reference, read_reference(tensor));
  if (reference.length && *reference.length != needed)
    return Error(Code::BadTensorData, "tensor '" + printable(tensor.name) + "' has " +
                                          std::to_string(*reference.length) +
                                          " bytes of external data, its shape and type need " +
                                          std::to_string(needed));
  if (needed == 0) return Blob();
  EC_TRY(FileImage * image, open(reference.location));
  const InputFile& file = image->file();
  if (reference.offset > file.size() || needed > file.size() - reference.offset)
    return invalid(tensor, "ends at byte " + std::to_string(reference.offset) + " + " +
                               std::to_string(needed) + ", the file '" +
                               printable(reference.location) + "' has " +
                               std::to_string(file.size()))
        .hint("the data file is cut off or belongs to another model");
  return image->range(static_cast<size_t>(reference.offset), needed);
}

}  // namespace ec::onnx
