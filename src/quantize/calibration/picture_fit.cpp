#include "quantize/calibration/picture_fit.h"

#include <algorithm>
#include <cmath>

namespace ec::quantize {

PictureFit picture_fit(int64_t width, int64_t height, const ImageForm& form,
                       const Preprocessing& preprocessing) {
  const auto from_width = static_cast<double>(width), from_height = static_cast<double>(height);
  PictureFit fit{form.width, form.height};
  if (preprocessing.resize == ResizeMode::Crop) {
    // The image must cover the input in both directions, and its shorter side is the asked one.
    double scale = std::max(static_cast<double>(form.width) / from_width,
                            static_cast<double>(form.height) / from_height);
    if (preprocessing.shorter_side > 0)
      scale = std::max(scale, static_cast<double>(preprocessing.shorter_side) /
                                  std::min(from_width, from_height));
    const auto sized = [scale](double side, int64_t least) {
      return std::max(least, static_cast<int64_t>(std::lround(side * scale)));
    };
    fit.width = sized(from_width, form.width);
    fit.height = sized(from_height, form.height);
    fit.left = -((fit.width - form.width) / 2);
    fit.top = -((fit.height - form.height) / 2);
  }
  if (preprocessing.resize == ResizeMode::Letterbox) {
    // The whole image fits, and touches the input's border in one direction.
    const double scale = std::min(static_cast<double>(form.width) / from_width,
                                  static_cast<double>(form.height) / from_height);
    const auto sized = [scale](double side, int64_t most) {
      return std::clamp<int64_t>(std::lround(side * scale), 1, most);
    };
    fit.width = sized(from_width, form.width);
    fit.height = sized(from_height, form.height);
    fit.left = (form.width - fit.width) / 2;
    fit.top = (form.height - fit.height) / 2;
  }
  fit.scale_x = static_cast<double>(fit.width) / from_width;
  fit.scale_y = static_cast<double>(fit.height) / from_height;
  return fit;
}

}  // namespace ec::quantize
