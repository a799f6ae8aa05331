// Finds the files that a calibration path stands for.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "support/result.h"

namespace ec::quantize {

enum class FileKind : uint8_t { Image, Npy, Npz, Torch, Raw, List, Other };
FileKind file_kind(const std::filesystem::path& path);  // by extension
inline bool holds_arrays(FileKind kind) {
  return kind == FileKind::Npy || kind == FileKind::Npz || kind == FileKind::Torch ||
         kind == FileKind::Raw;
}

// Images and arrays below the folder, sorted by path bytes. Hidden files are left out; links to
// folders are not followed. An empty result is an error that says what was seen.
Result<std::vector<std::filesystem::path>> files_in_folder(const std::filesystem::path& folder);

// One line of a list: the files of one sample, with the input's name where it is given.
struct ListedFile {
  std::string input;  // empty: the only input
  std::filesystem::path path;
};
struct ListedSample {
  size_t line = 0;
  std::vector<ListedFile> files;
};
// Hands on one sample after the other, so that a list takes no memory of its own; ends with the
// first error that `take` gives.
using TakeListed = std::function<Status(const ListedSample& sample)>;
Status read_list(const std::filesystem::path& path, const TakeListed& take);
// The same of a list's content; files are looked for beside `path`.
Status parse_list(std::string_view text, const std::filesystem::path& path, const TakeListed& take);

}  // namespace ec::quantize
