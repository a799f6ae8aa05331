#include "quantize/calibration/preprocess.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "quantize/calibration/picture_fit.h"
#include "quantize/calibration/resample.h"
#include "support/strings.h"

namespace ec::quantize {
namespace {

constexpr int64_t kMaxShorterSide = 16384;

bool is_channel_count(int64_t size) { return size == 1 || size == 3; }

std::string values_text(const std::vector<double>& values) {
  std::string text;
  for (const double value : values)
    text += fmt::format("{}{}", text.empty() ? "" : ",", format_double(value));
  return text;
}

// The layout that the shape alone tells: channels are the dimension of size 3, else that of size 1.
std::optional<Layout> layout_of_shape(std::span<const int64_t> image) {
  for (const int64_t channels : {3, 1})
    if ((image[0] == channels) != (image[2] == channels))
      return image[0] == channels ? Layout::ChannelsFirst : Layout::ChannelsLast;
  return std::nullopt;
}

Status check_channel_values(std::string_view option, const std::vector<double>& values,
                            int64_t channels) {
  const auto count = static_cast<int64_t>(values.size());
  if (count <= 1 || count == channels) return {};
  return Error(Code::Usage, fmt::format("--{} has {} values; the input has {} channels", option,
                                        count, channels))
      .hint("give one value, or one for each channel");
}

Result<image::Image> fit_size(const image::Image& source_image, const ImageForm& form,
                              const Preprocessing& preprocessing) {
  if (preprocessing.resize == ResizeMode::Stretch)
    return resample(source_image, form.width, form.height);
  const PictureFit fit = picture_fit(source_image.width, source_image.height, form, preprocessing);
  if (preprocessing.resize == ResizeMode::Letterbox) {
    EC_TRY(const image::Image inner, resample(source_image, fit.width, fit.height));
    return surrounded(inner, form.width, form.height, fit.left, fit.top, preprocessing.border);
  }
  const int64_t to_width = fit.width, to_height = fit.height;
  if (to_width * to_height > image::kMaxPixels || to_width > image::kMaxSide ||
      to_height > image::kMaxSide)
    return Error(Code::TooLarge,
                 fmt::format("an image of {} x {} pixels would be enlarged to "
                             "{} x {}",
                             source_image.width, source_image.height, to_width, to_height))
        .hint("leave the image out, or use --resize stretch");
  EC_TRY(const image::Image resized, resample(source_image, to_width, to_height));
  return center_crop(resized, form.width, form.height);
}

// ITU-R 601 luma, as Pillow rounds it.
uint8_t grey_of(const uint8_t* rgb) {
  return static_cast<uint8_t>((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
}

// Calls put(channel, row-major position, pixel) for every sample of the input.
template <class Put>
void for_each_sample(const image::Image& source_image, const ImageForm& form, ColorOrder color,
                     Put&& put) {
  const uint8_t* rgb = source_image.rgb().data();
  const size_t count = static_cast<size_t>(form.width * form.height);
  for (size_t i = 0; i < count; ++i, rgb += 3) {
    if (form.channels == 1) {
      put(0, i, grey_of(rgb));
      continue;
    }
    for (size_t c = 0; c < 3; ++c) put(c, i, rgb[color == ColorOrder::Bgr ? 2 - c : c]);
  }
}

template <class T, class Convert>
void fill_batch(const image::Image& source_image, const ImageForm& form, ColorOrder color,
                Buffer& buffer, Convert&& convert) {
  T* out = reinterpret_cast<T*>(buffer.data());
  const auto channels = static_cast<size_t>(form.channels);
  const auto area = static_cast<size_t>(form.width * form.height);
  const bool first = form.layout == Layout::ChannelsFirst;
  for_each_sample(source_image, form, color, [&](size_t c, size_t i, uint8_t pixel) {
    out[first ? c * area + i : i * channels + c] = convert(c, pixel);
  });
  for (int64_t b = 1; b < form.batch; ++b)
    std::copy_n(out, area * channels, out + static_cast<size_t>(b) * area * channels);
}

}  // namespace

Affine affine_of_channel(const Preprocessing& preprocessing, size_t channel) {
  const auto pick = [channel](const std::vector<double>& values, double otherwise) {
    if (values.empty()) return otherwise;
    return values.size() == 1 ? values[0] : values[channel];
  };
  const double deviation = pick(preprocessing.std, 1.0);
  return {preprocessing.effective_range() / 255.0 / deviation,
          -pick(preprocessing.mean, 0.0) / deviation};
}

double Preprocessing::effective_range() const {
  if (pixel_range != 0) return pixel_range;
  const auto above_one = [](double value) { return std::abs(value) > 1.0; };
  const bool wide = std::any_of(mean.begin(), mean.end(), above_one) ||
                    std::any_of(std.begin(), std.end(), above_one);
  return wide ? 255 : 1;
}

namespace {

std::string resize_text(const Preprocessing& preprocessing) {
  const auto& border = preprocessing.border;
  switch (preprocessing.resize) {
    case ResizeMode::Stretch:
      return "stretch";
    case ResizeMode::Letterbox:
      return border[0] == border[1] && border[1] == border[2]
                 ? fmt::format("letterbox:{}", border[0])
                 : fmt::format("letterbox:{}", fmt::join(border, ","));
    case ResizeMode::Crop:
      break;
  }
  return preprocessing.shorter_side > 0 ? fmt::format("crop:{}", preprocessing.shorter_side)
                                        : std::string("crop");
}

}  // namespace

std::string Preprocessing::text() const {
  std::string out = "resize " + resize_text(*this);
  out += fmt::format(", color {}, pixels 0 to {}", color == ColorOrder::Bgr ? "bgr" : "rgb",
                     effective_range());
  if (!mean.empty()) out += ", mean " + values_text(mean);
  if (!std.empty()) out += ", std " + values_text(std);
  return out;
}

Result<ImageForm> image_form(const ModelInput& input, const Preprocessing& preprocessing) {
  const std::string who = fmt::format("input '{}' is {}", printable(input.name), input.type.text());
  if (!input.type.is_static())
    return Error(Code::DynamicShape, who + ": its size is not known")
        .hint("give it with --input-shape NAME:1x3x224x224");
  ImageForm form;
  form.dtype = input.type.dtype;
  form.shape = input.type.shape->sizes();
  const size_t rank = form.shape.size();
  if (rank != 3 && rank != 4)
    return Error(Code::BadCalibrationData, who + ": images cannot serve it")
        .hint("give its values as .npy or .npz files");
  if (rank == 4) form.batch = form.shape[0];
  const std::span<const int64_t> sizes = std::span(form.shape).subspan(rank - 3);
  const std::optional<Layout> layout =
      preprocessing.layout ? preprocessing.layout : layout_of_shape(sizes);
  if (!layout)
    return Error(Code::BadCalibrationData, who + ": where its channels are cannot be told")
        .hint("say it with --input-layout nchw or nhwc");
  form.layout = *layout;
  const bool first = *layout == Layout::ChannelsFirst;
  form.channels = sizes[first ? 0 : 2];
  form.height = sizes[first ? 1 : 0];
  form.width = sizes[first ? 2 : 1];
  if (!is_channel_count(form.channels))
    return Error(Code::BadCalibrationData,
                 fmt::format("{}: {} channels where images have 1 or 3", who, form.channels))
        .hint("check --input-layout, or give the values as .npy files");
  if (form.height <= 0 || form.width <= 0 || form.batch <= 0 || form.height > image::kMaxSide ||
      form.width > image::kMaxSide)
    return Error(Code::BadCalibrationData, who + ": not the size of an image");
  EC_CHECK_OK(check_channel_values("mean", preprocessing.mean, form.channels));
  EC_CHECK_OK(check_channel_values("std", preprocessing.std, form.channels));
  return form;
}

Result<Value> preprocess(const image::Image& source_image, const ImageForm& form,
                         const Preprocessing& preprocessing) {
  EC_TRY(const image::Image fitted, fit_size(source_image, form, preprocessing));
  const auto count = static_cast<size_t>(count_elements(form.shape));
  Buffer buffer = Buffer::allocate(count * element_size(form.dtype));
  if (!buffer.ok()) return Error(Code::OutOfMemory, "no memory for a calibration sample");
  const ColorOrder color = preprocessing.color;
  if (form.dtype == DType::F32) {
    // In double until here.
    std::array<float, 3> scale{}, shift{};
    for (size_t c = 0; c < static_cast<size_t>(form.channels); ++c) {
      const Affine affine = affine_of_channel(preprocessing, c);
      scale[c] = static_cast<float>(affine.scale);
      shift[c] = static_cast<float>(affine.shift);
    }
    fill_batch<float>(fitted, form, color, buffer, [&](size_t c, uint8_t pixel) {
      return scale[c] * static_cast<float>(pixel) + shift[c];
    });
  } else if (form.dtype == DType::U8) {
    fill_batch<uint8_t>(fitted, form, color, buffer, [](size_t, uint8_t pixel) { return pixel; });
  } else if (form.dtype == DType::I8) {
    fill_batch<int8_t>(fitted, form, color, buffer,
                       [](size_t, uint8_t pixel) { return static_cast<int8_t>(pixel - 128); });
  } else {
    return Error(Code::BadCalibrationData,
                 fmt::format("images cannot serve an input of type {}", dtype_name(form.dtype)))
        .hint("give its values as .npy or .npz files");
  }
  return Value(form.dtype, form.shape, std::move(buffer).to_blob());
}

Result<std::vector<double>> parse_channel_values(std::string_view option, std::string_view text) {
  std::string unified(text);
  std::replace(unified.begin(), unified.end(), ' ', ',');
  std::vector<double> values;
  for (const std::string_view part : split(unified, ',')) {
    if (trim(part).empty()) continue;
    const std::optional<double> value = parse_double(trim(part));
    const bool divisor = option == "std";
    if (!value || !std::isfinite(*value) || std::abs(*value) > 1e6 || (divisor && *value <= 0))
      return Error(Code::Usage, fmt::format("--{} needs {} numbers, not '{}'", option,
                                            divisor ? "positive" : "finite", printable(text)))
          .hint(fmt::format("write --{} {}", option,
                            divisor ? "0.229,0.224,0.225" : "0.485,0.456,0.406"));
    values.push_back(*value);
  }
  if (values.empty()) return Error(Code::Usage, fmt::format("--{} has no numbers", option));
  return values;
}

namespace {

// "114" or "123,117,104".
std::optional<std::array<uint8_t, 3>> parse_color(std::string_view text) {
  std::vector<uint8_t> values;
  for (const std::string_view part : split(text, ',')) {
    const std::optional<int64_t> value = parse_int(trim(part));
    if (!value || *value < 0 || *value > 255) return std::nullopt;
    values.push_back(static_cast<uint8_t>(*value));
  }
  if (values.size() == 1) return std::array{values[0], values[0], values[0]};
  if (values.size() == 3) return std::array{values[0], values[1], values[2]};
  return std::nullopt;
}

}  // namespace

Status parse_resize(std::string_view text, Preprocessing& preprocessing) {
  const std::string lower = to_lower(text);
  const auto refuse = [&] {
    return Error(Code::Usage, fmt::format("--resize cannot be '{}'", printable(text)))
        .hint(
            "write crop, crop:256 (shorter side, then the middle), stretch, letterbox (whole image "
            "with a grey border), or letterbox:0 for another colour");
  };
  constexpr std::string_view kLetterbox = "letterbox";
  if (lower.starts_with(kLetterbox)) {
    const std::string_view rest = std::string_view(lower).substr(kLetterbox.size());
    const auto border = rest.empty()          ? std::optional(Preprocessing().border)
                        : rest.front() == ':' ? parse_color(rest.substr(1))
                                              : std::nullopt;
    if (!border) return refuse();
    preprocessing.resize = ResizeMode::Letterbox;
    preprocessing.shorter_side = 0;
    preprocessing.border = *border;
    return {};
  }
  if (lower == "stretch") {
    preprocessing.resize = ResizeMode::Stretch;
    preprocessing.shorter_side = 0;
    return {};
  }
  const bool sized = lower.starts_with("crop:");
  const std::optional<int64_t> side =
      sized ? parse_int(std::string_view(lower).substr(5)) : std::optional<int64_t>(0);
  if ((!sized && lower != "crop") || !side || *side < (sized ? 1 : 0) || *side > kMaxShorterSide)
    return refuse();
  preprocessing.resize = ResizeMode::Crop;
  preprocessing.shorter_side = *side;
  return {};
}

std::optional<Preprocessing> recorded_preprocessing(
    const std::map<std::string, std::string>& metadata, std::string_view key) {
  for (const std::string_view prefix : {"", "tflite.metadata.", "onnx.metadata."}) {
    const auto found = metadata.find(std::string(prefix) + std::string(key));
    if (found != metadata.end()) return parse_preprocessing(found->second);
  }
  return std::nullopt;
}

std::optional<Preprocessing> parse_preprocessing(std::string_view text) {
  Preprocessing result;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find(", ", at), text.size());
    const std::string_view field = text.substr(at, end - at);
    at = std::min(end + 2, text.size());
    const size_t space = field.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    const std::string_view key = field.substr(0, space), value = field.substr(space + 1);
    const bool known = key == "resize"   ? parse_resize(value, result).ok()
                       : key == "color"  ? value == "rgb" || value == "bgr"
                       : key == "pixels" ? value == "0 to 1" || value == "0 to 255"
                                         : key == "mean" || key == "std";
    if (!known) return std::nullopt;
    if (key == "color" && value == "bgr") result.color = ColorOrder::Bgr;
    if (key == "pixels") result.pixel_range = value == "0 to 1" ? 1 : 255;
    if (key != "mean" && key != "std") continue;
    Result<std::vector<double>> values = parse_channel_values(key, value);
    if (!values.ok()) return std::nullopt;
    (key == "mean" ? result.mean : result.std) = std::move(*values);
  }
  return result;
}

}  // namespace ec::quantize
