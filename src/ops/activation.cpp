#include "ops/pending.h"

namespace ec::ops {

EC_PENDING(Relu);
EC_PENDING(Sigmoid);
EC_PENDING(Softplus);
EC_PENDING(Softsign);
EC_PENDING(Mish);
EC_PENDING(Silu);
EC_PENDING(HardSwish);
EC_PENDING(Gelu);
EC_PENDING(Elu);
EC_PENDING(Celu);
EC_PENDING(Selu);
EC_PENDING(LeakyRelu);
EC_PENDING(ThresholdedRelu);
EC_PENDING(HardSigmoid);
EC_PENDING(Shrink);
EC_PENDING(Clip);
EC_PENDING(Prelu);

}  // namespace ec::ops
