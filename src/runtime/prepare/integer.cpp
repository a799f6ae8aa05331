// Quantised convolutions, matrix products and additions on bytes, bit by bit as the integer kernels
// of the op table compute them. Forms that are not taken here run those.
#include "runtime/prepare/integer_parts.h"

namespace ec::prepare {
namespace {

// Tables of sources beyond this cost more memory than they save time.
constexpr int64_t kMaxSources = int64_t{1} << 22;

// All of one type of bytes.
bool all_bytes(const OpInstance& op) {
  const DType dtype = op.input(0).dtype;
  return (dtype == DType::I8 || dtype == DType::U8) && op.input(1).dtype == dtype &&
         op.output().dtype == dtype;
}
bool is_weighted(const OpInstance& op) {
  return all_bytes(op) && op.input(1).constant != nullptr && !op.has(3);
}

}  // namespace

Prepared integer_conv(const OpInstance& op, const PrepareContext& ctx) {
  const auto& attrs = op.attrs<ConvAttrs>();
  if (!is_weighted(op) || attrs.layout != Layout::ChannelsLast || op.input(0).rank() != 4)
    return nullptr;
  const auto& x = op.input(0).shape;
  const auto& w = op.input(1).shape;
  const auto& y = op.output().shape;
  const auto windows = resolve_windows(window_spec(attrs, spatial_sizes(attrs.layout, w)),
                                       spatial_sizes(attrs.layout, x));
  const Window window{x[1], x[2], y[1], y[2], windows[0], windows[1]};
  if (window.pixels() * window.taps() > kMaxSources) return nullptr;
  const auto weights = weights_of(op, w[0], w[1] * w[2], w[3]);
  const Output output{attrs.activation, attrs.act_alpha, attrs.act_beta};
  const auto in = params_of(op.op.input(0));
  if (!in || !weights) return nullptr;
  const bool depthwise = attrs.groups > 1 && attrs.groups == x[3] && y[3] == x[3];
  if (attrs.groups != 1 && (!depthwise || weights->taps > kMaxDepthwiseTaps)) return nullptr;
  // The dense kernel reads x + 128 as unsigned bytes, the depthwise one the bytes as they are.
  auto stage = weighted_stage(op, *weights, depthwise ? 0 : 128, output);
  if (!stage) return nullptr;
  WeightedSum sum{window, x[0], *weights, std::move(*stage), in->zero_point, op.input(0).dtype};
  return (depthwise ? integer_depthwise : integer_product)(ctx, std::move(sum));
}

Prepared integer_gemm(const OpInstance& op, const PrepareContext& ctx) {
  const auto& attrs = op.attrs<GemmAttrs>();
  const auto in = params_of(op.op.input(0));
  if (!is_weighted(op) || !in || attrs.transpose_a || !attrs.transpose_b || attrs.alpha != 1.0F ||
      attrs.beta != 1.0F)
    return nullptr;
  const auto& w = op.input(1).shape;
  const auto weights = weights_of(op, w[0], 1, w[1]);
  if (!weights) return nullptr;
  auto stage =
      weighted_stage(op, *weights, 128, {attrs.activation, attrs.act_alpha, attrs.act_beta});
  if (!stage) return nullptr;
  const double out_scale = params_of(op.op.output(0))->scale;
  const auto& scales = op.op.input(1)->type().quant->scales;
  std::vector<double> reals;
  for (size_t c = 0; c < static_cast<size_t>(w[0]); ++c)
    reals.push_back(in->scale * double{scales[scales.size() > 1 ? c : 0]} / out_scale);
  stage->set_reals(std::move(reals));
  // Rows are pixels of an image one high.
  WindowDim one, across;
  one.input = one.output = 1;
  across.input = across.output = op.input(0).shape[0];
  const Window window{1, across.input, 1, across.output, one, across};
  return integer_product(
      ctx, {window, 1, *weights, std::move(*stage), in->zero_point, op.input(0).dtype});
}

// Each operand on the common scale comes out of a table of its 256 values.
Prepared integer_add(const OpInstance& op, const PrepareContext& ctx) {
  const auto a = params_of(op.op.input(0)), b = params_of(op.op.input(1)),
             out = params_of(op.op.output(0));
  if (!a || !b || !out || !all_bytes(op) || op.input(0).shape != op.output().shape) return nullptr;
  const bool is_signed = op.output().dtype == DType::I8;
  const bool single = op.input(1).count() == 1;
  if (!single && op.input(1).shape != op.output().shape) return nullptr;
  constexpr int kBits = 20;
  const double twice = 2 * std::max(a->scale, b->scale);
  const auto table_of = [&](const Params& p) {
    const quantized::Multiplier m = quantized::quantize_multiplier(p.scale / twice);
    std::vector<int32_t> table;
    // By the bits of the byte, read as a signed one.
    for (int32_t v = -128; v < 128; ++v) {
      const int32_t stored = is_signed || v >= 0 ? v : v + 256;
      table.push_back(quantized::multiply(quantized::shift_left(stored - p.zero_point, kBits), m));
    }
    return table;
  };
  Stage stage(1);
  const auto factor =
      quantized::quantize_multiplier(twice / (static_cast<double>(1 << kBits) * out->scale));
  for (size_t i = 0; i < static_cast<size_t>(kInt8Panel); ++i)
    if (!stage.set_factor(i, factor)) return nullptr;
  stage.set_output(out->zero_point - offset_of(op.output().dtype), {-128, 127});
  const kernels::KernelTable* table = &ctx.table;
  const int64_t count = op.output().count();
  return make_op(
      [table, stage, count, single, is_signed, ta = table_of(*a),
       tb = table_of(*b)](const RunArgs& args) {
        constexpr int64_t kRun = 1 << 14;
        const kernels::Requantize q = stage.view();
        args.pool.parallel_for((count + kRun - 1) / kRun, [&](int64_t task, int) {
          const int64_t first = task * kRun;
          table->int8_add(
              {bytes_of(args.inputs[0]) + first, bytes_of(args.inputs[1]) + (single ? 0 : first),
               single ? 0 : 1, ta.data(), tb.data(), bytes_of(args.outputs[0]) + first,
               std::min(kRun, count - first)},
              q);
          if (!is_signed)
            turn_highest_bits(bytes_of(args.outputs[0]) + first, std::min(kRun, count - first));
        });
      },
      0, 0b11);
}

}  // namespace ec::prepare
