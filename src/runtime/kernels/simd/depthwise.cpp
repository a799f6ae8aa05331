// Depthwise convolution, one output row at a time, channels innermost.
//
// A tile is kTile neighbouring outputs of one channel vector: each input column is loaded once and
// feeds every output it touches, so that the loop is bound by arithmetic and not by loads. Seven
// divides the widths of the usual feature maps (7, 14, 28, 56, 112).
#include "runtime/kernels/simd/tables.h"
#include "runtime/kernels/simd/vec.h"

namespace ec::kernels::EC_SIMD_NS {

namespace {

struct TileAt {
  Index x0 = 0;  // input column of the tile's first tap (may be negative)
  Index channel = 0;
  float* y = nullptr;
};

template <int KW, int S, int T, bool kEdge>
inline void tile(const DepthwiseRowArgs& a, const TileAt& at) {
  constexpr int kSpan = (T - 1) * S + KW;
  V acc[T];
  const V bias = a.bias != nullptr ? load(a.bias + at.channel) : V{};
  for (int t = 0; t < T; ++t) acc[t] = bias;
  for (Index r = 0; r < a.row_count; ++r) {
    const float* in = a.rows[r] + at.x0 * a.in_ld + at.channel;
    const float* w = a.weights[r] + at.channel;
    V wv[KW];
    for (int k = 0; k < KW; ++k) wv[k] = load(w + k * a.channels);
#pragma GCC unroll 32
    for (int x = 0; x < kSpan; ++x) {
      if constexpr (kEdge) {
        if (at.x0 + x < 0 || at.x0 + x >= a.in_w) continue;
      }
      const V v = load(in + x * a.in_ld);
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t) {
        const int k = x - t * S;
        if (k >= 0 && k < KW) acc[t] += v * wv[k];
      }
    }
  }
  const V lo = set1(a.lo);
  const V hi = set1(a.hi);
  for (int t = 0; t < T; ++t) store(at.y + t * a.out_ld, clamp(acc[t], lo, hi));
}

template <int KW, int S, int T>
void tile_channels(const DepthwiseRowArgs& a, Index ox) {
  TileAt at;
  at.x0 = ox * S - a.pad_left;
  const bool edge = at.x0 < 0 || at.x0 + (T - 1) * S + KW > a.in_w;
  for (Index c = 0; c < a.channels; c += kLanes) {
    // The last vector overlaps the one before it instead of being cut short.
    at.channel = c + kLanes <= a.channels ? c : a.channels - kLanes;
    at.y = a.y + ox * a.out_ld + at.channel;
    if (edge) {
      tile<KW, S, T, true>(a, at);
    } else {
      tile<KW, S, T, false>(a, at);
    }
  }
}

template <int KW, int S>
void row_direct(const DepthwiseRowArgs& a) {
  Index ox = 0;
  for (; ox + 7 <= a.out_w; ox += 7) tile_channels<KW, S, 7>(a, ox);
  if (ox + 4 <= a.out_w) {
    tile_channels<KW, S, 4>(a, ox);
    ox += 4;
  }
  if (ox + 2 <= a.out_w) {
    tile_channels<KW, S, 2>(a, ox);
    ox += 2;
  }
  if (ox < a.out_w) tile_channels<KW, S, 1>(a, ox);
}

/// Any kernel width, stride, dilation and channel count.
void row_general(const DepthwiseRowArgs& a) {
  const V lo = set1(a.lo);
  const V hi = set1(a.hi);
  for (Index ox = 0; ox < a.out_w; ++ox) {
    const Index x0 = ox * a.stride_w - a.pad_left;
    for (Index c = 0; c < a.channels; c += kLanes) {
      const Index n = a.channels - c < kLanes ? a.channels - c : kLanes;
      V acc = a.bias != nullptr ? load_n(a.bias + c, n) : V{};
      for (Index r = 0; r < a.row_count; ++r) {
        for (Index k = 0; k < a.kernel_w; ++k) {
          const Index x = x0 + k * a.dilation_w;
          if (x < 0 || x >= a.in_w) continue;
          acc +=
              load_n(a.rows[r] + x * a.in_ld + c, n) * load_n(a.weights[r] + k * a.channels + c, n);
        }
      }
      store_n(a.y + ox * a.out_ld + c, clamp(acc, lo, hi), n);
    }
  }
}

void depthwise_row(const DepthwiseRowArgs& a) {
  if (a.channels >= kLanes && a.dilation_w == 1 && a.stride_w <= 2) {
    const bool one = a.stride_w == 1;
    switch (a.kernel_w) {
      case 3:
        return one ? row_direct<3, 1>(a) : row_direct<3, 2>(a);
      case 5:
        return one ? row_direct<5, 1>(a) : row_direct<5, 2>(a);
      case 7:
        return one ? row_direct<7, 1>(a) : row_direct<7, 2>(a);
      default:
        break;
    }
  }
  row_general(a);
}

}  // namespace

void fill_depthwise(KernelTable& table) { table.depthwise_row = depthwise_row; }

}  // namespace ec::kernels::EC_SIMD_NS
