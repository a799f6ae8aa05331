#include "ops/pending.h"

namespace ec::ops {

EC_PENDING(Dft);
EC_PENDING(Stft);
EC_PENDING(HannWindow);
EC_PENDING(HammingWindow);
EC_PENDING(BlackmanWindow);
EC_PENDING(MelWeightMatrix);

}  // namespace ec::ops
