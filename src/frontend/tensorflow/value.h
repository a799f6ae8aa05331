// What flows along an edge of a TensorFlow graph while it is imported.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/graph.h"

namespace ec::tf {

struct TfValue {
  enum class Kind : uint8_t {
    None,      // not computed
    Tensor,    // numbers
    Variable,  // a handle: `id` is the variable
    List,      // a TensorList: `id` is the list
    Text,      // a string tensor
    Opaque,    // a handle of something that is not supported; its producer was reported
    Dead,      // the branch that is not taken
    Failed,    // the producer failed and was reported
  };
  Kind kind = Kind::None;
  bool complex = false;  // a Tensor with a last dimension of (real, imaginary)
  uint32_t id = 0;
  ec::Tensor* tensor = nullptr;

  static TfValue of(ec::Tensor* tensor, bool complex = false) {
    return {Kind::Tensor, complex, 0, tensor};
  }
  static TfValue variable(uint32_t id) { return {Kind::Variable, false, id, nullptr}; }
  static TfValue list(uint32_t id) { return {Kind::List, false, id, nullptr}; }
  static TfValue failed() { return {Kind::Failed, false, 0, nullptr}; }
  static TfValue dead() { return {Kind::Dead, false, 0, nullptr}; }
  bool is_tensor() const { return kind == Kind::Tensor; }
};

// A list of tensors of one shape. A stack holds all elements along its first dimension; without one
// nothing was written yet.
struct TensorList {
  ec::Tensor* stack = nullptr;
  ec::Tensor* length = nullptr;  // i64, rank 0; of a list without a stack
  DType dtype = DType::F32;
  std::optional<Shape> element;  // what is known of the elements
  // In a loop that collects its results: the elements are never read there, and what the last
  // iteration wrote is all that is kept.
  bool collects = false;
  ec::Tensor* written = nullptr;
};

}  // namespace ec::tf
