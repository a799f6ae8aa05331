// Tensors of a torch.save file (.pt, .pth) as samples. The file's pickle is read as data; nothing
// in it is executed.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/npy/npy.h"
#include "formats/torch/archive.h"
#include "formats/torch/pickle.h"
#include "quantize/calibration/preprocess.h"

namespace ec::quantize {

class TorchFile {
 public:
  static Result<std::unique_ptr<TorchFile>> open(const std::filesystem::path& path);

  struct Entry {
    std::string name;  // the key in a dict; empty: by position
    torch::PickleRef tensor = 0;
  };
  struct Record {
    std::vector<Entry> tensors;             // one for each input
    std::optional<torch::PickleRef> label;  // a tensor or a number
  };
  // A tensor, a dict by input name, a list or tuple of such, or of as many tensors as there are
  // inputs; each of them with a label behind it, or with labels for all rows. Errors:
  // BadCalibrationData saying what stands there instead.
  Result<std::vector<Record>> records(const std::vector<ModelInput>& inputs) const;

  // A number is an array without dimensions.
  Result<npy::Array> read(torch::PickleRef tensor) const;
  Result<npy::Array> describe(torch::PickleRef tensor) const;  // without data

 private:
  TorchFile(torch::Archive archive, torch::Pickle pickle)
      : archive_(std::move(archive)), pickle_(std::move(pickle)) {}
  bool ends_with_label(const torch::PickleNode& node, size_t inputs) const;
  Result<Record> record_of(torch::PickleRef ref, size_t index,
                           const std::vector<ModelInput>& inputs) const;

  torch::Archive archive_;
  torch::Pickle pickle_;
};

}  // namespace ec::quantize
