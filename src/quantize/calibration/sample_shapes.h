// The shapes that calibration data gives to inputs whose sizes the model leaves open.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "quantize/calibration/preprocess.h"

namespace ec::quantize {

// Looks at the first array of a .npy or .npz file, or of a folder of such files. Arrays belong to
// inputs by name, or to the only input; one with the input's rank counts samples in its first
// dimension, so that the batch is 1. Images tell nothing: they are resized. Data that cannot be
// read gives nothing here; reading the samples reports it.
std::map<std::string, std::vector<int64_t>> sample_shapes(const std::string& path,
                                                          const std::vector<ModelInput>& inputs);

}  // namespace ec::quantize
