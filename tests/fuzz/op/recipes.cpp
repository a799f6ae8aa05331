#include "fuzz/op/recipes.h"

#include <array>
#include <optional>

namespace ec::fuzz {
namespace {

using Table = std::array<const Recipe*, 256>;

const Table& table() {
  static const Table kTable = [] {
    Table list{};
    for (const std::span<const Recipe> family :
         {kElementwiseRecipes, kReduceRecipes, kNormRecipes, kLinearRecipes, kWindowRecipes,
          kImageRecipes, kSequenceRecipes, kSignalRecipes, kShapeRecipes, kMovementRecipes,
          kIndexRecipes, kQuantRecipes, kControlRecipes})
      for (const Recipe& recipe : family) list[static_cast<size_t>(recipe.kind)] = &recipe;
    return list;
  }();
  return kTable;
}

// Some tensor: one that is there, or a new one whose values may be anything.
Tensor* some_tensor(Builder& b, DType common, int64_t rank) {
  if (!b.pool().empty() && b.random().chance(35)) return b.random().one_of(b.pool());
  const DType dtype = b.random().chance(65) ? common : b.any_type();
  const int64_t own = b.random().chance(65) ? rank : b.random().pick(0, 3);
  Sizes sizes = b.shape(own);
  Value value =
      b.random().chance(50) ? b.hostile_value(dtype, sizes) : b.random_value(dtype, sizes);
  Tensor* tensor = b.made(std::move(value), 40);
  b.keep(tensor);
  return tensor;
}

}  // namespace

const Recipe* find_recipe(OpKind kind) { return table()[static_cast<size_t>(kind)]; }

void fill_wild(Builder& b, Call& call) {
  const OpDef& def = op_def(call.kind);
  const Arity inputs = def.inputs(), outputs = def.outputs();
  const int64_t most = inputs.max < 0 ? inputs.min + 4 : inputs.max;
  const int64_t count = b.random().pick(inputs.min, most);
  const DType common = b.any_type();
  const int64_t rank = b.random().pick(0, 5);
  for (int64_t i = 0; i < count; ++i)
    call.inputs.push_back(i >= inputs.min && b.random().chance(20) ? nullptr
                                                                   : some_tensor(b, common, rank));
  call.attrs = b.attrs_of(call.kind);
  b.disturb(call.attrs, 50);
  call.outputs = static_cast<size_t>(
      b.random().pick(outputs.min, outputs.max < 0 ? outputs.min + 3 : outputs.max));
}

void disturb_call(Builder& b, Call& call) {
  const bool has_fields = !call.attrs.schema().fields.empty();
  switch (b.random().pick(has_fields ? 0 : 2, 6)) {
    case 0:
    case 1: {
      const auto fields = static_cast<int>(call.attrs.schema().fields.size());
      b.disturb(call.attrs, 100 / fields + 1);
      return;
    }
    case 2:  // another tensor
    case 3:
      if (!call.inputs.empty())
        call.inputs[b.random().index(call.inputs.size())] =
            some_tensor(b, b.real_type(), b.random().pick(0, 5));
      return;
    case 4: {  // other values in the same place
      if (call.inputs.empty()) return;
      Tensor*& operand = call.inputs[b.random().index(call.inputs.size())];
      if (operand == nullptr) return;
      const std::optional<Sizes> sizes = b.sizes_of(operand);
      if (sizes) operand = b.made(b.hostile_value(operand->dtype(), *sizes), 60);
      return;
    }
    case 5:  // an operand less, or absent
      if (call.inputs.empty()) return;
      if (b.random().chance(50))
        call.inputs.pop_back();
      else
        call.inputs[b.random().index(call.inputs.size())] = nullptr;
      return;
    default:
      call.outputs = static_cast<size_t>(b.random().pick(0, 4));
  }
}

}  // namespace ec::fuzz
