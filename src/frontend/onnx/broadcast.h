// Broadcasting as operator sets before 7 had it: the second operand's dimensions stand for the
// first one's from attribute `axis` on (or the last ones), and only when `broadcast` is set.
#pragma once

#include "frontend/onnx/node_context.h"

namespace ec::onnx {

// B in a form that broadcasts against A by today's rules.
Result<ec::Tensor*> legacy_broadcast(NodeContext& ctx, ec::Tensor* a, ec::Tensor* b);

}  // namespace ec::onnx
