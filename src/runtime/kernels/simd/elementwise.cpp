// Element-wise loops: one instantiation per operation, vectors first, then a masked tail.
#include "runtime/kernels/simd/tables.h"
#include "runtime/kernels/simd/vec.h"
#include "runtime/kernels/simd/vec_math.h"

namespace ec::kernels::EC_SIMD_NS {

namespace {

struct Params {
  V alpha;
  V beta;
};

template <class F>
void unary(const float* x, float* y, Index n, float alpha, float beta) {
  const Params p{set1(alpha), set1(beta)};
  Index i = 0;
  for (; i + kLanes <= n; i += kLanes) store(y + i, F::apply(load(x + i), p));
  if (i < n) store_n(y + i, F::apply(load_n(x + i, n - i), p), n - i);
}

struct Identity {
  static V apply(V x, const Params&) { return x; }
};
struct Clamp {
  static V apply(V x, const Params& p) { return clamp(x, p.alpha, p.beta); }
};
struct LeakyRelu {
  static V apply(V x, const Params& p) { return x < 0.0F ? p.alpha * x : x; }
};
struct Elu {
  static V apply(V x, const Params& p) {
    // exp(x) - 1 loses digits near zero: a short series serves there.
    const float c[] = {1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F};
    const V series = x * polynomial(x, c);
    const V m1 = x > -0.3F ? series : vexp(x) - 1.0F;
    return x < 0.0F ? p.alpha * m1 : x;
  }
};
struct HardSigmoid {
  static V apply(V x, const Params& p) { return clamp(p.alpha * x + p.beta, V{}, set1(1.0F)); }
};
struct HardSwish {
  static V apply(V x, const Params&) {
    // x + 3 first: x / 6 + 0.5 would lose digits near -3.
    return x * clamp(x + 3.0F, V{}, set1(6.0F)) * (1.0F / 6.0F);
  }
};
struct Sigmoid {
  static V apply(V x, const Params&) { return vsigmoid(x); }
};
struct Silu {
  static V apply(V x, const Params&) { return x * vsigmoid(x); }
};
struct Tanh {
  static V apply(V x, const Params&) { return vtanh(x); }
};
struct Exp {
  static V apply(V x, const Params&) { return vexp(x); }
};
struct Erf {
  static V apply(V x, const Params&) { return verf(x); }
};
struct Gelu {
  static V apply(V x, const Params&) { return vgelu(x); }
};
struct GeluTanh {
  static V apply(V x, const Params&) {
    // 0.5 x (1 + tanh u) is x sigmoid(2u).
    const V u = 0.797884561F * (x + 0.044715F * x * x * x);
    return x * vsigmoid(u + u);
  }
};
struct Mish {
  static V apply(V x, const Params&) {
    // tanh(log(1 + e)) = (e^2 + 2e) / (e^2 + 2e + 2), e = exp(x)
    const V e = vexp(vmin(set1(20.0F), x));
    const V q = e * (e + 2.0F);
    return x * q / (q + 2.0F);
  }
};
struct Reciprocal {
  static V apply(V x, const Params&) { return 1.0F / x; }
};
struct Neg {
  static V apply(V x, const Params&) { return -x; }
};
struct Abs {
  static V apply(V x, const Params&) { return vabs(x); }
};
struct Square {
  static V apply(V x, const Params&) { return x * x; }
};
struct Affine {
  static V apply(V x, const Params& p) { return p.alpha * x + p.beta; }
};

template <class F>
void each(const float* x, float* y, Index n, float, float) {
  for (Index i = 0; i < n; ++i) y[i] = F::apply(x[i]);
}

struct Log {
  static float apply(float x) { return __builtin_logf(x); }
};
struct Sqrt {
  static float apply(float x) { return __builtin_sqrtf(x); }
};
struct Rsqrt {
  static float apply(float x) { return 1.0F / __builtin_sqrtf(x); }
};
struct Floor {
  static float apply(float x) { return __builtin_floorf(x); }
};
struct Ceil {
  static float apply(float x) { return __builtin_ceilf(x); }
};
struct Softplus {
  static float apply(float x) {
    return (x > 0.0F ? x : 0.0F) + __builtin_log1pf(__builtin_expf(-__builtin_fabsf(x)));
  }
};

struct Add {
  static V apply(V a, V b) { return a + b; }
};
struct Sub {
  static V apply(V a, V b) { return a - b; }
};
struct Mul {
  static V apply(V a, V b) { return a * b; }
};
struct Div {
  static V apply(V a, V b) { return a / b; }
};
// Either argument not-a-number gives not-a-number.
struct Min {
  static V apply(V a, V b) { return a == a ? vmin(a, b) : a; }
};
struct Max {
  static V apply(V a, V b) { return a == a ? vmax(a, b) : a; }
};

template <class F>
void binary_vv(const float* a, const float* b, float* y, Index n) {
  Index i = 0;
  for (; i + kLanes <= n; i += kLanes) store(y + i, F::apply(load(a + i), load(b + i)));
  if (i < n) store_n(y + i, F::apply(load_n(a + i, n - i), load_n(b + i, n - i)), n - i);
}

template <class F>
void binary_vs(const float* a, const float* b, float* y, Index n) {
  const V s = set1(*b);
  Index i = 0;
  for (; i + kLanes <= n; i += kLanes) store(y + i, F::apply(load(a + i), s));
  if (i < n) store_n(y + i, F::apply(load_n(a + i, n - i), s), n - i);
}

template <class F>
void binary_sv(const float* a, const float* b, float* y, Index n) {
  const V s = set1(*a);
  Index i = 0;
  for (; i + kLanes <= n; i += kLanes) store(y + i, F::apply(s, load(b + i)));
  if (i < n) store_n(y + i, F::apply(s, load_n(b + i, n - i)), n - i);
}

template <class F>
constexpr BinaryFns binary_fns() {
  return {binary_vv<F>, binary_vs<F>, binary_sv<F>};
}

}  // namespace

void fill_elementwise(KernelTable& table) {
  const auto set = [&table](UnaryOp op, UnaryFn fn) { table.unary[static_cast<size_t>(op)] = fn; };
  set(UnaryOp::Identity, unary<Identity>);
  set(UnaryOp::Clamp, unary<Clamp>);
  set(UnaryOp::LeakyRelu, unary<LeakyRelu>);
  set(UnaryOp::Elu, unary<Elu>);
  set(UnaryOp::HardSigmoid, unary<HardSigmoid>);
  set(UnaryOp::HardSwish, unary<HardSwish>);
  set(UnaryOp::Sigmoid, unary<Sigmoid>);
  set(UnaryOp::Silu, unary<Silu>);
  set(UnaryOp::Tanh, unary<Tanh>);
  set(UnaryOp::Exp, unary<Exp>);
  set(UnaryOp::Log, each<Log>);
  set(UnaryOp::Erf, unary<Erf>);
  set(UnaryOp::Gelu, unary<Gelu>);
  set(UnaryOp::GeluTanh, unary<GeluTanh>);
  set(UnaryOp::Softplus, each<Softplus>);
  set(UnaryOp::Mish, unary<Mish>);
  set(UnaryOp::Sqrt, each<Sqrt>);
  set(UnaryOp::Rsqrt, each<Rsqrt>);
  set(UnaryOp::Reciprocal, unary<Reciprocal>);
  set(UnaryOp::Neg, unary<Neg>);
  set(UnaryOp::Abs, unary<Abs>);
  set(UnaryOp::Square, unary<Square>);
  set(UnaryOp::Floor, each<Floor>);
  set(UnaryOp::Ceil, each<Ceil>);
  set(UnaryOp::Affine, unary<Affine>);

  const auto pair = [&table](BinaryOp op, BinaryFns fns) {
    table.binary[static_cast<size_t>(op)] = fns;
  };
  pair(BinaryOp::Add, binary_fns<Add>());
  pair(BinaryOp::Sub, binary_fns<Sub>());
  pair(BinaryOp::Mul, binary_fns<Mul>());
  pair(BinaryOp::Div, binary_fns<Div>());
  pair(BinaryOp::Min, binary_fns<Min>());
  pair(BinaryOp::Max, binary_fns<Max>());
}

}  // namespace ec::kernels::EC_SIMD_NS
