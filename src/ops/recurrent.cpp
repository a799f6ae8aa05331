#include "ops/pending.h"

namespace ec::ops {

EC_PENDING(Lstm);
EC_PENDING(Gru);
EC_PENDING(Rnn);

}  // namespace ec::ops
