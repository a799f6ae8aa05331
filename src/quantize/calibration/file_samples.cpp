#include "quantize/calibration/file_samples.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/npy/array_file.h"
#include "quantize/calibration/array_samples.h"
#include "quantize/calibration/labels.h"
#include "quantize/calibration/torch_samples.h"
#include "support/input_file.h"
#include "support/strings.h"

namespace ec::quantize {
namespace {

namespace fs = std::filesystem;

Result<npy::ArrayFile> open_raw(const fs::path& path, const ModelInput& input) {
  EC_TRY(InputFile file, InputFile::open(path));
  EC_TRY(npy::Array form, raw_form(file.size(), input));
  return npy::ArrayFile::of_raw(std::move(file), std::move(form));
}

// The form of an array, without its elements.
npy::Array form_of(const npy::ArrayFile& file) {
  return {file.array().kind, file.array().item_size, file.array().shape, {}};
}

class FileSource final : public SampleSource {
 public:
  FileSource(std::vector<ModelInput> inputs, Preprocessing preprocessing,
             std::vector<SampleGroup> groups)
      : inputs_(std::move(inputs)),
        preprocessing_(std::move(preprocessing)),
        groups_(std::move(groups)),
        open_(inputs_.size()) {
    for (const SampleGroup& group : groups_) {
      first_.push_back(count_);
      count_ += static_cast<size_t>(group.rows);
    }
  }

  size_t size() const override { return count_; }

  bool holds_images() const override {
    return std::none_of(groups_.begin(), groups_.end(), [](const SampleGroup& group) {
      return holds_arrays(file_kind(group.values[0].path));
    });
  }

  std::string name(size_t index) const override {
    const auto [group, row] = locate(index);
    const std::string path = group.values[0].path;
    return group.first_index < 0 ? path : fmt::format("{}[{}]", path, group.first_index + row);
  }

  Result<std::optional<int64_t>> label(size_t index) override {
    const auto [group, row] = locate(index);
    if (!group.label) return std::optional<int64_t>();
    Result<int64_t> value = read_label(group, row);
    if (!value) return std::move(value).error().file(group.label->path);
    return std::optional(*value);
  }

  Result<std::vector<Value>> read(size_t index) override {
    std::vector<Value> values(inputs_.size());
    const auto [group, row] = locate(index);
    for (const ValueLocation& location : group.values) {
      Result<Value> value = read_value(location, row);
      if (!value)
        return std::move(value)
            .error()
            .file(location.path)
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
    std::optional<npy::ArrayFile> array;
  };
  struct OpenLabels {
    fs::path path;
    std::string name;
    uint32_t item = 0;
    std::vector<int64_t> values;
  };

  struct Place {
    const SampleGroup& group;
    int64_t row;
  };
  Place locate(size_t index) const {
    const auto next = std::upper_bound(first_.begin(), first_.end(), index);
    const auto at = static_cast<size_t>(next - first_.begin()) - 1;
    return {groups_[at], static_cast<int64_t>(index - first_[at])};
  }

  Result<Value> read_value(const ValueLocation& location, int64_t row) {
    const ModelInput& input = inputs_[location.input];
    if (!holds_arrays(file_kind(location.path))) {
      EC_TRY(const ImageForm form, image_form(input, preprocessing_));
      EC_TRY(const image::Image source_image, image::load(location.path));
      return preprocess(source_image, form, preprocessing_);
    }
    OpenArray& open = open_[location.input];
    if (open.path != location.path || open.name != location.array || open.item != location.item) {
      EC_TRY(npy::ArrayFile array, open_array(location));
      open.path = location.path;
      open.name = location.array;
      open.item = location.item;
      open.array.emplace(std::move(array));
    }
    EC_TRY(const int64_t count, count_samples(open.array->array(), input));
    if (row >= count)
      return Error(Code::BadCalibrationData, "the array has changed while it was read");
    return sample_at(*open.array, input, row);
  }

  Result<int64_t> read_label(const SampleGroup& group, int64_t row) {
    const ValueLocation& location = *group.label;
    OpenLabels& open = open_labels_;
    if (open.path != location.path || open.name != location.array || open.item != location.item) {
      EC_TRY(npy::ArrayFile file, open_array(location));
      EC_TRY(const npy::Array array, std::move(file).read_all());
      EC_TRY(std::vector<int64_t> values, label_values(array));
      open = {location.path, location.array, location.item, std::move(values)};
    }
    if (static_cast<int64_t>(open.values.size()) != group.rows)
      return Error(Code::BadCalibrationData,
                   fmt::format("{} labels for {} samples", open.values.size(), group.rows))
          .hint("give one label for each sample, in their order");
    return open.values[static_cast<size_t>(row)];
  }

  Result<npy::ArrayFile> open_array(const ValueLocation& location) {
    const ModelInput& input = inputs_[location.input];
    switch (file_kind(location.path)) {
      case FileKind::Npz:
        return npy::ArrayFile::open_npz(location.path, location.array.empty() && inputs_.size() > 1
                                                           ? input.name
                                                           : location.array);
      case FileKind::Raw:
        return open_raw(location.path, input);
      case FileKind::Torch: {
        if (torch_ == nullptr || torch_path_ != location.path) {
          EC_TRY(torch_, TorchFile::open(location.path));
          torch_path_ = location.path;
        }
        EC_TRY(npy::Array array, torch_->read(location.item));
        return npy::ArrayFile::in_memory(std::move(array));
      }
      default:
        return npy::ArrayFile::open(location.path);
    }
  }

  std::vector<ModelInput> inputs_;
  Preprocessing preprocessing_;
  std::vector<SampleGroup> groups_;
  std::vector<size_t> first_;  // number of the first sample of each group
  size_t count_ = 0;
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
      Result<npy::ArrayFile> file = file_kind(path) == FileKind::Npy ? npy::ArrayFile::open(path)
                                                                     : open_raw(path, inputs_[0]);
      if (!file) return named(std::move(file).error());
      return named(add_arrays(path, {{{}, 0, form_of(*file)}}, false, std::nullopt));
    }
    default:
      EC_CHECK_OK(need_single_input(path));
      groups_.push_back({{{0, path}}});
      return {};
  }
}

Status SampleCollector::add_listed(const ListedSample& listed, const fs::path& list) {
  if (listed.files.size() == 1 && listed.files[0].input.empty())
    return add_file(listed.files[0].path);
  SampleGroup sample;
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
    sample.values.push_back({*input, file.path});
  }
  for (size_t i = 0; i < given.size(); ++i)
    if (!given[i]) return fault(fmt::format("no value for input '{}'", printable(inputs_[i].name)));
  groups_.push_back(std::move(sample));
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
      labels = ValueLocation{0, path, names[i]};
      names.erase(names.begin() + static_cast<int64_t>(i));
      break;
    }
  std::vector<Candidate> arrays;
  for (const std::string& name : names) {
    Candidate candidate{name, 0, {}};
    // What no input asks for may be anything.
    if (names.size() == 1 || find_input(name) || name.starts_with("arr_")) {
      EC_TRY(const npy::ArrayFile file, npy::ArrayFile::open_npz(path, name));
      candidate.array = form_of(file);
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
    if (records[i].label) labels = ValueLocation{0, path, {}, *records[i].label};
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
    locations.push_back({i, path, chosen->name, chosen->item});
  }
  // Elements of a list are numbered on from those before.
  int64_t first = several || rows > 1 ? 0 : -1;
  if (several && !groups_.empty() && groups_.back().values[0].path == path)
    first = groups_.back().first_index + groups_.back().rows;
  groups_.push_back({std::move(locations), rows, first, labels});
  return {};
}

std::unique_ptr<SampleSource> file_source(std::vector<ModelInput> inputs,
                                          Preprocessing preprocessing,
                                          std::vector<SampleGroup> groups) {
  return std::make_unique<FileSource>(std::move(inputs), std::move(preprocessing),
                                      std::move(groups));
}

}  // namespace ec::quantize
