// What conv, conv_transpose, matmul and gemm share: constant weights, a bias per output channel,
// and how to multiply and shift their channels.
#pragma once

#include "passes/match.h"
#include "passes/rewriter.h"

namespace ec {

bool is_weighted_sum(const Operation* op);
// No activation yet and no residual: what follows can still be merged into weights and bias.
bool is_open(const Operation* op);

// Number of output (input) channels when known.
std::optional<int64_t> output_channels(const Operation* op);
std::optional<int64_t> input_channels(const Operation* op);
// Which dimension of the result (of operand 0) holds the channels.
std::optional<size_t> output_channel_axis(const Operation* op);
std::optional<size_t> input_channel_axis(const Operation* op);

// y = scale x + shift per channel. Empty scale: 1, empty shift: 0.
struct ChannelAffine {
  std::vector<double> scale, shift;
};

// A constant that is broadcast along `axis` of a tensor of rank `rank` with `channels` entries
// there: its values per channel, or nothing when it varies along another axis.
std::optional<std::vector<double>> channel_values(const Tensor* constant, size_t rank, size_t axis,
                                                  int64_t channels);
// batch_norm at inference with constant parameters.
std::optional<ChannelAffine> batch_norm_affine(const Operation* op);
// Which axis of x the batch_norm's channels are.
std::optional<size_t> batch_norm_axis(const Operation* op);

// True when add_with_affine() can do it: constant weights where a scale is asked for.
bool takes_output_affine(const Operation* op, const ChannelAffine& affine);
// The operation with `affine` applied to its result. Requires takes_output_affine().
Result<Tensor*> add_with_affine(Rewriter& rewriter, const Operation* op,
                                const ChannelAffine& affine,
                                std::initializer_list<const Operation*> from);

// affine applied to operand 0 before the operation: exact when nothing is padded, or nothing
// shifted. Requires constant weights.
bool takes_input_affine(const Operation* op, const ChannelAffine& affine);
Result<Tensor*> add_with_input_affine(Rewriter& rewriter, const Operation* op, Tensor* x,
                                      const ChannelAffine& affine,
                                      std::initializer_list<const Operation*> from);

}  // namespace ec
