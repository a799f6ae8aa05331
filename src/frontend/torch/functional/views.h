// Which operators give views of their first argument, and how a write through a view reaches the
// tensor that is viewed.
#pragma once

#include "frontend/torch/functional/functionalizer.h"

namespace ec::torch {

enum class ViewKind : uint8_t {
  None,      // memory of its own
  Self,      // the argument itself when nothing changes (contiguous, to, dropout of inference)
  Reshape,   // same elements in the same order, by view() and its kin: never copies
  MayCopy,   // the same by reshape(): copies when the elements are not in order
  Permute,   // the same elements in another order
  Part,      // select, slice, narrow
  Pieces,    // split, chunk, unbind: a list of views
  Repeated,  // expand: cannot be written
};

ViewKind view_kind(std::string_view name);

// The steps that give each result of such a list operator alone.
std::vector<ViewStep> part_steps(std::string_view name, const TensorRef& viewed,
                                 std::span<const TorchValue> args, const NamedValues& kwargs,
                                 std::span<const TorchValue> results);

// `viewed` with the elements that the step shows replaced by `value`.
Result<TensorRef> write_back(const CallSite& site, const ViewStep& step, const TensorRef& viewed,
                             const TensorRef& value);

}  // namespace ec::torch
