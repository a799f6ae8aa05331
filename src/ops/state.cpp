// State that a model keeps from one run to the next (ADR 15).
#include <algorithm>
#include <cstring>

#include "ops/define.h"
#include "ops/state_types.h"

namespace ec {

bool fits_state(const TensorType& read, const TensorType& written) {
  if (read.dtype != written.dtype) return false;
  if (!read.shape || !written.shape) return true;
  if (read.shape->rank() != written.shape->rank()) return false;
  for (size_t i = 0; i < read.shape->rank(); ++i) {
    const Dim &a = (*read.shape)[i], &b = (*written.shape)[i];
    if (a.is_static() && b.is_static() && a.size() != b.size()) return false;
  }
  return true;
}

}  // namespace ec

namespace ec::ops {
namespace {

Status infer_state(InferContext& ctx) {
  if (ctx.attrs<StateAttrs>().name.empty()) return ctx.bad_value("a state needs a name");
  ctx.set(0, ctx.dtype(0), ctx.shape(0));
  return {};
}

// By themselves both copy their operand: every run starts from the initial value. A session
// exchanges the values with the state that it keeps.
Status copy_state(KernelContext& ctx) {
  const ConstView& from = ctx.input(0);
  if (!ctx.is_allocated(0))
    EC_CHECK_OK(ctx.allocate(0, from.dtype, {from.shape.begin(), from.shape.end()}));
  const size_t bytes = static_cast<size_t>(from.count()) * element_size(from.dtype);
  if (bytes > 0) std::memcpy(ctx.output(0).data, from.data, bytes);
  return {};
}

}  // namespace

EC_OP_DEF(ReadState, .signature = "(initial) -> value",
          .summary =
              "The value that the state of this name has at the start of a run: what write_state "
              "stored in the run before, or the initial value in the first run and after a reset.",
          .traits = {.random = true}, .infer = infer_state, .reference = copy_state,
          .layout = LayoutRule::Fixed);

EC_OP_DEF(WriteState, .signature = "(value) -> value",
          .summary =
              "Stores the value of the state of this name for the next run; the result is the "
              "same value. It is kept although nothing reads its result.",
          .traits = {.random = true}, .infer = infer_state, .reference = copy_state,
          .layout = LayoutRule::Fixed);

}  // namespace ec::ops
