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

// Where the values of one input are stored.
struct ValueLocation {
  size_t input = 0;
  std::string path;  // a std::filesystem::path takes several times as much, and lists are long
  std::string array = {};  // name in a .npz file
  uint32_t item = 0;       // tensor in a .pt file
};

// Samples that are stored together: one, or as many as the arrays have rows. A file of a few bytes
// may have millions of rows, so they are not listed one by one.
struct SampleGroup {
  std::vector<ValueLocation> values;  // one for each input
  int64_t rows = 1;
  int64_t first_index = -1;  // of the first row, in its file; -1: the file is one sample
  std::optional<ValueLocation> label = std::nullopt;  // an array with a label for each row
};

// Sorts files into samples. Headers of arrays are read, images are not.
class SampleCollector {
 public:
  explicit SampleCollector(const std::vector<ModelInput>& inputs) : inputs_(inputs) {}

  Status add_file(const std::filesystem::path& path);
  Status add_listed(const ListedSample& listed, const std::filesystem::path& list);
  std::vector<SampleGroup> take() { return std::move(groups_); }

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
  std::vector<SampleGroup> groups_;
};

std::unique_ptr<SampleSource> file_source(std::vector<ModelInput> inputs,
                                          Preprocessing preprocessing,
                                          std::vector<SampleGroup> groups);

}  // namespace ec::quantize
