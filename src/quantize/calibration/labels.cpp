#include "quantize/calibration/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "formats/npy/npy.h"
#include "ops/convert.h"
#include "quantize/calibration/array_samples.h"
#include "support/input_file.h"
#include "support/strings.h"
#include "support/text_memory.h"

namespace ec::quantize {
namespace {

namespace fs = std::filesystem;

// More classes than any network has: a mistaken column.
constexpr int64_t kMaxLabel = 10'000'000;

std::optional<int64_t> label_number(std::string_view text) {
  const std::optional<int64_t> value = parse_int(text);
  return value && *value >= 0 && *value <= kMaxLabel ? value : std::nullopt;
}

// Labels as numbers where all texts are numbers, else as indices into their alphabetical order.
Labels labels_of_texts(std::span<const std::string_view> texts) {
  Labels labels;
  const bool numbers =
      std::all_of(texts.begin(), texts.end(), [](const auto& text) { return label_number(text); });
  if (numbers) {
    for (const std::string_view text : texts) labels.of_sample.push_back(*label_number(text));
    return labels;
  }
  std::map<std::string_view, int64_t> order;
  for (const std::string_view text : texts) order.emplace(text, 0);
  for (auto& [name, index] : order) {
    index = static_cast<int64_t>(labels.names.size());
    labels.names.emplace_back(name);
  }
  for (const std::string_view text : texts) labels.of_sample.push_back(order.at(text));
  return labels;
}

// Paths may hold spaces and commas: the last separator counts, tabs before commas before spaces.
LabelLine split_line(std::string_view line, size_t number) {
  for (const char separator : {'\t', ',', ' '}) {
    const size_t at = line.rfind(separator);
    if (at == std::string_view::npos) continue;
    return {number, trim(line.substr(0, at)), trim(line.substr(at + 1))};
  }
  return {number, {}, line};
}

// Numbers as the text file that they might have been.
Result<Blob> text_of_array(const fs::path& path) {
  Result<npy::Array> array = npy::load(path);
  if (!array) return std::move(array).error().file(path.string());
  Result<std::vector<int64_t>> values = label_values(*array);
  if (!values) return std::move(values).error().file(path.string());
  std::string text;
  for (const int64_t value : *values) text += std::to_string(value) + "\n";
  return Blob::copy_of(std::span<const char>(text));
}

Error bad_line(const fs::path& file, size_t line, std::string what) {
  return Error(Code::BadCalibrationData, std::move(what))
      .file(fmt::format("{}:{}", file.string(), line))
      .hint("write PATH<tab>LABEL on each line, the label a number from 0 or a class name");
}

}  // namespace

Labels labels_of_folders(const SampleSource& samples, const fs::path& root) {
  std::vector<std::string> folders;
  for (size_t i = 0; i < samples.size(); ++i) {
    const fs::path relative = fs::path(samples.name(i)).lexically_relative(root);
    if (relative.empty() || std::distance(relative.begin(), relative.end()) < 2) return {};
    folders.push_back(relative.begin()->string());
  }
  Labels labels = labels_of_texts(std::vector<std::string_view>(folders.begin(), folders.end()));
  labels.source =
      labels.names.empty() ? "folders, by number" : "folders, in alphabetical order from 0";
  return labels;
}

bool is_label_name(std::string_view name) {
  return name == "labels" || name == "label" || name == "y";
}

Result<std::vector<int64_t>> label_values(const npy::Array& array) {
  const std::optional<DType> dtype = dtype_of_array(array);
  if (!dtype || !is_integer(*dtype))
    return Error(Code::BadCalibrationData,
                 fmt::format("labels are integers, the array is {}", array_text(array)))
        .hint("save one integer per sample");
  std::vector<int64_t> values(static_cast<size_t>(count_elements(array.shape)));
  const Blob data = array.data.aligned();
  load<int64_t>({*dtype, array.shape, data.bytes().data()}, values);
  return values;
}

Result<Labels> labels_of_samples(SampleSource& samples) {
  Labels labels;
  std::optional<size_t> without;
  for (size_t i = 0; i < samples.size(); ++i) {
    EC_TRY(const std::optional<int64_t> label, samples.label(i));
    if (!label) {
      if (!without) without = i;
      continue;
    }
    if (*label < 0 || *label > kMaxLabel)
      return Error(Code::BadCalibrationData,
                   fmt::format("label {} is outside 0 to {}", *label, kMaxLabel))
          .file(samples.name(i))
          .hint("number the classes from 0");
    labels.of_sample.push_back(*label);
  }
  if (labels.of_sample.empty()) return labels;
  if (without)
    return Error(Code::BadCalibrationData, "the sample has no label, where others have one")
        .file(samples.name(*without))
        .hint("give labels for all samples, or for none");
  labels.source = "beside the samples, by number";
  return labels;
}

Result<LabelFile> read_label_file(const fs::path& path) {
  const bool numbers = to_lower(path.extension().string()) == ".npy";
  EC_TRY(Blob content, numbers ? text_of_array(path) : read_file(path));
  return parse_label_file(std::move(content), path);
}

Result<LabelFile> parse_label_file(Blob content, const fs::path& path) {
  const std::string_view text(reinterpret_cast<const char*>(content.bytes().data()),
                              content.size());
  const auto count = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  if (count > reading_allowance(text.size()) / sizeof(LabelLine))
    return Error(Code::TooLarge, fmt::format("the file has {} lines", count))
        .file(path.string())
        .hint("evaluate the data in several parts");
  LabelFile file{std::move(content), {}};
  std::vector<LabelLine>& lines = file.lines;
  lines.reserve(count + 1);
  LineReader reader(text);
  for (std::string_view raw; reader.next(raw);) {
    const std::string_view line = trim(raw);
    if (line.empty() || line.starts_with('#')) continue;
    const LabelLine parsed = split_line(line, reader.number());
    const std::string lower = to_lower(parsed.label.substr(0, 8));
    if (lines.empty() && (lower == "label" || lower == "class")) continue;  // names of the columns
    if (parsed.label.empty()) return bad_line(path, reader.number(), "no label on this line");
    lines.push_back(parsed);
  }
  if (lines.empty())
    return Error(Code::BadCalibrationData, "the file holds no labels")
        .file(path.string())
        .hint("write PATH<tab>LABEL on each line");
  return file;
}

Result<Labels> labels_of_lines(const std::vector<LabelLine>& lines, const fs::path& file) {
  std::vector<std::string_view> texts;
  texts.reserve(lines.size());
  size_t numbers = 0;
  for (const LabelLine& line : lines) {
    texts.push_back(line.label);
    numbers += label_number(line.label).has_value();
    // A file of numbers with one that is none is a mistake, not a class of that name.
    const std::optional<int64_t> value = parse_int(line.label);
    if (value && !label_number(line.label))
      return bad_line(file, line.line,
                      fmt::format("label {} is outside 0 to {}", *value, kMaxLabel));
  }
  if (numbers != 0 && numbers != lines.size())
    for (const LabelLine& line : lines)
      if (!label_number(line.label))
        return bad_line(file, line.line,
                        fmt::format("'{}' is no number, where other labels of the file are",
                                    printable(line.label)));
  Labels labels = labels_of_texts(texts);
  labels.source = fmt::format("{}, {}", printable(file.filename().string()),
                              labels.names.empty() ? "by number" : "names in alphabetical order");
  return labels;
}

}  // namespace ec::quantize
