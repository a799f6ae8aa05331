// Calls of PyTorch's operators with random arguments, for files of TorchScript and torch.export:
// from the signatures of the importer's table, or a call that PyTorch ran (operators.json) with
// something in it changed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/op/random_source.h"

namespace ec::fuzz {

struct TorchCall {
  std::string name, overload;  // "aten::add", "Tensor"
  // Numbers, texts, null and lists are themselves; a tensor is an object: "t" its element type by
  // TorchScript's number, "s" its shape, "v" its values where they are known, "known" where they
  // have to be. {"packed": kind} stands for the packed weights of a quantised layer.
  std::vector<nlohmann::json> args;
  std::vector<std::string> arg_names;  // of `args`, as far as the signature goes
  std::vector<std::pair<std::string, nlohmann::json>> kwargs;
  size_t num_results = 1;
  bool gives_tensor = true;
};

class TorchCalls {
 public:
  explicit TorchCalls(RandomSource& random);

  TorchCall call(const std::string& name);
  const std::string& any_name();
  nlohmann::json tensor();
  // A number, a text, a truth value, None or a list of some of them.
  nlohmann::json plain(int depth = 0);
  int64_t number();
  double real();
  // A thing that is wrong, in so many of a hundred cases; never in files that are about other
  // things.
  bool wrong(int percent) { return !tame_ && random_.chance(percent); }
  bool is_tensor(const nlohmann::json& value) const {
    return value.is_object() && value.contains("t");
  }

 private:
  TorchCall from_signature(const std::string& name);
  void disturb(nlohmann::json& value);
  nlohmann::json argument(const struct SignatureArgument& arg, bool quantised);
  int64_t element_type();
  std::vector<int64_t> shape();

  RandomSource& random_;
  const std::vector<nlohmann::json>& rows_;
  const bool tame_;
  std::vector<int64_t> usual_;  // the shape that most tensors of a file have
};

// The bytes of a tensor of a call, as many elements as its shape says; of recorded values those.
std::string torch_tensor_bytes(const nlohmann::json& tensor, RandomSource& random);
// By TorchScript's number; 0 for numbers that name no type.
size_t torch_element_size(int64_t type);
// No more than a file of a test may hold; else nothing.
bool torch_tensor_is_small(const nlohmann::json& tensor);

}  // namespace ec::fuzz
