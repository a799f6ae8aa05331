// Gradient of ai.onnx.preview.training: the derivative of a scalar sum of `y` by each of `xs`, by
// walking back over the element-wise operations between them.
#include <algorithm>
#include <map>

#include "frontend/onnx/importer.h"
#include "frontend/onnx/table.h"
#include "ops/op_def.h"

namespace ec::onnx {
namespace {

class Backward {
 public:
  explicit Backward(NodeContext& ctx) : ctx_(ctx) {}

  Status run(ec::Tensor* y, const std::vector<ec::Tensor*>& stops) {
    EC_TRY(ec::Tensor * shape, ctx_.add(OpKind::Shape, {y}, ShapeAttrs{}));
    EC_TRY(gradients_[y], ctx_.add(OpKind::Fill, {shape, ctx_.scalar(y->dtype(), 1.0)}));
    std::vector<Operation*> order = ctx_.graph().topological();
    std::reverse(order.begin(), order.end());
    for (Operation* op : order) {
      const auto it = gradients_.find(op->output());
      if (it == gradients_.end() ||
          std::find(stops.begin(), stops.end(), op->output()) != stops.end())
        continue;
      EC_CHECK_OK(pass_back(*op, it->second));
    }
    return {};
  }
  ec::Tensor* of(ec::Tensor* x) const {
    const auto it = gradients_.find(x);
    return it == gradients_.end() ? nullptr : it->second;
  }

 private:
  Result<ec::Tensor*> mul(ec::Tensor* a, ec::Tensor* b) { return ctx_.add(OpKind::Mul, {a, b}); }

  // Sums over the dimensions along which x was repeated.
  Result<ec::Tensor*> reduce_to(ec::Tensor* gradient, const ec::Tensor* x) {
    if (gradient->shape() == x->shape()) return gradient;
    if (!gradient->type().is_static() || !x->type().is_static())
      return ctx_.fail(Code::DynamicShape, "gradients need fixed shapes");
    std::vector<int64_t> axes;
    const size_t extra = gradient->shape()->rank() - x->shape()->rank();
    for (size_t i = 0; i < gradient->shape()->rank(); ++i)
      if (i < extra || (*gradient->shape())[i] != (*x->shape())[i - extra])
        axes.push_back(static_cast<int64_t>(i));
    EC_TRY(gradient, ctx_.add(OpKind::ReduceSum, {gradient, ctx_.ints(axes)}, ReduceAttrs{}));
    return ctx_.reshape(gradient, x->shape()->sizes());
  }

  Status give(ec::Tensor* x, ec::Tensor* gradient) {
    EC_TRY(gradient, reduce_to(gradient, x));
    ec::Tensor*& sum = gradients_[x];
    if (sum == nullptr) {
      sum = gradient;
    } else {
      EC_TRY(sum, ctx_.add(OpKind::Add, {sum, gradient}));
    }
    return {};
  }

  Status pass_back(const Operation& op, ec::Tensor* dy) {
    ec::Tensor *a = op.input(0), *b = op.input(1), *y = op.output();
    switch (op.kind()) {
      case OpKind::Identity:
        return give(a, dy);
      case OpKind::Neg: {
        EC_TRY(ec::Tensor * da, ctx_.add(OpKind::Neg, {dy}));
        return give(a, da);
      }
      case OpKind::Add:
        EC_CHECK_OK(give(a, dy));
        return give(b, dy);
      case OpKind::Sub: {
        EC_CHECK_OK(give(a, dy));
        EC_TRY(ec::Tensor * db, ctx_.add(OpKind::Neg, {dy}));
        return give(b, db);
      }
      case OpKind::Mul: {
        EC_TRY(ec::Tensor * da, mul(dy, b));
        EC_TRY(ec::Tensor * db, mul(dy, a));
        EC_CHECK_OK(give(a, da));
        return give(b, db);
      }
      case OpKind::Div: {
        EC_TRY(ec::Tensor * da, ctx_.add(OpKind::Div, {dy, b}));
        EC_CHECK_OK(give(a, da));
        EC_TRY(ec::Tensor * db, mul(da, y));
        EC_TRY(db, ctx_.add(OpKind::Neg, {db}));
        return give(b, db);
      }
      case OpKind::Exp: {
        EC_TRY(ec::Tensor * da, mul(dy, y));
        return give(a, da);
      }
      case OpKind::Log: {
        EC_TRY(ec::Tensor * da, ctx_.add(OpKind::Div, {dy, a}));
        return give(a, da);
      }
      default:
        return ctx_.unsupported("the gradient of " + std::string(op.def().name) +
                                " is not supported");
    }
  }

  NodeContext& ctx_;
  std::map<ec::Tensor*, ec::Tensor*> gradients_;  // looked up, never iterated
};

Status gradient(NodeContext& ctx) {
  const std::vector<std::string> xs = ctx.attr_strings("xs");
  const std::string y = ctx.attr_string("y", "");
  ctx.ignore_attr("zs");
  EC_CHECK_OK(ctx.attr_status());
  const Binding* target = ctx.scope().find(y);
  if (target == nullptr || !target->is(Binding::Kind::Tensor))
    return ctx.fail(Code::UndefinedName, "nothing before the node defines '" + y + "'");
  if (xs.size() < ctx.num_outputs() || ctx.num_inputs() < xs.size())
    return ctx.fail(Code::BadArity, "attribute 'xs' does not fit the inputs and outputs");
  std::vector<ec::Tensor*> stops;
  for (size_t i = 0; i < xs.size(); ++i) {
    if (ctx.in(i) == nullptr) return ctx.fail(Code::BadArity, "an input has no name");
    stops.push_back(ctx.in(i));
  }
  Backward backward(ctx);
  EC_CHECK_OK(backward.run(target->tensor, stops));
  for (size_t i = 0; i < ctx.num_outputs(); ++i) {
    ec::Tensor* result = backward.of(ctx.in(i));
    if (result == nullptr) {
      EC_TRY(ec::Tensor * shape, ctx.add(OpKind::Shape, {ctx.in(i)}, ShapeAttrs{}));
      EC_TRY(result, ctx.add(OpKind::Fill, {shape, ctx.scalar(ctx.dtype(i), 0.0)}));
    }
    ctx.set(i, result);
  }
  return {};
}

constexpr OpRow kRows[] = {
    {"Gradient", 1, kLatest, {1, kMany}, {1, kMany}, gradient},
};

}  // namespace

const std::span<const OpRow> kGradientRows = kRows;

}  // namespace ec::onnx
