// Data movement of any element type: whole runs of bytes wherever the order allows it.
#include <cstring>

#include "runtime/kernels/transpose.h"
#include "runtime/prepare/prepare.h"

namespace ec::prepare {

namespace {

int64_t element_bytes(const OperandInfo& info) {
  return static_cast<int64_t>(element_size(info.dtype));
}

size_t axis_of(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

int64_t before(const OperandInfo& info, size_t axis) {
  return product(std::span(info.shape).first(axis));
}

// Bytes of one index of `axis`.
int64_t bytes_after(const OperandInfo& info, size_t axis) {
  return product(std::span(info.shape).subspan(axis + 1)) * element_bytes(info);
}

// Copies `count` blocks; steps are in bytes.
void copy_blocks(const std::byte* from, int64_t from_step, std::byte* to, int64_t to_step,
                 int64_t block, int64_t count, kernels::ThreadPool& pool) {
  const int64_t per_task = std::max<int64_t>(1, 64 * 1024 / std::max<int64_t>(1, block));
  pool.parallel_for((count + per_task - 1) / per_task, [&](int64_t task, int) {
    const int64_t end = std::min(count, (task + 1) * per_task);
    for (int64_t i = task * per_task; i < end; ++i)
      std::memcpy(to + i * to_step, from + i * from_step, static_cast<size_t>(block));
  });
}

// A box of elements with strides on both sides; joined axes, the innermost a plain copy if it can.
struct Box {
  struct Axis {
    int64_t size, from, to;  // steps in elements
  };
  std::vector<Axis> axes;  // outermost first
  int64_t element = 4;

  // Makes the innermost contiguous axes one run.
  void run(const std::byte* from, std::byte* to) const {
    size_t outer = axes.size();
    int64_t block = 1;
    while (outer > 0 && axes[outer - 1].from == block && axes[outer - 1].to == block) {
      block *= axes[outer - 1].size;
      --outer;
    }
    walk(from, to, 0, outer, block * element);
  }

 private:
  void walk(const std::byte* from, std::byte* to, size_t d, size_t outer, int64_t bytes) const {
    if (d == outer) {
      std::memcpy(to, from, static_cast<size_t>(bytes));
      return;
    }
    const Axis& axis = axes[d];
    for (int64_t i = 0; i < axis.size; ++i)
      walk(from + i * axis.from * element, to + i * axis.to * element, d + 1, outer, bytes);
  }
};

std::vector<int64_t> strides_of(const std::vector<int64_t>& shape) {
  std::vector<int64_t> s(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) s[i - 1] = s[i] * shape[i];
  return s;
}

}  // namespace

Prepared transpose(const OpInstance& op, const PrepareContext& ctx) {
  const OperandInfo& x = op.input(0);
  std::vector<int64_t> perm = op.attrs<TransposeAttrs>().perm;
  if (perm.empty())
    for (size_t d = x.rank(); d-- > 0;) perm.push_back(static_cast<int64_t>(d));
  const kernels::TransposePlan plan(x.shape, perm, element_size(x.dtype));
  const kernels::KernelTable* table = &ctx.table;
  return make_op([plan, table](const RunArgs& args) {
    plan.run(*table, args.inputs[0], args.outputs[0], args.pool);
  });
}

Prepared concat(const OpInstance& op, const PrepareContext&) {
  const OperandInfo& y = op.output();
  const size_t axis = axis_of(op.attrs<AxisAttrs>().axis, y.rank());
  const int64_t outer = before(y, axis);
  const int64_t row = y.shape[axis] * bytes_after(y, axis);
  std::vector<int64_t> blocks;
  for (const OperandInfo& x : op.inputs) {
    if (!x.present) return nullptr;
    blocks.push_back(x.shape[axis] * bytes_after(x, axis));
  }
  return make_op([=](const RunArgs& args) {
    std::byte* to = args.outputs[0];
    for (size_t i = 0; i < blocks.size(); ++i) {
      copy_blocks(args.inputs[i], blocks[i], to, row, blocks[i], outer, args.pool);
      to += blocks[i];
    }
  });
}

Prepared split(const OpInstance& op, const PrepareContext&) {
  const OperandInfo& x = op.input(0);
  const size_t axis = axis_of(op.attrs<AxisAttrs>().axis, x.rank());
  const int64_t outer = before(x, axis);
  const int64_t row = x.shape[axis] * bytes_after(x, axis);
  std::vector<int64_t> blocks;
  for (const OperandInfo& y : op.outputs) blocks.push_back(y.shape[axis] * bytes_after(y, axis));
  return make_op([=](const RunArgs& args) {
    const std::byte* from = args.inputs[0];
    for (size_t i = 0; i < blocks.size(); ++i) {
      copy_blocks(from, row, args.outputs[i], blocks[i], blocks[i], outer, args.pool);
      from += blocks[i];
    }
  });
}

// slice(x, starts, ends, axes?, steps?) with constant bounds. Sizes come from inference; only where
// each axis begins is worked out here.
Prepared slice(const OpInstance& op, const PrepareContext&) {
  const OperandInfo& x = op.input(0);
  const OperandInfo& y = op.output();
  const auto starts = constant_ints(op, 1);
  if (!starts) return nullptr;
  std::vector<int64_t> axes;
  std::vector<int64_t> steps(starts->size(), 1);
  for (size_t i = 0; i < starts->size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (op.has(3)) {
    const auto given = constant_ints(op, 3);
    if (!given || given->size() != starts->size()) return nullptr;
    axes = *given;
  }
  if (op.has(4)) {
    const auto given = constant_ints(op, 4);
    if (!given || given->size() != starts->size()) return nullptr;
    steps = *given;
  }
  const std::vector<int64_t> in_strides = strides_of(x.shape);
  const std::vector<int64_t> out_strides = strides_of(y.shape);
  std::vector<int64_t> step(x.rank(), 1);
  int64_t offset = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t d = axis_of(axes[i], x.rank());
    const int64_t size = x.shape[d];
    int64_t start = (*starts)[i];
    if (start < 0) start += size;
    start = std::clamp<int64_t>(start, 0, std::max<int64_t>(size - 1, 0));
    // A step that is never taken may be of any size.
    if (y.shape[d] > 1) step[d] = steps[i];
    if (y.shape[d] > 0) offset += start * in_strides[d];
  }
  Box box;
  box.element = element_bytes(x);
  for (size_t d = 0; d < x.rank(); ++d)
    box.axes.push_back({y.shape[d], in_strides[d] * step[d], out_strides[d]});
  const int64_t bytes = offset * box.element;
  return make_op(
      [box, bytes](const RunArgs& args) { box.run(args.inputs[0] + bytes, args.outputs[0]); });
}

// Constant padding with constant, non-negative widths.
Prepared pad(const OpInstance& op, const PrepareContext&) {
  const OperandInfo& x = op.input(0);
  const OperandInfo& y = op.output();
  if (op.attrs<PadAttrs>().mode != PadMode::Constant || !x.is_f32()) return nullptr;
  const auto pads = constant_ints(op, 1);
  if (!pads) return nullptr;
  std::vector<int64_t> axes;
  for (size_t d = 0; d < x.rank(); ++d) axes.push_back(static_cast<int64_t>(d));
  if (op.has(3)) {
    const auto given = constant_ints(op, 3);
    if (!given) return nullptr;
    axes = *given;
  }
  if (pads->size() != 2 * axes.size()) return nullptr;
  float value = 0.0F;
  if (op.has(2)) {
    const auto given = constant_scalar(op, 2);
    if (!given) return nullptr;
    value = *given;
  }
  const std::vector<int64_t> in_strides = strides_of(x.shape);
  const std::vector<int64_t> out_strides = strides_of(y.shape);
  int64_t offset = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    if ((*pads)[i] < 0 || (*pads)[i + axes.size()] < 0) return nullptr;
    offset += (*pads)[i] * out_strides[axis_of(axes[i], x.rank())];
  }
  Box box;
  box.element = element_bytes(x);
  for (size_t d = 0; d < x.rank(); ++d)
    box.axes.push_back({x.shape[d], in_strides[d], out_strides[d]});
  const int64_t count = y.count();
  return make_op([=](const RunArgs& args) {
    std::fill(args.out(), args.out() + count, value);
    box.run(args.inputs[0], args.outputs[0] + offset * 4);
  });
}

Prepared gather(const OpInstance& op, const PrepareContext&) {
  const OperandInfo& x = op.input(0);
  const OperandInfo& indices = op.input(1);
  if (indices.dtype != DType::I64 && indices.dtype != DType::I32) return nullptr;
  const size_t axis = axis_of(op.attrs<GatherAttrs>().axis, x.rank());
  const int64_t outer = before(x, axis);
  const int64_t block = bytes_after(x, axis);
  const int64_t size = x.shape[axis];
  const int64_t count = indices.count();
  const bool wide = indices.dtype == DType::I64;
  const std::string node(op.op.location().name());
  const std::string type = op.op.location().op_type;
  return make_op([=](const RunArgs& args) -> Status {
    std::byte* to = args.outputs[0];
    for (int64_t o = 0; o < outer; ++o) {
      const std::byte* from = args.inputs[0] + o * size * block;
      for (int64_t i = 0; i < count; ++i, to += block) {
        int64_t at = wide ? reinterpret_cast<const int64_t*>(args.inputs[1])[i]
                          : reinterpret_cast<const int32_t*>(args.inputs[1])[i];
        if (at < -size || at >= size)
          return Error(Code::ExecutionFailed, "index " + std::to_string(at) +
                                                  " is outside an axis of size " +
                                                  std::to_string(size))
              .node(node, type);
        if (at < 0) at += size;
        std::memcpy(to, from + at * block, static_cast<size_t>(block));
      }
    }
    return {};
  });
}

}  // namespace ec::prepare
