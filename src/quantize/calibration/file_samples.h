// Files as samples: which values of which files make up each sample, and reading them one at a
// time.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/npy/npy.h"
#include "quantize/calibration/sample_files.h"
#include "quantize/calibration/sample_source.h"

namespace ec::quantize {

// Where the value of one input of a sample is stored.
struct ValueLocation {
  size_t input = 0;
  std::filesystem::path path;
  std::string array;  // name in a .npz file
  uint32_t item = 0;  // tensor in a .pt file
  int64_t row = 0;
};

// Where the label of a sample is stored: in an array with as many labels as the inputs have rows.
struct LabelLocation {
  ValueLocation location;
  int64_t count = 1;
};

struct FileSample {
  std::vector<ValueLocation> values;  // one for each input
  int64_t index = -1;                 // in its file; -1: the file is this one sample
  std::optional<LabelLocation> label;
};

// Sorts files into samples. Headers of arrays are read, images are not.
class SampleCollector {
 public:
  explicit SampleCollector(const std::vector<ModelInput>& inputs) : inputs_(inputs) {}

  Status add_file(const std::filesystem::path& path);
  Status add_listed(const ListedSample& listed, const std::filesystem::path& list);
  std::vector<FileSample> take() { return std::move(samples_); }

 private:
  // An array of a file: whose it is, and its form.
  struct Candidate {
    std::string name;  // empty: by position
    uint32_t item = 0;
    npy::Array array;
  };

  std::string input_names() const;
  std::optional<size_t> find_input(const std::string& name) const;
  Status need_single_input(const std::filesystem::path& path) const;
  Status add_npz(const std::filesystem::path& path);
  Status add_torch(const std::filesystem::path& path);
  // The arrays of all inputs: a sample, or as many as they have rows.
  Status add_arrays(const std::filesystem::path& path, const std::vector<Candidate>& arrays,
                    bool several, const std::optional<ValueLocation>& labels);
  Result<const Candidate*> candidate_for(size_t input, const std::vector<Candidate>& arrays) const;

  const std::vector<ModelInput>& inputs_;
  std::vector<FileSample> samples_;
};

std::unique_ptr<SampleSource> file_source(std::vector<ModelInput> inputs,
                                          Preprocessing preprocessing,
                                          std::vector<FileSample> samples);

}  // namespace ec::quantize
