#include "ops/pending.h"

namespace ec::ops {

EC_PENDING(ReduceSum);
EC_PENDING(ReduceMean);
EC_PENDING(ReduceMax);
EC_PENDING(ReduceMin);
EC_PENDING(ReduceProd);
EC_PENDING(ReduceL1);
EC_PENDING(ReduceL2);
EC_PENDING(ReduceLogSum);
EC_PENDING(ReduceLogSumExp);
EC_PENDING(ReduceSumSquare);
EC_PENDING(ArgMax);
EC_PENDING(ArgMin);
EC_PENDING(CumSum);
EC_PENDING(CumProd);
EC_PENDING(TopK);

}  // namespace ec::ops
