// Where the pixels of a picture come to lie in a model's input, and back.
#pragma once

#include "quantize/calibration/preprocess.h"

namespace ec::quantize {

// Where a picture lies in the input: a point (x, y) of the picture comes to
// (x * scale_x + left, y * scale_y + top). It is width x height pixels then: larger than the input
// before a crop, smaller where a border surrounds it.
struct PictureFit {
  int64_t width = 0, height = 0;
  double scale_x = 1, scale_y = 1;
  int64_t left = 0, top = 0;
};
PictureFit picture_fit(int64_t width, int64_t height, const ImageForm& form,
                       const Preprocessing& preprocessing);

}  // namespace ec::quantize
