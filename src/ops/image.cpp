#include "ops/pending.h"

namespace ec::ops {

EC_PENDING(Resize);
EC_PENDING(GridSample);
EC_PENDING(AffineGrid);
EC_PENDING(DepthToSpace);
EC_PENDING(SpaceToDepth);
EC_PENDING(NonMaxSuppression);

}  // namespace ec::ops
