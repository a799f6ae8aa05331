#include "quantize/calibration/sample_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "quantize/calibration/array_samples.h"
#include "quantize/calibration/sample_files.h"
#include "runtime/fill.h"
#include "support/random.h"
#include "support/strings.h"

namespace ec::quantize {
namespace {

namespace fs = std::filesystem;

// Of the value of one input in one sample.
struct Part {
  size_t input = 0;
  fs::path path;
  std::string array;  // of a .npz file
  int64_t row = 0;
};

struct Sample {
  std::vector<Part> parts;
  bool several = false;  // its file holds more than this sample
};

// Sorts the files of a path into samples. Headers of arrays are read, pictures are not.
class Collector {
 public:
  Collector(const std::vector<ModelInput>& inputs, std::vector<Sample>& samples)
      : inputs_(inputs), samples_(samples) {}

  Status add_file(const fs::path& path) {
    switch (file_kind(path)) {
      case FileKind::Npy:
        return add_npy(path);
      case FileKind::Npz:
        return add_npz(path);
      default:
        EC_CHECK_OK(need_single_input(path));
        samples_.push_back({{{0, path, {}, 0}}, false});
        return {};
    }
  }

  Status add_listed(const ListedSample& listed, const fs::path& list) {
    if (listed.files.size() == 1 && listed.files[0].input.empty())
      return add_file(listed.files[0].path);
    Sample sample;
    std::vector<bool> given(inputs_.size(), false);
    const auto fault = [&](std::string message) {
      return Error(Code::BadCalibrationData, std::move(message))
          .file(fmt::format("{}:{}", list.string(), listed.line))
          .note("inputs: " + input_names());
    };
    for (const ListedFile& file : listed.files) {
      const std::optional<size_t> input = find_input(file.input);
      if (!input) return fault(fmt::format("the model has no input '{}'", printable(file.input)));
      if (given[*input]) return fault(fmt::format("input '{}' is given twice", file.input));
      given[*input] = true;
      sample.parts.push_back({*input, file.path, {}, 0});
    }
    for (size_t i = 0; i < given.size(); ++i)
      if (!given[i])
        return fault(fmt::format("no value for input '{}'", printable(inputs_[i].name)));
    samples_.push_back(std::move(sample));
    return {};
  }

 private:
  std::string input_names() const {
    std::string text;
    for (const ModelInput& input : inputs_)
      text += fmt::format("{}'{}' {}", text.empty() ? "" : ", ", printable(input.name),
                          input.type.text());
    return text;
  }
  std::optional<size_t> find_input(const std::string& name) const {
    if (name.empty() && inputs_.size() == 1) return 0;
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i].name == name) return i;
    return std::nullopt;
  }
  Status need_single_input(const fs::path& path) const {
    if (inputs_.size() == 1) return {};
    return Error(Code::BadCalibrationData,
                 fmt::format("one file per sample, but the model has {} inputs", inputs_.size()))
        .file(path.string())
        .note("inputs: " + input_names())
        .hint(
            "use .npz files with one array per input, or a list file with NAME=PATH fields "
            "separated by tabs");
  }

  Status add_npy(const fs::path& path) {
    EC_CHECK_OK(need_single_input(path));
    Result<npy::Array> array = npy::load(path);
    if (!array) return std::move(array).error().file(path.string());
    Result<int64_t> count = count_samples(*array, inputs_[0]);
    if (!count) return std::move(count).error().file(path.string());
    for (int64_t row = 0; row < *count; ++row)
      samples_.push_back({{{0, path, {}, row}}, *count > 1});
    return {};
  }

  Status add_npz(const fs::path& path) {
    EC_TRY(const std::vector<std::string> names, npy::npz_names(path));
    std::vector<Part> parts;
    int64_t rows = -1;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const bool only = inputs_.size() == 1 && names.size() == 1;
      const std::string& name = only ? names[0] : inputs_[i].name;
      if (std::find(names.begin(), names.end(), name) == names.end())
        return Error(Code::BadCalibrationData,
                     fmt::format("no array for input '{}'; the file has {}", printable(name),
                                 printable(join(names, ", "))))
            .file(path.string())
            .note("inputs: " + input_names());
      EC_TRY(const npy::Array array, npy::load_from_npz(path, name));
      Result<int64_t> count = count_samples(array, inputs_[i]);
      if (!count) return std::move(count).error().file(path.string());
      if (rows >= 0 && rows != *count)
        return Error(Code::BadCalibrationData,
                     fmt::format("array '{}' holds {} samples, the arrays before it {}",
                                 printable(name), *count, rows))
            .file(path.string());
      rows = *count;
      parts.push_back({i, path, name, 0});
    }
    for (int64_t row = 0; row < rows; ++row) {
      for (Part& part : parts) part.row = row;
      samples_.push_back({parts, rows > 1});
    }
    return {};
  }

  const std::vector<ModelInput>& inputs_;
  std::vector<Sample>& samples_;
};

class FileSource final : public SampleSource {
 public:
  FileSource(std::vector<ModelInput> inputs, Preprocessing preprocessing,
             std::vector<Sample> samples)
      : inputs_(std::move(inputs)),
        preprocessing_(std::move(preprocessing)),
        samples_(std::move(samples)),
        open_(inputs_.size()) {}

  size_t size() const override { return samples_.size(); }

  std::string name(size_t index) const override {
    const Sample& sample = samples_[index];
    const std::string path = sample.parts[0].path.string();
    return sample.several ? fmt::format("{}[{}]", path, sample.parts[0].row) : path;
  }

  Result<std::vector<Value>> read(size_t index) override {
    std::vector<Value> values(inputs_.size());
    for (const Part& part : samples_[index].parts) {
      Result<Value> value = read_part(part);
      if (!value)
        return std::move(value)
            .error()
            .file(part.path.string())
            .note(fmt::format("calibration sample '{}'", printable(name(index))));
      values[part.input] = std::move(*value);
    }
    return values;
  }

 private:
  // The array that an input read last: its next rows need not be loaded again.
  struct OpenArray {
    fs::path path;
    std::string name;
    npy::Array array;
  };

  Result<Value> read_part(const Part& part) {
    const ModelInput& input = inputs_[part.input];
    const FileKind kind = file_kind(part.path);
    if (kind == FileKind::Npy || kind == FileKind::Npz) {
      OpenArray& open = open_[part.input];
      if (open.path != part.path || open.name != part.array) {
        const std::string& name =
            part.array.empty() && inputs_.size() > 1 ? input.name : part.array;
        Result<npy::Array> array =
            kind == FileKind::Npy ? npy::load(part.path) : npy::load_from_npz(part.path, name);
        if (!array) return std::move(array).error();
        open = {part.path, part.array, std::move(*array)};
      }
      EC_TRY(const int64_t count, count_samples(open.array, input));
      if (part.row >= count)
        return Error(Code::BadCalibrationData, "the array has changed while it was read");
      return sample_at(open.array, input, part.row);
    }
    EC_TRY(const ImageForm form, image_form(input, preprocessing_));
    EC_TRY(const image::Image picture, image::load(part.path));
    return preprocess(picture, form, preprocessing_);
  }

  std::vector<ModelInput> inputs_;
  Preprocessing preprocessing_;
  std::vector<Sample> samples_;
  std::vector<OpenArray> open_;
};

// Noise: pictures of random pixels where an input looks like one, else the session's random values.
class RandomSource final : public SampleSource {
 public:
  RandomSource(std::vector<ModelInput> inputs, Preprocessing preprocessing)
      : inputs_(std::move(inputs)), preprocessing_(std::move(preprocessing)) {}

  size_t size() const override { return kRandomSamples; }
  std::string name(size_t index) const override { return fmt::format("random[{}]", index); }

  Result<std::vector<Value>> read(size_t index) override {
    std::vector<Value> values;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const uint64_t seed = index * inputs_.size() + i + 1;
      const Result<ImageForm> form = image_form(inputs_[i], preprocessing_);
      if (form.ok() && form->dtype == DType::F32) {
        EC_TRY(Value value, noise_picture(*form, seed));
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
  Result<Value> noise_picture(const ImageForm& form, uint64_t seed) const {
    image::Image picture{form.width, form.height,
                         Buffer::allocate(static_cast<size_t>(form.width * form.height * 3))};
    if (!picture.pixels.ok()) return Error(Code::OutOfMemory, "no memory for a random picture");
    RandomState random(seed);
    for (std::byte& pixel : picture.pixels.bytes())
      pixel = static_cast<std::byte>(static_cast<uint8_t>(random.uniform() * 256));
    return preprocess(picture, form, preprocessing_);
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
  std::vector<Sample> samples;
  Collector collector(inputs, samples);
  if (fs::is_directory(status)) {
    EC_TRY(const std::vector<fs::path> files, files_in_folder(path));
    for (const fs::path& file : files) EC_CHECK_OK(collector.add_file(file));
  } else if (file_kind(path) == FileKind::List) {
    EC_TRY(const std::vector<ListedSample> list, read_list(path));
    for (const ListedSample& sample : list) EC_CHECK_OK(collector.add_listed(sample, path));
  } else {
    EC_CHECK_OK(collector.add_file(path));
  }
  return std::unique_ptr<SampleSource>(
      std::make_unique<FileSource>(inputs, preprocessing, std::move(samples)));
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
  // More say little more about how good the result is.
  constexpr size_t kMaxHeldOut = 50;
  constexpr size_t kFewest = 10;
  SampleSplit split;
  const size_t count = std::min(available, wanted > 0 ? wanted : kDefaultSamples);
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
    const size_t held = std::min(rest.size(), kMaxHeldOut);
    for (size_t k = 0; k < held; ++k)
      split.held_out.push_back(rest[(2 * k + 1) * rest.size() / (2 * held)]);
    return split;
  }
  if (count < kFewest) {
    split.calibration = split.held_out = std::move(order);
    split.overlap = true;
    return split;
  }
  const size_t step = std::max<size_t>(10, (count + kMaxHeldOut - 1) / kMaxHeldOut);
  for (size_t k = 0; k < count; ++k)
    (k % step == step / 2 ? split.held_out : split.calibration).push_back(order[k]);
  return split;
}

}  // namespace ec::quantize
