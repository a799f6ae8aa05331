#include "backend/metal/compress/weight_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "support/strings.h"
#include "writer/coreml/coreml.h"

namespace ec::metal {
namespace {

constexpr std::array kBits = {1, 2, 3, 4, 6, 8};
constexpr int64_t kLargestBlock = 1 << 16;

Error bad_form(std::string_view text) {
  return Error(Code::Usage,
               fmt::format("--compress-weights cannot be '{}'", printable(std::string(text), 60)))
      .hint(
          "palettize:BITS (1, 2, 3, 4, 6, 8), int4:BLOCK, int8, sparse:SHARE (between 0 and 1), "
          "threshold:MAGNITUDE");
}

// Whole text as a number. NaN where it is none: no condition holds then.
double number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? value : std::nan("");
}

bool is_whole(double value, double least, double most) {
  return value >= least && value <= most && value == std::floor(value);
}

}  // namespace

std::string WeightForm::text() const {
  switch (kind) {
    case Kind::Palette:
      return fmt::format("palettize:{}", bits);
    case Kind::Int4:
      return fmt::format("int4:{}", block);
    case Kind::Int8:
      return "int8";
    case Kind::Sparse:
      return fmt::format("sparse:{}", share);
    case Kind::Threshold:
      return fmt::format("threshold:{}", threshold);
    default:
      return "none";
  }
}

Result<WeightForm> parse_weight_form(std::string_view text) {
  WeightForm form;
  if (text.empty() || text == "none") return form;
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const bool given = colon != std::string_view::npos;
  const double number = given ? number_of(text.substr(colon + 1)) : 0;
  bool good = true;
  if (name == "palettize") {
    form.kind = WeightForm::Kind::Palette;
    good = !given || is_whole(number, 1, 8);
    if (good && given) form.bits = static_cast<int>(number);
    good = good && std::ranges::find(kBits, form.bits) != kBits.end();
  } else if (name == "int4") {
    form.kind = WeightForm::Kind::Int4;
    good = !given || is_whole(number, 1, static_cast<double>(kLargestBlock));
    if (good && given) form.block = static_cast<int64_t>(number);
  } else if (name == "int8") {
    form.kind = WeightForm::Kind::Int8;
    good = !given;
  } else if (name == "sparse") {
    form.kind = WeightForm::Kind::Sparse;
    good = !given || (number > 0 && number < 1);
    if (good && given) form.share = number;
  } else if (name == "threshold") {
    form.kind = WeightForm::Kind::Threshold;
    good = given && number >= 0 && std::isfinite(number);
    if (good) form.threshold = static_cast<float>(number);
  } else {
    good = false;
  }
  if (!good) return bad_form(text);
  return form;
}

int version_of(const WeightForm& form) {
  const bool new_form = form.kind == WeightForm::Kind::Int4 ||
                        (form.kind == WeightForm::Kind::Palette && form.bits == 3);
  return new_form ? kCoremlIos18 : kCoremlIos16;
}

}  // namespace ec::metal
