#include "ops/pending.h"

namespace ec::ops {

EC_PENDING(Conv);
EC_PENDING(ConvTranspose);
EC_PENDING(DeformConv);
EC_PENDING(Col2Im);

}  // namespace ec::ops
