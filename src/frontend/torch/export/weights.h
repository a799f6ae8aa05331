// Weights of an exported program: raw storages with views of them, or pickled dictionaries in older
// files. A weight becomes a constant when it is first used; many are stored that no node reads.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "formats/torch/archive.h"
#include "formats/torch/tensor_data.h"
#include "frontend/torch/export/program.h"

namespace ec::torch::exported {

class Weights {
 public:
  // `name` is the program's ("model"); of several in one archive each has weights of its own.
  static Result<Weights> open(const Archive& archive, const std::string& name);

  bool has(const std::string& name) const;
  // Element type, sizes and row-major bytes. Errors: UndefinedName, BadTensorData, ...
  Result<TensorData> read(const std::string& name);

 private:
  struct Raw {
    WeightRecord record;
    std::string folder;
  };
  // A torch.save file within the archive.
  struct Pickled {
    explicit Pickled(Archive a, Pickle p)
        : archive(std::move(a)), pickle(std::move(p)), reader(archive, pickle, "data") {}
    Archive archive;
    Pickle pickle;
    TensorReader reader;
  };

  explicit Weights(const Archive& archive)
      : archive_(&archive), budget_(archive.file_size() + (size_t{16} << 20)) {}
  Status add_list(const std::string& folder, const std::string& record);
  Status add_pickle(const std::string& record);
  Result<TensorData> read_raw(const Raw& raw);

  const Archive* archive_;
  size_t budget_;
  std::map<std::string, Raw> raw_;
  std::vector<std::unique_ptr<Pickled>> pickles_;
};

}  // namespace ec::torch::exported
