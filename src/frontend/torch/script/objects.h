// What a TorchScript program's names can stand for beyond numbers, containers and tensors.
#pragma once

#include <map>
#include <string>

#include "formats/torch/pickle.h"
#include "frontend/torch/script/ast.h"
#include "frontend/torch/value.h"

namespace ec::torch::script {

struct Frame;

// A module or an instance of a class.
struct Instance : TorchObject {
  std::string class_name;       // "__torch__.torch.nn.modules.conv.Conv2d"
  const Class* type = nullptr;  // null for classes built into PyTorch
  const SourceFile* file = nullptr;
  std::string path;  // from the root module: "layer1.0.conv2"
  // Attributes that were read or stored; others wait in the pickle until they are asked for, so
  // that weights which nothing uses cost nothing.
  std::map<std::string, TorchValue, std::less<>> attributes;
  std::map<std::string, PickleRef, std::less<>> stored;
};

struct FunctionValue : TorchObject {
  const Function* function = nullptr;
  const SourceFile* file = nullptr;
  std::weak_ptr<Frame*> enclosing;  // of a nested function (fork): runs while its frame is there
};

struct ClassValue : TorchObject {
  std::string name;
  const Class* type = nullptr;
  const SourceFile* file = nullptr;
};

struct Enumerator : TorchObject {
  std::string class_name, name;
  TorchValue value;
};

// The value of `uninitialized(T)`: what a branch assigns after it raised.
struct Uninitialized : TorchObject {};

// A name whose values the sides of an `if` could not agree on; an error when it is read.
struct Undecided : TorchObject {};

template <class T>
std::shared_ptr<T> as_object(const TorchValue& value) {
  const auto* object = value.get_if<TorchValue::Object>();
  return object == nullptr ? nullptr : std::dynamic_pointer_cast<T>(*object);
}

}  // namespace ec::torch::script
