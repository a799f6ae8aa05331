// Pickles as PyTorch writes them, read without executing anything: the machine knows the opcodes of
// protocol 2 that torch.save and torch.jit.save use, and turns the few calls that rebuild tensors
// into plain records. Whatever else a pickle asks for is refused (UnsafePickle).
//
// Nodes live in one vector and refer to each other by index, so that a hostile pickle (cycles,
// millions of nested lists) costs memory in proportion to its size and nothing on the stack.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ec::torch {

enum class PickleKind : uint8_t {
  None,
  Bool,
  Int,
  Float,
  String,
  Tuple,
  List,
  Dict,     // items: key, value, key, value, ...
  Global,   // text: "module name"
  Storage,  // items: [element type (Global), key, device, count]
  Tensor,   // items: [storage, offset, sizes, strides] and for a quantised one [parameters]
  Device,   // text
  Complex,  // items: [real, imaginary]
  Object,   // text: class; items: [state] once it is built, [value] for an enumerator
  Opaque,   // the result of a call that was not made; only when `Describe`
};

using PickleRef = uint32_t;

struct PickleNode {
  PickleKind kind = PickleKind::None;
  bool flag = false;  // Bool; Object: an enumerator
  int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<PickleRef> items;
};

enum class PickleMode : uint8_t {
  Load,      // a TorchScript archive: only what a model needs
  Describe,  // a file of torch.save: classes are named, nothing is rebuilt
};

class Pickle {
 public:
  static Result<Pickle> read(std::span<const std::byte> bytes, PickleMode mode = PickleMode::Load);

  PickleRef root() const { return root_; }
  const PickleNode& operator[](PickleRef ref) const { return nodes_[ref]; }
  size_t size() const { return nodes_.size(); }
  // Requires a Dict; the value of a key that is a string, or null.
  const PickleNode* find(const PickleNode& dict, std::string_view key) const;
  // The classes that Describe met and did not build, in order of appearance.
  const std::vector<std::string>& classes() const { return classes_; }

 private:
  friend class PickleMachine;
  std::vector<PickleNode> nodes_;
  std::vector<std::string> classes_;
  PickleRef root_ = 0;
};

// "torch.nn.modules.linear.Linear" of a Global's "torch.nn.modules.linear Linear".
std::string dotted_name(std::string_view global);

}  // namespace ec::torch
