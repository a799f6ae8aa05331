// The arithmetic that convolution and its transpose share: for every output position, each kernel
// tap names one input position or none. Blocks of output positions are gathered into a matrix and
// multiplied by the weights.
#pragma once

#include <span>
#include <vector>

#include "ops/activation_fn.h"
#include "ops/attrs.h"
#include "ops/matrix_product.h"
#include "support/budget.h"

namespace ec::ops {

struct ConvShape {
  Layout layout = Layout::ChannelsFirst;
  int64_t batch = 1, groups = 1;
  int64_t in_channels = 1, out_channels = 1;  // per group
  int64_t inputs = 1, outputs = 1, taps = 1;  // counts of spatial positions
};

// Offset of an element from batch, channel and spatial position.
struct ImageIndex {
  int64_t channels, positions;
  bool channels_first;
  int64_t operator()(int64_t n, int64_t c, int64_t p) const {
    return channels_first ? (n * channels + c) * positions + p : (n * positions + p) * channels + c;
  }
};

template <class C>
struct ConvOperands {
  const C* x = nullptr;
  // One row per output channel: [in_channels][taps], or [taps][in_channels] for channels last.
  const C* weights = nullptr;
  const C* bias = nullptr;      // may be null
  const C* residual = nullptr;  // may be null; as out
  C* out = nullptr;
};

struct Epilogue {
  Activation activation = Activation::None;
  double alpha = 0, beta = 0;
};

// What convolve() takes beside the operands: far more than the weights where a filter is immense.
inline size_t convolve_scratch_bytes(const ConvShape& s) {
  const auto per_tap = static_cast<size_t>(kProductBlock) * sizeof(int64_t);
  return static_cast<size_t>(s.taps) * static_cast<size_t>(s.in_channels + 1) * per_tap;
}

// find_sources(first, count, table): table[tap * kProductBlock + j] = input position that output
// position first + j reads with this tap, or -1.
template <class C, class FindSources>
void convolve(const ConvShape& s, const ConvOperands<C>& o, const Epilogue& epilogue,
              FindSources&& find_sources) {
  using A = Accumulator<C>;
  const bool first_layout = s.layout == Layout::ChannelsFirst;
  const ImageIndex in{s.groups * s.in_channels, s.inputs, first_layout};
  const ImageIndex out{s.groups * s.out_channels, s.outputs, first_layout};
  const int64_t depth = s.in_channels * s.taps;
  std::vector<int64_t> table(static_cast<size_t>(s.taps * kProductBlock));
  std::vector<C> packed(static_cast<size_t>(depth * kProductBlock));
  const auto gather = [&](int64_t n, int64_t group, int64_t count) {
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t channel = first_layout ? k / s.taps : k % s.in_channels;
      const int64_t tap = first_layout ? k % s.taps : k / s.in_channels;
      const int64_t* sources = table.data() + tap * kProductBlock;
      C* line = packed.data() + k * kProductBlock;
      for (int64_t j = 0; j < count; ++j)
        line[j] = sources[j] < 0 ? C{} : o.x[in(n, group * s.in_channels + channel, sources[j])];
    }
  };
  Ticker ticker;
  for (int64_t first = 0; first < s.outputs; first += kProductBlock) {
    const int64_t count = std::min(kProductBlock, s.outputs - first);
    find_sources(first, count, table.data());
    for (int64_t n = 0; n < s.batch; ++n)
      for (int64_t group = 0; group < s.groups; ++group) {
        if (ticker.tick((s.out_channels + 1) * depth * kProductBlock)) return;
        gather(n, group, count);
        const C* rows = o.weights + group * s.out_channels * depth;
        multiply_block(s.out_channels, depth, MatrixRef<C>::row_major(rows, depth), packed.data(),
                       count, [&](int64_t row, std::span<const A> sums) {
                         const int64_t channel = group * s.out_channels + row;
                         for (size_t j = 0; j < sums.size(); ++j) {
                           const int64_t at = out(n, channel, first + static_cast<int64_t>(j));
                           A value = sums[j];
                           if (o.bias != nullptr) value += static_cast<A>(o.bias[channel]);
                           if (o.residual != nullptr) value += static_cast<A>(o.residual[at]);
                           if constexpr (std::is_floating_point_v<C>)
                             value = apply_activation<double>(epilogue.activation, value,
                                                              epilogue.alpha, epilogue.beta);
                           o.out[at] = static_cast<C>(value);
                         }
                       });
      }
  }
}

}  // namespace ec::ops
