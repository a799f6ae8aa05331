// The signal library of TFLite Micro (its directory signal/micro/kernels). Streams are cut and put
// together with samples that are left from the run before: state inside the operators.
#include <cstring>

#include "frontend/tflite/custom.h"
#include "frontend/tflite/importer.h"

namespace ec::tflite {
namespace {

constexpr int64_t kMost = INT32_MAX, kMostLength = 1 << 24;

Status window(OpContext& ctx) {
  EC_TRY(const FlexMap map, option_map(ctx));
  SignalWindowAttrs attrs;
  EC_TRY(attrs.shift, need_option(ctx, map, "shift", 0, 31));
  return ctx.finish(OpKind::SignalWindow, {ctx.in(0), ctx.in(1)}, attrs);
}

Status auto_scale(OpContext& ctx) { return ctx.finish(OpKind::SignalFftAutoScale, {ctx.in(0)}); }

template <OpKind kKind>
Status fourier(OpContext& ctx) {
  EC_TRY(const FlexMap map, option_map(ctx));
  SignalFftAttrs attrs;
  EC_TRY(attrs.fft_length, need_option(ctx, map, "fft_length", 2, kMostLength));
  return ctx.finish(kKind, {ctx.in(0)}, attrs);
}

Status energy(OpContext& ctx) {
  EC_TRY(const FlexMap map, option_map(ctx));
  SignalEnergyAttrs attrs;
  EC_TRY(attrs.start_index, need_option(ctx, map, "start_index", 0, kMost));
  EC_TRY(attrs.end_index, need_option(ctx, map, "end_index", 0, kMost));
  return ctx.finish(OpKind::SignalEnergy, {ctx.in(0)}, attrs);
}

Status filter_bank(OpContext& ctx) {
  EC_TRY(const FlexMap map, option_map(ctx));
  SignalFilterBankAttrs attrs;
  EC_TRY(attrs.num_channels, need_option(ctx, map, "num_channels", 1, 1 << 20));
  return ctx.finish(OpKind::SignalFilterBank, ctx.tensors(), attrs);
}

Status square_root(OpContext& ctx) {
  return ctx.finish(OpKind::SignalSquareRoot, {ctx.in(0), ctx.in(1)});
}

Status pcan(OpContext& ctx) {
  EC_TRY(const FlexMap map, option_map(ctx));
  SignalPcanAttrs attrs;
  EC_TRY(attrs.snr_shift, need_option(ctx, map, "snr_shift", 0, 63));
  return ctx.finish(OpKind::SignalPcan, ctx.tensors(), attrs);
}

Status logarithm(OpContext& ctx) {
  EC_TRY(const FlexMap map, option_map(ctx));
  SignalLogAttrs attrs;
  EC_TRY(attrs.input_correction_bits, need_option(ctx, map, "input_correction_bits", 0, 31));
  EC_TRY(attrs.output_scale, need_option(ctx, map, "output_scale", 0, kMost));
  return ctx.finish(OpKind::SignalLog, {ctx.in(0)}, attrs);
}

// --- operators with state ------------------------------------------------------------------------

// State of the operator that starts with one number in every element.
class State {
 public:
  State(OpContext& ctx, std::string_view name)
      : ctx_(ctx),
        key_(std::string(ctx.location().name()) + ":" + std::to_string(ctx.output_index(0)) + "/" +
             std::string(name)) {}

  template <class T>
  Result<ec::Tensor*> start(std::vector<int64_t> sizes, T first) {
    if (!ctx_.scope().is_main)
      return ctx_.unsupported("state in subgraphs of IF and WHILE is not supported");
    ec::TensorType type(dtype_of<T>(), Shape::of(sizes));
    const auto count = type.num_elements();
    if (!count || *count > kMostLength ||
        !ctx_.importer().may_copy(static_cast<size_t>(*count) * sizeof(T)))
      return ctx_.fail(Code::TooLarge, "the state exceeds the limit");
    const std::vector<T> values(static_cast<size_t>(*count), first);
    return ctx_.importer().own_state(ctx_.scope(), key_, type,
                                     Blob::copy_of(std::span<const T>(values)), ctx_.location());
  }
  void keep(ec::Tensor* value) { ctx_.importer().assign_own_state(key_, value); }

 private:
  OpContext& ctx_;
  std::string key_;
};

// The sizes of the input without its last `count` ones, which have to be known.
Result<std::vector<int64_t>> outer_sizes(const OpContext& ctx, size_t count) {
  const auto& shape = ctx.in(0)->shape();
  if (!shape || !shape->is_static() || shape->rank() < count)
    return ctx.fail(Code::DynamicShape, "the sizes of the samples have to be known");
  std::vector<int64_t> sizes = shape->sizes();
  sizes.resize(sizes.size() - count);
  return sizes;
}

Status delay(OpContext& ctx) {
  EC_TRY(const FlexMap map, option_map(ctx));
  SignalDelayAttrs attrs;
  EC_TRY(attrs.delay_length, need_option(ctx, map, "delay_length", 0, kMostLength));
  EC_TRY(std::vector<int64_t> sizes, outer_sizes(ctx, 1));
  sizes.push_back(attrs.delay_length);
  State samples(ctx, "samples");
  EC_TRY(ec::Tensor * before, samples.start<int16_t>(sizes, 0));
  EC_TRY(Operation * op, ctx.add_op(OpKind::SignalDelay, {ctx.in(0), before}, attrs, 2));
  samples.keep(op->output(1));
  return ctx.set(0, op->output(0));
}

// Operators with samples that wait, their number, and a result that says whether there are enough.
Status finish_stream(OpContext& ctx, OpKind kind, Attrs attrs, const std::vector<int64_t>& sizes,
                     int32_t first_count) {
  State samples(ctx, "samples"), count(ctx, "count");
  EC_TRY(ec::Tensor * waiting, samples.start<int16_t>(sizes, 0));
  EC_TRY(ec::Tensor * number, count.start<int32_t>({}, first_count));
  EC_TRY(Operation * op, ctx.add_op(kind, {ctx.in(0), waiting, number}, std::move(attrs), 4));
  samples.keep(op->output(2));
  count.keep(op->output(3));
  EC_CHECK_OK(ctx.set(0, op->output(0)));
  return ctx.set(1, op->output(1));
}

Status framer(OpContext& ctx) {
  EC_TRY(const FlexMap map, option_map(ctx));
  SignalFramerAttrs attrs;
  EC_TRY(attrs.frame_size, need_option(ctx, map, "frame_size", 1, kMostLength));
  EC_TRY(attrs.frame_step, need_option(ctx, map, "frame_step", 1, attrs.frame_size));
  attrs.prefill = map.integer("prefill").value_or(0) != 0;
  EC_TRY(std::vector<int64_t> sizes, outer_sizes(ctx, 1));
  // A frame, rounded up to whole steps.
  sizes.push_back((attrs.frame_size + attrs.frame_step - 1) / attrs.frame_step * attrs.frame_step);
  const int64_t first = attrs.prefill ? attrs.frame_size - attrs.frame_step : 0;
  return finish_stream(ctx, OpKind::SignalFramer, attrs, sizes, static_cast<int32_t>(first));
}

Status stacker(OpContext& ctx) {
  constexpr int64_t kMostFrames = 1 << 16;
  EC_TRY(const FlexMap map, option_map(ctx));
  SignalStackerAttrs attrs;
  EC_TRY(attrs.num_channels, need_option(ctx, map, "num_channels", 1, kMostLength));
  EC_TRY(attrs.left_context, need_option(ctx, map, "stacker_left_context", 0, kMostFrames));
  EC_TRY(attrs.right_context, need_option(ctx, map, "stacker_right_context", 0, kMostFrames));
  const int64_t frames = attrs.left_context + attrs.right_context + 1;
  EC_TRY(attrs.step, need_option(ctx, map, "stacker_step", 1, frames));
  return finish_stream(ctx, OpKind::SignalStacker, attrs, {attrs.num_channels * frames}, -1);
}

Status overlap_add(OpContext& ctx) {
  EC_TRY(const FlexMap map, option_map(ctx));
  SignalOverlapAddAttrs attrs;
  EC_TRY(attrs.frame_step, need_option(ctx, map, "frame_step", 1, kMostLength));
  EC_TRY(std::vector<int64_t> sizes, outer_sizes(ctx, 2));
  sizes.push_back(ctx.in(0)->shape()->dims().back().size());
  State sum(ctx, "sum");
  EC_TRY(ec::Tensor * before,
         ctx.dtype() == DType::F32 ? sum.start<float>(sizes, 0.0f) : sum.start<int16_t>(sizes, 0));
  EC_TRY(Operation * op, ctx.add_op(OpKind::SignalOverlapAdd, {ctx.in(0), before}, attrs, 2));
  sum.keep(op->output(1));
  return ctx.set(0, op->output(0));
}

Status spectral_subtraction(OpContext& ctx) {
  EC_TRY(const FlexMap map, option_map(ctx));
  SpectralSubtractionAttrs attrs;
  EC_TRY(attrs.smoothing, need_option(ctx, map, "smoothing", 0, kMost));
  EC_TRY(attrs.one_minus_smoothing, need_option(ctx, map, "one_minus_smoothing", 0, kMost));
  EC_TRY(attrs.alternate_smoothing, need_option(ctx, map, "alternate_smoothing", 0, kMost));
  EC_TRY(attrs.alternate_one_minus_smoothing,
         need_option(ctx, map, "alternate_one_minus_smoothing", 0, kMost));
  EC_TRY(attrs.smoothing_bits, need_option(ctx, map, "smoothing_bits", 0, 31));
  EC_TRY(attrs.spectral_subtraction_bits,
         need_option(ctx, map, "spectral_subtraction_bits", 0, 31));
  EC_TRY(attrs.min_signal_remaining, need_option(ctx, map, "min_signal_remaining", 0, kMost));
  attrs.clamping = map.integer("clamping").value_or(0) != 0;
  EC_TRY([[maybe_unused]] const std::vector<int64_t> outer, outer_sizes(ctx, 0));
  State noise(ctx, "noise");
  EC_TRY(ec::Tensor * before, noise.start<uint32_t>(ctx.in(0)->shape()->sizes(), 0));
  EC_TRY(Operation * op,
         ctx.add_op(OpKind::SignalSpectralSubtraction, {ctx.in(0), before}, attrs, 2));
  noise.keep(op->output(1));
  EC_CHECK_OK(ctx.set(0, op->output(0)));
  return ctx.set(1, op->output(1));
}

constexpr Arity k1{1, 1}, k2{2, 2}, k3{3, 3}, k6{6, 6};

constexpr CustomRow kRows[] = {
    {"SignalWindow", k2, k1, window},
    {"SignalFftAutoScale", k1, k2, auto_scale},
    {"SignalRfft", k1, k1, fourier<OpKind::SignalRfft>},
    {"SignalIrfft", k1, k1, fourier<OpKind::SignalIrfft>},
    {"SignalEnergy", k1, k1, energy},
    {"SignalFilterBank", k6, k1, filter_bank},
    {"SignalFilterBankSquareRoot", k2, k1, square_root},
    {"SignalFilterBankSpectralSubtraction", k1, k2, spectral_subtraction},
    {"SignalPCAN", k3, k1, pcan},
    {"SignalFilterBankLog", k1, k1, logarithm},
    {"SignalFramer", k1, k2, framer},
    {"SignalStacker", k1, k2, stacker},
    {"SignalDelay", k1, k1, delay},
    {"SignalOverlapAdd", k1, k1, overlap_add},
};

}  // namespace

const std::span<const CustomRow> kSignalRows = kRows;

}  // namespace ec::tflite
