// What a converter sees of one call of a layer or operation: its configuration, arguments and
// weights, and the graph to build into. Problems are remembered (GraphBuilder).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontend/graph_builder.h"
#include "frontend/keras/config.h"
#include "frontend/keras/weights.h"

namespace ec::keras {

class Importer;
struct LayerRow;

class LayerCall : public GraphBuilder {
 public:
  LayerCall(Importer& importer, Location location, const LayerConfig& layer, Weights weights,
            std::vector<Value> args, Value kwargs, int depth);

  Importer& importer() const { return importer_; }
  const LayerConfig& layer() const { return layer_; }
  const Weights& weights() const { return weights_; }
  int depth() const { return depth_; }
  int keras_version() const;  // 2 or 3
  Release keras_release() const;

  // What a row of the table makes of the call. Every call reads a tensor: one that has none is an
  // error, which its converter does not see.
  Value convert(const LayerRow& row);
  // Whether a table of so many numbers may be made, where the file says how many; an error
  // otherwise.
  bool afford(int64_t count);

  // --- configuration ----------------------------------------------------------------------------
  const Value& config(std::string_view key) const { return layer_.config[key]; }
  bool has(std::string_view key) const { return layer_.config.has(key); }
  int64_t integer(std::string_view key);  // an error where it is missing
  int64_t integer(std::string_view key, int64_t otherwise) const;
  double number(std::string_view key, double otherwise) const;
  bool flag(std::string_view key, bool otherwise) const;
  std::string text(std::string_view key, std::string_view otherwise = {}) const;
  // A list of `count` integers; one number stands for all of them. 0: of any length.
  Ints ints(std::string_view key, size_t count = 0);
  Ints ints_of(const Value& value, std::string_view what, size_t count = 0);
  // The same within what windows and sizes can be.
  Ints window(std::string_view key, size_t count);
  bool channels_first() const { return text("data_format") == "channels_first"; }

  // --- arguments --------------------------------------------------------------------------------
  // By position or by name; None where it was not given.
  const Value& arg(size_t index, std::string_view name) const;
  const std::vector<Value>& args() const { return args_; }
  const Value& kwargs() const { return kwargs_; }
  Tensor* x();  // the first tensor
  Tensor* float_x() { return to_float(x()); }
  Tensors inputs();      // all tensors of the first argument
  Tensor* mask() const;  // of the first tensor, or given
  // A number, a nested list of them or a tensor, as a tensor; an error for None.
  Tensor* tensor(const Value& value, DType if_number = DType::F32);
  // The same with null for None.
  Tensor* optional_tensor(const Value& value, DType if_number = DType::F32);

  // --- weights ----------------------------------------------------------------------------------
  // Names the variables that the object has with this configuration, in Keras's order.
  void variables(const Names& names) { variables(weights_, names); }
  void variables(const Weights& weights, const Names& names, bool by_position = true);
  // One of them as real numbers; an error where the file lacks it.
  Tensor* weight(std::string_view name);
  bool has_weight(std::string_view name) const;
  // As it is stored.
  Tensor* stored_weight(std::string_view name);
  // The same values in another order and shape, once for all calls of a layer.
  Tensor* permuted(Tensor* weight, const Ints& perm, const Ints& shape = {});

  // --- other layers -----------------------------------------------------------------------------
  // Calls a layer that stands inside this one.
  Value call(const LayerConfig& inner, const Weights& weights, std::vector<Value> args,
             Value kwargs = Value::dict());
  Tensor* call_one(const LayerConfig& inner, const Weights& weights, Tensor* x);
  // The activation that a configuration names, on x.
  Tensor* activate(Tensor* x, std::string_view key = "activation");

 private:
  Tensor* turned(Tensor* weight, const Ints& perm);

  Importer& importer_;
  const LayerConfig& layer_;
  Weights weights_;
  std::vector<Value> args_;
  Value kwargs_;
  int depth_;
  std::vector<std::pair<std::string, std::optional<hdf5::Address>>> variables_;
};

// An activation by its configuration: a name, a function or a layer.
Tensor* activation(LayerCall& c, const Value& spec, Tensor* x);

}  // namespace ec::keras
