#include "fuzz/op/recipes.h"

#include <array>
#include <optional>
#include <span>

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

const Tensor* operand_named(const Call& call, std::string_view name) {
  // The signature lists operands in order: "(x, w, bias?) -> y".
  std::string_view text = op_def(call.kind).signature.substr(1);
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const size_t end = text.find_first_of(",)");
    std::string_view own = text.substr(0, end);
    own = own.substr(0, own.find_first_of("?."));
    if (own == name) return call.inputs[i];
    if (end == std::string_view::npos || text[end] == ')') break;
    text = text.substr(std::min(text.size(), end + 2));
  }
  return nullptr;
}

// A number at the border of a rule, on either side of it; empty: the rule is about something else.
std::optional<int64_t> border_number(Builder& b, const Call& call, const Rule& rule) {
  const Tensor* other = operand_named(call, rule.other);
  const int64_t rank =
      other != nullptr && other->shape() ? static_cast<int64_t>(other->shape()->rank()) : 4;
  switch (rule.kind) {
    case RuleKind::Between:
      return b.random().one_of({rule.low - (rule.low > INT64_MIN ? 1 : 0), rule.low, rule.high,
                                rule.high + (rule.high < INT64_MAX ? 1 : 0)});
    case RuleKind::Axis:
    case RuleKind::AxisOrEnd:
    case RuleKind::NewAxis:
    case RuleKind::Axes:
    case RuleKind::Permutation:
      return b.random().one_of({-rank - 2, -rank - 1, -rank, rank - 1, rank, rank + 1});
    default:
      return std::nullopt;
  }
}

// An attribute at the border of what the op table allows.
void move_to_border(Builder& b, Call& call) {
  const std::span<const Rule> rules = op_def(call.kind).rules;
  if (rules.empty()) return b.disturb(call.attrs, 30);
  const Rule& rule = rules[b.random().index(rules.size())];
  const Field* field = call.attrs.schema().find(rule.subject);
  if (field == nullptr) return b.disturb(call.attrs, 30);
  const std::optional<int64_t> number = border_number(b, call, rule);
  if (field->kind == FieldKind::Int) {
    if (number) call.attrs.set(*field, *number);
    return;
  }
  if (field->kind != FieldKind::Ints) return;
  auto list = std::get<std::vector<int64_t>>(call.attrs.get(*field));
  if (number && !list.empty())
    list[b.random().index(list.size())] = *number;
  else
    list.resize(b.random().index(7), 1);  // rules about the length
  call.attrs.set(*field, list);
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
      return move_to_border(b, call);
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
