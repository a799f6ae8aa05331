// A stream of samples cut into frames, delayed and put together again, as TFLite Micro's signal
// library does. What is left of the stream after a run is the state that the next one starts from.
#include <algorithm>

#include "ops/define.h"

namespace ec::ops {
namespace {

constexpr int64_t kMaxLength = int64_t{1} << 24;

Status need_length(const InferContext& ctx, int64_t length, int64_t least, const char* what) {
  if (length >= least && length <= kMaxLength) return {};
  return ctx.bad_value(std::string(what) + " is " + std::to_string(length));
}

Status need_type(const InferContext& ctx, size_t i, DType dtype) {
  if (ctx.dtype(i) == dtype) return {};
  return ctx.bad_type("operand " + std::to_string(i) + " should be " +
                      std::string(dtype_name(dtype)) + ", not " + operand_text(ctx, i));
}

// The operand's number of elements has to be this one.
Status expect_count(const KernelContext& ctx, size_t i, size_t count) {
  if (static_cast<size_t>(ctx.input(i).count()) == count) return {};
  return ctx.fail("operand " + std::to_string(i) + " has " + std::to_string(ctx.input(i).count()) +
                  " elements, " + std::to_string(count) + " are needed");
}

// --- delay ---------------------------------------------------------------------------------------

Status infer_delay(InferContext& ctx) {
  EC_CHECK_OK(need_type(ctx, 0, DType::I16));
  EC_CHECK_OK(need_type(ctx, 1, DType::I16));
  EC_CHECK_OK(need_length(ctx, ctx.attrs<SignalDelayAttrs>().delay_length, 0, "the delay"));
  if (ctx.shape(0) && ctx.shape(0)->rank() == 0)
    return ctx.bad_shape("a list is needed, not " + operand_text(ctx, 0));
  ctx.set(0, DType::I16, ctx.shape(0));
  if (ctx.num_outputs() > 1) ctx.set(1, DType::I16, ctx.shape(1));
  return {};
}

Status delay(KernelContext& ctx) {
  const auto length = static_cast<size_t>(ctx.attrs<SignalDelayAttrs>().delay_length);
  const auto frame = static_cast<size_t>(ctx.input(0).shape.back());
  const auto x = ctx.input(0).as<int16_t>(), before = ctx.input(1).as<int16_t>();
  if (x.empty()) return {};
  const size_t rows = x.size() / frame;
  EC_CHECK_OK(expect_count(ctx, 1, rows * length));
  std::vector<int16_t> line(length + frame);
  for (size_t row = 0; row < rows; ++row) {
    std::copy_n(before.begin() + static_cast<int64_t>(row * length), length, line.begin());
    std::copy_n(x.begin() + static_cast<int64_t>(row * frame), frame,
                line.begin() + static_cast<int64_t>(length));
    std::copy_n(line.begin(), frame, ctx.output(0).as<int16_t>().subspan(row * frame).begin());
    if (ctx.num_outputs() > 1)
      std::copy(line.begin() + static_cast<int64_t>(frame), line.end(),
                ctx.output(1).as<int16_t>().subspan(row * length).begin());
  }
  return {};
}

// --- framer --------------------------------------------------------------------------------------

enum : size_t { kSamples = 1, kCount = 2 };  // states
enum : size_t { kValid = 1, kNewSamples = 2, kNewCount = 3 };

// Samples that wait at most: a frame, rounded up to whole steps.
int64_t framer_capacity(const SignalFramerAttrs& attrs) {
  return (attrs.frame_size + attrs.frame_step - 1) / attrs.frame_step * attrs.frame_step;
}

Status infer_framer(InferContext& ctx) {
  const auto& attrs = ctx.attrs<SignalFramerAttrs>();
  EC_CHECK_OK(need_type(ctx, 0, DType::I16));
  EC_CHECK_OK(need_type(ctx, kSamples, DType::I16));
  EC_CHECK_OK(need_type(ctx, kCount, DType::I32));
  EC_CHECK_OK(need_length(ctx, attrs.frame_size, 1, "the frame size"));
  EC_CHECK_OK(need_length(ctx, attrs.frame_step, 1, "the frame step"));
  if (attrs.frame_step > attrs.frame_size)
    return ctx.bad_value("the frame step is larger than the frame");
  std::optional<Shape> frames;
  if (ctx.shape(0)) {
    frames = *ctx.shape(0);
    if (frames->rank() == 0) return ctx.bad_shape("a list is needed, not " + operand_text(ctx, 0));
    Dim& last = (*frames)[frames->rank() - 1];
    if (last.is_static() && last.size() % attrs.frame_step != 0)
      return ctx.bad_shape(operand_text(ctx, 0) + " is no multiple of the step " +
                           std::to_string(attrs.frame_step));
    last = last.is_static() ? Dim(last.size() / attrs.frame_step) : Dim::unknown();
    frames->push_back(Dim(attrs.frame_size));
  }
  ctx.set(0, DType::I16, std::move(frames));
  ctx.set(kValid, DType::Bool, Shape{});
  if (ctx.num_outputs() > kNewSamples) ctx.set(kNewSamples, DType::I16, ctx.shape(kSamples));
  if (ctx.num_outputs() > kNewCount) ctx.set(kNewCount, DType::I32, ctx.shape(kCount));
  return {};
}

Status framer(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<SignalFramerAttrs>();
  const auto step = static_cast<size_t>(attrs.frame_step);
  const auto size = static_cast<size_t>(attrs.frame_size);
  const auto capacity = static_cast<size_t>(framer_capacity(attrs));
  const auto x = ctx.input(0).as<int16_t>(), before = ctx.input(kSamples).as<int16_t>();
  const auto y = ctx.output(0).as<int16_t>();
  std::fill(y.begin(), y.end(), int16_t{0});  // frames that are not valid yet
  EC_CHECK_OK(expect_count(ctx, kCount, 1));
  const auto length = static_cast<size_t>(ctx.input(0).shape.back());
  const size_t rows = length == 0 ? 0 : x.size() / length;
  EC_CHECK_OK(expect_count(ctx, kSamples, rows * capacity));
  const int32_t given = ctx.input(kCount).as<int32_t>()[0];
  if (given < 0 || static_cast<size_t>(given) + step > capacity)
    return ctx.fail("the state says " + std::to_string(given) + " samples");
  bool is_valid = true;
  auto count = static_cast<size_t>(given);
  std::vector<int16_t> waiting(capacity);
  for (size_t row = 0; row < rows; ++row) {
    count = static_cast<size_t>(given);
    const auto old = before.subspan(row * capacity, capacity);
    std::copy(old.begin(), old.end(), waiting.begin());
    for (size_t frame = 0; frame < length / step; ++frame) {
      if (count + step > capacity)
        return ctx.fail("the state says " + std::to_string(given) + " samples");
      const auto samples = x.subspan(row * length + frame * step, step);
      std::copy(samples.begin(), samples.end(), waiting.begin() + static_cast<int64_t>(count));
      count += step;
      if (count < size) {
        is_valid = false;
        continue;
      }
      std::copy_n(waiting.begin(), size, y.subspan((row * (length / step) + frame) * size).begin());
      std::copy(waiting.begin() + static_cast<int64_t>(step), waiting.end(), waiting.begin());
      count -= step;
    }
    if (ctx.num_outputs() > kNewSamples) {
      std::fill(waiting.begin() + static_cast<int64_t>(count), waiting.end(), int16_t{0});
      std::copy(waiting.begin(), waiting.end(),
                ctx.output(kNewSamples).as<int16_t>().subspan(row * capacity).begin());
    }
  }
  ctx.output(kValid).as<bool>()[0] = is_valid;
  if (ctx.num_outputs() > kNewCount)
    ctx.output(kNewCount).as<int32_t>()[0] = static_cast<int32_t>(count);
  return {};
}

// --- stacker -------------------------------------------------------------------------------------

int64_t stacker_length(const SignalStackerAttrs& attrs) {
  return attrs.num_channels * (attrs.left_context + attrs.right_context + 1);
}

Status infer_stacker(InferContext& ctx) {
  const auto& attrs = ctx.attrs<SignalStackerAttrs>();
  EC_CHECK_OK(need_type(ctx, 0, DType::I16));
  EC_CHECK_OK(need_type(ctx, kSamples, DType::I16));
  EC_CHECK_OK(need_type(ctx, kCount, DType::I32));
  EC_CHECK_OK(need_length(ctx, attrs.num_channels, 1, "the number of channels"));
  constexpr int64_t kMaxFrames = 1 << 16;
  for (const int64_t frames : {attrs.left_context, attrs.right_context})
    if (frames < 0 || frames > kMaxFrames)
      return ctx.bad_value("a context of " + std::to_string(frames) + " frames");
  if (attrs.step < 1 || attrs.step > attrs.left_context + attrs.right_context + 1)
    return ctx.bad_value("a step of " + std::to_string(attrs.step) + " frames");
  EC_CHECK_OK(need_length(ctx, stacker_length(attrs), 1, "the stack"));
  ctx.set(0, DType::I16, Shape{Dim(stacker_length(attrs))});
  ctx.set(kValid, DType::Bool, Shape{});
  if (ctx.num_outputs() > kNewSamples) ctx.set(kNewSamples, DType::I16, ctx.shape(kSamples));
  if (ctx.num_outputs() > kNewCount) ctx.set(kNewCount, DType::I32, ctx.shape(kCount));
  return {};
}

// The first frame fills the left context, too. A count of -1 says that there was none yet.
Status stacker(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<SignalStackerAttrs>();
  const auto channels = static_cast<size_t>(attrs.num_channels);
  const auto length = static_cast<size_t>(stacker_length(attrs));
  const auto x = ctx.input(0).as<int16_t>(), before = ctx.input(kSamples).as<int16_t>();
  const auto y = ctx.output(0).as<int16_t>();
  EC_CHECK_OK(expect_count(ctx, 0, channels));
  EC_CHECK_OK(expect_count(ctx, kSamples, length));
  EC_CHECK_OK(expect_count(ctx, kCount, 1));
  const int32_t given = ctx.input(kCount).as<int32_t>()[0];
  const int64_t room = static_cast<int64_t>(length - channels);
  if (given < -1 || given > room)
    return ctx.fail("the state says " + std::to_string(given) + " samples");
  std::vector<int16_t> waiting(before.begin(), before.end());
  auto count = static_cast<size_t>(std::max(given, 0));
  const int64_t copies = given < 0 ? attrs.left_context + 1 : 1;
  for (int64_t i = 0; i < copies; ++i, count += channels)
    std::copy(x.begin(), x.end(), waiting.begin() + static_cast<int64_t>(count));
  const bool is_valid = count >= length;
  std::fill(y.begin(), y.end(), int16_t{0});
  if (is_valid) {
    const int64_t gone = attrs.step * attrs.num_channels;
    std::copy(waiting.begin(), waiting.end(), y.begin());
    std::fill(std::copy(waiting.begin() + gone, waiting.end(), waiting.begin()), waiting.end(),
              int16_t{0});
    count -= static_cast<size_t>(gone);
  }
  ctx.output(kValid).as<bool>()[0] = is_valid;
  if (ctx.num_outputs() > kNewSamples)
    std::copy(waiting.begin(), waiting.end(), ctx.output(kNewSamples).as<int16_t>().begin());
  if (ctx.num_outputs() > kNewCount)
    ctx.output(kNewCount).as<int32_t>()[0] = static_cast<int32_t>(count);
  return {};
}

// --- overlap and add -----------------------------------------------------------------------------

Status infer_overlap_add(InferContext& ctx) {
  const int64_t step = ctx.attrs<SignalOverlapAddAttrs>().frame_step;
  if (ctx.dtype(0) != DType::I16 && ctx.dtype(0) != DType::F32)
    return ctx.bad_type("i16 or f32 is needed, not " + operand_text(ctx, 0));
  EC_CHECK_OK(need_type(ctx, 1, ctx.dtype(0)));
  EC_CHECK_OK(need_length(ctx, step, 1, "the frame step"));
  std::optional<Shape> out;
  if (ctx.shape(0)) {
    const Shape& x = *ctx.shape(0);
    if (x.rank() < 2) return ctx.bad_shape("frames are needed, not " + operand_text(ctx, 0));
    const Dim &frames = x[x.rank() - 2], &size = x[x.rank() - 1];
    if (size.is_static() && size.size() < step)
      return ctx.bad_shape("frames of " + size.text() + " are shorter than the step " +
                           std::to_string(step));
    out = x;
    out->dims().pop_back();
    (*out)[out->rank() - 1] = frames.is_static() && frames.size() <= kMaxLength
                                  ? Dim(frames.size() * step)
                                  : Dim::unknown();
  }
  ctx.set(0, ctx.dtype(0), std::move(out));
  if (ctx.num_outputs() > 1) ctx.set(1, ctx.dtype(1), ctx.shape(1));
  return {};
}

template <class T>
T added(T a, T b) {
  if constexpr (std::is_same_v<T, float>)
    return a + b;
  else
    return static_cast<T>(std::clamp<int32_t>(int32_t{a} + b, INT16_MIN, INT16_MAX));
}

template <class T>
Status overlap_add_of(KernelContext& ctx) {
  const auto step = static_cast<size_t>(ctx.attrs<SignalOverlapAddAttrs>().frame_step);
  const auto shape = ctx.input(0).shape;
  const auto size = static_cast<size_t>(shape.back());
  const auto frames = static_cast<size_t>(shape[shape.size() - 2]);
  const auto x = ctx.input(0).as<T>(), before = ctx.input(1).as<T>();
  if (x.empty()) return {};
  const size_t rows = x.size() / (size * frames);
  EC_CHECK_OK(expect_count(ctx, 1, rows * size));
  for (size_t row = 0; row < rows; ++row) {
    std::vector<T> sum(before.begin() + static_cast<int64_t>(row * size),
                       before.begin() + static_cast<int64_t>((row + 1) * size));
    for (size_t frame = 0; frame < frames; ++frame) {
      const size_t at = row * frames + frame;
      for (size_t i = 0; i < size; ++i) sum[i] = added(x[at * size + i], sum[i]);
      std::copy_n(sum.begin(), step, ctx.output(0).as<T>().subspan(at * step).begin());
      std::fill(std::copy(sum.begin() + static_cast<int64_t>(step), sum.end(), sum.begin()),
                sum.end(), T{0});
    }
    if (ctx.num_outputs() > 1)
      std::copy(sum.begin(), sum.end(), ctx.output(1).as<T>().subspan(row * size).begin());
  }
  return {};
}

Status overlap_add(KernelContext& ctx) {
  return ctx.input(0).dtype == DType::F32 ? overlap_add_of<float>(ctx)
                                          : overlap_add_of<int16_t>(ctx);
}

}  // namespace

constexpr Rule kSignalDelayRules[] = {rule::min_rank("x", 1), rule::at_least("delay_length", 0)};
EC_OP_DEF(SignalDelay, .signature = "(x, state) -> (y, state?)",
          .summary = "The samples of delay_length steps ago; the state holds those in between.",
          .rules = kSignalDelayRules, .infer = infer_delay, .reference = delay,
          .layout = LayoutRule::Fixed);
constexpr Rule kSignalFramerRules[] = {rule::min_rank("x", 1), rule::one_element("count"),
                                       rule::at_least("frame_size", 1),
                                       rule::at_least("frame_step", 1)};
EC_OP_DEF(SignalFramer, .signature = "(x, samples, count) -> (frames, valid, samples?, count?)",
          .summary =
              "Overlapping frames of a stream, one every frame_step samples. The state is the "
              "samples that wait and their number; frames are zeros until there are enough.",
          .rules = kSignalFramerRules, .infer = infer_framer, .reference = framer,
          .layout = LayoutRule::Fixed);
constexpr Rule kSignalStackerRules[] = {
    rule::one_element("count"), rule::at_least("num_channels", 1),
    rule::between("left_context", 0, 1 << 16), rule::between("right_context", 0, 1 << 16),
    rule::at_least("step", 1)};
EC_OP_DEF(SignalStacker, .signature = "(x, samples, count) -> (y, valid, samples?, count?)",
          .summary =
              "A frame of channels with those before and behind it, every `step` frames. The state "
              "is the samples that wait and their number, -1 before the first.",
          .rules = kSignalStackerRules, .infer = infer_stacker, .reference = stacker,
          .layout = LayoutRule::Fixed);
constexpr Rule kSignalOverlapAddRules[] = {rule::min_rank("frames", 2),
                                           rule::at_least("frame_step", 1)};
EC_OP_DEF(SignalOverlapAdd, .signature = "(frames, state) -> (y, state?)",
          .summary =
              "A stream as the sum of overlapping frames; the state is the sum that later frames "
              "add to.",
          .rules = kSignalOverlapAddRules, .infer = infer_overlap_add, .reference = overlap_add,
          .layout = LayoutRule::Fixed);

}  // namespace ec::ops
