#include "formats/npy/array_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/npy/header.h"
#include "formats/zip/zip.h"
#include "support/strings.h"
#include "support/units.h"

namespace ec::npy {
namespace {

namespace fs = std::filesystem;

// Real data packs to a tenth, masks to a hundredth. What packs better is made to cost time.
constexpr uint64_t kMaxRatio = 200;
constexpr uint64_t kSmall = uint64_t{64} << 20;

Error npz_error(const fs::path& path, std::string message) {
  return Error(Code::BadArrayFile, std::move(message))
      .file(path.string())
      .hint("write the arrays with numpy.savez(file, name=array)");
}

Error too_large(const fs::path& path, std::string_view name, uint64_t size) {
  return Error(Code::TooLarge,
               fmt::format("array '{}' unpacks to {}, far more than its file", printable(name),
                           format_bytes(static_cast<int64_t>(size))))
      .file(path.string())
      .hint("write the arrays with numpy.savez, which does not pack them");
}

Result<zip::Archive> open_archive(const fs::path& path, size_t& file_size) {
  EC_TRY(Blob file, read_file(path));
  file_size = file.size();
  Result<zip::Archive> archive = zip::Archive::open(std::move(file));
  if (!archive) return npz_error(path, archive.error().message());
  return archive;
}

Result<const zip::Entry*> find_entry(const zip::Archive& archive, const fs::path& path,
                                     std::string_view name) {
  const zip::Entry* found = archive.find(std::string(name) + ".npy");
  if (!found && name.empty() && archive.entries().size() == 1) found = &archive.entries().front();
  if (found) return found;
  std::string names;
  for (const zip::Entry& entry : archive.entries())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", printable(entry.name));
  return npz_error(path, fmt::format("no array '{}'; the file holds: {}", printable(name), names));
}

}  // namespace

Result<std::vector<std::string>> npz_names(const fs::path& path) {
  size_t file_size = 0;
  EC_TRY(const zip::Archive archive, open_archive(path, file_size));
  std::vector<std::string> names;
  for (const zip::Entry& entry : archive.entries())
    if (entry.name.ends_with(".npy")) names.push_back(entry.name.substr(0, entry.name.size() - 4));
  return names;
}

Result<ArrayFile> ArrayFile::open(const fs::path& path) {
  const auto fault = [&](Error error) {
    return std::move(error)
        .file(path.string())
        .hint("write the array with numpy.save(file, array)");
  };
  EC_TRY(InputFile file, InputFile::open(path));
  Buffer head = Buffer::allocate(std::min(file.size(), kHead));
  if (!head.ok()) return Error(Code::OutOfMemory, "no memory for a header");
  EC_CHECK_OK(file.read(0, head.bytes()));
  Result<Layout> layout = parse_layout(head.bytes(), file.size());
  if (!layout) return fault(std::move(layout).error());
  if (layout->columns_first || layout->swapped) {
    EC_TRY(const Blob content, read_file(file));
    Result<Array> array = parse(content);
    if (!array) return fault(std::move(array).error());
    return in_memory(std::move(*array));
  }
  ArrayFile result;
  result.array_ = std::move(layout->array);
  result.begin_ = layout->begin;
  result.bytes_ = layout->bytes;
  result.path_ = path;
  result.file_ = std::make_unique<InputFile>(std::move(file));
  return result;
}

Result<ArrayFile> ArrayFile::open_npz(const fs::path& path, std::string_view name) {
  size_t file_size = 0;
  EC_TRY(const zip::Archive archive, open_archive(path, file_size));
  EC_TRY(const zip::Entry* entry, find_entry(archive, path, name));
  const auto fault = [&](const Error& error) {
    return npz_error(path, fmt::format("array '{}': {}", printable(entry->name), error.message()));
  };
  if (entry->method != 8) {  // not packed: a part of the file
    Result<Blob> content = archive.read(*entry);
    if (!content) return npz_error(path, content.error().message());
    Result<Array> array = parse(*content);
    if (!array) return fault(array.error());
    return in_memory(std::move(*array));
  }
  if (entry->size > kSmall && entry->size / kMaxRatio > entry->compressed_size)
    return too_large(path, entry->name, entry->size);
  Result<zip::EntryStream> stream = archive.stream(*entry);
  if (!stream) return npz_error(path, stream.error().message());
  Buffer head = Buffer::allocate(std::min<uint64_t>(entry->size, kHead));
  if (!head.ok()) return Error(Code::OutOfMemory, "no memory for a header");
  if (Status status = stream->read(0, head.bytes()); !status.ok())
    return npz_error(path, status.error().message());
  Result<Layout> layout = parse_layout(head.bytes(), entry->size);
  if (!layout) return fault(layout.error());
  ArrayFile result;
  result.path_ = path;
  result.limit_ = file_size + kSmall;
  if (layout->columns_first || layout->swapped) {
    if (entry->size > result.limit_) return too_large(path, entry->name, entry->size);
    Result<Blob> content = archive.read(*entry);
    if (!content) return npz_error(path, content.error().message());
    Result<Array> array = parse(*content);
    if (!array) return fault(array.error());
    return in_memory(std::move(*array));
  }
  result.array_ = std::move(layout->array);
  result.begin_ = layout->begin;
  result.bytes_ = layout->bytes;
  result.packed_ = std::make_unique<zip::EntryStream>(std::move(*stream));
  return result;
}

ArrayFile ArrayFile::of_raw(InputFile file, Array array) {
  ArrayFile result;
  result.array_ = std::move(array);
  result.path_ = file.path();
  result.bytes_ = file.size();
  result.file_ = std::make_unique<InputFile>(std::move(file));
  return result;
}

ArrayFile ArrayFile::in_memory(Array array) {
  ArrayFile result;
  result.bytes_ = array.data.size();
  result.array_ = std::move(array);
  return result;
}

Result<Blob> ArrayFile::read(uint64_t offset, size_t length) {
  if (!file_ && !packed_) return array_.data.slice(offset, length).aligned();
  Buffer buffer = Buffer::allocate(length);
  if (!buffer.ok()) return Error(Code::OutOfMemory, "no memory for an array");
  if (file_) {
    EC_CHECK_OK(file_->read(begin_ + offset, buffer.bytes()));
  } else if (Status status = packed_->read(begin_ + offset, buffer.bytes()); !status.ok()) {
    return npz_error(path_, status.error().message());
  }
  return std::move(buffer).to_blob();
}

Result<Array> ArrayFile::read_all() && {
  if (!file_ && !packed_) return std::move(array_);
  if (bytes_ > limit_) return too_large(path_, {}, bytes_);
  EC_TRY(array_.data, read(0, bytes_));
  // The checksum stands for all bytes: it is known only now.
  if (packed_)
    if (Status status = packed_->finish(); !status.ok())
      return npz_error(path_, status.error().message());
  return std::move(array_);
}

}  // namespace ec::npy
