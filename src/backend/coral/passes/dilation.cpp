// Convolutions whose taps lie further apart in one direction than in the other: the device knows
// one distance for both.
#include <cstring>
#include <numeric>

#include "backend/coral/passes/rules.h"

namespace ec::passes {
namespace {

constexpr int64_t kMostTaps = 31 * 31;

// The filters [O, H, W, I] with their taps `step` apart, zeros between them.
Tensor* spread(Replacement& p, const Tensor* weights, const std::vector<int64_t>& k,
               const std::vector<int64_t>& spread_k, const std::vector<int64_t>& step) {
  const std::vector<int64_t> sizes = weights->shape()->sizes();
  const size_t width = element_size(weights->dtype()) * static_cast<size_t>(sizes[3]);
  const auto zero =
      static_cast<uint8_t>(weights->type().quant && !weights->type().quant->zero_points.empty()
                               ? weights->type().quant->zero_points[0]
                               : 0);
  std::vector<std::byte> bytes(static_cast<size_t>(sizes[0] * spread_k[0] * spread_k[1]) * width,
                               std::byte{zero});
  for (int64_t o = 0; o < sizes[0]; ++o)
    for (int64_t y = 0; y < k[0]; ++y)
      for (int64_t x = 0; x < k[1]; ++x) {
        const auto from = static_cast<size_t>((o * k[0] + y) * k[1] + x);
        const auto to =
            static_cast<size_t>((o * spread_k[0] + y * step[0]) * spread_k[1] + x * step[1]);
        std::memcpy(bytes.data() + to * width, weights->data().bytes().data() + from * width,
                    width);
      }
  TensorType type = weights->type();
  type.shape = Shape{sizes[0], spread_k[0], spread_k[1], sizes[3]};
  return p.rewriter().graph().add_constant("", std::move(type),
                                           Blob::copy_of(std::span<const std::byte>(bytes)));
}

Result<bool> equal_dilation(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<ConvAttrs>();
  const Tensor* weights = op->input(1);
  if (attrs.layout != Layout::ChannelsLast || attrs.dilations.size() != 2 ||
      attrs.dilations[0] == attrs.dilations[1] || !is_constant(weights) ||
      rank_of(weights) != size_t{4})
    return false;
  if (weights->dtype() != DType::F32 && weights->dtype() != DType::I8 &&
      weights->dtype() != DType::U8)
    return false;
  const std::vector<int64_t> k = {weights->shape()->sizes()[1], weights->shape()->sizes()[2]};
  Attrs equal = op->attrs();
  std::vector<int64_t>& dilations = equal.edit<ConvAttrs>().dilations;
  Replacement p(r, op);
  std::vector<Tensor*> inputs = op->inputs();
  if (k[0] == 1 || k[1] == 1) {
    // One tap has no distance.
    dilations = std::vector<int64_t>(2, k[0] == 1 ? dilations[1] : dilations[0]);
    return rewritten(p, p.op(OpKind::Conv, std::move(inputs), std::move(equal)),
                     "the same with equal dilations");
  }
  const int64_t common = std::gcd(dilations[0], dilations[1]);
  const std::vector<int64_t> step = {dilations[0] / common, dilations[1] / common};
  const std::vector<int64_t> spread_k = {(k[0] - 1) * step[0] + 1, (k[1] - 1) * step[1] + 1};
  if (spread_k[0] * spread_k[1] > kMostTaps) return false;
  inputs[1] = spread(p, weights, k, spread_k, step);
  dilations = {common, common};
  return rewritten(p, p.op(OpKind::Conv, std::move(inputs), std::move(equal)),
                   "a " + std::to_string(spread_k[0]) + "x" + std::to_string(spread_k[1]) +
                       " convolution with zeros between the taps");
}

constexpr RewriteRule kRules[] = {{OpKind::Conv, equal_dilation, "dilations"}};

}  // namespace

const std::span<const RewriteRule> kCoralDilation = kRules;

}  // namespace ec::passes
