// Recurrent layers and signal processing.
#include "fuzz/op/recipes.h"

namespace ec::fuzz {
namespace {

void recurrent(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  auto& attrs = c.attrs.edit<RecurrentAttrs>();
  if (b.random().chance(80)) attrs.dynamic_quantize_inputs = false;
  const int64_t gates = c.kind == OpKind::Lstm ? 4 : c.kind == OpKind::Gru ? 3 : 1;
  const int64_t d = attrs.direction == Direction::Bidirectional ? 2 : 1;
  const int64_t time = b.random().pick(1, 4), n = b.random().pick(1, 3), in = b.random().pick(1, 4),
                hidden = b.random().pick(1, 4);
  if (b.random().chance(70)) attrs.hidden_size = hidden;
  const auto state = [&] { return attrs.batch_first ? Sizes{n, d, hidden} : Sizes{d, n, hidden}; };
  c.inputs = {b.floats(attrs.batch_first ? Sizes{n, time, in} : Sizes{time, n, in}),
              b.floats({d, gates * hidden, in}), b.floats({d, gates * hidden, hidden})};
  const auto maybe = [&](int percent, const Sizes& sizes) {
    return b.random().chance(percent) ? b.floats(sizes) : nullptr;
  };
  c.inputs.push_back(maybe(70, {d, 2 * gates * hidden}));
  c.inputs.push_back(b.random().chance(25) ? b.indices({n}, time + 1, DType::I32) : nullptr);
  c.inputs.push_back(maybe(40, state()));
  if (c.kind == OpKind::Lstm) {
    c.inputs.push_back(maybe(40, state()));
    c.inputs.push_back(maybe(20, {d, 3 * hidden}));
  }
  c.outputs = static_cast<size_t>(b.random().pick(1, c.kind == OpKind::Lstm ? 3 : 2));
}
void lstm_sequence(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  auto& attrs = c.attrs.edit<LstmSequenceAttrs>();
  attrs.diagonal_recurrent = b.random().chance(10);
  const int64_t time = b.random().pick(1, 3), n = b.random().pick(1, 2), in = b.random().pick(1, 4),
                cells = b.random().pick(1, 4);
  const bool projects = !attrs.diagonal_recurrent && b.random().chance(25);
  const int64_t out = projects ? b.random().pick(1, 4) : cells;
  const bool coupled = b.random().chance(20), peepholes = b.random().chance(20),
             norms = b.random().chance(20);
  c.inputs.assign(24, nullptr);
  c.inputs[0] = b.floats(attrs.time_major ? Sizes{time, n, in} : Sizes{n, time, in});
  for (size_t gate = 0; gate < 4; ++gate) {
    if (coupled && gate == 0) continue;
    c.inputs[1 + gate] = b.floats({cells, in});
    c.inputs[5 + gate] = b.floats(attrs.diagonal_recurrent ? Sizes{cells} : Sizes{cells, out});
    c.inputs[12 + gate] = b.floats({cells});
    if (peepholes && gate != 2) c.inputs[9 + (gate == 3 ? 2 : gate)] = b.floats({cells});
    if (norms) c.inputs[20 + gate] = b.floats({cells});
  }
  if (projects) c.inputs[16] = b.floats({out, cells});
  if (b.random().chance(60)) {
    c.inputs[18] = b.floats({n, out});
    c.inputs[19] = b.floats({n, cells});
  }
  c.outputs = static_cast<size_t>(b.random().pick(1, 3));
}
void rnn_sequence(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  const int64_t time = b.random().pick(1, 3), n = b.random().pick(1, 2), in = b.random().pick(1, 4),
                units = b.random().pick(1, 4);
  const bool major = c.attrs.as<RnnSequenceAttrs>().time_major;
  c.inputs = {b.floats(major ? Sizes{time, n, in} : Sizes{n, time, in}), b.floats({units, in}),
              b.floats({units, units}), b.random().chance(70) ? b.floats({units}) : nullptr,
              b.random().chance(60) ? b.floats({n, units}) : nullptr};
  c.outputs = static_cast<size_t>(b.random().pick(1, 2));
}
void svdf(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  const int64_t rank = b.random().pick(1, 2), units = b.random().pick(1, 3),
                memory = b.random().pick(1, 4);
  const int64_t n = b.random().pick(1, 2), in = b.random().pick(1, 4), filters = rank * units;
  c.attrs.edit<SvdfAttrs>().rank = rank;
  c.inputs = {b.floats({n, in}), b.floats({filters, in}), b.floats({filters, memory}),
              b.random().chance(60) ? b.floats({units}) : nullptr, b.floats({n, filters * memory})};
  c.outputs = static_cast<size_t>(b.random().pick(1, 2));
}

// --- signals -------------------------------------------------------------------------------------

void dft(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  const auto& attrs = c.attrs.as<DftAttrs>();
  Sizes sizes = b.shape(1, 3);
  const int64_t axis = b.random().pick(0, static_cast<int64_t>(sizes.size()) - 1);
  sizes.push_back(attrs.onesided ? (attrs.inverse ? 2 : 1) : b.random().pick(1, 2));
  c.inputs = {b.floats(sizes),
              b.random().chance(30) ? b.ints({}, {b.random().pick(1, 8)}) : nullptr,
              b.ints({}, {axis})};
}
void stft(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  const int64_t length = b.random().pick(2, 6);
  const Sizes signal = {b.random().pick(1, 2), length + b.random().pick(0, 8),
                        c.attrs.as<StftAttrs>().onesided ? 1 : b.random().pick(1, 2)};
  c.inputs = {b.floats(signal), b.ints({}, {b.random().pick(1, 4)}),
              b.random().chance(60) ? b.floats({length}) : nullptr};
  if (c.inputs[2] == nullptr || b.random().chance(50)) c.inputs.push_back(b.ints({}, {length}));
}
void window(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  c.inputs = {b.ints({}, {b.random().pick(0, 9)})};
}
void mel(Builder& b, Call& c) {
  c.attrs = b.attrs_of(c.kind);
  c.inputs = {b.ints({}, {b.random().pick(1, 5)}), b.ints({}, {b.random().pick(2, 16)}),
              b.ints({}, {8000}), b.scalar(DType::F32, 0.0), b.scalar(DType::F32, 4000.0)};
}
void signal_window(Builder& b, Call& c) {
  const int64_t n = b.random().pick(1, 8);
  c.attrs = SignalWindowAttrs{b.random().pick(0, 15)};
  c.inputs = {b.of_type(DType::I16, {b.random().pick(1, 3), n}), b.of_type(DType::I16, {n})};
}
void auto_scale(Builder& b, Call& c) {
  c.inputs = {b.of_type(DType::I16, 1, 2)};
  c.outputs = 2;
}
void signal_fft(Builder& b, Call& c) {
  const int64_t length = int64_t{2} << b.random().pick(0, 4);
  c.attrs = SignalFftAttrs{length};
  const int64_t last = c.kind == OpKind::SignalRfft ? b.random().pick(1, length) : length + 2;
  const DType dtype = b.random().one_of({DType::I16, DType::I32, DType::F32});
  c.inputs = {b.of_type(dtype, {b.random().pick(1, 2), last})};
}
void energy(Builder& b, Call& c) {
  const int64_t bins = b.random().pick(1, 9), start = b.random().pick(0, bins);
  c.attrs = SignalEnergyAttrs{start, b.random().pick(start, bins)};
  c.inputs = {b.of_type(DType::I16, {2 * bins})};
}
void filter_bank(Builder& b, Call& c) {
  const int64_t channels = b.random().pick(1, 3), width = b.random().pick(0, 2);
  c.attrs = SignalFilterBankAttrs{channels};
  const auto n = static_cast<size_t>(channels + 1);
  const std::vector<int64_t> starts(n, b.random().pick(0, 2)), widths(n, width);
  const Sizes sizes = {channels + 1};
  c.inputs = {b.of_type(DType::U32, {b.random().pick(4, 8)}),
              b.of_type(DType::I16, {6}),
              b.of_type(DType::I16, {6}),
              b.ints(sizes, starts, DType::I16),
              b.ints(sizes, starts, DType::I16),
              b.ints(sizes, widths, DType::I16)};
}
void square_root(Builder& b, Call& c) {
  c.inputs = {b.of_type(DType::U64, {b.size()}), b.ints({}, {b.random().pick(0, 20)}, DType::I32)};
}
void spectral(Builder& b, Call& c) {
  SpectralSubtractionAttrs attrs;
  attrs.smoothing = b.random().pick(0, 16384);
  attrs.one_minus_smoothing = b.random().pick(0, 16384);
  attrs.alternate_smoothing = b.random().pick(0, 16384);
  attrs.alternate_one_minus_smoothing = b.random().pick(0, 16384);
  attrs.smoothing_bits = b.random().pick(0, 12);
  attrs.spectral_subtraction_bits = b.random().pick(0, 16);
  attrs.min_signal_remaining = b.random().pick(0, 16384);
  attrs.clamping = b.random().chance(50);
  const Sizes sizes = {b.size()};
  c.attrs = attrs;
  c.inputs = {b.of_type(DType::U32, sizes), b.of_type(DType::U32, sizes)};
  c.outputs = 2;
}
void pcan(Builder& b, Call& c) {
  const Sizes sizes = {b.size()};
  c.attrs = SignalPcanAttrs{b.random().pick(0, 12)};
  c.inputs = {b.of_type(DType::U32, sizes), b.of_type(DType::U32, sizes),
              b.of_type(DType::I16, {125})};
}
void signal_log(Builder& b, Call& c) {
  c.attrs = SignalLogAttrs{b.random().pick(0, 5), b.random().pick(1, 1600)};
  c.inputs = {b.of_type(DType::U32, {b.size()})};
}
void delay(Builder& b, Call& c) {
  const int64_t length = b.random().pick(0, 4), n = b.random().pick(1, 2);
  c.attrs = SignalDelayAttrs{length};
  c.inputs = {b.of_type(DType::I16, {n, b.random().pick(1, 6)}),
              b.of_type(DType::I16, {n, length})};
  c.outputs = static_cast<size_t>(b.random().pick(1, 2));
}
void framer(Builder& b, Call& c) {
  SignalFramerAttrs attrs{b.random().pick(1, 6), 1, b.random().chance(50)};
  attrs.frame_step = b.random().pick(1, attrs.frame_size);
  const int64_t n = b.random().pick(1, 2);
  c.attrs = attrs;
  c.inputs = {b.of_type(DType::I16, {n, attrs.frame_step * b.random().pick(1, 3)}),
              b.of_type(DType::I16, {n, attrs.frame_size}),
              b.ints({}, {b.random().pick(0, attrs.frame_size)}, DType::I32)};
  c.outputs = static_cast<size_t>(b.random().pick(2, 4));
}
void stacker(Builder& b, Call& c) {
  SignalStackerAttrs attrs{b.random().pick(1, 4), b.random().pick(0, 2), b.random().pick(0, 2), 1};
  const int64_t frames = attrs.left_context + attrs.right_context + 1;
  attrs.step = b.random().pick(1, frames);
  c.attrs = attrs;
  c.inputs = {b.of_type(DType::I16, {attrs.num_channels}),
              b.of_type(DType::I16, {attrs.num_channels * (frames + b.random().pick(0, 2))}),
              b.ints({}, {b.random().pick(-1, 3)}, DType::I32)};
  c.outputs = static_cast<size_t>(b.random().pick(2, 4));
}
void overlap_add(Builder& b, Call& c) {
  const int64_t size = b.random().pick(1, 6), step = b.random().pick(1, size),
                n = b.random().pick(1, 2);
  const DType dtype = b.random().one_of({DType::I16, DType::F32});
  c.attrs = SignalOverlapAddAttrs{step};
  c.inputs = {b.of_type(dtype, {n, b.random().pick(1, 3), size}), b.of_type(dtype, {n, size})};
  c.outputs = static_cast<size_t>(b.random().pick(1, 2));
}

constexpr Recipe kSequence[] = {
    {OpKind::Lstm, recurrent},
    {OpKind::Gru, recurrent},
    {OpKind::Rnn, recurrent},
    {OpKind::LstmSequence, lstm_sequence},
    {OpKind::RnnSequence, rnn_sequence},
    {OpKind::Svdf, svdf},
};
constexpr Recipe kSignal[] = {
    {OpKind::Dft, dft},
    {OpKind::Stft, stft},
    {OpKind::HannWindow, window},
    {OpKind::HammingWindow, window},
    {OpKind::BlackmanWindow, window},
    {OpKind::MelWeightMatrix, mel},
    {OpKind::SignalWindow, signal_window},
    {OpKind::SignalFftAutoScale, auto_scale},
    {OpKind::SignalRfft, signal_fft},
    {OpKind::SignalIrfft, signal_fft},
    {OpKind::SignalEnergy, energy},
    {OpKind::SignalFilterBank, filter_bank},
    {OpKind::SignalSquareRoot, square_root},
    {OpKind::SignalSpectralSubtraction, spectral},
    {OpKind::SignalPcan, pcan},
    {OpKind::SignalLog, signal_log},
    {OpKind::SignalFramer, framer},
    {OpKind::SignalStacker, stacker},
    {OpKind::SignalDelay, delay},
    {OpKind::SignalOverlapAdd, overlap_add},
};

}  // namespace

const std::span<const Recipe> kSequenceRecipes = kSequence;
const std::span<const Recipe> kSignalRecipes = kSignal;

}  // namespace ec::fuzz
