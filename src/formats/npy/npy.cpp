#include "formats/npy/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <limits>
#include <optional>

#include "formats/zip/zip.h"
#include "support/file.h"
#include "support/strings.h"

namespace ec::npy {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxRank = 64;

Error bad(std::string message) { return Error(Code::BadArrayFile, std::move(message)); }

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
  bool has_descr = false, has_order = false, has_shape = false;
};

// The header is a Python dictionary literal: {'descr': '<f4', 'fortran_order': False, 'shape': (3,
// 4), }. This reads what numpy writes.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  Result<Header> parse() {
    Header header;
    if (!take('{')) return broken();
    while (!take('}')) {
      EC_TRY(const std::string key, string());
      if (!take(':')) return broken();
      EC_CHECK_OK(value(key, header));
      if (!take(',') && peek() != '}') return broken();
    }
    if (!header.has_descr || !header.has_order || !header.has_shape)
      return bad("the header lacks descr, fortran_order or shape");
    return header;
  }

 private:
  static Error broken() { return bad("the header cannot be parsed"); }

  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    skip();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  Result<std::string> string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return broken();
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return broken();
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }

  Status value(const std::string& key, Header& header) {
    if (key == "descr") {
      if (peek() == '[') return bad("arrays of records are not supported");
      EC_TRY(header.descr, string());
      header.has_descr = true;
    } else if (key == "fortran_order") {
      header.fortran_order = take("True");
      if (!header.fortran_order && !take("False")) return broken();
      header.has_order = true;
    } else if (key == "shape") {
      return shape(header);
    } else {
      return bad(fmt::format("unknown header key '{}'", printable(key)));
    }
    return {};
  }

  Status shape(Header& header) {
    if (!take('(')) return broken();
    while (!take(')')) {
      skip();
      size_t end = at_;
      while (end < text_.size() && std::isdigit(static_cast<unsigned char>(text_[end]))) ++end;
      const std::optional<int64_t> size = parse_int(text_.substr(at_, end - at_));
      if (!size || header.shape.size() == kMaxRank) return bad("the shape cannot be parsed");
      header.shape.push_back(*size);
      at_ = end;
      if (!take(',') && peek() != ')') return broken();
    }
    header.has_shape = true;
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
};

struct ElementType {
  char kind;
  int64_t size;
  bool swapped;
};

Result<ElementType> element_type(const std::string& descr) {
  const auto unsupported = [&] {
    return bad(fmt::format("element type '{}' is not supported", printable(descr)));
  };
  if (descr.size() < 3) return unsupported();
  const std::optional<int64_t> size = parse_int(std::string_view(descr).substr(2));
  const char order = descr[0], kind = descr[1];
  if (!size || std::string_view("<>|=").find(order) == std::string_view::npos) return unsupported();
  const bool known =
      (kind == 'b' && *size == 1) || (kind == 'f' && (*size == 2 || *size == 4 || *size == 8)) ||
      ((kind == 'i' || kind == 'u') && (*size == 1 || *size == 2 || *size == 4 || *size == 8)) ||
      (kind == 'V' && (*size == 1 || *size == 2));
  if (!known) return unsupported();
  return ElementType{kind, *size, order == '>'};
}

// Elements of a shape, or empty when the number overflows.
std::optional<int64_t> count_elements(std::span<const int64_t> shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  int64_t count = 1;
  for (const int64_t size : shape)
    if (__builtin_mul_overflow(count, size, &count)) return std::nullopt;
  return count;
}

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

Result<size_t> header_size(std::span<const std::byte> bytes, size_t& begin) {
  const auto byte = [&](size_t i) { return std::to_integer<size_t>(bytes[i]); };
  if (bytes.size() < 10 || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    return bad("this is no .npy file: the magic bytes are missing");
  const size_t major = byte(6);
  if (major < 1 || major > 3) return bad(fmt::format("format version {} is not known", major));
  begin = major == 1 ? 10 : 12;
  if (bytes.size() < begin) return bad("the file is cut off in its header");
  size_t size = byte(8) | byte(9) << 8;
  if (major > 1) size |= byte(10) << 16 | byte(11) << 24;
  if (size > bytes.size() - begin) return bad("the file is cut off in its header");
  return size;
}

Error npz_error(const std::filesystem::path& path, std::string message) {
  return bad(std::move(message))
      .file(path.string())
      .hint("write the arrays with numpy.savez(file, name=array)");
}

Result<zip::Archive> open_npz(const std::filesystem::path& path) {
  EC_TRY(Blob file, map_file(path));
  Result<zip::Archive> archive = zip::Archive::open(std::move(file));
  if (!archive) return npz_error(path, archive.error().message());
  return archive;
}

}  // namespace

Result<Array> parse(const Blob& file) {
  size_t begin = 0;
  EC_TRY(const size_t size, header_size(file.bytes(), begin));
  const auto* text = reinterpret_cast<const char*>(file.bytes().data()) + begin;
  EC_TRY(Header header, HeaderParser(std::string_view(text, size)).parse());
  EC_TRY(const ElementType type, element_type(header.descr));
  const std::optional<int64_t> count = count_elements(header.shape);
  int64_t needed = 0;
  const size_t available = file.size() - begin - size;
  if (!count || __builtin_mul_overflow(*count, type.size, &needed) ||
      static_cast<uint64_t>(needed) > available)
    return bad(
        fmt::format("the file is cut off: shape ({}) of '{}' needs more than the {} bytes "
                    "of data",
                    fmt::join(header.shape, ", "), header.descr, available));
  Array array{type.kind, type.size, std::move(header.shape),
              file.slice(begin + size, static_cast<size_t>(needed))};
  const bool reorder = header.fortran_order && array.shape.size() > 1;
  if (!reorder && !(type.swapped && type.size > 1)) {
    array.data = array.data.aligned();
    return array;
  }
  Buffer buffer = Buffer::allocate(array.data.size());
  if (!buffer.ok()) return Error(Code::OutOfMemory, "no memory for the array");
  if (reorder) {
    transpose_order(array.data.bytes(), buffer.bytes(), array.shape,
                    static_cast<size_t>(type.size));
  } else {
    std::copy(array.data.bytes().begin(), array.data.bytes().end(), buffer.data());
  }
  if (type.swapped) swap_elements(buffer.bytes(), type.size);
  array.data = std::move(buffer).to_blob();
  return array;
}

Result<Array> load(const std::filesystem::path& path) {
  EC_TRY(const Blob file, map_file(path));
  Result<Array> array = parse(file);
  if (!array)
    return std::move(array)
        .error()
        .file(path.string())
        .hint("write the array with numpy.save(file, array)");
  return array;
}

Result<std::vector<std::string>> npz_names(const std::filesystem::path& path) {
  EC_TRY(const zip::Archive archive, open_npz(path));
  std::vector<std::string> names;
  for (const zip::Entry& entry : archive.entries())
    if (entry.name.ends_with(".npy")) names.push_back(entry.name.substr(0, entry.name.size() - 4));
  return names;
}

Result<Array> load_from_npz(const std::filesystem::path& path, std::string_view name) {
  EC_TRY(const zip::Archive archive, open_npz(path));
  const zip::Entry* found = archive.find(std::string(name) + ".npy");
  if (!found && name.empty() && archive.entries().size() == 1) found = &archive.entries().front();
  if (!found) {
    std::string names;
    for (const zip::Entry& entry : archive.entries())
      names += fmt::format("{}{}", names.empty() ? "" : ", ", printable(entry.name));
    return npz_error(path,
                     fmt::format("no array '{}'; the file holds: {}", printable(name), names));
  }
  Result<Blob> bytes = archive.read(*found);
  if (!bytes) return npz_error(path, bytes.error().message());
  Result<Array> array = parse(*bytes);
  if (!array)
    return npz_error(
        path, fmt::format("array '{}': {}", printable(found->name), array.error().message()));
  return array;
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
