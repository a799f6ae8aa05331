// Lists, tuples and dicts.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frontend/torch/script/builtins.h"
#include "frontend/torch/script/interpreter.h"
#include "frontend/torch/script/limits.h"
#include "frontend/torch/script/nesting.h"

namespace ec::torch::script {

namespace {

using List = TorchValue::List;
using Dict = TorchValue::Dict;

TorchDict* dict_of(const BuiltinCall& call) {
  const TorchValue* value = call.arg(0);
  const auto* dict = value == nullptr ? nullptr : value->get_if<Dict>();
  return dict == nullptr ? nullptr : dict->get();
}

bool is_container(const TorchValue& value) { return value.items() != nullptr || value.is<Dict>(); }

// Before a container takes a value in.
Status may_take(const BuiltinCall& call, const void* container, size_t size,
                const TorchValue& value) {
  EC_CHECK_OK(call.interpreter.may_change(container));
  EC_CHECK_OK(call.interpreter.made(memory_items(value)));
  if (size >= kMaxItems) return Error(Code::TooLarge, "a list holds too much");
  return is_container(value) ? call.interpreter.check_nested(value, container) : Status();
}

Error not_known() { return Error(Code::DataDependent, "this index"); }

// A position in a list, negative ones from the end; `size` itself is allowed for insert.
Result<size_t> position(const TorchValue& key, size_t size) {
  if (key.is<SymScalar>() || key.is_tensor()) return not_known();
  const auto* index = key.get_if<int64_t>();
  const auto count = static_cast<int64_t>(size);
  if (index == nullptr || *index < -count || *index >= count)
    return Error(Code::BadValue,
                 fmt::format("{} is no position in a list of {}", describe(key), size));
  return static_cast<size_t>(*index < 0 ? *index + count : *index);
}

auto find_key(TorchDict& dict, const TorchValue& key) {
  return std::find_if(dict.items.begin(), dict.items.end(), [&](const auto& item) {
    return same_value(item.first, key).value_or(false);
  });
}

// --- making and reading --------------------------------------------------------------------------

BuiltinResult length(const BuiltinCall& call) {
  if (call.args.size() != 1) return std::nullopt;
  if (const auto* items = call.args[0].items())
    return TorchValue(static_cast<int64_t>(items->size()));
  if (const TorchDict* dict = dict_of(call))
    return TorchValue(static_cast<int64_t>(dict->items.size()));
  if (const auto* text = call.args[0].get_if<std::string>())
    return TorchValue(static_cast<int64_t>(text->size()));
  return std::nullopt;
}

BuiltinResult make_list(const BuiltinCall& call) {
  if (call.args.empty()) return new_list(call, {});
  if (const auto* items = call.args[0].items()) return new_list(call, *items);
  if (const auto* text = call.args[0].get_if<std::string>()) {
    std::vector<TorchValue> items;
    for (const char c : *text) items.emplace_back(std::string(1, c));
    return new_list(call, std::move(items));
  }
  return std::nullopt;
}

BuiltinResult copy(const BuiltinCall& call) {
  if (const TorchList* list = list_of(call)) return new_list(call, list->items);
  if (const TorchDict* dict = dict_of(call)) {
    auto made = std::make_shared<TorchDict>(*dict);
    call.interpreter.created(made.get());
    return TorchValue(std::move(made));
  }
  return std::nullopt;
}

BuiltinResult get_item(const BuiltinCall& call) {
  if (call.args.size() != 2 || (!is_container(call.args[0]) && !call.args[0].is<std::string>()))
    return std::nullopt;
  EC_TRY(TorchValue value, item_of(call.args[0], call.args[1]));
  return value;
}

BuiltinResult contains(const BuiltinCall& call) {
  if (call.args.size() != 2) return std::nullopt;
  if (TorchDict* dict = dict_of(call))
    return TorchValue(find_key(*dict, call.args[1]) != dict->items.end());
  if (const auto *text = call.args[0].get_if<std::string>(),
      *part = call.args[1].get_if<std::string>();
      text != nullptr && part != nullptr)
    return TorchValue(text->find(*part) != std::string::npos);
  const auto* items = call.args[0].items();
  if (items == nullptr) return std::nullopt;
  for (const TorchValue& item : *items)
    if (same_value(item, call.args[1]).value_or(false)) return TorchValue(true);
  return TorchValue(false);
}

// list[start:end:step]
BuiltinResult slice(const BuiltinCall& call) {
  const TorchList* list = list_of(call);
  const auto* text = call.args.empty() ? nullptr : call.args[0].get_if<std::string>();
  if (list == nullptr && text == nullptr) return std::nullopt;
  const auto size = static_cast<int64_t>(list != nullptr ? list->items.size() : text->size());
  const auto number = [&](size_t i, int64_t otherwise) -> Result<int64_t> {
    const TorchValue* value = call.arg(i);
    if (value == nullptr || value->is_none()) return otherwise;
    if (const auto* integer = value->get_if<int64_t>()) return *integer;
    return not_known();
  };
  EC_TRY(const int64_t step, number(3, 1));
  if (step == 0) return Error(Code::BadValue, "a slice of step zero");
  const auto bound = [&](int64_t at) {
    if (at < 0) at += size;
    return std::clamp<int64_t>(at, step > 0 ? 0 : -1, step > 0 ? size : size - 1);
  };
  EC_TRY(int64_t start, number(1, step > 0 ? 0 : size - 1));
  start = bound(std::max(start, -size - 1));
  EC_TRY(int64_t end, number(2, step > 0 ? size : -size - 1));
  end = bound(std::max(end, -size - 1));
  std::vector<TorchValue> items;
  std::string part;
  for (int64_t i = start; step > 0 ? i < end : i > end; i += step) {
    if (list != nullptr)
      items.push_back(list->items[static_cast<size_t>(i)]);
    else
      part += (*text)[static_cast<size_t>(i)];
    if (step > size || step < -size) break;  // the next would be outside, and may overflow
  }
  return list != nullptr ? new_list(call, std::move(items)) : TorchValue(std::move(part));
}

BuiltinResult index_of(const BuiltinCall& call) {
  const TorchList* list = list_of(call);
  if (list == nullptr || call.args.size() != 2 || !call.args[1].is_number()) return std::nullopt;
  for (size_t i = 0; i < list->items.size(); ++i)
    if (same_value(list->items[i], call.args[1]).value_or(false))
      return TorchValue(static_cast<int64_t>(i));
  return Error(Code::BadValue, "a list does not have the value it is searched for");
}

BuiltinResult count(const BuiltinCall& call) {
  const TorchList* list = list_of(call);
  if (list == nullptr || call.args.size() != 2) return std::nullopt;
  int64_t found = 0;
  for (const TorchValue& item : list->items)
    found += same_value(item, call.args[1]).value_or(false) ? 1 : 0;
  return TorchValue(found);
}

// --- changing ------------------------------------------------------------------------------------

BuiltinResult append(const BuiltinCall& call) {
  TorchList* list = list_of(call);
  if (list == nullptr || call.args.size() != 2) return std::nullopt;
  EC_CHECK_OK(may_take(call, list, list->items.size(), call.args[1]));
  list->items.push_back(call.args[1]);
  return call.args[0];
}

BuiltinResult extend(const BuiltinCall& call) {
  TorchList* list = list_of(call);
  const auto* more = call.args.size() == 2 ? call.args[1].items() : nullptr;
  if (list == nullptr || more == nullptr) return std::nullopt;
  const std::vector<TorchValue> items = *more;
  EC_CHECK_OK(may_take(call, list, list->items.size() + items.size(), TorchValue()));
  for (const TorchValue& item : items) {
    EC_CHECK_OK(may_take(call, list, list->items.size(), item));
    list->items.push_back(item);
  }
  return call.args[0];
}

BuiltinResult insert(const BuiltinCall& call) {
  TorchList* list = list_of(call);
  if (list == nullptr || call.args.size() != 3) return std::nullopt;
  const auto* at = call.args[1].get_if<int64_t>();
  if (at == nullptr) return not_known();
  EC_CHECK_OK(may_take(call, list, list->items.size(), call.args[2]));
  const auto size = static_cast<int64_t>(list->items.size());
  const int64_t where = std::clamp<int64_t>(*at < 0 ? *at + size : *at, 0, size);
  list->items.insert(list->items.begin() + where, call.args[2]);
  return TorchValue();
}

BuiltinResult pop(const BuiltinCall& call) {
  if (TorchDict* dict = dict_of(call)) {
    if (call.args.size() < 2) return std::nullopt;
    EC_CHECK_OK(call.interpreter.may_change(dict));
    const auto found = find_key(*dict, call.args[1]);
    if (found == dict->items.end()) {
      if (call.args.size() > 2) return call.args[2];
      return Error(Code::BadValue, "a dictionary lacks a key");
    }
    TorchValue value = std::move(found->second);
    dict->items.erase(found);
    return value;
  }
  TorchList* list = list_of(call);
  if (list == nullptr) return std::nullopt;
  EC_CHECK_OK(call.interpreter.may_change(list));
  EC_TRY(const size_t at,
         position(call.args.size() > 1 ? call.args[1] : TorchValue(-1), list->items.size()));
  TorchValue value = std::move(list->items[at]);
  list->items.erase(list->items.begin() + static_cast<std::ptrdiff_t>(at));
  return value;
}

BuiltinResult clear(const BuiltinCall& call) {
  if (TorchList* list = list_of(call)) {
    EC_CHECK_OK(call.interpreter.may_change(list));
    list->items.clear();
    return TorchValue();
  }
  TorchDict* dict = dict_of(call);
  if (dict == nullptr) return std::nullopt;
  EC_CHECK_OK(call.interpreter.may_change(dict));
  dict->items.clear();
  return TorchValue();
}

BuiltinResult set_item(const BuiltinCall& call) {
  if (call.args.size() != 3) return std::nullopt;
  if (TorchList* list = list_of(call)) {
    EC_CHECK_OK(may_take(call, list, 0, call.args[2]));
    EC_TRY(const size_t at, position(call.args[1], list->items.size()));
    list->items[at] = call.args[2];
    return call.args[0];
  }
  TorchDict* dict = dict_of(call);
  if (dict == nullptr) return std::nullopt;
  EC_CHECK_OK(may_take(call, dict, dict->items.size(), call.args[2]));
  const auto found = find_key(*dict, call.args[1]);
  if (found == dict->items.end())
    dict->items.emplace_back(call.args[1], call.args[2]);
  else
    found->second = call.args[2];
  return TorchValue();
}

BuiltinResult reverse(const BuiltinCall& call) {
  TorchList* list = list_of(call);
  if (list == nullptr) return std::nullopt;
  EC_CHECK_OK(call.interpreter.may_change(list));
  std::reverse(list->items.begin(), list->items.end());
  return TorchValue();
}

void sort_items(std::vector<TorchValue>& items, bool descending) {
  std::stable_sort(items.begin(), items.end(), [&](const TorchValue& a, const TorchValue& b) {
    return descending ? real_of(b) < real_of(a) : real_of(a) < real_of(b);
  });
}

BuiltinResult sort(const BuiltinCall& call) {
  TorchList* list = list_of(call);
  if (list == nullptr || !all_numbers(list->items)) return std::nullopt;
  EC_CHECK_OK(call.interpreter.may_change(list));
  sort_items(list->items, call.args.size() > 1 && real_of(call.args[1]) != 0);
  return TorchValue();
}

BuiltinResult sorted(const BuiltinCall& call) {
  const TorchList* list = list_of(call);
  if (list == nullptr || !all_numbers(list->items)) return std::nullopt;
  std::vector<TorchValue> items = list->items;
  sort_items(items, false);
  return new_list(call, std::move(items));
}

// --- dicts ---------------------------------------------------------------------------------------

enum class Part { Keys, Values, Items };

template <Part part>
BuiltinResult parts(const BuiltinCall& call) {
  const TorchDict* dict = dict_of(call);
  if (dict == nullptr) return std::nullopt;
  std::vector<TorchValue> items;
  for (const auto& [key, value] : dict->items)
    items.push_back(part == Part::Keys     ? key
                    : part == Part::Values ? value
                                           : TorchValue::tuple({key, value}));
  return new_list(call, std::move(items));
}

BuiltinResult get(const BuiltinCall& call) {
  TorchDict* dict = dict_of(call);
  if (dict == nullptr || call.args.size() < 2) return std::nullopt;
  const auto found = find_key(*dict, call.args[1]);
  if (found != dict->items.end()) return found->second;
  return call.args.size() > 2 ? call.args[2] : TorchValue();
}

// dict(x), with x another dict or a list of pairs.
BuiltinResult make_dict(const BuiltinCall& call) {
  auto made = std::make_shared<TorchDict>();
  if (const TorchDict* other = dict_of(call)) {
    made->items = other->items;
  } else if (const TorchList* pairs = list_of(call)) {
    for (const TorchValue& pair : pairs->items) {
      const auto* items = pair.items();
      if (items == nullptr || items->size() != 2) return std::nullopt;
      const auto found = find_key(*made, (*items)[0]);
      if (found == made->items.end())
        made->items.emplace_back((*items)[0], (*items)[1]);
      else
        found->second = (*items)[1];
    }
  } else if (!call.args.empty()) {
    return std::nullopt;
  }
  call.interpreter.created(made.get());
  return TorchValue(std::move(made));
}

constexpr std::array kContainers = {
    NamedBuiltin{"aten::len", length},
    NamedBuiltin{"aten::list", make_list},
    NamedBuiltin{"aten::copy", copy},
    NamedBuiltin{"aten::__getitem__", get_item},
    NamedBuiltin{"aten::__contains__", contains},
    NamedBuiltin{"aten::slice", slice},
    NamedBuiltin{"aten::index", index_of},
    NamedBuiltin{"aten::count", count},
    NamedBuiltin{"aten::append", append},
    NamedBuiltin{"aten::extend", extend},
    NamedBuiltin{"aten::add_", extend},
    NamedBuiltin{"aten::insert", insert},
    NamedBuiltin{"aten::pop", pop},
    NamedBuiltin{"aten::clear", clear},
    NamedBuiltin{"aten::_set_item", set_item},
    NamedBuiltin{"aten::reverse", reverse},
    NamedBuiltin{"aten::sort", sort},
    NamedBuiltin{"aten::sorted", sorted},
    NamedBuiltin{"aten::keys", parts<Part::Keys>},
    NamedBuiltin{"aten::values", parts<Part::Values>},
    NamedBuiltin{"aten::items", parts<Part::Items>},
    NamedBuiltin{"aten::get", get},
    NamedBuiltin{"aten::dict", make_dict},
};

}  // namespace

std::span<const NamedBuiltin> container_builtins() { return kContainers; }

Result<TorchValue> item_of(const TorchValue& object, const TorchValue& key) {
  if (const auto* dict = object.get_if<Dict>()) {
    const auto found = find_key(**dict, key);
    if (found != (*dict)->items.end()) return found->second;
    return Error(Code::BadValue, fmt::format("a dictionary has no key {}", describe(key)));
  }
  if (const auto* text = object.get_if<std::string>()) {
    EC_TRY(const size_t at, position(key, text->size()));
    return TorchValue(std::string(1, (*text)[at]));
  }
  const auto* items = object.items();
  if (items == nullptr)
    return Error(Code::CorruptFile, fmt::format("{} has no items", describe(object)));
  EC_TRY(const size_t at, position(key, items->size()));
  return (*items)[at];
}

}  // namespace ec::torch::script
