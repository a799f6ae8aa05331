// From floats to stored integers and back, with one scale for all elements.
#include "runtime/kernels/simd/tables.h"
#include "runtime/kernels/simd/vec.h"

namespace ec::kernels::EC_SIMD_NS {

namespace {

template <class T>
struct Stored {
  typedef T Vector __attribute__((vector_size(kLanes * sizeof(T))));

  static void store(T* p, Vi values) {
    const Vector narrow = __builtin_convertvector(values, Vector);
    __builtin_memcpy(p, &narrow, sizeof(narrow));
  }
  static void store_n(T* p, Vi values, Index n) {
    for (Index i = 0; i < n; ++i) p[i] = static_cast<T>(values[i]);
  }
  static V load(const T* p) {
    Vector stored;
    __builtin_memcpy(&stored, p, sizeof(stored));
    return __builtin_convertvector(__builtin_convertvector(stored, Vi), V);
  }
};

// Steps within the type's bounds as integers, in either rounding. NaN becomes the lowest.
struct HalfEven {
  static Vi round(V steps, V zero) {
    // Within 2^22 the sum has no bits for a fraction, so that the addition rounds.
    const V rounder = set1(0x1.8p23F);
    return __builtin_convertvector(((steps + rounder) - rounder) + zero, Vi);
  }
};
struct HalfAway {
  static Vi round(V steps, V zero) {
    // The largest number below a half: with a half itself, what lies just below one would reach 1.
    const V half = copy_sign(set1(0x1.fffffep-2F), steps);
    return __builtin_convertvector(steps + half, Vi) + __builtin_convertvector(zero, Vi);
  }
};

template <class T, class Rounding>
void quantize_as(const QuantizeArgs& args) {
  const V scale = set1(args.scale), zero = set1(args.zero_point);
  const V low = set1(args.low - args.zero_point), high = set1(args.high - args.zero_point);
  T* y = static_cast<T*>(args.y);
  const auto stored = [&](V x) { return Rounding::round(vmin(high, vmax(x / scale, low)), zero); };
  Index i = 0;
  for (; i + kLanes <= args.n; i += kLanes) Stored<T>::store(y + i, stored(load(args.x + i)));
  const Index rest = args.n - i;
  if (rest > 0) Stored<T>::store_n(y + i, stored(load_n(args.x + i, rest)), rest);
}

template <class T>
void quantize(const QuantizeArgs& args) {
  if (args.half_away)
    quantize_as<T, HalfAway>(args);
  else
    quantize_as<T, HalfEven>(args);
}

template <class T>
void dequantize(const DequantizeArgs& args) {
  const V scale = set1(args.scale), zero = set1(args.zero_point);
  const T* x = static_cast<const T*>(args.x);
  Index i = 0;
  for (; i + kLanes <= args.n; i += kLanes)
    store(args.y + i, (Stored<T>::load(x + i) - zero) * scale);
  for (; i < args.n; ++i) args.y[i] = (static_cast<float>(x[i]) - args.zero_point) * args.scale;
}

}  // namespace

void fill_quantize(KernelTable& table) {
  table.quantize_i8 = quantize<int8_t>;
  table.quantize_u8 = quantize<uint8_t>;
  table.quantize_i16 = quantize<int16_t>;
  table.dequantize_i8 = dequantize<int8_t>;
  table.dequantize_u8 = dequantize<uint8_t>;
  table.dequantize_i16 = dequantize<int16_t>;
}

}  // namespace ec::kernels::EC_SIMD_NS
