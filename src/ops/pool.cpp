#include "ops/pending.h"

namespace ec::ops {

EC_PENDING(MaxPool);
EC_PENDING(AvgPool);
EC_PENDING(LpPool);
EC_PENDING(GlobalAvgPool);
EC_PENDING(GlobalMaxPool);
EC_PENDING(MaxUnpool);
EC_PENDING(MaxRoiPool);
EC_PENDING(RoiAlign);

}  // namespace ec::ops
