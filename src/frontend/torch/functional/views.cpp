#include "frontend/torch/functional/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ec::torch {
namespace {

struct Known {
  std::string_view name;
  ViewKind kind;
};

constexpr std::array kViews = {
    Known{"aten::alias", ViewKind::Self},
    Known{"aten::detach", ViewKind::Self},
    Known{"aten::contiguous", ViewKind::Self},
    Known{"aten::to", ViewKind::Self},
    Known{"aten::type_as", ViewKind::Self},
    Known{"aten::cpu", ViewKind::Self},
    Known{"aten::dropout", ViewKind::Self},
    Known{"aten::feature_dropout", ViewKind::Self},
    Known{"aten::alpha_dropout", ViewKind::Self},
    Known{"aten::lift_fresh", ViewKind::Self},
    Known{"prim::data", ViewKind::Self},
    Known{"aten::view", ViewKind::Reshape},
    Known{"aten::view_as", ViewKind::Reshape},
    Known{"aten::_reshape_alias", ViewKind::Reshape},
    Known{"aten::unsqueeze", ViewKind::Reshape},
    Known{"aten::squeeze", ViewKind::Reshape},
    Known{"aten::unflatten", ViewKind::Reshape},
    Known{"aten::reshape", ViewKind::MayCopy},
    Known{"aten::reshape_as", ViewKind::MayCopy},
    Known{"aten::flatten", ViewKind::MayCopy},
    Known{"aten::ravel", ViewKind::MayCopy},
    Known{"aten::permute", ViewKind::Permute},
    Known{"aten::transpose", ViewKind::Permute},
    Known{"aten::t", ViewKind::Permute},
    Known{"aten::mT", ViewKind::Permute},
    Known{"aten::numpy_T", ViewKind::Permute},
    Known{"aten::swapaxes", ViewKind::Permute},
    Known{"aten::swapdims", ViewKind::Permute},
    Known{"aten::movedim", ViewKind::Permute},
    Known{"aten::moveaxis", ViewKind::Permute},
    Known{"aten::select", ViewKind::Part},
    Known{"aten::slice", ViewKind::Part},
    Known{"aten::narrow", ViewKind::Part},
    Known{"aten::split", ViewKind::Pieces},
    Known{"aten::split_with_sizes", ViewKind::Pieces},
    Known{"aten::tensor_split", ViewKind::Pieces},
    Known{"aten::chunk", ViewKind::Pieces},
    Known{"aten::unbind", ViewKind::Pieces},
    Known{"aten::expand", ViewKind::Repeated},
    Known{"aten::expand_as", ViewKind::Repeated},
    Known{"aten::broadcast_to", ViewKind::Repeated},
};

// "aten::select.int" and "aten::select" are one operator here.
std::string_view base_name(std::string_view name) { return name.substr(0, name.find('.')); }

const TorchValue* argument(std::span<const TorchValue> args, const NamedValues& kwargs, size_t i,
                           std::string_view name) {
  if (i < args.size()) return &args[i];
  for (const auto& [key, value] : kwargs)
    if (key == name) return &value;
  return nullptr;
}

int64_t int_argument(std::span<const TorchValue> args, const NamedValues& kwargs, size_t i,
                     std::string_view name, int64_t otherwise) {
  const TorchValue* value = argument(args, kwargs, i, name);
  const auto* number = value == nullptr ? nullptr : value->get_if<int64_t>();
  return number == nullptr ? otherwise : *number;
}

Result<TensorRef> single(Result<std::vector<TorchValue>> results) {
  if (!results.ok()) return std::move(results).error();
  if (results->size() != 1 || !(*results)[0].is_tensor())
    return Error(Code::Internal, "an operator of one tensor gave something else");
  return (*results)[0].get<TensorRef>();
}

Result<TensorRef> reshape_back(const CallSite& site, const TensorRef& viewed,
                               const TensorRef& value) {
  const auto& shape = viewed.tensor->shape();
  if (!shape || !shape->is_static())
    return Error(Code::DynamicShape, "a write through a view of open size");
  const TorchValue args[] = {value, TorchValue::ints(shape->sizes())};
  return single(call(site, "aten::reshape", args));
}

// The permutation that the step applied, found from its arguments.
Result<TensorRef> permute_back(const CallSite& site, const ViewStep& step, const TensorRef& value) {
  const std::string_view name = base_name(step.name);
  std::vector<TorchValue> args = {value};
  if (name == "aten::permute") {
    const TorchValue* order = argument(step.args, step.kwargs, 0, "dims");
    const auto* items = order == nullptr ? nullptr : order->items();
    if (items == nullptr) return Error(Code::UnsupportedOpForm, "a permutation that is not known");
    const auto rank = static_cast<int64_t>(items->size());
    std::vector<int64_t> inverse(items->size());
    for (int64_t i = 0; i < rank; ++i) {
      const auto* axis = (*items)[static_cast<size_t>(i)].get_if<int64_t>();
      if (axis == nullptr || *axis < -rank || *axis >= rank)
        return Error(Code::UnsupportedOpForm, "a permutation that is not known");
      inverse[static_cast<size_t>(*axis < 0 ? *axis + rank : *axis)] = i;
    }
    args.push_back(TorchValue::ints(inverse));
    return single(call(site, "aten::permute", args));
  }
  args.insert(args.end(), step.args.begin(), step.args.end());
  // Exchanges are their own inverse; a moved axis moves back.
  if ((name == "aten::movedim" || name == "aten::moveaxis") && args.size() == 3)
    std::swap(args[1], args[2]);
  return single(call(site, step.name, args, step.kwargs));
}

Result<TensorRef> write_part(const CallSite& site, const ViewStep& step, const TensorRef& viewed,
                             const TensorRef& value) {
  std::vector<TorchValue> args = {viewed, value};
  if (base_name(step.name) == "aten::narrow") {
    const int64_t start = int_argument(step.args, step.kwargs, 1, "start", 0);
    const int64_t length = int_argument(step.args, step.kwargs, 2, "length", 0);
    args.push_back(step.args.empty() ? TorchValue(0) : step.args[0]);
    args.emplace_back(start);
    args.emplace_back(start + length);
    return single(call(site, "aten::slice_scatter", args));
  }
  args.insert(args.end(), step.args.begin(), step.args.end());
  const bool slice = base_name(step.name) == "aten::slice";
  return single(
      call(site, slice ? "aten::slice_scatter" : "aten::select_scatter", args, step.kwargs));
}

}  // namespace

ViewKind view_kind(std::string_view name) {
  const std::string_view base = base_name(name);
  for (const Known& known : kViews)
    if (known.name == base) return known.kind;
  return ViewKind::None;
}

std::vector<ViewStep> part_steps(std::string_view name, const TensorRef& viewed,
                                 std::span<const TorchValue> args, const NamedValues& kwargs,
                                 std::span<const TorchValue> results) {
  const bool unbind = base_name(name) == "aten::unbind";
  int64_t axis =
      unbind ? int_argument(args, kwargs, 0, "dim", 0) : int_argument(args, kwargs, 1, "dim", 0);
  const auto& shape = viewed.tensor->shape();
  if (axis < 0 && shape) axis += static_cast<int64_t>(shape->rank());
  std::vector<ViewStep> steps;
  int64_t start = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    if (unbind) {
      steps.push_back({"aten::select", {axis, static_cast<int64_t>(i)}, {}});
      continue;
    }
    const auto* part = results[i].tensor();
    const bool known = part != nullptr && part->shape() && axis >= 0 &&
                       static_cast<size_t>(axis) < part->shape()->rank() &&
                       (*part->shape())[static_cast<size_t>(axis)].is_static();
    if (!known) return {};
    const int64_t end = start + (*part->shape())[static_cast<size_t>(axis)].size();
    steps.push_back({"aten::slice", {axis, start, end, int64_t{1}}, {}});
    start = end;
  }
  return steps;
}

Result<TensorRef> write_back(const CallSite& site, const ViewStep& step, const TensorRef& viewed,
                             const TensorRef& value) {
  switch (view_kind(step.name)) {
    case ViewKind::Self:
      return value;
    case ViewKind::Reshape:
    case ViewKind::MayCopy:
      return reshape_back(site, viewed, value);
    case ViewKind::Permute:
      return permute_back(site, step, value);
    case ViewKind::Part:
      return write_part(site, step, viewed, value);
    default:
      return Error(Code::UnsupportedOpForm,
                   fmt::format("a write through the result of {}", step.name))
          .hint("write to a copy: call .clone() on the tensor first");
  }
}

}  // namespace ec::torch
