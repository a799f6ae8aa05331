#include "formats/npy/header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>

#include "support/strings.h"

namespace ec::npy {
namespace {

constexpr size_t kMaxRank = 64;

Error bad(std::string message) { return Error(Code::BadArrayFile, std::move(message)); }

struct Dictionary {
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

  Result<Dictionary> parse() {
    Dictionary header;
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

  Status value(const std::string& key, Dictionary& header) {
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

  Status shape(Dictionary& header) {
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

// The size of the dictionary, which stands at `begin`.
Result<size_t> dictionary_size(std::span<const std::byte> bytes, size_t& begin) {
  const auto byte = [&](size_t i) { return std::to_integer<size_t>(bytes[i]); };
  if (bytes.size() < 10 || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    return bad("this is no .npy file: the magic bytes are missing");
  const size_t major = byte(6);
  if (major < 1 || major > 3) return bad(fmt::format("format version {} is not known", major));
  begin = major == 1 ? 10 : 12;
  if (bytes.size() < begin) return bad("the file is cut off in its header");
  size_t size = byte(8) | byte(9) << 8;
  if (major > 1) size |= byte(10) << 16 | byte(11) << 24;
  if (size > kMaxHeader) return bad("the header is longer than any");
  return size;
}

}  // namespace

Result<Layout> parse_layout(std::span<const std::byte> head, uint64_t file_size) {
  size_t begin = 0;
  EC_TRY(const size_t size, dictionary_size(head, begin));
  if (size > head.size() - begin) return bad("the file is cut off in its header");
  const auto* text = reinterpret_cast<const char*>(head.data()) + begin;
  EC_TRY(Dictionary header, HeaderParser(std::string_view(text, size)).parse());
  EC_TRY(const ElementType type, element_type(header.descr));
  const std::optional<int64_t> count = count_elements(header.shape);
  int64_t needed = 0;
  const uint64_t available = file_size - begin - size;
  if (!count || __builtin_mul_overflow(*count, type.size, &needed) ||
      static_cast<uint64_t>(needed) > available)
    return bad(
        fmt::format("the file is cut off: shape ({}) of '{}' needs more than the {} bytes "
                    "of data",
                    fmt::join(header.shape, ", "), header.descr, available));
  Layout layout;
  layout.columns_first = header.fortran_order && header.shape.size() > 1;
  layout.swapped = type.swapped && type.size > 1;
  layout.array = {type.kind, type.size, std::move(header.shape), {}};
  layout.begin = begin + size;
  layout.bytes = static_cast<uint64_t>(needed);
  return layout;
}

}  // namespace ec::npy
