#include "ops/pending.h"

namespace ec::ops {

EC_PENDING(RandomUniform);
EC_PENDING(RandomNormal);
EC_PENDING(Bernoulli);
EC_PENDING(Multinomial);
EC_PENDING(Dropout);

}  // namespace ec::ops
