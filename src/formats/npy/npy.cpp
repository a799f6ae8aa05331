#include "formats/npy/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "formats/npy/array_file.h"
#include "formats/npy/header.h"
#include "support/file.h"
#include "support/input_file.h"

namespace ec::npy {
namespace {

void swap_elements(std::span<std::byte> bytes, int64_t item_size) {
  const auto step = static_cast<size_t>(item_size);
  for (size_t at = 0; at + step <= bytes.size(); at += step)
    std::reverse(bytes.begin() + static_cast<ptrdiff_t>(at),
                 bytes.begin() + static_cast<ptrdiff_t>(at + step));
}

// Column-major elements in row-major order.
void transpose_order(std::span<const std::byte> in, std::span<std::byte> out,
                     std::span<const int64_t> shape, size_t item_size) {
  std::vector<size_t> strides(shape.size());
  size_t stride = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    strides[d] = stride;
    stride *= static_cast<size_t>(shape[d]);
  }
  std::vector<int64_t> index(shape.size());
  size_t from = 0;
  for (size_t to = 0; to + item_size <= out.size(); to += item_size) {
    std::memcpy(out.data() + to, in.data() + from * item_size, item_size);
    for (size_t d = shape.size(); d-- > 0;) {
      from += strides[d];
      if (++index[d] < shape[d]) break;
      from -= strides[d] * static_cast<size_t>(shape[d]);
      index[d] = 0;
    }
  }
}

}  // namespace

Result<Array> parse(const Blob& file) {
  EC_TRY(Layout layout, parse_layout(file.bytes(), file.size()));
  Array& array = layout.array;
  array.data = file.slice(layout.begin, layout.bytes);
  if (!layout.columns_first && !layout.swapped) {
    array.data = array.data.aligned();
    return std::move(array);
  }
  Buffer buffer = Buffer::allocate(array.data.size());
  if (!buffer.ok()) return Error(Code::OutOfMemory, "no memory for the array");
  if (layout.columns_first) {
    transpose_order(array.data.bytes(), buffer.bytes(), array.shape,
                    static_cast<size_t>(array.item_size));
  } else {
    std::copy(array.data.bytes().begin(), array.data.bytes().end(), buffer.data());
  }
  if (layout.swapped) swap_elements(buffer.bytes(), array.item_size);
  array.data = std::move(buffer).to_blob();
  return std::move(array);
}

Result<Array> load(const std::filesystem::path& path) {
  EC_TRY(const Blob file, read_file(path));
  Result<Array> array = parse(file);
  if (!array)
    return std::move(array)
        .error()
        .file(path.string())
        .hint("write the array with numpy.save(file, array)");
  return array;
}

Result<Array> load_from_npz(const std::filesystem::path& path, std::string_view name) {
  EC_TRY(ArrayFile file, ArrayFile::open_npz(path, name));
  return std::move(file).read_all();
}

std::string header(char kind, int64_t item_size, std::span<const int64_t> shape) {
  std::string dims;
  for (const int64_t size : shape) dims += fmt::format("{},{}", size, shape.size() > 1 ? " " : "");
  if (shape.size() > 1) dims.resize(dims.size() - 2);  // numpy writes "(3,)" and "(3, 4)"
  const char order = item_size == 1 || kind == 'V' ? '|' : '<';
  std::string text = fmt::format("{{'descr': '{}{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                 order, kind, item_size, dims);
  // Elements start at a multiple of 64; the header ends in a newline.
  const size_t unpadded = 10 + text.size() + 1;
  text.append((64 - unpadded % 64) % 64, ' ');
  text += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\x00';
  out += static_cast<char>(text.size() & 0xff);
  out += static_cast<char>(text.size() >> 8);
  return out + text;
}

Status save(const std::filesystem::path& path, const Array& array) {
  EC_TRY(AtomicFile file, AtomicFile::create(path));
  EC_CHECK_OK(file.write(header(array.kind, array.item_size, array.shape)));
  EC_CHECK_OK(file.write(array.data.bytes()));
  return file.commit();
}

}  // namespace ec::npy
