// What joins or reduces several values: numbers, texts and lists alike.
#include <array>

#include "frontend/torch/script/builtins.h"
#include "frontend/torch/script/limits.h"
#include "frontend/torch/script/nesting.h"

namespace ec::torch::script {
namespace {

BuiltinResult add(const BuiltinCall& call) {
  if (call.args.size() != 2) return std::nullopt;
  const TorchList *a = list_of(call), *b = list_of(call, 1);
  if (a != nullptr && b != nullptr) {
    if (a->items.size() + b->items.size() > kMaxItems)
      return Error(Code::TooLarge, "a list holds too much");
    std::vector<TorchValue> items = a->items;
    items.insert(items.end(), b->items.begin(), b->items.end());
    return new_list(call, std::move(items));
  }
  if (const auto *x = call.args[0].get_if<std::string>(), *y = call.args[1].get_if<std::string>();
      x != nullptr && y != nullptr) {
    if (x->size() + y->size() > kMaxText) return Error(Code::TooLarge, "a text is too long");
    return TorchValue(*x + *y);
  }
  return add_numbers(call);
}

BuiltinResult multiply(const BuiltinCall& call) {
  const TorchList* list = list_of(call);
  const auto* times = call.args.size() == 2 ? call.args[1].get_if<int64_t>() : nullptr;
  if (list == nullptr || times == nullptr) return multiply_numbers(call);
  std::vector<TorchValue> items;
  if (*times > 0 && static_cast<uint64_t>(*times) > kMaxItems / memory_items(list->items))
    return Error(Code::TooLarge, "a list holds too much");
  for (int64_t i = 0; i < *times; ++i)
    items.insert(items.end(), list->items.begin(), list->items.end());
  return new_list(call, std::move(items));
}

// min and max of a list of numbers, or of two numbers.
template <bool largest>
BuiltinResult extreme(const BuiltinCall& call) {
  std::vector<TorchValue> items(call.args.begin(), call.args.end());
  if (const TorchList* list = list_of(call); list != nullptr && call.args.size() == 1)
    items = list->items;
  if (items.empty() || !all_numbers(items)) return std::nullopt;
  size_t best = 0;
  for (size_t i = 1; i < items.size(); ++i)
    if (largest ? real_of(items[i]) > real_of(items[best])
                : real_of(items[i]) < real_of(items[best]))
      best = i;
  return items[best];
}

BuiltinResult sum(const BuiltinCall& call) {
  const TorchList* list = list_of(call);
  if (list == nullptr || call.args.size() != 1 || !all_numbers(list->items)) return std::nullopt;
  TorchValue total(0);
  for (const TorchValue& item : list->items) {
    const TorchValue pair[] = {total, item};
    EC_TRY(std::optional<TorchValue> next, add_numbers({call.interpreter, pair, call.kwargs}));
    if (!next) return std::nullopt;
    total = std::move(*next);
  }
  return total;
}

template <bool every>
BuiltinResult all_or_any(const BuiltinCall& call) {
  const TorchList* list = list_of(call);
  if (list == nullptr || !all_numbers(list->items)) return std::nullopt;
  for (const TorchValue& item : list->items)
    if ((real_of(item) != 0) != every) return TorchValue(!every);
  return TorchValue(every);
}

constexpr std::array kJoins = {
    NamedBuiltin{"aten::add", add},
    NamedBuiltin{"aten::mul", multiply},
    NamedBuiltin{"prim::max", extreme<true>},
    NamedBuiltin{"prim::min", extreme<false>},
    NamedBuiltin{"aten::sum", sum},
    NamedBuiltin{"aten::all", all_or_any<true>},
    NamedBuiltin{"aten::any", all_or_any<false>},
};

}  // namespace

std::span<const NamedBuiltin> joining_builtins() { return kJoins; }

}  // namespace ec::torch::script
