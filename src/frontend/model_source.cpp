#include "frontend/model_source.h"

#include <algorithm>
#include <vector>

#include "support/input_file.h"
#include "support/sha256.h"
#include "support/strings.h"

namespace ec {
namespace {

namespace fs = std::filesystem;

// Formats that are directories have a handful of files; what has more is something else.
constexpr size_t kMaxFiles = 10000;

// Regular files below the directory, relative to it, in the order of their names.
Result<std::vector<fs::path>> files_below(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(directory, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (!it->is_regular_file(error) || error) continue;
    if (files.size() >= kMaxFiles)
      return Error(Code::UnknownFormat, "the directory holds too many files to be a model")
          .file(directory.string());
    files.push_back(it->path().lexically_relative(directory));
  }
  if (error)
    return Error(Code::FileUnreadable, "cannot list the directory: " + error.message())
        .file(directory.string());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Result<ModelSource> ModelSource::open(const fs::path& path) {
  ModelSource source;
  source.name_ = path.string();
  source.path_ = path;
  std::error_code ignored;
  source.is_directory_ = fs::is_directory(path, ignored);
  if (!source.is_directory_) {
    EC_TRY(InputFile file, InputFile::open(path));
    source.file_ = std::make_shared<const InputFile>(std::move(file));
    EC_TRY(source.bytes_, read_file(*source.file_));
    source.size_bytes_ = static_cast<int64_t>(source.bytes_.size());
    return source;
  }
  EC_TRY(const std::vector<fs::path> files, files_below(path));
  for (const fs::path& file : files)
    source.size_bytes_ += static_cast<int64_t>(fs::file_size(path / file, ignored));
  return source;
}

ModelSource ModelSource::from_bytes(std::string name, Blob bytes) {
  ModelSource source;
  source.name_ = std::move(name);
  source.size_bytes_ = static_cast<int64_t>(bytes.size());
  source.bytes_ = std::move(bytes);
  return source;
}

std::string ModelSource::extension() const {
  return to_lower(fs::path(name_).extension().string());
}

Status ModelSource::check_unchanged() const {
  return file_ == nullptr ? Status() : file_->check_unchanged();
}

bool ModelSource::has_member(const fs::path& relative) const {
  std::error_code ignored;
  return is_directory_ && fs::is_regular_file(path_ / relative, ignored);
}

Result<InputFile> ModelSource::open_member(const fs::path& relative) const {
  std::error_code error;
  const fs::path root = fs::canonical(path_, error);
  const fs::path file = error ? fs::path() : fs::canonical(root / relative, error);
  if (error)
    return Error(Code::FileNotFound, "the model lacks '" + printable(relative.string()) + "'")
        .file(name_);
  const fs::path inside = file.lexically_relative(root);
  if (!is_directory_ || inside.empty() || *inside.begin() == "..")
    return Error(Code::FileUnreadable,
                 "'" + printable(relative.string()) + "' leaves the model's folder")
        .file(name_);
  return InputFile::open(file);
}

Result<Blob> ModelSource::member(const fs::path& relative) const {
  EC_TRY(const InputFile file, open_member(relative));
  return read_file(file);
}

Result<std::string> ModelSource::sha256() const {
  if (!sha256_.empty()) return sha256_;
  if (!is_directory_) return sha256_ = sha256_hex(bytes_.bytes());
  EC_TRY(const std::vector<fs::path> files, files_below(path_));
  std::string listing;
  for (const fs::path& file : files) {
    EC_TRY(const Blob content, member(file));
    listing += sha256_hex(content.bytes()) + " " + file.generic_string() + "\n";
  }
  return sha256_ = sha256_hex(listing);
}

}  // namespace ec
