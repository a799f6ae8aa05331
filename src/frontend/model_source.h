// Where a model comes from: a file, a directory or bytes in memory. Opened once, hashed once; every
// front end and back end that looks at the model looks at the same bytes.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "support/blob.h"
#include "support/file_bytes.h"
#include "support/input_file.h"
#include "support/result.h"

namespace ec {

class ModelSource {
 public:
  // Opens a file or a directory. Files of formats that are read in parts (archives, HDF5,
  // TensorFlow graphs) are read as far as it takes to tell them apart, others whole. Errors: as
  // InputFile::open.
  static Result<ModelSource> open(const std::filesystem::path& path);
  // Bytes that somebody holds already. `name` stands for the model in messages and file names.
  static ModelSource from_bytes(std::string name, Blob bytes);

  bool is_directory() const { return is_directory_; }
  // As the user named it.
  const std::string& name() const { return name_; }
  // Anchors files that the model refers to. Empty for bytes in memory: they refer to nothing.
  const std::filesystem::path& path() const { return path_; }
  // The name without folder and extension.
  std::string stem() const { return std::filesystem::path(name_).stem().string(); }
  std::string extension() const;  // in lower case

  // The content of a file to be read in parts; empty for a directory.
  const FileBytes& content() const { return content_; }
  // What tells formats apart: the first 64 kB and, of archives, the last megabyte are as in the
  // file. Other bytes may be zeros.
  std::span<const std::byte> outline() const { return content_.span(); }
  // The whole content in memory; empty for a directory.
  Result<Blob> bytes() const;
  // The size of the file, or of all files of a directory.
  int64_t size_bytes() const { return size_bytes_; }
  // FileUnreadable when the file that was opened is no longer what it was, or could not be read:
  // files beside it may then belong to another version.
  Status check_unchanged() const;
  // A file of the directory, to be read in parts or whole. The path must stay inside; links that
  // lead outside are refused.
  Result<InputFile> open_member(const std::filesystem::path& relative) const;
  Result<Blob> member(const std::filesystem::path& relative) const;
  bool has_member(const std::filesystem::path& relative) const;

  // SHA-256 of the content; of a directory: of the names and contents of its files in order.
  // Computed when it is asked for the first time.
  Result<std::string> sha256() const;

 private:
  ModelSource() = default;

  std::string name_;
  std::filesystem::path path_;
  std::shared_ptr<const InputFile> file_;  // of a file that was read whole
  FileBytes content_;
  mutable Blob bytes_;  // of a file that is read in parts, when it is asked for
  int64_t size_bytes_ = 0;
  bool is_directory_ = false;
  mutable std::string sha256_;
};

}  // namespace ec
