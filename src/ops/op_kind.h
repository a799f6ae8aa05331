// The kinds of operations, from the one list in ops.def.
#pragma once

#include <cstdint>

namespace ec {

enum class OpKind : uint16_t {
#define EC_OP(Name, text, AttrsType) Name,
#include "ops/ops.def"
#undef EC_OP
};

}  // namespace ec
