// The table itself: pointers to all definitions, in the order of ops.def.
#include <array>
#include <unordered_map>

#include "ops/op_def.h"
#include "support/strings.h"

namespace ec {
namespace {

constexpr std::array<const OpDef*, 0
#define EC_OP(Name, text, AttrsType) +1
#include "ops/ops.def"
#undef EC_OP
                     >
    kTable = {
#define EC_OP(Name, text, AttrsType) &ops::k##Name##Def,
#include "ops/ops.def"
#undef EC_OP
};

// Counts the names of one side of a signature: "(x, w, bias?)" -> {2, 3}.
Arity count_names(std::string_view side) {
  Arity arity;
  side = trim(side);
  if (!side.empty() && side.front() == '(') side = side.substr(1, side.size() - 2);
  if (trim(side).empty()) return arity;
  for (std::string_view name : split(side, ',')) {
    name = trim(name);
    if (name.ends_with("...")) {
      arity.max = -1;
    } else {
      if (!name.ends_with("?")) ++arity.min;
      if (arity.max >= 0) ++arity.max;
    }
  }
  return arity;
}

struct Arities {
  Arity inputs, outputs;
};

// Graphs ask for every operation they add, so the signatures are read once.
const Arities& arities_of(OpKind kind) {
  static const auto kArities = [] {
    std::array<Arities, kTable.size()> all;
    for (size_t i = 0; i < kTable.size(); ++i) {
      const std::string_view signature = kTable[i]->signature;
      const size_t arrow = signature.find("->");
      all[i] = {count_names(signature.substr(0, arrow)), count_names(signature.substr(arrow + 2))};
    }
    return all;
  }();
  return kArities[static_cast<size_t>(kind)];
}

}  // namespace

Arity OpDef::inputs() const { return arities_of(kind).inputs; }
Arity OpDef::outputs() const { return arities_of(kind).outputs; }

std::span<const OpDef* const> all_ops() { return kTable; }

const OpDef& op_def(OpKind kind) { return *kTable[static_cast<size_t>(kind)]; }

const OpDef* find_op(std::string_view name) {
  static const auto* const kByName = [] {
    auto* map = new std::unordered_map<std::string_view, const OpDef*>;  // NOLINT: lives for ever
    for (const OpDef* def : kTable) map->emplace(def->name, def);
    return map;
  }();
  const auto it = kByName->find(name);
  return it == kByName->end() ? nullptr : it->second;
}

}  // namespace ec
