#include "ops/pending.h"

namespace ec::ops {

EC_PENDING(Quantize);
EC_PENDING(Dequantize);
EC_PENDING(DynamicQuantize);

}  // namespace ec::ops
