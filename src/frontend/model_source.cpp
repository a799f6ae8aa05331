#include "frontend/model_source.h"

#include <algorithm>
#include <vector>

#include "frontend/zip_names.h"
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

constexpr size_t kHead = size_t{64} << 10, kArchiveEnd = size_t{1} << 20;

// Whether the formats that begin like this are read in parts. ONNX and Core ML models begin with a
// number in their first field, TensorFlow's graphs with a node.
bool is_read_in_parts(std::string_view head) {
  return head.starts_with(kZipStart) || head.starts_with("\x89HDF") || head.starts_with('\x0a');
}

// Reads what tells formats apart.
Status read_outline(const FileBytes& content) {
  EC_TRY(const Blob head, content.range(0, std::min(kHead, content.size())));
  if (!text_of_bytes(head.bytes()).starts_with(kZipStart)) return {};
  const size_t end = std::min(kArchiveEnd, content.size());
  EC_TRY(const Blob tail, content.range(content.size() - end, end));
  return {};
}

// The hash of a file of which nothing is kept.
Result<std::string> hash_of(const InputFile& file) {
  Sha256 hash;
  std::vector<std::byte> piece(std::min<size_t>(file.size(), size_t{256} << 10));
  for (size_t at = 0; at < file.size(); at += piece.size()) {
    piece.resize(std::min(piece.size(), file.size() - at));
    EC_CHECK_OK(file.read(at, piece));
    hash.add(piece);
  }
  return std::move(hash).hex();
}

Result<std::string> head_of(const InputFile& file) {
  std::string head(std::min<size_t>(4, file.size()), '\0');
  EC_CHECK_OK(file.read(0, std::as_writable_bytes(std::span(head))));
  return head;
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
    source.size_bytes_ = static_cast<int64_t>(file.size());
    EC_TRY(const std::string head, head_of(file));
    if (is_read_in_parts(head)) {
      EC_TRY(source.content_, FileBytes::open(std::move(file)));
      EC_CHECK_OK(read_outline(source.content_));
      return source;
    }
    source.file_ = std::make_shared<const InputFile>(std::move(file));
    EC_TRY(Blob whole, read_file(*source.file_));
    source.content_ = std::move(whole);
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
  source.content_ = std::move(bytes);
  return source;
}

std::string ModelSource::extension() const {
  return to_lower(fs::path(name_).extension().string());
}

Status ModelSource::check_unchanged() const {
  EC_CHECK_OK(content_.fault());
  const InputFile* file = file_ != nullptr ? file_.get() : content_.file();
  return file == nullptr ? Status() : file->check_unchanged();
}

Result<Blob> ModelSource::bytes() const {
  if (content_.in_memory()) return content_.range(0, content_.size());
  if (bytes_.empty()) {
    EC_TRY(bytes_, read_file(*content_.file()));
  }
  return bytes_;
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
  if (!is_directory_) {
    if (content_.in_memory()) return sha256_ = sha256_hex(content_.span());
    EC_TRY(sha256_, hash_of(*content_.file()));
    return sha256_;
  }
  EC_TRY(const std::vector<fs::path> files, files_below(path_));
  std::string listing;
  for (const fs::path& file : files) {
    EC_TRY(const InputFile opened, open_member(file));
    EC_TRY(const std::string hash, hash_of(opened));
    listing += hash + " " + file.generic_string() + "\n";
  }
  return sha256_ = sha256_hex(listing);
}

}  // namespace ec
