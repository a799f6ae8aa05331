// NumPy's .npy and .npz files (numpy.lib.format, versions 1 to 3): the arrays that `run` reads and
// writes.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "support/blob.h"
#include "support/result.h"

namespace ec::npy {

// Elements in row-major order and little endian, whatever the file had.
struct Array {
  char kind = 'f';  // b bool, i signed, u unsigned, f float, V raw bytes
  int64_t item_size = 4;
  std::vector<int64_t> shape;
  Blob data;
};

// Errors: BadArrayFile.
Result<Array> parse(const Blob& file);
Result<Array> load(const std::filesystem::path& path);
// The arrays of a .npz file by name (without ".npy"), in the order of the archive.
Result<std::vector<std::string>> npz_names(const std::filesystem::path& path);
// One of them; with an empty name the only one.
Result<Array> load_from_npz(const std::filesystem::path& path, std::string_view name);

// The bytes of a .npy file up to the elements.
std::string header(char kind, int64_t item_size, std::span<const int64_t> shape);
Status save(const std::filesystem::path& path, const Array& array);

}  // namespace ec::npy
