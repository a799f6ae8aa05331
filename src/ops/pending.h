// Stand-in for definitions that are still to be written: refuses the op with a clear error.
#pragma once

#include "ops/define.h"

namespace ec::ops {

inline Status refuse_infer(InferContext& ctx) {
  return ctx.fail(Code::UnsupportedOpForm, "this operation has no definition yet");
}
inline Status refuse_kernel(KernelContext& ctx) {
  return ctx.fail("this operation has no kernel yet");
}

}  // namespace ec::ops

#define EC_PENDING(Name)                                                            \
  EC_OP_DEF(Name, .signature = "(inputs...) -> (outputs...)", .summary = "pending", \
            .infer = refuse_infer, .reference = refuse_kernel)
