// Where the weights of a layer stand in the file. `.h5` lists the weights of a layer by name,
// `.keras` numbers them in the group of an object; converters ask for both by the name that Keras
// gives the variable.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/hdf5/hdf5.h"
#include "frontend/keras/config.h"

namespace ec::keras {

using Names = std::vector<std::string>;

// The weights of one object: a layer, a layer inside a layer, or a model.
class Weights {
 public:
  Weights() = default;
  // A `.h5` file with a model, or the model.weights.h5 of a `.keras` archive.
  static Result<Weights> of_h5(std::shared_ptr<const hdf5::File> file);
  static Weights of_archive(std::shared_ptr<const hdf5::File> file);

  const hdf5::File& file() const { return *file_; }

  // The layers of a model, each with its own: by position in `layers`.
  // `container` is the name of another list of objects ("cells").
  Result<std::vector<Weights>> of_layers(const std::vector<LayerConfig>& layers, bool sequential,
                                         std::string_view container = {}) const;
  // An object inside this one: `attribute` is its place in an archive ("forward_layer/cell"),
  // `name` the part of the path in `.h5` ("forward_lstm"); without such a part all weights stay.
  Result<Weights> child(std::string_view attribute, std::string_view name) const;
  // The k-th half of a list of weights, for two objects whose names do not tell them apart.
  Weights part(size_t index, size_t count) const;

  // The datasets of variables that the object has, in the order of Keras. A name may list others
  // that earlier versions used ("kernel|depthwise_kernel"). Null where the file has no such weight.
  // Without names that are known, `.h5` files of other versions go by position where that is
  // allowed.
  Result<std::vector<std::optional<hdf5::Address>>> find(const Names& names,
                                                         bool by_position = true) const;
  bool is_archive() const { return archive_; }
  bool empty() const { return entries_.empty() && !group_; }

 private:
  struct Entry {
    std::string path;  // "conv2d/kernel"
    hdf5::Address address = 0;
  };

  std::shared_ptr<const hdf5::File> file_;
  bool archive_ = false;
  bool top_ = false;                    // the model of a `.h5` file
  std::optional<hdf5::Address> group_;  // archive: of the object; h5 top: model_weights
  std::vector<Entry> entries_;          // h5
};

}  // namespace ec::keras
