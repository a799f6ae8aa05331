// An op of another program that the compiler keeps without knowing what it computes.
#include "ops/define.h"

namespace ec::ops {
namespace {

// Whoever adds the op gives the result types; inference keeps them.
Status infer_custom(InferContext& ctx) {
  for (size_t i = 0; i < ctx.num_outputs(); ++i) {
    TensorType type = ctx.op().output(i)->type();
    type.quant.reset();
    ctx.set(i, std::move(type));
  }
  return {};
}

Status custom(KernelContext& ctx) {
  return ctx
      .fail("custom op '" + ctx.attrs<CustomAttrs>().code +
            "' cannot run here: only the runtime it was written for has its kernel")
      .hint("compile the model for a target that runs this op, or cut the model before it");
}

}  // namespace

EC_OP_DEF(Custom, .signature = "(inputs...) -> (outputs...)",
          .summary =
              "An op of another program, named by its code, with opaque options. It is kept and "
              "written again, but has no kernel here.",
          .sizes_from_values = true, .infer = infer_custom, .reference = custom,
          .layout = LayoutRule::Fixed);

}  // namespace ec::ops
