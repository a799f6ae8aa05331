#include "formats/torch/pickle.h"

#include <algorithm>

#include "formats/torch/pickle_machine.h"

namespace ec::torch {

Result<Pickle> Pickle::read(std::span<const std::byte> bytes, PickleMode mode) {
  return PickleMachine(bytes, mode).run();
}

const PickleNode* Pickle::find(const PickleNode& dict, std::string_view key) const {
  for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const PickleNode& name = nodes_[dict.items[i]];
    if (name.kind == PickleKind::String && name.text == key) return &nodes_[dict.items[i + 1]];
  }
  return nullptr;
}

std::string dotted_name(std::string_view global) {
  std::string name(global);
  std::replace(name.begin(), name.end(), ' ', '.');
  return name;
}

}  // namespace ec::torch
