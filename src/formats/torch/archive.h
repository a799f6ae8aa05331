// The archives of torch.jit.save, torch.save and torch.export: ZIP files whose entries stand in one
// folder, named after the file they were first written to.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/zip/zip.h"

namespace ec::torch {

class Archive {
 public:
  static Result<Archive> open(Blob file);
  Archive(Archive&&) = default;  // names are looked up as views of the entries, so no copies
  Archive& operator=(Archive&&) = default;

  // Names without the folder, in the order of the archive.
  const std::vector<std::string>& records() const { return records_; }
  bool has(std::string_view record) const { return find(record) != nullptr; }
  // An unpacked record whose checksum is verified. Records of code and pickles only: the size is
  // bounded, whatever the archive claims.
  Result<Blob> read(std::string_view record) const;
  // A stored record as a slice of the file; like PyTorch this does not read it for its checksum, so
  // weights stay on disk until they are used.
  Result<Blob> map(std::string_view record) const;
  // As read(), for text.
  Result<std::string> read_text(std::string_view record) const;
  bool little_endian() const { return little_endian_; }
  size_t file_size() const { return file_size_; }

 private:
  Archive() = default;
  const zip::Entry* find(std::string_view record) const;

  zip::Archive zip_;
  std::vector<std::string> records_;
  std::unordered_map<std::string_view, size_t> by_name_;  // into zip_.entries(); looked up only
  bool little_endian_ = true;
  size_t file_size_ = 0;
};

}  // namespace ec::torch
