// Operators of other programs that the graph has operations for: TFLite Micro's signal library and
// MediaPipe's pooling, written back as the custom operators they came from. State is inside those
// operators: the graph's operands and results for it are not written.
#include <flatbuffers/flexbuffers.h>

#include <algorithm>
#include <cstring>

#include "writer/tflite/emit_state.h"
#include "writer/tflite/operands.h"

namespace ec::tflite {
namespace {

struct IntOption {
  const char* key;
  int64_t value;
};

// Micro runtimes read options by their position in the order of their names, which maps have.
std::vector<uint8_t> int_options(std::initializer_list<IntOption> list,
                                 std::optional<std::pair<const char*, bool>> flag = {}) {
  flexbuffers::Builder fbb;
  fbb.Map([&] {
    for (const IntOption& option : list) fbb.Int(option.key, option.value);
    if (flag) fbb.Bool(flag->first, flag->second);
  });
  fbb.Finish();
  return fbb.GetBuffer();
}

int64_t type_number(const OpEmitter& e) { return static_cast<int64_t>(*tensor_type(e.dtype())); }

// State operands have to be what the operator itself starts from.
Status need_start(const OpEmitter& e, size_t i, int64_t first) {
  const auto kept = cell_state(e.op(), i - 1);
  const ec::Tensor& state = kept ? *kept->read->input(0) : e.input(i);
  const auto values = is_float(state.dtype()) ? std::nullopt : int_values(&state);
  const bool fits =
      is_float(state.dtype())
          ? state.is_constant() &&
                std::ranges::all_of(state.data().bytes(),
                                    [](std::byte b) { return b == std::byte{0}; })
          : values && std::ranges::all_of(*values, [&](int64_t v) { return v == first; });
  if (fits) return {};
  return e.fail("state that does not start as the operator's own");
}

Status emit_window(OpEmitter& e) {
  e.add_custom("SignalWindow", int_options({{"shift", e.attrs<SignalWindowAttrs>().shift}}));
  return {};
}

Status emit_fourier(OpEmitter& e) {
  const bool inverse = e.op().kind() == OpKind::SignalIrfft;
  e.add_custom(
      inverse ? "SignalIrfft" : "SignalRfft",
      int_options({{"T", type_number(e)}, {"fft_length", e.attrs<SignalFftAttrs>().fft_length}}));
  return {};
}

Status emit_energy(OpEmitter& e) {
  const auto& attrs = e.attrs<SignalEnergyAttrs>();
  e.add_custom("SignalEnergy",
               int_options({{"end_index", attrs.end_index}, {"start_index", attrs.start_index}}));
  return {};
}

Status emit_filter_bank(OpEmitter& e) {
  e.add_custom("SignalFilterBank",
               int_options({{"num_channels", e.attrs<SignalFilterBankAttrs>().num_channels}}));
  return {};
}

Status emit_without_options(OpEmitter& e) {
  const bool scale = e.op().kind() == OpKind::SignalFftAutoScale;
  e.add_custom(scale ? "SignalFftAutoScale" : "SignalFilterBankSquareRoot", int_options({}));
  return {};
}

Status emit_pcan(OpEmitter& e) {
  e.add_custom("SignalPCAN", int_options({{"snr_shift", e.attrs<SignalPcanAttrs>().snr_shift}}));
  return {};
}

Status emit_log(OpEmitter& e) {
  const auto& attrs = e.attrs<SignalLogAttrs>();
  e.add_custom("SignalFilterBankLog",
               int_options({{"input_correction_bits", attrs.input_correction_bits},
                            {"output_scale", attrs.output_scale}}));
  return {};
}

Status emit_spectral_subtraction(OpEmitter& e) {
  EC_CHECK_OK(e.require_static(e.input(0)));
  EC_CHECK_OK(need_start(e, 1, 0));
  const auto& attrs = e.attrs<SpectralSubtractionAttrs>();
  const int64_t channels = e.input(0).type().num_elements().value_or(0);
  e.add_custom("SignalFilterBankSpectralSubtraction",
               int_options({{"alternate_one_minus_smoothing", attrs.alternate_one_minus_smoothing},
                            {"alternate_smoothing", attrs.alternate_smoothing},
                            {"min_signal_remaining", attrs.min_signal_remaining},
                            {"num_channels", channels},
                            {"one_minus_smoothing", attrs.one_minus_smoothing},
                            {"smoothing", attrs.smoothing},
                            {"smoothing_bits", attrs.smoothing_bits},
                            {"spectral_subtraction_bits", attrs.spectral_subtraction_bits}},
                           std::pair("clamping", attrs.clamping)),
               1, 2);
  return {};
}

Status emit_framer(OpEmitter& e) {
  EC_CHECK_OK(e.require_static(e.input(0)));
  const auto& attrs = e.attrs<SignalFramerAttrs>();
  EC_CHECK_OK(need_start(e, 1, 0));
  EC_CHECK_OK(need_start(e, 2, attrs.prefill ? attrs.frame_size - attrs.frame_step : 0));
  e.add_custom("SignalFramer",
               int_options({{"frame_size", attrs.frame_size}, {"frame_step", attrs.frame_step}},
                           std::pair("prefill", attrs.prefill)),
               1, 2);
  return {};
}

Status emit_stacker(OpEmitter& e) {
  EC_CHECK_OK(e.require_static(e.input(0)));
  const auto& attrs = e.attrs<SignalStackerAttrs>();
  EC_CHECK_OK(need_start(e, 1, 0));
  EC_CHECK_OK(need_start(e, 2, -1));
  e.add_custom("SignalStacker",
               int_options({{"num_channels", attrs.num_channels},
                            {"stacker_left_context", attrs.left_context},
                            {"stacker_right_context", attrs.right_context},
                            {"stacker_step", attrs.step}}),
               1, 2);
  return {};
}

Status emit_delay(OpEmitter& e) {
  EC_CHECK_OK(e.require_static(e.input(0)));
  EC_CHECK_OK(need_start(e, 1, 0));
  e.add_custom("SignalDelay",
               int_options({{"delay_length", e.attrs<SignalDelayAttrs>().delay_length}}), 1, 1);
  return {};
}

Status emit_overlap_add(OpEmitter& e) {
  EC_CHECK_OK(e.require_static(e.input(0)));
  EC_CHECK_OK(need_start(e, 1, 0));
  e.add_custom("SignalOverlapAdd",
               int_options({{"T", type_number(e)},
                            {"frame_step", e.attrs<SignalOverlapAddAttrs>().frame_step}}),
               1, 1);
  return {};
}

// The C structure of a pool's options: padding, strides and window (width first), activation, and
// room for the pads that the kernel computes.
Status emit_argmax_window(OpEmitter& e) {
  const auto& attrs = e.attrs<ArgmaxWindowAttrs>();
  int32_t words[10] = {attrs.padding == AutoPad::SameUpper ? 1 : 2};
  words[1] = static_cast<int32_t>(attrs.strides[1]);
  words[2] = static_cast<int32_t>(attrs.strides[0]);
  words[3] = static_cast<int32_t>(attrs.kernel[1]);
  words[4] = static_cast<int32_t>(attrs.kernel[0]);
  std::vector<uint8_t> bytes(sizeof(words));
  std::memcpy(bytes.data(), words, sizeof(words));
  const bool pools = e.op().kind() == OpKind::MaxPoolArgmax;
  e.add_custom(pools ? "MaxPoolingWithArgmax2D" : "MaxUnpooling2D", std::move(bytes));
  return {};
}

constexpr EmitRow kRows[] = {
    {OpKind::SignalWindow, emit_window},
    {OpKind::SignalFftAutoScale, emit_without_options},
    {OpKind::SignalRfft, emit_fourier},
    {OpKind::SignalIrfft, emit_fourier},
    {OpKind::SignalEnergy, emit_energy},
    {OpKind::SignalFilterBank, emit_filter_bank},
    {OpKind::SignalSquareRoot, emit_without_options},
    {OpKind::SignalSpectralSubtraction, emit_spectral_subtraction},
    {OpKind::SignalPcan, emit_pcan},
    {OpKind::SignalLog, emit_log},
    {OpKind::SignalFramer, emit_framer},
    {OpKind::SignalStacker, emit_stacker},
    {OpKind::SignalDelay, emit_delay},
    {OpKind::SignalOverlapAdd, emit_overlap_add},
    {OpKind::MaxPoolArgmax, emit_argmax_window},
    {OpKind::MaxUnpoolArgmax, emit_argmax_window},
};

}  // namespace

const std::span<const EmitRow> kEmitSignal = kRows;

}  // namespace ec::tflite
