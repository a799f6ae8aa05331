// The integer signal operations. Numbers are those of TFLite Micro (tests/interop/micro_check.py
// compares many more).
#include <gtest/gtest.h>

#include "ops/kernel.h"
#include "ops/op_case.h"

namespace ec::test {
namespace {

Value i16(Sizes shape, const std::vector<double>& elements) {
  return tensor(DType::I16, std::move(shape), elements);
}
Value u32(Sizes shape, const std::vector<double>& elements) {
  return tensor(DType::U32, std::move(shape), elements);
}
Value u64(Sizes shape, const std::vector<uint64_t>& elements) {
  return Value::of<uint64_t>(std::move(shape), std::span<const uint64_t>(elements));
}
// (i^2 * 7919 + 101 i) mod 60001 - 30000
std::vector<double> numbers(int count, double factor = 1) {
  std::vector<double> list;
  for (int i = 0; i < count; ++i)
    list.push_back(factor * static_cast<double>((int64_t{i} * i * 7919 + i * 101) % 60001 - 30000));
  return list;
}

TEST(SignalWindow, ShiftsAndStaysIn16Bits) {
  expect_case({OpKind::SignalWindow,
               {i16({2, 3}, {100, -100, 3, 32767, -32768, -1}), i16({3}, {5, 5, -1})},
               {i16({2, 3}, {250, -250, -2, 32767, -32768, 0})},
               SignalWindowAttrs{.shift = 1}});
  expect_infer_error(OpKind::SignalWindow, {i16({2}, {1, 2}), i16({2}, {1, 2})},
                     SignalWindowAttrs{.shift = 40}, Code::BadValue, "shift");
  expect_run_error(OpKind::SignalWindow, {i16({3}, {1, 2, 3}), i16({2}, {1, 2})},
                   SignalWindowAttrs{}, "does not fit");
}

TEST(SignalFftAutoScale, UsesTheRoomOf16Bits) {
  expect_case({OpKind::SignalFftAutoScale,
               {i16({2}, {100, -3})},
               {i16({2}, {25600, -768}), scalar(DType::I32, 8)}});
  expect_case(
      {OpKind::SignalFftAutoScale, {i16({2}, {0, 0})}, {i16({2}, {0, 0}), scalar(DType::I32, 0)}});
  // -32768 has no magnitude in 16 bits: the original starts anew behind it, and wraps.
  expect_case({OpKind::SignalFftAutoScale,
               {i16({4}, {-32768, 5, -7, 100})},
               {i16({4}, {0, 1280, -1792, 25600}), scalar(DType::I32, 8)}});
}

TEST(SignalRfft, RoundsAsKissFft) {
  expect_case({OpKind::SignalRfft,
               {i16({8}, numbers(8))},
               {i16({10}, {-11064, 0, -296, 4166, -8805, 1725, -1480, 714, 2232, 0})},
               SignalFftAttrs{.fft_length = 8}});
  expect_case({OpKind::SignalRfft,
               {i16({12}, numbers(12))},
               {i16({14}, {-5532, 0, -1937, 5235, 773, 110, -4644, 2563, 215, 5809, -4838, 5014,
                           -3604, 0})},
               SignalFftAttrs{.fft_length = 12}});
  expect_case({OpKind::SignalRfft,
               {i16({20}, numbers(20))},
               {i16({22}, {-2059, 0,     -2578, 3633, -2046, 3812,  30,    -1347, 1221, 128,  -5319,
                           4238,  -3918, 900,   624,  2557,  -5861, -2149, 4016,  -467, -279, 0})},
               SignalFftAttrs{.fft_length = 20}});
  expect_case({OpKind::SignalRfft,
               {i32({8}, numbers(8, 50000))},
               {i32({10}, {-553299998, 0, -14793565, 208346629, -440362499, 86299999, -74031436,
                           35746630, 111675000, 0})},
               SignalFftAttrs{.fft_length = 8}});
}

TEST(SignalRfft, OfFloatsIsThePlainTransform) {
  expect_case({OpKind::SignalRfft,
               {f32({1, 3}, {1, 2, 3})},
               {f32({1, 6}, {6, 0, -2, -2, 2, 0})},
               SignalFftAttrs{.fft_length = 4}});
  expect_case({OpKind::SignalIrfft,
               {f32({1, 6}, {6, 0, -2, -2, 2, 0})},
               {f32({1, 4}, {1, 2, 3, 0})},
               SignalFftAttrs{.fft_length = 4}});
  expect_infer_error(OpKind::SignalRfft, {f32({1, 3}, {1, 2, 3})}, SignalFftAttrs{.fft_length = 2},
                     Code::ShapeMismatch, "more samples");
  expect_infer_error(OpKind::SignalRfft, {f32({1}, {1})}, SignalFftAttrs{.fft_length = 3},
                     Code::BadValue, "length 3");
  expect_infer_error(OpKind::SignalIrfft, {f32({1, 5}, {1, 2, 3, 4, 5})},
                     SignalFftAttrs{.fft_length = 4}, Code::ShapeMismatch, "6 numbers");
}

TEST(SignalIrfft, RoundsAsKissFft) {
  expect_case({OpKind::SignalIrfft,
               {i16({10}, numbers(10))},
               {i16({8}, {-5379, 470, 5964, -409, -14159, -1612, -2614, -12253})},
               SignalFftAttrs{.fft_length = 8}});
}

TEST(SignalEnergy, OfSomeFrequencies) {
  expect_case({OpKind::SignalEnergy,
               {i16({6}, {3, 4, -32768, -32768, 1, 1})},
               {u32({3}, {0, 2147483648.0, 2})},
               SignalEnergyAttrs{.start_index = 1, .end_index = 3}});
  expect_infer_error(OpKind::SignalEnergy, {i16({4}, {1, 2, 3, 4})},
                     SignalEnergyAttrs{.start_index = 0, .end_index = 3}, Code::ShapeMismatch,
                     "no frequency 3");
}

TEST(SignalFilterBank, NeighboursShareAFrequency) {
  const Operand energy = u32({4}, {1, 10, 100, 4294967295.0});
  const Operand weights = i16({4}, {1, 2, 3, 4}), rest = i16({4}, {5, 6, 7, 8});
  // Channel 0 only hands on what its unweights leave.
  expect_case(
      {OpKind::SignalFilterBank,
       {energy, weights, rest, i16({3}, {0, 1, 3}), i16({3}, {0, 1, 3}), i16({3}, {1, 2, 1})},
       {u64({2}, {5 + 20 + 300, 60 + 700 + 4 * uint64_t{4294967295u}})},
       SignalFilterBankAttrs{.num_channels = 2}});
  expect_run_error(OpKind::SignalFilterBank,
                   {energy, weights, rest, i16({2}, {0, 3}), i16({2}, {0, 0}), i16({2}, {1, 2})},
                   SignalFilterBankAttrs{.num_channels = 1}, "outside");
  expect_run_error(OpKind::SignalFilterBank,
                   {energy, weights, rest, i16({1}, {0}), i16({2}, {0, 0}), i16({2}, {1, 2})},
                   SignalFilterBankAttrs{.num_channels = 1}, "one more start");
}

TEST(SignalSquareRoot, RoundsToNearest) {
  expect_case({OpKind::SignalSquareRoot,
               {u64({9}, {0, 2, 3, 6, 7, 4294967295u, 4294967296u, 1099511640121u, UINT64_MAX}),
                scalar(DType::I32, 1)},
               {u32({9}, {0, 0, 1, 1, 1, 32767, 32768, 524288, 2147483647})}});
  expect_run_error(OpKind::SignalSquareRoot, {u64({1}, {4}), scalar(DType::I32, 40)}, {},
                   "40 bits");
}

TEST(SignalSpectralSubtraction, NoiseIsASmoothedAverage) {
  const SpectralSubtractionAttrs attrs{.smoothing = 655,
                                       .one_minus_smoothing = 15729,
                                       .alternate_smoothing = 983,
                                       .alternate_one_minus_smoothing = 15401,
                                       .smoothing_bits = 10,
                                       .spectral_subtraction_bits = 14,
                                       .min_signal_remaining = 819};
  expect_case({OpKind::SignalSpectralSubtraction,
               {u32({4}, {100, 5000, 70000, 1000000}), u32({4}, {0, 0, 0, 0})},
               {u32({4}, {96, 4700, 67201, 940002}), u32({4}, {4093, 307187, 2865625, 61437500})},
               attrs});
}

TEST(SignalPcan, GainComesFromATable) {
  std::vector<double> table;
  for (int i = 0; i < 125; ++i) table.push_back(i * 37 % 401 - 100);
  expect_case(
      {OpKind::SignalPcan,
       {u32({4}, {100, 5000, 70000, 1000000}), u32({4}, {0, 2, 77, 123456}), i16({125}, table)},
       {u32({4}, {37748669, 8388512, 50329892, 144955})},
       SignalPcanAttrs{.snr_shift = 6}});
  expect_run_error(OpKind::SignalPcan, {u32({1}, {1}), u32({1}, {1}), i16({2}, {1, 2})},
                   SignalPcanAttrs{}, "125 are needed");
}

TEST(SignalLog, IsScaledAndBounded) {
  expect_case({OpKind::SignalLog,
               {u32({8}, {0, 1, 2, 3, 100, 65535, 1048576, 4294967295.0})},
               {i16({8}, {0, 3327, 4436, 5085, 10695, 21074, 25508, 32767})},
               SignalLogAttrs{.input_correction_bits = 3, .output_scale = 1600}});
}

// --- streams: state goes from one run to the next
// -------------------------------------------------

TEST(SignalDelay, KeepsWhatIsNotDueYet) {
  expect_case({OpKind::SignalDelay,
               {i16({1, 2}, {1, 2}), i16({1, 3}, {7, 8, 9})},
               {i16({1, 2}, {7, 8}), i16({1, 3}, {9, 1, 2})},
               SignalDelayAttrs{.delay_length = 3}});
  expect_case({OpKind::SignalDelay,
               {i16({4}, {1, 2, 3, 4}), i16({1}, {0})},
               {i16({4}, {0, 1, 2, 3}), i16({1}, {4})},
               SignalDelayAttrs{.delay_length = 1}});
}

TEST(SignalFramer, WaitsForAFrame) {
  const SignalFramerAttrs attrs{.frame_size = 3, .frame_step = 2};
  // Two samples are too few for a frame of three; the second step has enough.
  expect_case({OpKind::SignalFramer,
               {i16({1, 4}, {1, 2, 3, 4}), i16({1, 4}, {0, 0, 0, 0}), scalar(DType::I32, 0)},
               {i16({1, 2, 3}, {0, 0, 0, 1, 2, 3}), scalar(DType::Bool, 0),
                i16({1, 4}, {3, 4, 0, 0}), scalar(DType::I32, 2)},
               attrs});
  expect_case({OpKind::SignalFramer,
               {i16({1, 2}, {5, 6}), i16({1, 4}, {3, 4, 0, 0}), scalar(DType::I32, 2)},
               {i16({1, 1, 3}, {3, 4, 5}), scalar(DType::Bool, 1), i16({1, 4}, {5, 6, 0, 0}),
                scalar(DType::I32, 2)},
               attrs});
  expect_run_error(OpKind::SignalFramer,
                   {i16({1, 2}, {5, 6}), i16({1, 4}, {3, 4, 0, 0}), scalar(DType::I32, 3)}, attrs,
                   "state says", 2);
}

TEST(SignalStacker, TheFirstFrameFillsTheLeft) {
  const SignalStackerAttrs attrs{
      .num_channels = 2, .left_context = 1, .right_context = 1, .step = 2};
  expect_case({OpKind::SignalStacker,
               {i16({2}, {1, 2}), i16({6}, {0, 0, 0, 0, 0, 0}), scalar(DType::I32, -1)},
               {i16({6}, {0, 0, 0, 0, 0, 0}), scalar(DType::Bool, 0), i16({6}, {1, 2, 1, 2, 0, 0}),
                scalar(DType::I32, 4)},
               attrs});
  expect_case({OpKind::SignalStacker,
               {i16({2}, {3, 4}), i16({6}, {1, 2, 1, 2, 0, 0}), scalar(DType::I32, 4)},
               {i16({6}, {1, 2, 1, 2, 3, 4}), scalar(DType::Bool, 1), i16({6}, {3, 4, 0, 0, 0, 0}),
                scalar(DType::I32, 2)},
               attrs});
}

TEST(SignalOverlapAdd, AddsWithin16Bits) {
  expect_case({OpKind::SignalOverlapAdd,
               {i16({1, 2, 3}, {1, 2, 3, 10, 20, 30}), i16({1, 3}, {100, 32767, -5})},
               {i16({1, 4}, {101, 32767, 8, 20}), i16({1, 3}, {30, 0, 0})},
               SignalOverlapAddAttrs{.frame_step = 2}});
  expect_case({OpKind::SignalOverlapAdd,
               {f32({2, 2}, {1, 2, 3, 4}), f32({2}, {0.5, 0})},
               {f32({2}, {1.5, 5}), f32({2}, {4, 0})},
               SignalOverlapAddAttrs{.frame_step = 1}});
}

TEST(SoftmaxI16, HasSixteenBitsOfEightBitNumbers) {
  Graph graph("g");
  TensorType from(DType::I8, Shape{1, 4}), to(DType::I16, Shape{1, 4});
  from.quant = QuantParams{{0.125f}, {3}, -1};
  to.quant = QuantParams{{1.0f / 65536}, {-32768}, -1};
  OpSpec spec;
  spec.attrs = AxisAttrs{.axis = -1};
  auto op = graph.add(OpKind::SoftmaxI16, {graph.add_input("x", from)}, std::move(spec));
  ASSERT_TRUE(op.ok());
  graph.set_quant((*op)->output(), to.quant);
  graph.add_output("y", (*op)->output());
  const std::vector<Value> inputs{i8({1, 4}, {10, -20, 12, 0})};
  const auto results = interpret(graph, inputs);
  ASSERT_TRUE(results.ok());
  count_as_run(graph);
  expect_equal((*results)[0], i16({1, 4}, {-7504, -32174, -328, -25530}));
  expect_infer_error(OpKind::SoftmaxI16, {f32({2}, {1, 2})}, AxisAttrs{.axis = -1},
                     Code::TypeMismatch, "8-bit");
}

// --- pools that tell where
// -------------------------------------------------------------------------

TEST(MaxPoolArgmax, IndexCountsWithinTheWindow) {
  const ArgmaxWindowAttrs attrs{.kernel = {2, 2}, .strides = {2, 2}, .padding = AutoPad::SameUpper};
  const Value x = f32({1, 2, 3, 1}, {1, 5, 2, 7, 3, 9});
  expect_case({OpKind::MaxPoolArgmax,
               {x},
               {f32({1, 1, 2, 1}, {7, 9}), f32({1, 1, 2, 1}, {2.1, 2.1})},
               attrs});
  expect_case({OpKind::MaxUnpoolArgmax,
               {f32({1, 1, 2, 1}, {7, 9}), f32({1, 1, 2, 1}, {2.1, 1.1})},
               {f32({1, 2, 4, 1}, {0, 0, 0, 9, 7, 0, 0, 0})},
               attrs});
  // Indices of a damaged file go nowhere.
  expect_case({OpKind::MaxUnpoolArgmax,
               {f32({1, 1, 2, 1}, {7, 9}), f32({1, 1, 2, 1}, {-3, 1e30})},
               {f32({1, 2, 4, 1}, {0, 0, 0, 0, 0, 0, 0, 0})},
               attrs});
  expect_infer_error(OpKind::MaxPoolArgmax, {x},
                     ArgmaxWindowAttrs{.kernel = {2}, .strides = {1, 1}}, Code::BadValue,
                     "2 entries");
  expect_infer_error(OpKind::MaxPoolArgmax, {x},
                     ArgmaxWindowAttrs{.kernel = {3, 1}, .strides = {1, 1}}, Code::ShapeMismatch,
                     "larger than");
}

}  // namespace
}  // namespace ec::test
