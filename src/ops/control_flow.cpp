#include "ops/pending.h"

namespace ec::ops {

EC_PENDING(If);
EC_PENDING(Loop);
EC_PENDING(Scan);

}  // namespace ec::ops
