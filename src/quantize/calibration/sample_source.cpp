#include "quantize/calibration/sample_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "quantize/calibration/array_samples.h"
#include "quantize/calibration/file_samples.h"
#include "quantize/tuning.h"
#include "runtime/fill.h"
#include "support/random.h"
#include "support/strings.h"

namespace ec::quantize {
namespace {

namespace fs = std::filesystem;

// Noise: images of random pixels where an input has the shape of one, else the session's random
// values.
class RandomSource final : public SampleSource {
 public:
  RandomSource(std::vector<ModelInput> inputs, Preprocessing preprocessing)
      : inputs_(std::move(inputs)), preprocessing_(std::move(preprocessing)) {}

  size_t size() const override { return tuning::kRandomSamples; }
  bool holds_images() const override { return true; }
  std::string name(size_t index) const override { return fmt::format("random[{}]", index); }

  Result<std::vector<Value>> read(size_t index) override {
    std::vector<Value> values;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const uint64_t seed = index * inputs_.size() + i + 1;
      const Result<ImageForm> form = image_form(inputs_[i], preprocessing_);
      if (form.ok() && form->dtype == DType::F32) {
        EC_TRY(Value value, noise_image(*form, seed));
        values.push_back(std::move(value));
        continue;
      }
      EC_TRY(Value value,
             make_value(inputs_[i].type.dtype, inputs_[i].type.shape->sizes(), Fill::Random, seed));
      values.push_back(std::move(value));
    }
    return values;
  }

 private:
  Result<Value> noise_image(const ImageForm& form, uint64_t seed) const {
    image::Image source_image{form.width, form.height,
                              Buffer::allocate(static_cast<size_t>(form.width * form.height * 3))};
    if (!source_image.pixels.ok()) return Error(Code::OutOfMemory, "no memory for a random image");
    RandomState random(seed);
    for (std::byte& pixel : source_image.pixels.bytes())
      pixel = static_cast<std::byte>(static_cast<uint8_t>(random.uniform() * 256));
    return preprocess(source_image, form, preprocessing_);
  }

  std::vector<ModelInput> inputs_;
  Preprocessing preprocessing_;
};

class MemorySource final : public SampleSource {
 public:
  MemorySource(std::vector<std::vector<Value>> samples, std::vector<ModelInput> inputs)
      : samples_(std::move(samples)), inputs_(std::move(inputs)) {}
  size_t size() const override { return samples_.size(); }
  std::string name(size_t index) const override { return fmt::format("sample {}", index); }
  Result<std::vector<Value>> read(size_t index) override {
    const std::vector<Value>& sample = samples_[index];
    if (sample.size() != inputs_.size())
      return Error(Code::BadCalibrationData,
                   fmt::format("calibration sample {} has {} arrays, the model {} inputs", index,
                               sample.size(), inputs_.size()));
    for (size_t i = 0; i < inputs_.size(); ++i) {
      Status fits = check_value(sample[i], inputs_[i]);
      if (!fits) return std::move(fits).error().note(fmt::format("calibration sample {}", index));
    }
    return sample;
  }

 private:
  std::vector<std::vector<Value>> samples_;
  std::vector<ModelInput> inputs_;
};

Status need_static_inputs(const std::vector<ModelInput>& inputs) {
  if (inputs.empty())
    return Error(Code::BadCalibrationData,
                 "the model has no inputs: there is nothing to calibrate");
  for (const ModelInput& input : inputs)
    if (!input.type.is_static())
      return Error(Code::DynamicShape, fmt::format("input '{}' is {}: calibration needs its size",
                                                   printable(input.name), input.type.text()))
          .hint(fmt::format("give it with --input-shape {}:1x3x224x224", printable(input.name)));
  return {};
}

}  // namespace

Result<std::optional<int64_t>> SampleSource::label(size_t) { return std::optional<int64_t>(); }

Result<std::unique_ptr<SampleSource>> open_samples(const std::string& path,
                                                   const std::vector<ModelInput>& inputs,
                                                   const Preprocessing& preprocessing,
                                                   DiagnosticSink& sink) {
  EC_CHECK_OK(need_static_inputs(inputs));
  if (path.empty())
    return Error(Code::CalibrationDataNeeded,
                 "quantisation needs examples of the model's input, and none were given")
        .hint("pass a folder of images, a .npy or .npz file with --calibration-data PATH");
  if (path == "random") {
    sink.warn(Code::DoubtfulCalibration,
              "calibrating on random data: the ranges of activations will be wrong and accuracy "
              "is likely to suffer",
              {}, "pass real examples with --calibration-data PATH");
    return std::unique_ptr<SampleSource>(std::make_unique<RandomSource>(inputs, preprocessing));
  }
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    return Error(Code::FileNotFound, "there is no such file or folder").file(path);
  SampleCollector collector(inputs);
  if (fs::is_directory(status)) {
    EC_TRY(const std::vector<fs::path> files, files_in_folder(path));
    for (const fs::path& file : files) EC_CHECK_OK(collector.add_file(file));
  } else if (file_kind(path) == FileKind::List) {
    EC_CHECK_OK(read_list(
        path, [&](const ListedSample& sample) { return collector.add_listed(sample, path); }));
  } else {
    EC_CHECK_OK(collector.add_file(path));
  }
  return file_source(inputs, preprocessing, collector.take());
}

Result<std::unique_ptr<SampleSource>> open_sample_files(const std::vector<fs::path>& files,
                                                        const std::vector<ModelInput>& inputs,
                                                        const Preprocessing& preprocessing) {
  EC_CHECK_OK(need_static_inputs(inputs));
  SampleCollector collector(inputs);
  for (const fs::path& file : files) EC_CHECK_OK(collector.add_file(file));
  return file_source(inputs, preprocessing, collector.take());
}

Result<std::unique_ptr<SampleSource>> samples_in_memory(std::vector<std::vector<Value>> samples,
                                                        const std::vector<ModelInput>& inputs) {
  EC_CHECK_OK(need_static_inputs(inputs));
  if (samples.empty())
    return Error(Code::CalibrationDataNeeded, "the calibration data holds no samples")
        .hint("pass an array whose first dimension counts samples, or a list of arrays");
  return std::unique_ptr<SampleSource>(std::make_unique<MemorySource>(std::move(samples), inputs));
}

SampleSplit split_samples(size_t available, size_t wanted) {
  using tuning::kMostHeldOut;
  SampleSplit split;
  const size_t count = std::min(available, wanted > 0 ? wanted : tuning::kDefaultSamples);
  std::vector<bool> chosen(available, false);
  std::vector<size_t> order;
  for (size_t k = 0; k < count; ++k) {
    const size_t index = (2 * k + 1) * available / (2 * count);
    chosen[index] = true;
    order.push_back(index);
  }
  std::vector<size_t> rest;
  for (size_t i = 0; i < available; ++i)
    if (!chosen[i]) rest.push_back(i);
  if (!rest.empty()) {
    split.calibration = std::move(order);
    const size_t held = std::min(rest.size(), kMostHeldOut);
    for (size_t k = 0; k < held; ++k)
      split.held_out.push_back(rest[(2 * k + 1) * rest.size() / (2 * held)]);
    return split;
  }
  if (count < tuning::kFewestToSplit) {
    split.calibration = split.held_out = std::move(order);
    split.overlap = true;
    return split;
  }
  const size_t step =
      std::max<size_t>(tuning::kHeldOutStride, (count + kMostHeldOut - 1) / kMostHeldOut);
  for (size_t k = 0; k < count; ++k)
    (k % step == step / 2 ? split.held_out : split.calibration).push_back(order[k]);
  return split;
}

std::vector<size_t> evenly_spaced(std::span<const size_t> samples, size_t count) {
  std::vector<size_t> chosen;
  count = std::min(count, samples.size());
  for (size_t i = 0; i < count; ++i) chosen.push_back(samples[i * samples.size() / count]);
  return chosen;
}

}  // namespace ec::quantize
