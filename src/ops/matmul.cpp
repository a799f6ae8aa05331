#include "ops/pending.h"

namespace ec::ops {

EC_PENDING(MatMul);
EC_PENDING(Gemm);
EC_PENDING(Einsum);
EC_PENDING(Det);

}  // namespace ec::ops
