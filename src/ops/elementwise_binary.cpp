#include "ops/pending.h"

namespace ec::ops {

EC_PENDING(Add);
EC_PENDING(Sub);
EC_PENDING(Mul);
EC_PENDING(Div);
EC_PENDING(Pow);
EC_PENDING(Mod);
EC_PENDING(Max);
EC_PENDING(Min);
EC_PENDING(And);
EC_PENDING(Or);
EC_PENDING(Xor);
EC_PENDING(BitwiseAnd);
EC_PENDING(BitwiseOr);
EC_PENDING(BitwiseXor);
EC_PENDING(BitShift);
EC_PENDING(Equal);
EC_PENDING(Less);
EC_PENDING(LessOrEqual);
EC_PENDING(Greater);
EC_PENDING(GreaterOrEqual);
EC_PENDING(Where);

}  // namespace ec::ops
