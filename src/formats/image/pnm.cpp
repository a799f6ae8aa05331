// PPM and PGM, text and binary (netpbm(5)): "P6 width height maxval" and the samples.
#include <fmt/format.h>

#include <cctype>
#include <optional>

#include "formats/image/codecs.h"

namespace ec::image {
namespace {

class PnmReader {
 public:
  explicit PnmReader(std::span<const std::byte> file)
      : text_(reinterpret_cast<const char*>(file.data()), file.size()) {}

  // A number of the header or of a text file; comments run from # to the end of the line.
  std::optional<int64_t> number() {
    skip_space();
    if (at_ >= text_.size() || !is_digit(text_[at_])) return std::nullopt;
    int64_t value = 0;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
      value = value * 10 + (text_[at_] - '0');
      if (value > kMaxSide) return std::nullopt;
    }
    return value;
  }
  void skip_magic() { at_ = 2; }
  // Exactly one white space stands before binary samples.
  bool skip_one_space() {
    return at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_++]));
  }
  std::string_view rest() const { return text_.substr(at_); }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  void skip_space() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
        ++at_;
      } else {
        return;
      }
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

uint8_t scaled(int64_t sample, int64_t maximum) {
  if (sample > maximum) sample = maximum;
  return static_cast<uint8_t>(maximum == 255 ? sample : (sample * 255 + maximum / 2) / maximum);
}

}  // namespace

Result<Image> decode_pnm(std::span<const std::byte> file) {
  PnmReader reader(file);
  const char kind = static_cast<char>(file[1]);
  const bool grey = kind == '2' || kind == '5', text = kind == '2' || kind == '3';
  reader.skip_magic();
  const std::optional<int64_t> width = reader.number(), height = reader.number(),
                               maximum = reader.number();
  if (!width || !height || !maximum || *maximum < 1) return damaged("PPM: damaged header");
  const int64_t channels = grey ? 1 : 3;
  const int64_t sample_bytes = *maximum > 255 ? 2 : 1;
  if (!text && !reader.skip_one_space()) return damaged("PPM: damaged header");
  const std::string_view samples = reader.rest();
  // In text every sample takes a digit and a space, but for the last.
  const int64_t needed = *width * *height * channels * (text ? 2 : sample_bytes) - (text ? 1 : 0);
  if (static_cast<int64_t>(samples.size()) < needed)
    return damaged(fmt::format("PPM: {} bytes of samples where {} x {} pixels need {}",
                               samples.size(), *width, *height, needed));
  EC_TRY(Image image, allocate(*width, *height));
  uint8_t* to = image.data();
  const int64_t count = *width * *height * channels;
  const auto* from = reinterpret_cast<const uint8_t*>(samples.data());
  for (int64_t i = 0; i < count; ++i) {
    int64_t sample = 0;
    if (text) {
      const std::optional<int64_t> number = reader.number();
      if (!number) return damaged("PPM: a sample is no number");
      sample = *number;
    } else {
      sample = *from++;
      if (sample_bytes == 2) sample = sample * 256 + *from++;
    }
    const uint8_t value = scaled(sample, *maximum);
    *to++ = value;
    if (grey) *to++ = value, *to++ = value;
  }
  return image;
}

}  // namespace ec::image
