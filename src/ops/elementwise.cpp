#include "ops/elementwise.h"

namespace ec::ops {

Status check_type(const InferContext& ctx, size_t operand, const TypeClass& types) {
  if (types.accepts(ctx.dtype(operand))) return {};
  // Integers with parameters stand for real numbers.
  if (ctx.type(operand).quant && types.accepts(DType::F32)) return {};
  return ctx.bad_type("operand " + std::to_string(operand) + " is " + operand_text(ctx, operand) +
                      "; the elements must be " + std::string(types.what));
}

Status check_broadcasts(const InferContext& ctx, size_t operand) {
  if (!ctx.shape(0) || !ctx.shape(operand)) return {};
  const Shape &x = *ctx.shape(0), &p = *ctx.shape(operand);
  bool fits = p.rank() <= x.rank();
  for (size_t d = 0; fits && d < p.rank(); ++d) {
    const Dim &a = p[d], &b = x[x.rank() - p.rank() + d];
    fits = !a.is_static() || a.size() == 1 || !b.is_static() || a.size() == b.size();
  }
  if (fits) return {};
  return ctx.bad_shape("operand " + operand_text(ctx, operand) + " does not broadcast to " +
                       operand_text(ctx, 0));
}

bool broadcasts_to(std::span<const int64_t> shape, std::span<const int64_t> target) {
  if (shape.size() > target.size()) return false;
  const auto tail = target.last(shape.size());
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1 && shape[d] != tail[d]) return false;
  return true;
}

Result<BroadcastPlan> plan_operands(const KernelContext& ctx, size_t count) {
  const auto target = ctx.output(0).shape;
  std::vector<std::span<const int64_t>> shapes;
  for (size_t i = 0; i < count; ++i) {
    shapes.push_back(ctx.input(i).shape);
    if (!broadcasts_to(shapes.back(), target))
      return ctx.fail("operand " + TensorType(ctx.input(i).dtype, Shape::of(shapes.back())).text() +
                      " does not broadcast to " + Shape::of(target).text());
  }
  return plan_broadcast(target, shapes);
}

}  // namespace ec::ops
