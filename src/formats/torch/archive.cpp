#include "formats/torch/archive.h"

#include <fmt/format.h>

#include "support/strings.h"

namespace ec::torch {
namespace {

// Code and pickles of the largest models stay below a few megabytes.
constexpr uint64_t kMaxRecord = uint64_t{64} << 20;

}  // namespace

Result<Archive> Archive::open(Blob file) {
  Archive archive;
  archive.file_size_ = file.size();
  EC_TRY(archive.zip_, zip::Archive::open(std::move(file)));
  const std::vector<zip::Entry>& entries = archive.zip_.entries();
  std::string_view folder;
  if (!entries.empty()) {
    const std::string_view first = entries.front().name;
    const size_t slash = first.find('/');
    if (slash != std::string_view::npos) folder = first.substr(0, slash + 1);
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    std::string_view name = entries[i].name;
    if (name.starts_with(folder)) name.remove_prefix(folder.size());
    archive.records_.emplace_back(name);
    archive.by_name_.emplace(name, i);
  }
  if (archive.has("byteorder")) {
    EC_TRY(const std::string order, archive.read_text("byteorder"));
    archive.little_endian_ = trim(order) != "big";
  }
  return archive;
}

const zip::Entry* Archive::find(std::string_view record) const {
  const auto found = by_name_.find(record);
  return found == by_name_.end() ? nullptr : &zip_.entries()[found->second];
}

Result<Blob> Archive::read(std::string_view record) const {
  const zip::Entry* entry = find(record);
  if (entry == nullptr)
    return Error(Code::CorruptFile,
                 fmt::format("the archive has no record '{}'", printable(record)))
        .hint("the archive is damaged: save it again");
  if (entry->size > kMaxRecord)
    return Error(Code::TooLarge, fmt::format("record '{}' of {} bytes is no code of a model",
                                             printable(record), entry->size))
        .hint("the archive is damaged or hostile: save the model again");
  return zip_.read(*entry);
}

Result<Blob> Archive::map(std::string_view record) const {
  const zip::Entry* entry = find(record);
  if (entry == nullptr)
    return Error(Code::CorruptFile,
                 fmt::format("the archive has no record '{}'", printable(record)))
        .hint("the archive is damaged: save it again");
  if (entry->method != 0) return zip_.read(*entry);
  return zip_.map(*entry);
}

Result<std::string> Archive::read_text(std::string_view record) const {
  EC_TRY(const Blob blob, read(record));
  return std::string(reinterpret_cast<const char*>(blob.bytes().data()), blob.size());
}

}  // namespace ec::torch
