// Loops over one row of values: sums, maxima, softmax, normalisation, and the gathers behind
// pooling.
#include "runtime/kernels/simd/tables.h"
#include "runtime/kernels/simd/vec.h"
#include "runtime/kernels/simd/vec_math.h"

namespace ec::kernels::EC_SIMD_NS {

namespace {

constexpr int kChains = 4;  // independent sums in flight

template <class F>
inline V accumulate(Index n,
                    F&& term) {  // term(i, count): the vector at i, only `count` lanes of it valid
  V acc[kChains] = {};
  Index i = 0;
  for (; i + kChains * kLanes <= n; i += kChains * kLanes)
    for (int c = 0; c < kChains; ++c) acc[c] += term(i + c * kLanes, kLanes);
  for (; i + kLanes <= n; i += kLanes) acc[0] += term(i, kLanes);
  if (i < n) acc[1] += term(i, n - i);
  return (acc[0] + acc[1]) + (acc[2] + acc[3]);
}

inline V pick(const float* p, Index count) { return count == kLanes ? load(p) : load_n(p, count); }

inline void put(float* p, V v, Index count) {
  if (count == kLanes) {
    store(p, v);
  } else {
    store_n(p, v, count);
  }
}

float sum(const float* x, Index n) {
  return reduce_add(accumulate(n, [x](Index i, Index count) { return pick(x + i, count); }));
}

// NaN when there is one.
float max(const float* x, Index n) {
  float m = x[0];
  Index i = 0;
  if (n >= kLanes) {
    V acc = load(x);
    for (i = kLanes; i + kLanes <= n; i += kLanes) acc = acc == acc ? vmax(acc, load(x + i)) : acc;
    m = reduce_max(acc);
  }
  for (; i < n; ++i) m = m > x[i] || m != m ? m : x[i];
  return m;
}

void softmax_row(const float* x, float* y, Index n, bool logarithm) {
  const float top = max(x, n);
  const V shift = set1(top);
  if (logarithm) {
    const float total = reduce_add(accumulate(n, [&](Index i, Index count) {
      V e = vexp(pick(x + i, count) - shift);
      if (count < kLanes) {
        float t[kLanes] = {};
        store_n(t, e, count);
        e = load(t);
      }
      return e;
    }));
    const V offset = set1(top + __builtin_logf(total));
    Index i = 0;
    for (; i + kLanes <= n; i += kLanes) store(y + i, load(x + i) - offset);
    if (i < n) store_n(y + i, load_n(x + i, n - i) - offset, n - i);
    return;
  }
  V acc = {};
  Index i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const V e = vexp(load(x + i) - shift);
    store(y + i, e);
    acc += e;
  }
  float total = reduce_add(acc);
  if (i < n) {
    store_n(y + i, vexp(load_n(x + i, n - i) - shift), n - i);
    for (Index j = i; j < n; ++j) total += y[j];
  }
  const V scale = set1(1.0F / total);
  for (i = 0; i + kLanes <= n; i += kLanes) store(y + i, load(y + i) * scale);
  if (i < n) store_n(y + i, load_n(y + i, n - i) * scale, n - i);
}

inline V normalised(const NormArgs& a, Index i, Index count, V mean, V scale) {
  V v = (pick(a.x + i, count) - mean) * scale;
  if (a.scale != nullptr) v = v * pick(a.scale + i, count);
  if (a.bias != nullptr) v = v + pick(a.bias + i, count);
  return v;
}

void write_normalised(const NormArgs& a, float mean, float scale) {
  const V vmean = set1(mean), vscale = set1(scale);
  Index i = 0;
  for (; i + kLanes <= a.n; i += kLanes) store(a.y + i, normalised(a, i, kLanes, vmean, vscale));
  if (i < a.n) store_n(a.y + i, normalised(a, i, a.n - i, vmean, vscale), a.n - i);
}

void norm_long_row(const NormArgs& a) {
  const float inv_n = 1.0F / static_cast<float>(a.n);
  const float mean = a.centre ? sum(a.x, a.n) * inv_n : 0.0F;
  const V vmean = set1(mean);
  const V squares = accumulate(a.n, [&](Index i, Index count) {
    // Lanes past the end would add mean^2: give them the mean.
    V d = pick(a.x + i, count) - vmean;
    if (count < kLanes) {
      float t[kLanes] = {};
      store_n(t, d, count);
      d = load(t);
    }
    return d * d;
  });
  const float variance = reduce_add(squares) * inv_n;
  write_normalised(a, mean, 1.0F / __builtin_sqrtf(variance + a.epsilon));
}

// Rows whose values are added up one after the other, which is what TFLite's reference kernels do
// and does not depend on how many lanes there are. Several rows at a time: each sum waits for its
// own last addition only.
template <Index kRows>
void norm_short_rows(const NormArgs& a) {
  const auto n = static_cast<float>(a.n);
  float mean[kRows] = {}, squares[kRows] = {};
  if (a.centre) {
    for (Index i = 0; i < a.n; ++i)
      for (Index r = 0; r < kRows; ++r) mean[r] += a.x[r * a.n + i];
    for (Index r = 0; r < kRows; ++r) mean[r] /= n;
  }
  // Through memory, so that a product is rounded before it is added.
  constexpr Index kChunk = 64;
  float products[kRows][kChunk];
  for (Index first = 0; first < a.n; first += kChunk) {
    const Index count = a.n - first < kChunk ? a.n - first : kChunk;
    for (Index r = 0; r < kRows; ++r)
      for (Index i = 0; i < count; ++i) {
        const float d = a.x[r * a.n + first + i] - mean[r];
        products[r][i] = d * d;
      }
    for (Index i = 0; i < count; ++i)
      for (Index r = 0; r < kRows; ++r) squares[r] += products[r][i];
  }
  for (Index r = 0; r < kRows; ++r) {
    NormArgs row = a;
    row.x += r * a.n;
    row.y += r * a.n;
    write_normalised(row, mean[r], 1.0F / __builtin_sqrtf(squares[r] / n + a.epsilon));
  }
}

void norm_rows(const NormArgs& given) {
  // Longer ones would lose digits in one running sum.
  constexpr Index kShort = 1024, kTogether = 8;
  NormArgs a = given;
  for (Index left = given.rows; left > 0;) {
    const bool several = a.n <= kShort && left >= kTogether;
    if (a.n > kShort)
      norm_long_row(a);
    else if (several)
      norm_short_rows<kTogether>(a);
    else
      norm_short_rows<1>(a);
    const Index done = several ? kTogether : 1;
    left -= done;
    a.x += done * a.n;
    a.y += done * a.n;
  }
}

void gather_max(const float* const* in, Index count, float* y, Index n) {
  for (Index c = 0; c < n; c += kLanes) {
    const Index lanes = n - c < kLanes ? n - c : kLanes;
    V acc = pick(in[0] + c, lanes);
    for (Index i = 1; i < count; ++i) {
      const V v = pick(in[i] + c, lanes);
      acc = acc == acc ? vmax(acc, v) : acc;
    }
    put(y + c, acc, lanes);
  }
}

// Works on vectors of as many bytes as those of floats have.
template <class T>
void gather_max_bytes(const T* const* in, Index count, T* y, Index n) {
  typedef T Bytes __attribute__((vector_size(kLanes * 4)));
  const auto bytes_at = [](const T* p) {
    Bytes bytes;
    __builtin_memcpy(&bytes, p, sizeof(bytes));
    return bytes;
  };
  constexpr Index kBytes = kLanes * 4;
  Index c = 0;
  for (; c + kBytes <= n; c += kBytes) {
    Bytes largest = bytes_at(in[0] + c);
    for (Index i = 1; i < count; ++i) {
      const Bytes v = bytes_at(in[i] + c);
      largest = v > largest ? v : largest;
    }
    __builtin_memcpy(y + c, &largest, sizeof(largest));
  }
  for (; c < n; ++c) {
    T largest = in[0][c];
    for (Index i = 1; i < count; ++i) largest = in[i][c] > largest ? in[i][c] : largest;
    y[c] = largest;
  }
}

void gather_sum(const float* const* in, Index count, float* y, Index n, float scale) {
  const V s = set1(scale);
  for (Index c = 0; c < n; c += kLanes) {
    const Index lanes = n - c < kLanes ? n - c : kLanes;
    // Two levels: a global pool adds thousands of values, and one running sum would lose digits.
    V total = {};
    for (Index first = 0; first < count; first += 64) {
      const Index last = first + 64 < count ? first + 64 : count;
      V acc = {};
      for (Index i = first; i < last; ++i) acc += pick(in[i] + c, lanes);
      total += acc;
    }
    put(y + c, total * s, lanes);
  }
}

void gather_weighted(const float* const* in, const float* weights, Index count, float* y, Index n) {
  for (Index c = 0; c < n; c += kLanes) {
    const Index lanes = n - c < kLanes ? n - c : kLanes;
    V acc = pick(in[0] + c, lanes) * weights[0];
    for (Index i = 1; i < count; ++i) acc += pick(in[i] + c, lanes) * weights[i];
    put(y + c, acc, lanes);
  }
}

}  // namespace

void fill_rows(KernelTable& table) {
  table.softmax_row = softmax_row;
  table.norm_rows = norm_rows;
  table.sum = sum;
  table.max = max;
  table.gather_max = gather_max;
  table.gather_max_i8 = gather_max_bytes<int8_t>;
  table.gather_max_u8 = gather_max_bytes<uint8_t>;
  table.gather_sum = gather_sum;
  table.gather_weighted = gather_weighted;
}

}  // namespace ec::kernels::EC_SIMD_NS
