// depthwise-scales: a factor and a shift for each channel become a convolution of one tap.
//
//   add(mul(%x, %s), %b) -> conv(%x, %s', %b) {groups=C}
//
// For quantisation: a product and a sum with constants round twice, with one scale for all factors;
// the convolution has a scale for each and rounds once, and takes an activation along. A scalar for
// all channels stays: the scale of the result absorbs such a factor exactly.
#include "passes/registry.h"
#include "passes/weighted_sum.h"

namespace ec::passes {
namespace {

constexpr size_t kRank = 4, kChannels = 3;  // of images with channels last

// What a binary operation with a constant multiplies or adds, by channel; empty where it is no such
// operation.
std::optional<std::vector<double>> channel_constants(const Operation* op) {
  if (op == nullptr || !is_plain(op) || op->output()->dtype() != DType::F32) return std::nullopt;
  const WithConstant match = with_constant(op);
  if (!match || rank_of(match.x) != kRank || !same_shape(match.x, op->output()))
    return std::nullopt;
  const Dim channels = (*match.x->shape())[kChannels];
  if (!channels.is_static() || channels.size() < 2) return std::nullopt;
  return channel_values(match.constant, kRank, kChannels, channels.size());
}

bool is_shift(const Operation* op) {
  return op != nullptr && op->kind() == OpKind::Add && channel_constants(op).has_value();
}
bool has_number(const Operation* op) { return splat_value(with_constant(op).constant).has_value(); }

Tensor* constant_of(Graph& graph, Shape shape, const std::vector<double>& values) {
  const std::vector<float> floats(values.begin(), values.end());
  return graph.add_constant<float>("", std::move(shape), std::span<const float>(floats));
}

Result<bool> replace(Rewriter& rewriter, Operation* op, Tensor* x, const std::vector<double>& scale,
                     const std::vector<double>& shift, const Operation* product) {
  const auto channels = static_cast<int64_t>(scale.size());
  ConvAttrs attrs;
  attrs.layout = Layout::ChannelsLast;
  attrs.groups = channels;
  EC_TRY(Tensor * result,
         rewriter.add(OpKind::Conv,
                      {x, constant_of(rewriter.graph(), Shape{channels, 1, 1, 1}, scale),
                       constant_of(rewriter.graph(), Shape{channels}, shift)},
                      std::move(attrs), {product, op}));
  rewriter.replace(op, result);
  return true;
}

Result<bool> product_and_sum(Rewriter& rewriter, Operation* op) {
  const auto shift = channel_constants(op);
  if (!shift) return false;
  Tensor* product = with_constant(op).x;
  Operation* mul = produced_by(product, OpKind::Mul);
  if (mul == nullptr || !has_single_use(product)) return false;
  const auto scale = channel_constants(mul);
  if (!scale || (has_number(mul) && has_number(op))) return false;
  return replace(rewriter, op, with_constant(mul).x, *scale, *shift, mul);
}

Result<bool> product_alone(Rewriter& rewriter, Operation* op) {
  const auto scale = channel_constants(op);
  if (!scale || has_number(op) || is_shift(only_user(op->output()))) return false;
  return replace(rewriter, op, with_constant(op).x, *scale, std::vector<double>(scale->size(), 0.0),
                 nullptr);
}

constexpr RewriteRule kRules[] = {
    {OpKind::Add, product_and_sum, "factors and shifts"},
    {OpKind::Mul, product_alone, "factors"},
};

}  // namespace

const PassInfo kDepthwiseScalesPass{
    .name = "depthwise-scales",
    .summary = "Turns factors and shifts by channel into convolutions of one tap.",
    .details =
        "For quantisation, behind the layout: images with channels last. The convolution has a "
        "scale for each factor and rounds once, where a product and a sum round twice with one "
        "scale for all.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<RulePass>(kDepthwiseScalesPass.name, kRules);
    }};

}  // namespace ec::passes
