#include "ops/pending.h"

namespace ec::ops {

EC_PENDING(Transpose);
EC_PENDING(Concat);
EC_PENDING(Split);
EC_PENDING(Slice);
EC_PENDING(Pad);
EC_PENDING(Tile);
EC_PENDING(Trilu);
EC_PENDING(ReverseSequence);
EC_PENDING(CenterCropPad);

}  // namespace ec::ops
