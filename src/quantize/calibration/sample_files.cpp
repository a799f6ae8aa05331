#include "quantize/calibration/sample_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/input_file.h"
#include "support/strings.h"
#include "support/text_memory.h"

namespace ec::quantize {
namespace {

namespace fs = std::filesystem;

// More entries than any data set has: a mistaken path such as "/".
constexpr size_t kMaxEntries = 20'000'000;
// What a sample of a list takes in memory: where it is, and the name of its file.
constexpr size_t kBytesOfSample = 320;

}  // namespace

FileKind file_kind(const fs::path& path) {
  const std::string extension = to_lower(path.extension().string());
  for (const std::string_view image : {".jpg", ".jpeg", ".jpe", ".png", ".bmp", ".ppm", ".pgm"})
    if (extension == image) return FileKind::Image;
  if (extension == ".npy") return FileKind::Npy;
  if (extension == ".npz") return FileKind::Npz;
  if (extension == ".pt" || extension == ".pth") return FileKind::Torch;
  if (extension == ".bin" || extension == ".raw") return FileKind::Raw;
  if (extension == ".txt" || extension == ".lst") return FileKind::List;
  return FileKind::Other;
}

Result<std::vector<fs::path>> files_in_folder(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied,
                                         error);
  size_t seen = 0;
  for (const fs::recursive_directory_iterator end; !error && entry != end; entry.increment(error)) {
    if (++seen > kMaxEntries)
      return Error(Code::BadCalibrationData, "the folder has more files than any data set")
          .file(folder.string());
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (name.starts_with('.')) {
      if (entry->is_directory(ignored)) entry.disable_recursion_pending();
      continue;
    }
    const FileKind kind = file_kind(entry->path());
    const bool wanted = kind == FileKind::Image || holds_arrays(kind);
    if (wanted && entry->is_regular_file(ignored)) files.push_back(entry->path());
  }
  if (error)
    return Error(Code::FileUnreadable, "the folder cannot be read: " + error.message())
        .file(folder.string());
  if (files.empty())
    return Error(Code::BadCalibrationData,
                 fmt::format("the folder holds no images or arrays ({} entries seen)", seen))
        .file(folder.string())
        .hint(
            "put .jpg, .png, .bmp, .ppm, .npy, .npz, .pt or .bin files there, in subfolders if you "
            "like");
  std::sort(files.begin(), files.end(),
            [](const fs::path& a, const fs::path& b) { return a.native() < b.native(); });
  return files;
}

Status read_list(const fs::path& path, const TakeListed& take) {
  EC_TRY(const Blob file, read_file(path));
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.size());
  return parse_list(text, path, take);
}

Status parse_list(std::string_view text, const fs::path& path, const TakeListed& take) {
  const auto count = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  if (count > reading_allowance(text.size()) / kBytesOfSample)
    return Error(Code::TooLarge, fmt::format("the list has {} lines", count))
        .file(path.string())
        .hint("give a folder of files, or several lists");
  bool empty = true;
  LineReader reader(text);
  for (std::string_view raw; reader.next(raw);) {
    const std::string_view line = trim(raw);
    if (line.empty() || line.starts_with('#')) continue;
    ListedSample sample;
    sample.line = reader.number();
    const bool several = line.find('\t') != std::string_view::npos;
    for (const std::string_view field : split(line, '\t')) {
      if (trim(field).empty()) continue;
      const size_t equals = field.find('=');
      // A path may hold '='; with one field it is a name only where no such file exists.
      std::error_code ignored;
      const bool named = equals != std::string_view::npos && equals > 0 &&
                         (several || !fs::exists(path.parent_path() / trim(field), ignored));
      ListedFile listed;
      if (named) listed.input = trim(field.substr(0, equals));
      const std::string_view name = trim(named ? field.substr(equals + 1) : field);
      if (name.empty())
        return Error(Code::BadCalibrationData, "a name without a file")
            .file(fmt::format("{}:{}", path.string(), sample.line))
            .hint("write NAME=PATH, or a path alone");
      listed.path = path.parent_path() / name;
      sample.files.push_back(std::move(listed));
    }
    EC_CHECK_OK(take(sample));
    empty = false;
  }
  if (empty) return Error(Code::BadCalibrationData, "the list names no files").file(path.string());
  return {};
}

}  // namespace ec::quantize
