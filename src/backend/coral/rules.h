// The limitations of single operators; see support.def.
#pragma once

#include "backend/coral/support.h"

namespace ec::coral::rules {

using Rule = Verdict (*)(const OperatorView&, const Rules&);

Verdict any(const OperatorView& op, const Rules& rules);
Verdict concatenation(const OperatorView& op, const Rules& rules);
Verdict convolution(const OperatorView& op, const Rules& rules);
Verdict depthwise(const OperatorView& op, const Rules& rules);
Verdict fully_connected(const OperatorView& op, const Rules& rules);
Verdict mean(const OperatorView& op, const Rules& rules);
Verdict pack(const OperatorView& op, const Rules& rules);
Verdict pad(const OperatorView& op, const Rules& rules);
Verdict pool(const OperatorView& op, const Rules& rules);
Verdict prelu(const OperatorView& op, const Rules& rules);
Verdict reduce(const OperatorView& op, const Rules& rules);
Verdict resize(const OperatorView& op, const Rules& rules);
Verdict softmax(const OperatorView& op, const Rules& rules);
Verdict split(const OperatorView& op, const Rules& rules);
Verdict squeeze(const OperatorView& op, const Rules& rules);
Verdict strided_slice(const OperatorView& op, const Rules& rules);
Verdict transpose_conv(const OperatorView& op, const Rules& rules);

}  // namespace ec::coral::rules
