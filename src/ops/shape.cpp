#include "ops/pending.h"

namespace ec::ops {

EC_PENDING(Reshape);
EC_PENDING(Flatten);
EC_PENDING(Squeeze);
EC_PENDING(Unsqueeze);
EC_PENDING(Expand);
EC_PENDING(Shape);
EC_PENDING(Size);
EC_PENDING(Range);
EC_PENDING(Fill);
EC_PENDING(EyeLike);

}  // namespace ec::ops
