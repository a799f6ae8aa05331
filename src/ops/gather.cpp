#include "ops/pending.h"

namespace ec::ops {

EC_PENDING(Gather);
EC_PENDING(GatherElements);
EC_PENDING(GatherNd);
EC_PENDING(ScatterElements);
EC_PENDING(ScatterNd);
EC_PENDING(TensorScatter);
EC_PENDING(OneHot);
EC_PENDING(NonZero);
EC_PENDING(Compress);
EC_PENDING(Unique);

}  // namespace ec::ops
