#include "quantize/calibration/file_samples.h"

#include <fmt/format.h>

#include <algorithm>

#include "quantize/calibration/array_samples.h"
#include "quantize/calibration/labels.h"
#include "quantize/calibration/torch_samples.h"
#include "support/file.h"
#include "support/strings.h"

namespace ec::quantize {
namespace {

namespace fs = std::filesystem;

Result<npy::Array> load_raw(const fs::path& path, const ModelInput& input) {
  EC_TRY(const Blob file, map_file(path));
  return raw_array(file, input);
}

class FileSource final : public SampleSource {
 public:
  FileSource(std::vector<ModelInput> inputs, Preprocessing preprocessing,
             std::vector<FileSample> samples)
      : inputs_(std::move(inputs)),
        preprocessing_(std::move(preprocessing)),
        samples_(std::move(samples)),
        open_(inputs_.size()) {}

  size_t size() const override { return samples_.size(); }

  bool holds_images() const override {
    return std::none_of(samples_.begin(), samples_.end(), [](const FileSample& sample) {
      return holds_arrays(file_kind(sample.values[0].path));
    });
  }

  std::string name(size_t index) const override {
    const FileSample& sample = samples_[index];
    const std::string path = sample.values[0].path.string();
    return sample.index < 0 ? path : fmt::format("{}[{}]", path, sample.index);
  }

  Result<std::optional<int64_t>> label(size_t index) override {
    const std::optional<LabelLocation>& label = samples_[index].label;
    if (!label) return std::optional<int64_t>();
    Result<int64_t> value = read_label(*label);
    if (!value) return std::move(value).error().file(label->location.path.string());
    return std::optional(*value);
  }

  Result<std::vector<Value>> read(size_t index) override {
    std::vector<Value> values(inputs_.size());
    for (const ValueLocation& location : samples_[index].values) {
      Result<Value> value = read_value(location);
      if (!value)
        return std::move(value)
            .error()
            .file(location.path.string())
            .note(fmt::format("sample '{}'", printable(name(index))));
      values[location.input] = std::move(*value);
    }
    return values;
  }

 private:
  // The array that an input read last: its next rows need not be loaded again.
  struct OpenArray {
    fs::path path;
    std::string name;
    uint32_t item = 0;
    npy::Array array;
  };
  struct OpenLabels {
    fs::path path;
    std::string name;
    uint32_t item = 0;
    std::vector<int64_t> values;
  };

  Result<Value> read_value(const ValueLocation& location) {
    const ModelInput& input = inputs_[location.input];
    if (!holds_arrays(file_kind(location.path))) {
      EC_TRY(const ImageForm form, image_form(input, preprocessing_));
      EC_TRY(const image::Image source_image, image::load(location.path));
      return preprocess(source_image, form, preprocessing_);
    }
    OpenArray& open = open_[location.input];
    if (open.path != location.path || open.name != location.array || open.item != location.item) {
      EC_TRY(npy::Array array, load_array(location));
      open = {location.path, location.array, location.item, std::move(array)};
    }
    EC_TRY(const int64_t count, count_samples(open.array, input));
    if (location.row >= count)
      return Error(Code::BadCalibrationData, "the array has changed while it was read");
    return sample_at(open.array, input, location.row);
  }

  Result<int64_t> read_label(const LabelLocation& label) {
    const ValueLocation& location = label.location;
    OpenLabels& open = open_labels_;
    if (open.path != location.path || open.name != location.array || open.item != location.item) {
      EC_TRY(const npy::Array array, load_array(location));
      EC_TRY(std::vector<int64_t> values, label_values(array));
      open = {location.path, location.array, location.item, std::move(values)};
    }
    if (static_cast<int64_t>(open.values.size()) != label.count)
      return Error(Code::BadCalibrationData,
                   fmt::format("{} labels for {} samples", open.values.size(), label.count))
          .hint("give one label for each sample, in their order");
    return open.values[static_cast<size_t>(location.row)];
  }

  Result<npy::Array> load_array(const ValueLocation& location) {
    const ModelInput& input = inputs_[location.input];
    switch (file_kind(location.path)) {
      case FileKind::Npz:
        return npy::load_from_npz(location.path, location.array.empty() && inputs_.size() > 1
                                                     ? input.name
                                                     : location.array);
      case FileKind::Raw:
        return load_raw(location.path, input);
      case FileKind::Torch:
        if (torch_ == nullptr || torch_path_ != location.path) {
          EC_TRY(torch_, TorchFile::open(location.path));
          torch_path_ = location.path;
        }
        return torch_->read(location.item);
      default:
        return npy::load(location.path);
    }
  }

  std::vector<ModelInput> inputs_;
  Preprocessing preprocessing_;
  std::vector<FileSample> samples_;
  std::vector<OpenArray> open_;
  OpenLabels open_labels_;
  std::unique_ptr<TorchFile> torch_;  // the file read last
  fs::path torch_path_;
};

}  // namespace

Status SampleCollector::add_file(const fs::path& path) {
  const auto named = [&](Status status) -> Status {
    if (status.ok()) return status;
    return std::move(status).error().file(path.string());
  };
  switch (file_kind(path)) {
    case FileKind::Npz:
      return named(add_npz(path));
    case FileKind::Torch:
      return named(add_torch(path));
    case FileKind::Npy:
    case FileKind::Raw: {
      EC_CHECK_OK(need_single_input(path));
      Result<npy::Array> array =
          file_kind(path) == FileKind::Npy ? npy::load(path) : load_raw(path, inputs_[0]);
      if (!array) return named(std::move(array).error());
      return named(add_arrays(path, {{{}, 0, std::move(*array)}}, false, std::nullopt));
    }
    default:
      EC_CHECK_OK(need_single_input(path));
      samples_.push_back({{{0, path, {}, 0, 0}}, -1, std::nullopt});
      return {};
  }
}

Status SampleCollector::add_listed(const ListedSample& listed, const fs::path& list) {
  if (listed.files.size() == 1 && listed.files[0].input.empty())
    return add_file(listed.files[0].path);
  FileSample sample;
  std::vector<bool> given(inputs_.size(), false);
  const auto fault = [&](std::string message) {
    return Error(Code::BadCalibrationData, std::move(message))
        .file(fmt::format("{}:{}", list.string(), listed.line))
        .note("inputs: " + input_names())
        .hint("write NAME=PATH for every input, separated by tabs");
  };
  for (const ListedFile& file : listed.files) {
    const std::optional<size_t> input = find_input(file.input);
    if (!input) return fault(fmt::format("the model has no input '{}'", printable(file.input)));
    if (given[*input]) return fault(fmt::format("input '{}' is given twice", file.input));
    if (file_kind(file.path) == FileKind::Torch || file_kind(file.path) == FileKind::List)
      return fault(fmt::format("'{}' cannot be the value of one input",
                               printable(file.path.filename().string())));
    given[*input] = true;
    sample.values.push_back({*input, file.path, {}, 0, 0});
  }
  for (size_t i = 0; i < given.size(); ++i)
    if (!given[i]) return fault(fmt::format("no value for input '{}'", printable(inputs_[i].name)));
  samples_.push_back(std::move(sample));
  return {};
}

std::string SampleCollector::input_names() const {
  std::string text;
  for (const ModelInput& input : inputs_)
    text += fmt::format("{}'{}' {}", text.empty() ? "" : ", ", printable(input.name),
                        input.type.text());
  return text;
}

std::optional<size_t> SampleCollector::find_input(const std::string& name) const {
  if (name.empty() && inputs_.size() == 1) return 0;
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].name == name) return i;
  return std::nullopt;
}

Status SampleCollector::need_single_input(const fs::path& path) const {
  if (inputs_.size() == 1) return {};
  return Error(Code::BadCalibrationData,
               fmt::format("one array per sample, but the model has {} inputs", inputs_.size()))
      .file(path.string())
      .note("inputs: " + input_names())
      .hint(
          "use .npz or .pt files with one array per input, or a list file with NAME=PATH fields "
          "separated by tabs");
}

Status SampleCollector::add_npz(const fs::path& path) {
  EC_TRY(std::vector<std::string> names, npy::npz_names(path));
  std::optional<ValueLocation> labels;
  for (size_t i = 0; i < names.size() && names.size() > inputs_.size(); ++i)
    if (is_label_name(names[i]) && !find_input(names[i])) {
      labels = ValueLocation{0, path, names[i], 0, 0};
      names.erase(names.begin() + static_cast<int64_t>(i));
      break;
    }
  std::vector<Candidate> arrays;
  for (const std::string& name : names) {
    Candidate candidate{name, 0, {}};
    // What no input asks for may be anything.
    if (names.size() == 1 || find_input(name) || name.starts_with("arr_")) {
      EC_TRY(candidate.array, npy::load_from_npz(path, name));
      candidate.array.data = {};
    }
    arrays.push_back(std::move(candidate));
  }
  return add_arrays(path, arrays, false, labels);
}

Status SampleCollector::add_torch(const fs::path& path) {
  EC_TRY(const std::unique_ptr<TorchFile> file, TorchFile::open(path));
  EC_TRY(const std::vector<TorchFile::Record> records, file->records(inputs_));
  for (size_t i = 0; i < records.size(); ++i) {
    std::vector<Candidate> arrays;
    for (const TorchFile::Entry& entry : records[i].tensors) {
      EC_TRY(npy::Array array, file->describe(entry.tensor));
      arrays.push_back({entry.name, entry.tensor, std::move(array)});
    }
    std::optional<ValueLocation> labels;
    if (records[i].label) labels = ValueLocation{0, path, {}, *records[i].label, 0};
    Status added = add_arrays(path, arrays, records.size() > 1, labels);
    if (!added) return std::move(added).error().note(fmt::format("element {} of the file", i));
  }
  return {};
}

Result<const SampleCollector::Candidate*> SampleCollector::candidate_for(
    size_t input, const std::vector<Candidate>& arrays) const {
  if (inputs_.size() == 1 && arrays.size() == 1) return &arrays[0];
  for (const Candidate& array : arrays)
    if (array.name == inputs_[input].name) return &array;
  // Tuples, and what numpy.savez calls arrays without a name, belong to the inputs in order.
  const std::string positional = fmt::format("arr_{}", input);
  const bool fits = arrays.size() == inputs_.size();
  for (size_t i = 0; fits && i < arrays.size(); ++i)
    if ((arrays[i].name.empty() && i == input) || arrays[i].name == positional) return &arrays[i];
  std::vector<std::string> names;
  for (const Candidate& array : arrays) names.push_back(array.name);
  const bool unnamed = arrays[0].name.empty();
  return Error(Code::BadCalibrationData,
               unnamed ? fmt::format("{} arrays where the model has {} inputs", arrays.size(),
                                     inputs_.size())
                       : fmt::format("no array for input '{}'; the file has {}",
                                     printable(inputs_[input].name), printable(join(names, ", "))))
      .note("inputs: " + input_names())
      .hint("give one array for each input, by its name");
}

Status SampleCollector::add_arrays(const fs::path& path, const std::vector<Candidate>& arrays,
                                   bool several, const std::optional<ValueLocation>& labels) {
  if (arrays.empty())
    return Error(Code::BadCalibrationData, "the file holds no arrays")
        .hint("give one array for each input, by its name");
  std::vector<ValueLocation> locations;
  int64_t rows = -1;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    EC_TRY(const Candidate* chosen, candidate_for(i, arrays));
    EC_TRY(const int64_t count, count_samples(chosen->array, inputs_[i]));
    if (rows >= 0 && rows != count)
      return Error(Code::BadCalibrationData,
                   fmt::format("the array of input '{}' holds {} samples, those before it {}",
                               printable(inputs_[i].name), count, rows))
          .hint("give every input the same number of samples");
    rows = count;
    locations.push_back({i, path, chosen->name, chosen->item, 0});
  }
  // Elements of a list are numbered on from those before.
  int64_t first = 0;
  if (several && !samples_.empty() && samples_.back().values[0].path == path)
    first = samples_.back().index + 1;
  for (int64_t row = 0; row < rows; ++row) {
    for (ValueLocation& location : locations) location.row = row;
    samples_.push_back({locations, several || rows > 1 ? first + row : -1, std::nullopt});
    if (!labels) continue;
    LabelLocation& label = samples_.back().label.emplace(LabelLocation{*labels, rows});
    label.location.row = row;
  }
  return {};
}

std::unique_ptr<SampleSource> file_source(std::vector<ModelInput> inputs,
                                          Preprocessing preprocessing,
                                          std::vector<FileSample> samples) {
  return std::make_unique<FileSource>(std::move(inputs), std::move(preprocessing),
                                      std::move(samples));
}

}  // namespace ec::quantize
