// How an image becomes the value of a model's input; declared once and used for calibration and
// evaluation alike.
//
//   image -> resize, crop or letterbox -> colour order -> v * (1 or 1/255) -> (v - mean) / std ->
//   layout
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "formats/image/image.h"
#include "ir/type.h"
#include "ops/attrs.h"
#include "ops/value.h"
#include "support/result.h"

namespace ec::quantize {

enum class ColorOrder : uint8_t { Rgb, Bgr };
enum class ResizeMode : uint8_t {
  Crop,     // the shorter side to a size, then the middle of the image
  Stretch,  // both sides to the input's, whatever the aspect
  // The whole image at its own aspect in the middle of the input, the rest in one colour: what
  // detectors are trained on.
  Letterbox,
};

// The colour around a letterboxed image that detectors are usually trained with.
inline constexpr uint8_t kLetterboxGrey = 114;

struct Preprocessing {
  // In the colour order of the input; one value serves all channels. Empty: 0 and 1.
  std::vector<double> mean, std;
  // The largest pixel value before mean and std: 1 or 255. 0: 255 where a mean or std is above 1
  // (127.5, 58.395), else 1.
  int pixel_range = 0;
  std::optional<Layout> layout;  // of the input; empty: told by its shape
  ColorOrder color = ColorOrder::Rgb;
  ResizeMode resize = ResizeMode::Crop;
  int64_t shorter_side = 0;  // crop: of the image before the crop; 0: just covers the input
  // Letterbox: red, green and blue of what surrounds the image.
  std::array<uint8_t, 3> border = {kLetterboxGrey, kLetterboxGrey, kLetterboxGrey};

  double effective_range() const;
  std::string text() const;  // one line for reports and the metadata of files
};

// What becomes of a pixel from 0 to 255 in a channel of the input: scale * pixel + shift.
struct Affine {
  double scale = 1, shift = 0;
};
Affine affine_of_channel(const Preprocessing& preprocessing, size_t channel);

struct ModelInput {
  std::string name;
  TensorType type;
};

// A model input seen as an image.
struct ImageForm {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  int64_t batch = 1, height = 0, width = 0, channels = 0;
  Layout layout = Layout::ChannelsFirst;
};

// Errors: BadCalibrationData where the input is no image of 1, 3 or 4 dimensions' worth of
// channels or its layout cannot be told; DynamicShape where a size is open; Usage where mean or std
// do not fit the channels.
Result<ImageForm> image_form(const ModelInput& input, const Preprocessing& preprocessing);
// A batch above one repeats the image. Integer inputs (u8, i8) take pixels as they are.
Result<Value> preprocess(const image::Image& source_image, const ImageForm& form,
                         const Preprocessing& preprocessing);

// --- the options as text ---
Result<std::vector<double>> parse_channel_values(std::string_view option, std::string_view text);
// "crop", "crop:256", "stretch", "letterbox", "letterbox:0", "letterbox:123,117,104".
Status parse_resize(std::string_view text, Preprocessing& preprocessing);
// What Preprocessing::text() wrote; empty where it is no such text.
std::optional<Preprocessing> parse_preprocessing(std::string_view text);
// What a file's metadata say under the key, whichever format the file has.
std::optional<Preprocessing> recorded_preprocessing(
    const std::map<std::string, std::string>& metadata, std::string_view key);

}  // namespace ec::quantize
