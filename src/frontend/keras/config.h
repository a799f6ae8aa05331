// The layers and calls of a Keras model as its configuration lists them, in one form for all
// generations of the format.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/keras/value.h"

namespace ec::keras {

// The Keras that wrote a file: 3.8 is {3, 8}. Keras 1 counts as 2, which it computes like.
struct Release {
  int generation = 3, update = 0;
  auto operator<=>(const Release&) const = default;
};
// "3.15.1"; a version that is missing or has no such form stands for the newest.
Release read_release(std::string_view version);

// A tensor by its place: which result of which call of a layer.
struct TensorPlace {
  std::string layer;
  int64_t node = 0, tensor = 0;
};

struct LayerConfig {
  std::string name;
  std::string class_name;  // without a package
  std::string package;     // of a registered class: "demo" of "demo>Net"
  std::string module;      // empty where the format has none
  Value config, build_config;
  std::vector<Value> calls;   // inbound nodes as they stand in the file
  bool is_operation = false;  // of keras.ops, no layer

  bool is_model() const;       // Sequential or functional
  bool is_functional() const;  // has calls of its own
};

struct NamedPlace {
  std::string name;  // key of a dict; else empty
  TensorPlace place;
};

struct ModelConfig {
  std::string name;
  bool sequential = false;
  std::vector<LayerConfig> layers;
  std::vector<NamedPlace> inputs, outputs;
};

// {"class_name": ..., "config": ...} of a layer, a wrapped layer or an activation.
LayerConfig read_layer(const Value& entry);
// The layers of a model's configuration. Errors name what is missing.
Result<ModelConfig> read_model(const LayerConfig& model);

// Whether a value names a tensor: ["layer", 0, 0] of Keras 2, __keras_tensor__ of Keras 3.
bool is_old_place(const Value& value);
bool is_tensor_object(const Value& value);
TensorPlace old_place(const Value& value);
TensorPlace place_of_tensor_object(const Value& value);

// Class names as Keras makes names of objects: "Conv2D" to "conv2d", "PReLU" to "p_re_lu".
std::string snake_case(std::string_view class_name);

}  // namespace ec::keras
