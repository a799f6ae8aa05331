// Vector exp, tanh, erf and relatives, a few ulp each.
//
// exp, tanh: range reduction and polynomials in the manner of the Cephes single-precision library.
// erf, erfc: weighted least-squares Chebyshev fits of erf(x)/x in x^2 on [0,1] (1.3e-9 relative)
// and of erfc(z) exp(z^2) in t = 1/(1 + 0.4 z) on z in [0,10.2] (3.3e-8 relative), made with
// 40-digit arithmetic.
#pragma once

#include "runtime/kernels/simd/vec.h"

namespace ec::kernels::EC_SIMD_NS {

template <int N>
inline V polynomial(V x, const float (&c)[N]) {  // c[0] is the highest power
  V r = set1(c[0]);
  for (int i = 1; i < N; ++i) r = r * x + c[i];
  return r;
}

inline V vexp(V x) {
  // Above 89 the result is infinite, below -104 it is zero; not-a-number stays.
  x = clamp(x, set1(-104.0F), set1(89.0F));
  constexpr float kRound =
      12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer in the low bits
  const V shifted = x * 1.44269504F + kRound;
  const Vi n = __builtin_bit_cast(Vi, shifted) - __builtin_bit_cast(int32_t, kRound);
  const V nf = shifted - kRound;
  V r = x - nf * 0.693359375F;
  r = r + nf * 2.12194440e-4F;
  const float c[] = {1.9875691500e-4F, 1.3981999507e-3F, 8.3334519073e-3F,
                     4.1665795894e-2F, 1.6666665459e-1F, 5.0000001201e-1F};
  const V p = polynomial(r, c) * (r * r) + r + 1.0F;
  // 2^n in two factors: n itself may leave the exponent range (overflow, denormal results).
  const Vi half = n >> 1;
  const V s1 = __builtin_bit_cast(V, (half + 127) << 23);
  const V s2 = __builtin_bit_cast(V, (n - half + 127) << 23);
  return p * s1 * s2;
}

inline V vsigmoid(V x) { return reciprocal(1.0F + vexp(vmin(set1(87.0F), -x))); }

inline V vtanh(V x) {
  const V a = vabs(x);
  const V x2 = x * x;
  const float c[] = {-5.70498872745e-3F, 2.06390887954e-2F, -5.37397155531e-2F, 1.33314422036e-1F,
                     -3.33332819422e-1F};
  const V small = x + x * x2 * polynomial(x2, c);
  const V e = vexp(vmin(set1(20.0F), a + a));  // tanh(10) is 1 in single precision
  const V large = copy_sign(1.0F - 2.0F * reciprocal(e + 1.0F), x);
  const V r = a < 0.625F ? small : large;
  return x == x ? r : x;
}

/// erfc(z) for z >= 0.
inline V verfc_positive(V z) {
  const V t = reciprocal(1.0F + 0.4F * vmin(set1(10.2F), z));
  const float c[] = {0.029697723F, -0.0800502877F, -0.0515737291F, 0.260136944F, -0.0559904048F,
                     0.262134545F, 0.179576155F,   0.230911537F,   0.225133656F, 2.38937197e-05F};
  return vexp(-z * z) * polynomial(t, c);
}

inline V verf(V x) {
  const V a = vabs(x);
  const V x2 = x * x;
  const float c[] = {7.84725909e-05F, -0.000800818931F, 0.00518809889F, -0.0268536911F,
                     0.112835822F,    -0.376126256F,    1.12837917F};
  const V small = x * polynomial(x2, c);
  const V large = copy_sign(1.0F - verfc_positive(a), x);
  const V r = a < 1.0F ? small : large;
  return x == x ? r : x;
}

/// 0.5 x erfc(-x / sqrt 2): no cancellation for negative x.
inline V vgelu(V x) {
  const V z = x * -0.707106781F;
  const V tail = verfc_positive(vabs(z));
  const V c = z < 0.0F ? 2.0F - tail : tail;
  return 0.5F * x * c;
}

}  // namespace ec::kernels::EC_SIMD_NS
