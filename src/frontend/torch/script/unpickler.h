// The objects of data.pkl and constants.pkl as values of the program: weights become constants of
// the graph when they are first read.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "formats/torch/tensor_data.h"
#include "frontend/torch/aten/operators.h"
#include "frontend/torch/script/library.h"
#include "frontend/torch/script/objects.h"

namespace ec::torch::script {

class Unpickler {
 public:
  // What only the interpreter can do.
  struct Hooks {
    std::function<std::shared_ptr<Instance>(std::string, const Definition&)> new_instance;
    // Runs __setstate__ of a module's class.
    std::function<Status(const std::shared_ptr<Instance>&, TorchValue state)> set_state;
  };

  Unpickler(const Archive& archive, const Pickle& pickle, std::string folder, Library& library,
            ec::Graph& graph, Hooks hooks);

  // The value of a node; the same one each time. `name` is the path of the attribute.
  Result<TorchValue> value(PickleRef ref, const std::string& name);
  // Tensors that the program wrote to, by name.
  std::vector<std::string> written() const;

 private:
  Result<TorchValue> make(PickleRef ref, const std::string& name);
  Result<TorchValue> container(const PickleNode& node, const std::string& name);
  Result<TorchValue> tensor(const PickleNode& node, const std::string& name);
  Result<TorchValue> object(const PickleNode& node, const std::string& name);
  Result<TorchValue> builtin_object(const PickleNode& node, const std::string& name);
  Result<TorchValue> packed_conv(const PickleNode& state, const std::string& name);
  Result<TorchValue> packed_cell(const PickleNode& state, const std::string& name);
  Result<PackedLinear> packed_linear(const PickleNode& state, const std::string& name);
  Result<ec::Tensor*> optional_tensor(PickleRef ref, const std::string& name);
  Result<std::vector<int64_t>> small_ints(PickleRef ref);

  const Pickle& pickle_;
  Library& library_;
  ec::Graph& graph_;
  Hooks hooks_;
  TensorReader reader_;
  enum class State : uint8_t { New, Started, Done };
  std::vector<State> states_;
  std::vector<TorchValue> values_;
  int depth_ = 0;
};

}  // namespace ec::torch::script
