#include "ops/pending.h"

namespace ec::ops {

EC_PENDING(Identity);
EC_PENDING(Abs);
EC_PENDING(Neg);
EC_PENDING(Exp);
EC_PENDING(Log);
EC_PENDING(Sqrt);
EC_PENDING(Rsqrt);
EC_PENDING(Reciprocal);
EC_PENDING(Floor);
EC_PENDING(Ceil);
EC_PENDING(Round);
EC_PENDING(Sign);
EC_PENDING(Sin);
EC_PENDING(Cos);
EC_PENDING(Tan);
EC_PENDING(Asin);
EC_PENDING(Acos);
EC_PENDING(Atan);
EC_PENDING(Sinh);
EC_PENDING(Cosh);
EC_PENDING(Tanh);
EC_PENDING(Asinh);
EC_PENDING(Acosh);
EC_PENDING(Atanh);
EC_PENDING(Erf);
EC_PENDING(Not);
EC_PENDING(BitwiseNot);
EC_PENDING(IsNan);
EC_PENDING(IsInf);
EC_PENDING(Cast);
EC_PENDING(BitCast);

}  // namespace ec::ops
