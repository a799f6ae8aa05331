#include "ops/pending.h"

namespace ec::ops {

EC_PENDING(Softmax);
EC_PENDING(LogSoftmax);
EC_PENDING(Hardmax);
EC_PENDING(BatchNorm);
EC_PENDING(InstanceNorm);
EC_PENDING(LayerNorm);
EC_PENDING(RmsNorm);
EC_PENDING(GroupNorm);
EC_PENDING(LpNorm);
EC_PENDING(Lrn);

}  // namespace ec::ops
