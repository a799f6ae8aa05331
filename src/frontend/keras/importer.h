// A Keras model becomes a graph: calls in order, models inside models in place.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frontend/frontend.h"
#include "frontend/keras/config.h"
#include "frontend/keras/weights.h"
#include "frontend/state_builder.h"
#include "support/weight_memory.h"

namespace ec::keras {

struct LayerRow;

// For models of which not every layer can be read from the file.
std::string export_advice();

class Importer {
 public:
  // `model_bytes`: the size of the file.
  Importer(std::string file, size_t model_bytes, const ImportOptions& options,
           DiagnosticSink& sink);

  // `version` is that of Keras ("3.15.1"), empty where the file does not tell.
  Result<std::unique_ptr<ec::Graph>> run(const LayerConfig& model, const Weights& weights,
                                         std::string version);

  ec::Graph& graph() { return *graph_; }
  int keras_version() const { return release_.generation; }
  Release keras_release() const { return release_; }

  // Calls a layer or a model; what goes wrong is reported and gives Failed.
  Value call(const LayerConfig& layer, const Weights& weights, std::vector<Value> args,
             Value kwargs, const std::string& scope, int depth);
  Value call_model(const LayerConfig& layer, const Weights& weights, const Value& inputs,
                   const std::string& scope, int depth);

  // A weight as it stands in the file, once for all who ask.
  Result<ec::Tensor*> constant(const hdf5::File& file, hdf5::Address address,
                               const std::string& name);
  // Constants that were made of a weight, under a key that tells how.
  std::map<std::pair<const ec::Tensor*, std::string>, ec::Tensor*>& derived() { return derived_; }

  void report(Error error, const std::string& node, const std::string& type);
  DiagnosticSink& sink() { return sink_; }
  StateBuilder& states() { return states_; }
  WeightMemory& weight_memory() { return weight_memory_; }
  // Bytes that tables may still take whose sizes are numbers of the file.
  size_t& table_room() { return table_room_; }
  // Tensors that may still be added.
  size_t& tensor_room() { return tensor_room_; }

 private:
  struct Scope;  // one run of a model

  // --- keep_layer.cpp
  // How a layer is converted; null: its class is not known.
  static const LayerRow* row_of(const LayerConfig& layer);
  static Error unknown_class(const LayerConfig& layer, const std::string& name);
  // What a call may change before it fails.
  struct BeforeCall {
    size_t operations = 0, state_changes = 0, errors = 0;
  };
  // A layer that cannot be converted: a custom operation where that is asked for, else the error is
  // reported.
  Value give_up(Error error, const std::string& name, const std::string& type,
                const std::vector<Value>& args, const Value& kwargs, const BeforeCall& before);

  Error explained(Error error) const;
  bool check_classes(const LayerConfig& layer, const std::string& scope, int depth);
  bool check_model(const LayerConfig& model, const std::string& scope, int depth);
  Result<TensorType> input_type(const LayerConfig& layer, const std::string& name) const;
  std::vector<Value> add_inputs(const ModelConfig& model, const LayerConfig& source);
  Value run_sequential(const ModelConfig& model, const std::vector<Weights>& weights, Value x,
                       const std::string& scope, int depth);
  Value run_functional(const ModelConfig& model, const std::vector<Weights>& weights,
                       const std::vector<Value>& inputs, const std::string& scope, int depth,
                       std::vector<Value>* outputs);

  std::string file_;
  const ImportOptions& options_;
  DiagnosticSink& sink_;
  std::unique_ptr<ec::Graph> graph_;
  StateBuilder states_;
  WeightMemory weight_memory_;
  Release release_;
  size_t errors_ = 0;
  size_t calls_ = 0;
  size_t table_room_ = size_t{32} << 20;
  size_t tensor_room_;
  std::map<hdf5::Address, ec::Tensor*> constants_;
  std::map<std::pair<const ec::Tensor*, std::string>, ec::Tensor*> derived_;
  std::map<std::string, size_t> refused_;  // classes and how often they stand in the model
};

}  // namespace ec::keras
