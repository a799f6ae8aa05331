// The classes that labelled samples belong to, by folder, by a file of labels, or by what their own
// files say.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "formats/npy/npy.h"
#include "quantize/calibration/sample_source.h"

namespace ec::quantize {

struct Labels {
  std::vector<int64_t> of_sample;  // one for each sample; empty: none are known
  std::vector<std::string> names;  // by label; empty where labels are numbers
  std::string source;              // for reports: "folders, in alphabetical order"
};

// The labels of class-per-folder sets: the first folder below `root` on the way to a sample.
// Folders that are all numbers are labels themselves, else their alphabetical order counts from 0.
// Empty where a sample stands in no folder.
Labels labels_of_folders(const SampleSource& samples, const std::filesystem::path& root);

// The labels that samples' own files hold; empty where none does. BadCalibrationData where only
// some do, and where labels are no integers from 0.
Result<Labels> labels_of_samples(SampleSource& samples);
// What an array of labels is called beside those of the inputs: labels, label or y.
bool is_label_name(std::string_view name);
// The integers of an array of labels. BadCalibrationData: it holds something else.
Result<std::vector<int64_t>> label_values(const npy::Array& array);

// One line of a labels file: "PATH<tab, comma or space>LABEL", or the label alone. The texts are
// those of the file.
struct LabelLine {
  size_t line = 0;
  std::string_view path, label;
};
struct LabelFile {
  Blob content;
  std::vector<LabelLine> lines;
};
// A text file, or a .npy file with one integer per sample. Errors: BadCalibrationData naming the
// line; TooLarge where the lines take far more memory than the file.
Result<LabelFile> read_label_file(const std::filesystem::path& path);
// The same of a text file's content; `path` is for messages.
Result<LabelFile> parse_label_file(Blob content, const std::filesystem::path& path);
// Numbers where all are numbers, else names whose alphabetical order counts from 0.
Result<Labels> labels_of_lines(const std::vector<LabelLine>& lines,
                               const std::filesystem::path& file);

}  // namespace ec::quantize
