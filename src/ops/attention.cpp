#include "ops/pending.h"

namespace ec::ops {

EC_PENDING(Attention);
EC_PENDING(RotaryEmbedding);

}  // namespace ec::ops
