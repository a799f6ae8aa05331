#include "frontend/torch/functional/functionalizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/torch/functional/views.h"
#include "support/strings.h"

namespace ec::torch {
namespace {

// "aten::add_.Tensor" -> "aten::add"; empty for names that write nothing (__and__).
std::string functional_name(std::string_view name) {
  const std::string_view base = name.substr(0, name.find('.'));
  if (!base.ends_with('_') || base.ends_with("__")) return {};
  return std::string(base.substr(0, base.size() - 1));
}

TensorRef without_alias(TensorRef tensor) {
  tensor.alias = nullptr;
  return tensor;
}

const std::shared_ptr<Alias>& memory_of(const std::shared_ptr<Alias>& alias) {
  const std::shared_ptr<Alias>* at = &alias;
  while ((*at)->base) at = &(*at)->base;
  return *at;
}

// Whether the elements of a view lie in memory without gaps.
bool part_is_contiguous(const TensorRef& whole, const TensorRef& part) {
  const auto& from = whole.tensor->shape();
  const auto& to = part.tensor->shape();
  if (!from || !to || from->rank() == 0) return false;
  // Only the first dimension differs, or is gone.
  const size_t skip = from->rank() == to->rank() ? 1 : 0;
  if (to->rank() + 1 < from->rank()) return false;
  return std::equal(from->begin() + 1, from->end(), to->begin() + static_cast<std::ptrdiff_t>(skip),
                    to->end());
}

TensorRef viewing(TensorRef tensor, std::shared_ptr<Alias> base, ViewStep step, bool contiguous) {
  auto alias = std::make_shared<Alias>();
  alias->version = memory_of(base)->version;
  alias->depth = base->depth + 1;
  alias->base = std::move(base);
  alias->step = std::move(step);
  alias->value = without_alias(tensor);
  alias->contiguous = contiguous;
  tensor.alias = std::move(alias);
  return tensor;
}

TorchValue adopted(TorchValue value) {
  if (auto* tensor = value.get_if<TensorRef>()) return Functionalizer::adopt(std::move(*tensor));
  if (auto* list = value.get_if<TorchValue::List>())
    for (TorchValue& item : (*list)->items) item = adopted(std::move(item));
  if (auto* tuple = value.get_if<TorchValue::Tuple>())
    for (TorchValue& item : (*tuple)->items) item = adopted(std::move(item));
  return value;
}

constexpr int kMaxViews = 1000;

bool has_tensor(const std::vector<TorchValue>& items) {
  return std::any_of(items.begin(), items.end(), [](const TorchValue& item) {
    return item.is_tensor() || (item.items() != nullptr && has_tensor(*item.items()));
  });
}

}  // namespace

TensorRef Functionalizer::adopt(TensorRef tensor) {
  auto alias = std::make_shared<Alias>();
  alias->value = without_alias(tensor);
  tensor.alias = std::move(alias);
  return tensor;
}

void Functionalizer::set(const std::shared_ptr<Alias>& alias, TensorRef value, uint64_t version) {
  if (!branches_.empty()) branches_.back().push_back({alias, alias->value, alias->version});
  alias->value = without_alias(std::move(value));
  alias->version = version;
}

Result<TensorRef> Functionalizer::value_of(const CallSite& site,
                                           const std::shared_ptr<Alias>& alias) {
  const uint64_t now = memory_of(alias)->version;
  if (alias->base && alias->version != now) {
    EC_TRY(const TensorRef base, value_of(site, alias->base));
    std::vector<TorchValue> args = {base};
    args.insert(args.end(), alias->step.args.begin(), alias->step.args.end());
    EC_TRY(std::vector<TorchValue> taken,
           torch::call(site, alias->step.name, args, alias->step.kwargs));
    if (taken.size() != 1 || !taken[0].is_tensor())
      return Error(Code::Internal, "a view is no tensor");
    set(alias, taken[0].get<TensorRef>(), now);
  }
  return alias->value;
}

Result<TensorRef> Functionalizer::current(const CallSite& site, const TensorRef& tensor) {
  if (!tensor.alias) return tensor;
  EC_TRY(TensorRef value, value_of(site, tensor.alias));
  value.python_number = tensor.python_number;
  value.alias = tensor.alias;
  return value;
}

Result<TorchValue> Functionalizer::current(const CallSite& site, const TorchValue& value) {
  if (const auto* tensor = value.get_if<TensorRef>()) {
    EC_TRY(TensorRef now, current(site, *tensor));
    return TorchValue(std::move(now));
  }
  const auto all = [&](const std::vector<TorchValue>& items) -> Result<std::vector<TorchValue>> {
    std::vector<TorchValue> now;
    for (const TorchValue& item : items) {
      EC_TRY(TorchValue made, current(site, item));
      now.push_back(std::move(made));
    }
    return now;
  };
  if (const auto* list = value.get_if<TorchValue::List>(); list && has_tensor((*list)->items)) {
    EC_TRY(std::vector<TorchValue> items, all((*list)->items));
    return TorchValue::list(std::move(items));
  }
  if (const auto* tuple = value.get_if<TorchValue::Tuple>(); tuple && has_tensor((*tuple)->items)) {
    EC_TRY(std::vector<TorchValue> items, all((*tuple)->items));
    return TorchValue(std::make_shared<TorchTuple>(
        TorchTuple{std::move(items), (*tuple)->class_name, (*tuple)->field_names}));
  }
  if (const auto* dict = value.get_if<TorchValue::Dict>()) {
    auto made = std::make_shared<TorchDict>();
    for (const auto& [key, item] : (*dict)->items) {
      EC_TRY(TorchValue now, current(site, item));
      made->items.emplace_back(key, std::move(now));
    }
    return TorchValue(std::move(made));
  }
  return value;
}

Status Functionalizer::write_alias(const CallSite& site, const std::shared_ptr<Alias>& alias,
                                   TensorRef value) {
  if (!alias->base) {
    set(alias, std::move(value), alias->version + 1);
    return {};
  }
  EC_TRY(const TensorRef viewed, value_of(site, alias->base));
  EC_TRY(TensorRef whole, write_back(site, alias->step, viewed, value));
  EC_CHECK_OK(write_alias(site, alias->base, std::move(whole)));
  set(alias, std::move(value), memory_of(alias)->version);
  return {};
}

Status Functionalizer::write(const CallSite& site, const TensorRef& target, TensorRef value) {
  if (!target.alias) return Error(Code::Internal, "a write to a tensor without memory");
  return write_alias(site, target.alias, std::move(value));
}

Result<std::vector<TorchValue>> Functionalizer::call_in_place(const CallSite& site,
                                                              std::string_view name,
                                                              std::span<const TorchValue> args,
                                                              const NamedValues& kwargs) {
  const TensorRef target = args[0].get<TensorRef>();
  const std::string functional = functional_name(name);
  const ViewKind kind = view_kind(functional);
  if (kind == ViewKind::Self || functional == "aten::requires_grad")
    return std::vector<TorchValue>{target};
  if (kind == ViewKind::Reshape || kind == ViewKind::Permute) {
    // squeeze_ and its kin: the tensor becomes a view of what it was.
    EC_TRY(std::vector<TorchValue> made, call_functional(site, functional, args, kwargs));
    auto before = std::make_shared<Alias>(*target.alias);
    const auto& view = made[0].get<TensorRef>();
    if (view.alias == target.alias) return made;  // nothing changes
    target.alias->depth = view.alias->depth;
    target.alias->base = std::move(before);
    target.alias->step = view.alias->step;
    set(target.alias, view, memory_of(target.alias)->version);
    return std::vector<TorchValue>{
        TorchValue(TensorRef{view.tensor, false, view.quant, target.alias})};
  }
  EC_TRY(const Arguments arguments, current(site, args, kwargs));
  const auto& [now, named] = arguments;
  EC_TRY(std::vector<TorchValue> results, torch::call(site, functional, now, named));
  if (results.empty() || !results[0].is_tensor())  // len_: a file may add the mark to any name
    return Error(Code::UnsupportedOp,
                 fmt::format("operator '{}' is not supported: {} gives no tensor to write",
                             printable(name), functional));
  TensorRef value = results[0].get<TensorRef>();
  const DType dtype = now[0].tensor()->dtype();
  if (value.tensor->dtype() != dtype) {
    const TorchValue cast[] = {value, scalar_type_of(dtype)};
    EC_TRY(results, torch::call(site, "aten::to", cast));
    value = results[0].get<TensorRef>();
  }
  EC_CHECK_OK(write(site, target, value));
  value.alias = target.alias;
  return std::vector<TorchValue>{TorchValue(std::move(value))};
}

Result<Functionalizer::Arguments> Functionalizer::current(const CallSite& site,
                                                          std::span<const TorchValue> args,
                                                          const NamedValues& kwargs) {
  Arguments now;
  for (const TorchValue& arg : args) {
    EC_TRY(TorchValue made, current(site, arg));
    now.positional.push_back(std::move(made));
  }
  for (const auto& [key, value] : kwargs) {
    EC_TRY(TorchValue made, current(site, value));
    now.named.emplace_back(key, std::move(made));
  }
  return now;
}

Result<std::vector<TorchValue>> Functionalizer::call_functional(const CallSite& site,
                                                                std::string_view name,
                                                                std::span<const TorchValue> args,
                                                                const NamedValues& kwargs) {
  EC_TRY(const Arguments arguments, current(site, args, kwargs));
  const auto& [now, named] = arguments;
  EC_TRY(std::vector<TorchValue> results, torch::call(site, name, now, named));
  const ViewKind kind = view_kind(name);
  const TensorRef* viewed = now.empty() ? nullptr : now[0].get_if<TensorRef>();
  if (kind == ViewKind::None || viewed == nullptr || !viewed->alias || results.empty()) {
    for (TorchValue& result : results) result = adopted(std::move(result));
    return results;
  }
  const std::span<const TorchValue> rest = std::span<const TorchValue>(now).subspan(1);
  // Each is taken again through all between it and the memory.
  if (viewed->alias->depth >= kMaxViews)
    return Error(Code::TooDeep, "views of views of a tensor go too deep")
        .hint("copy the tensor on the way: x.clone()");
  const bool contiguous = viewed->alias->contiguous;
  if (kind == ViewKind::Pieces) {
    const std::vector<TorchValue>* items = results[0].items();
    if (items == nullptr) return results;
    const std::vector<ViewStep> steps = part_steps(name, *viewed, rest, named, *items);
    std::vector<TorchValue> views;
    for (size_t i = 0; i < items->size(); ++i) {
      const TensorRef part = (*items)[i].get<TensorRef>();
      views.emplace_back(steps.size() == items->size()
                             ? viewing(part, viewed->alias, steps[i],
                                       contiguous && part_is_contiguous(*viewed, part))
                             : adopt(part));
    }
    return std::vector<TorchValue>{TorchValue::list(std::move(views))};
  }
  if (!results[0].is_tensor()) return results;
  TensorRef view = results[0].get<TensorRef>();
  view.alias = nullptr;
  if (view.tensor == viewed->tensor && view.quant == viewed->quant) {
    view.alias = viewed->alias;
    return std::vector<TorchValue>{TorchValue(std::move(view))};
  }
  const bool own = kind == ViewKind::Self || (kind == ViewKind::MayCopy && !contiguous);
  if (own) return std::vector<TorchValue>{TorchValue(adopt(std::move(view)))};
  const bool in_order =
      contiguous && (kind == ViewKind::Reshape || kind == ViewKind::MayCopy ||
                     (kind == ViewKind::Part && part_is_contiguous(*viewed, view)));
  ViewStep step{std::string(name), {rest.begin(), rest.end()}, named};
  return std::vector<TorchValue>{
      TorchValue(viewing(std::move(view), viewed->alias, std::move(step), in_order))};
}

Result<std::vector<TorchValue>> Functionalizer::call(const CallSite& site, std::string_view name,
                                                     std::span<const TorchValue> args,
                                                     const NamedValues& kwargs) {
  const bool writes = !functional_name(name).empty() && !args.empty() && args[0].is_tensor();
  if (writes && args[0].get<TensorRef>().alias) return call_in_place(site, name, args, kwargs);
  return call_functional(site, writes ? functional_name(name) : std::string(name), args, kwargs);
}

void Functionalizer::begin_branch() { branches_.emplace_back(); }

std::vector<Functionalizer::Write> Functionalizer::end_branch() {
  std::vector<Change> changes = std::move(branches_.back());
  branches_.pop_back();
  std::vector<Write> writes;
  for (const Change& change : changes) {
    const bool seen = std::any_of(writes.begin(), writes.end(),
                                  [&](const Write& write) { return write.memory == change.alias; });
    if (!change.alias->base && !seen) writes.push_back({change.alias, change.alias->value});
  }
  // A version is never given twice: views taken in the branch must not pass for later ones.
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    change->alias->value = change->value;
    if (change->alias->base)
      change->alias->version = change->version;
    else
      ++change->alias->version;
  }
  return writes;
}

}  // namespace ec::torch
