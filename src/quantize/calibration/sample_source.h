// Where calibration samples come from: images, arrays, lists of files, values in memory, or
// noise. Samples are read one at a time; between reads only their locations are kept.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "quantize/calibration/preprocess.h"
#include "quantize/tuning.h"

namespace ec::quantize {

class Measurements;

class SampleSource {
 public:
  virtual ~SampleSource() = default;
  virtual size_t size() const = 0;
  // For messages: a path, or a path and the index in its array.
  virtual std::string name(size_t index) const = 0;
  // Every sample is an image, which preprocessing turns into the input's value.
  virtual bool holds_images() const { return false; }
  // The class that the sample's file tells beside it; empty where it tells none. As it stands
  // there.
  virtual Result<std::optional<int64_t>> label(size_t index);
  // Where answers to what is measured on the samples are kept or come from; null: nowhere.
  virtual Measurements* measurements() { return nullptr; }
  // One value for each input of the model, in order, checked against its type.
  virtual Result<std::vector<Value>> read(size_t index) = 0;
};

// `path` is an image, a .npy, .npz, .pt or raw file, a folder of such files (searched recursively,
// sorted by path, so that class-per-folder sets work), a .txt list with one sample per line (a
// path, or NAME=PATH fields separated by tabs for several inputs; relative to the list), or
// "random".
//
// An array is one sample where it has the input's shape; else its first dimension counts samples.
// The arrays of a .npz file and the tensors of a dict belong to the inputs by name, those of a
// tuple by position; a list of tensors, tuples or dicts has one sample after the other. A raw file
// (.bin, .raw) has the input's elements.
//
// Labels may stand beside the inputs: an array or key called labels, label or y, or the last
// element of a tuple, (tensor, label) or (tensors, labels).
//
// Errors: BadCalibrationData naming the sample, the input, what was found and what is expected.
// Remarks and the warning about random data go to the sink.
Result<std::unique_ptr<SampleSource>> open_samples(const std::string& path,
                                                   const std::vector<ModelInput>& inputs,
                                                   const Preprocessing& preprocessing,
                                                   DiagnosticSink& sink);

// The same of files that are known one by one.
Result<std::unique_ptr<SampleSource>> open_sample_files(
    const std::vector<std::filesystem::path>& files, const std::vector<ModelInput>& inputs,
    const Preprocessing& preprocessing);

// Values that a caller already has: one per input and sample, checked when read.
Result<std::unique_ptr<SampleSource>> samples_in_memory(std::vector<std::vector<Value>> samples,
                                                        const std::vector<ModelInput>& inputs);

// Which samples calibrate, and which are kept apart to judge the result.
struct SampleSplit {
  std::vector<size_t> calibration, held_out;
  bool overlap = false;  // too few to keep any apart: the same samples do both
};
// `wanted` 0: at most tuning::kDefaultSamples. Chosen evenly over the order, so that every class of
// a sorted set is met. Held out are samples that were not chosen, else every tenth.
SampleSplit split_samples(size_t available, size_t wanted);

// At most `count` of the samples, chosen evenly over their order.
std::vector<size_t> evenly_spaced(std::span<const size_t> samples, size_t count);

}  // namespace ec::quantize
