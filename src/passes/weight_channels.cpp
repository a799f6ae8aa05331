#include "passes/weight_channels.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "passes/match.h"

namespace ec {
namespace {

// to[i] = from[i] * factor of i's channel, where `from` need not be aligned: a file's bytes are
// not.
template <class FactorOf>
void scale_floats(const std::byte* from, float* to, int64_t count, FactorOf factor_of) {
  constexpr int64_t kChunk = 512;
  std::array<float, kChunk> aligned;
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    const int64_t n = std::min(kChunk, count - begin);
    std::memcpy(aligned.data(), from + static_cast<size_t>(begin) * sizeof(float),
                static_cast<size_t>(n) * sizeof(float));
    for (int64_t i = 0; i < n; ++i)
      to[begin + i] = static_cast<float>(static_cast<double>(aligned[static_cast<size_t>(i)]) *
                                         factor_of(begin + i));
  }
}

// `count` weights from element `begin` on, which have one channel in common (or both): each adds
// its share of its input channel's shift to its output channel.
template <class T>
void add_shares_of_run(const T* weights, int64_t begin, int64_t count,
                       const WeightChannels& channels, const std::vector<double>& shift,
                       double alpha, std::vector<double>& bias) {
  const double* from = shift.data() + channels.input(begin);
  double* to = bias.data() + channels.output(begin);
  if (channels.output.inner == 1) {
    const double factor = alpha * *from;
    for (int64_t i = 0; i < count; ++i) to[i] += static_cast<double>(weights[i]) * factor;
    return;
  }
  double sum = 0;
  if (channels.input.inner == 1) {
    for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(weights[i]) * from[i];
  } else {
    for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(weights[i]);
    sum *= *from;
  }
  *to += alpha * sum;
}

}  // namespace

Blob scaled_floats(std::span<const std::byte> bytes, const ChannelOf& channel,
                   const std::vector<double>& scale) {
  Buffer buffer = Buffer::allocate(bytes.size());
  if (!buffer.ok()) return {};
  const auto n = static_cast<int64_t>(bytes.size() / sizeof(float));
  const bool by_row = channel.inner == 1;  // a row has every channel once
  const int64_t step = by_row ? channel.count : channel.inner;
  for (int64_t begin = 0; begin < n; begin += step) {
    const std::byte* from = bytes.data() + static_cast<size_t>(begin) * sizeof(float);
    float* to = reinterpret_cast<float*>(buffer.data()) + begin;
    const double* factors = scale.data() + channel(begin);
    if (by_row)
      scale_floats(from, to, step, [factors](int64_t i) { return factors[i]; });
    else
      scale_floats(from, to, step, [factor = *factors](int64_t) { return factor; });
  }
  return std::move(buffer).to_blob();
}

void add_shifts(const Tensor* weights, const WeightChannels& channels,
                const std::vector<double>& shift, double alpha, std::vector<double>& bias) {
  int64_t run = std::min(channels.output.inner, channels.input.inner);
  if (channels.output.inner == 1)
    run = std::min(channels.output.count, channels.input.inner);
  else if (channels.input.inner == 1)
    run = std::min(channels.input.count, channels.output.inner);
  const auto n = *weights->type().num_elements();
  if (weights->dtype() != DType::F32) {
    const std::vector<double> values = double_values(weights);
    for (int64_t i = 0; i < n; i += run)
      add_shares_of_run(values.data() + i, i, run, channels, shift, alpha, bias);
    return;
  }
  // The same as above, read straight from the file: its bytes need not be aligned.
  std::vector<float> aligned(static_cast<size_t>(run));
  const std::byte* bytes = weights->raw_data().bytes().data();
  for (int64_t i = 0; i < n; i += run) {
    std::memcpy(aligned.data(), bytes + static_cast<size_t>(i) * sizeof(float),
                static_cast<size_t>(run) * sizeof(float));
    add_shares_of_run(aligned.data(), i, run, channels, shift, alpha, bias);
  }
}

}  // namespace ec
