// Attribute structs of all ops. Sizes and axes are int64_t; pads are explicit after import, all
// begins then all ends ([top, left, bottom, right] for images); axes are stored non-negative where
// the rank is known at import.
#pragma once

#include "ir/attrs.h"

namespace ec {

// Order of dimensions that spatial ops state: [N, C, spatial...] or [N, spatial..., C]. Weights
// follow: [O, I/g, k...] or [O, k..., I/g] for conv, [I, O/g, k...] or [I, k..., O/g] transposed.
enum class Layout : uint8_t { ChannelsFirst, ChannelsLast };
template <>
struct EnumText<Layout> {
  static constexpr std::string_view kNames[] = {"nchw", "nhwc"};
};

// Activation computed on the result of a weighted sum before it is stored.
enum class Activation : uint8_t {
  None,
  Relu,
  Relu6,
  Clip,
  LeakyRelu,
  Sigmoid,
  Tanh,
  Silu,
  HardSwish,
  HardSigmoid,
  Gelu,
  GeluTanh
};
template <>
struct EnumText<Activation> {
  static constexpr std::string_view kNames[] = {"none",       "relu",         "relu6", "clip",
                                                "leaky_relu", "sigmoid",      "tanh",  "silu",
                                                "hard_swish", "hard_sigmoid", "gelu",  "gelu_tanh"};
};

struct IsInfAttrs {
  bool detect_positive = true, detect_negative = true;
  EC_ATTRS(IsInfAttrs, detect_positive, detect_negative)
};
struct CastAttrs {
  DType to = DType::F32;
  bool saturate = true;           // 8-bit floats: out of range becomes the largest finite number
  std::string round_mode = "up";  // to f8e8m0: up, down, nearest
  EC_ATTRS(CastAttrs, to, saturate, round_mode)
};
struct BitCastAttrs {
  DType to = DType::F32;
  EC_ATTRS(BitCastAttrs, to)
};
struct SiluAttrs {
  float alpha = 1.0f;  // x * sigmoid(alpha * x)
  EC_ATTRS(SiluAttrs, alpha)
};
enum class GeluForm : uint8_t { Exact, Tanh };
template <>
struct EnumText<GeluForm> {
  static constexpr std::string_view kNames[] = {"exact", "tanh"};
};
struct GeluAttrs {
  GeluForm form = GeluForm::Exact;
  EC_ATTRS(GeluAttrs, form)
};
struct AlphaAttrs {
  float alpha = 1.0f;
  EC_ATTRS(AlphaAttrs, alpha)
};
struct LeakyReluAttrs {
  float alpha = 0.01f;
  EC_ATTRS(LeakyReluAttrs, alpha)
};
struct SeluAttrs {
  float alpha = 1.67326319217681884765625f, gamma = 1.05070102214813232421875f;
  EC_ATTRS(SeluAttrs, alpha, gamma)
};
struct HardSigmoidAttrs {
  float alpha = 0.2f, beta = 0.5f;
  EC_ATTRS(HardSigmoidAttrs, alpha, beta)
};
struct ShrinkAttrs {
  float bias = 0.0f, lambd = 0.5f;
  EC_ATTRS(ShrinkAttrs, bias, lambd)
};
struct ModAttrs {
  bool fmod = false;  // sign of the dividend (C fmod) instead of the divisor
  EC_ATTRS(ModAttrs, fmod)
};
struct BitShiftAttrs {
  bool left = true;
  EC_ATTRS(BitShiftAttrs, left)
};
struct AxisAttrs {
  int64_t axis = 0;
  EC_ATTRS(AxisAttrs, axis)
};
struct ReduceAttrs {
  bool keep_dims = true;
  bool noop_with_empty_axes = false;
  EC_ATTRS(ReduceAttrs, keep_dims, noop_with_empty_axes)
};
struct ArgReduceAttrs {
  int64_t axis = 0;
  bool keep_dims = true;
  bool select_last = false;
  EC_ATTRS(ArgReduceAttrs, axis, keep_dims, select_last)
};
struct CumulativeAttrs {
  bool exclusive = false, reverse = false;
  EC_ATTRS(CumulativeAttrs, exclusive, reverse)
};
struct TopKAttrs {
  int64_t axis = -1;
  bool largest = true, sorted = true;
  EC_ATTRS(TopKAttrs, axis, largest, sorted)
};
struct BatchNormAttrs {
  float epsilon = 1e-5f;
  float momentum = 0.9f;
  bool training = false;  // statistics of the batch; results 2 and 3 are the running values
  Layout layout = Layout::ChannelsFirst;
  EC_ATTRS(BatchNormAttrs, epsilon, momentum, training, layout)
};
struct InstanceNormAttrs {
  float epsilon = 1e-5f;
  Layout layout = Layout::ChannelsFirst;
  EC_ATTRS(InstanceNormAttrs, epsilon, layout)
};
struct LayerNormAttrs {
  int64_t axis = -1;
  float epsilon = 1e-5f;
  EC_ATTRS(LayerNormAttrs, axis, epsilon)
};
struct GroupNormAttrs {
  int64_t groups = 1;
  float epsilon = 1e-5f;
  Layout layout = Layout::ChannelsFirst;
  EC_ATTRS(GroupNormAttrs, groups, epsilon, layout)
};
struct LpNormAttrs {
  int64_t axis = -1;
  int64_t p = 2;
  EC_ATTRS(LpNormAttrs, axis, p)
};
struct LrnAttrs {
  int64_t size = 1;
  float alpha = 1e-4f, beta = 0.75f, bias = 1.0f;
  Layout layout = Layout::ChannelsFirst;
  EC_ATTRS(LrnAttrs, size, alpha, beta, bias, layout)
};

// matmul(a, b, bias?): numpy batch matmul; bias broadcasts over the last dimension.
struct MatMulAttrs {
  bool transpose_a = false, transpose_b = false;  // of the last two dimensions
  float alpha = 1.0f;
  Activation activation = Activation::None;
  float act_alpha = 0.0f,
        act_beta = 0.0f;  // clip: min, max; leaky_relu: slope; hard_sigmoid: alpha, beta
  // Float activations with integer weights: rows are quantised with a zero point of their own.
  bool asymmetric_quantize_inputs = false;
  EC_ATTRS(MatMulAttrs, transpose_a, transpose_b, alpha, activation, act_alpha, act_beta,
           asymmetric_quantize_inputs)
};
struct GemmAttrs {
  float alpha = 1.0f, beta = 1.0f;
  bool transpose_a = false, transpose_b = false;
  Activation activation = Activation::None;
  float act_alpha = 0.0f, act_beta = 0.0f;
  bool asymmetric_quantize_inputs = false;  // as in MatMulAttrs
  EC_ATTRS(GemmAttrs, alpha, beta, transpose_a, transpose_b, activation, act_alpha, act_beta,
           asymmetric_quantize_inputs)
};
struct EinsumAttrs {
  std::string equation;
  EC_ATTRS(EinsumAttrs, equation)
};

// attention(q, k, v, mask?, past_key?, past_value?, nonpad_kv_seqlen?): softmax(scale q k^T + mask)
// v. Rank 4: [batch, heads, length, size]; rank 3: [batch, length, heads * size] with the head
// counts. Query i stands at position i + past length (or nonpad length - query length): causal
// attention sees no later keys, windows none further away to their side.
struct AttentionAttrs {
  float scale = 0.0f;  // 0: 1 / sqrt(head size)
  bool causal = false;
  int64_t q_heads = 0, kv_heads = 0;
  float softcap = 0.0f;                         // 0: off
  int64_t left_window = -1, right_window = -1;  // -1: no bound
  // The fourth result: 0 the products, 1 after softcap, 2 with masks, 3 after softmax.
  int64_t qk_output_mode = 0;
  DType softmax_precision = DType::F32;
  EC_ATTRS(AttentionAttrs, scale, causal, q_heads, kv_heads, softcap, left_window, right_window,
           qk_output_mode, softmax_precision)
};
struct RotaryEmbeddingAttrs {
  bool interleaved = false;
  int64_t num_heads = 0;
  int64_t rotary_dim = 0;  // 0: the whole head
  EC_ATTRS(RotaryEmbeddingAttrs, interleaved, num_heads, rotary_dim)
};

// How pads come about. Importers resolve them where input sizes are known; the other modes stay for
// open sizes and ignore `pads` (see ops/window.h). Same: output = ceil(input / stride), the odd
// element of padding at the end (upper) or the begin (lower).
enum class AutoPad : uint8_t { Explicit, SameUpper, SameLower, Valid };
template <>
struct EnumText<AutoPad> {
  static constexpr std::string_view kNames[] = {"explicit", "same_upper", "same_lower", "valid"};
};

// In all windowed ops, empty strides and dilations mean 1, empty pads 0.
// conv(x, w, bias?, residual?): the residual is added before the activation.
struct ConvAttrs {
  std::vector<int64_t> strides, dilations, pads;
  AutoPad auto_pad = AutoPad::Explicit;
  int64_t groups = 1;
  Layout layout = Layout::ChannelsFirst;
  Activation activation = Activation::None;
  float act_alpha = 0.0f, act_beta = 0.0f;
  EC_ATTRS(ConvAttrs, strides, dilations, pads, auto_pad, groups, layout, activation, act_alpha,
           act_beta)
};
// conv_transpose(x, w, bias?). Same: output = input * stride.
struct ConvTransposeAttrs {
  std::vector<int64_t> strides, dilations, pads, output_padding;
  std::vector<int64_t> output_sizes;  // spatial; when given, pads follow from it
  AutoPad auto_pad = AutoPad::Explicit;
  int64_t groups = 1;
  Layout layout = Layout::ChannelsFirst;
  Activation activation = Activation::None;
  float act_alpha = 0.0f, act_beta = 0.0f;
  EC_ATTRS(ConvTransposeAttrs, strides, dilations, pads, output_padding, output_sizes, auto_pad,
           groups, layout, activation, act_alpha, act_beta)
};
struct DeformConvAttrs {
  std::vector<int64_t> strides, dilations, pads;
  int64_t groups = 1, offset_groups = 1;
  EC_ATTRS(DeformConvAttrs, strides, dilations, pads, groups, offset_groups)
};
struct Col2ImAttrs {
  std::vector<int64_t> strides, dilations, pads;
  EC_ATTRS(Col2ImAttrs, strides, dilations, pads)
};
struct PoolAttrs {
  std::vector<int64_t> kernel, strides, dilations, pads;
  AutoPad auto_pad = AutoPad::Explicit;
  bool ceil_mode = false;
  bool count_include_pad = false;     // average only
  bool column_major_indices = false;  // second result of max_pool
  Layout layout = Layout::ChannelsFirst;
  EC_ATTRS(PoolAttrs, kernel, strides, dilations, pads, auto_pad, ceil_mode, count_include_pad,
           column_major_indices, layout)
};
struct LpPoolAttrs {
  std::vector<int64_t> kernel, strides, dilations, pads;
  AutoPad auto_pad = AutoPad::Explicit;
  bool ceil_mode = false;
  int64_t p = 2;
  Layout layout = Layout::ChannelsFirst;
  EC_ATTRS(LpPoolAttrs, kernel, strides, dilations, pads, auto_pad, ceil_mode, p, layout)
};
struct GlobalPoolAttrs {
  Layout layout = Layout::ChannelsFirst;
  EC_ATTRS(GlobalPoolAttrs, layout)
};
struct MaxUnpoolAttrs {
  std::vector<int64_t> kernel, strides, pads;
  EC_ATTRS(MaxUnpoolAttrs, kernel, strides, pads)
};
// max_pool_argmax(x [N, H, W, C]) and max_unpool_argmax(x, indices): the index of an element counts
// within its window, row by row.
struct ArgmaxWindowAttrs {
  std::vector<int64_t> kernel, strides;
  AutoPad padding = AutoPad::Valid;  // valid or same_upper
  EC_ATTRS(ArgmaxWindowAttrs, kernel, strides, padding)
};
struct MaxRoiPoolAttrs {
  std::vector<int64_t> pooled;
  float spatial_scale = 1.0f;
  EC_ATTRS(MaxRoiPoolAttrs, pooled, spatial_scale)
};
struct RoiAlignAttrs {
  int64_t output_height = 1, output_width = 1, sampling_ratio = 0;
  float spatial_scale = 1.0f;
  bool max_mode = false;
  bool half_pixel = true;
  EC_ATTRS(RoiAlignAttrs, output_height, output_width, sampling_ratio, spatial_scale, max_mode,
           half_pixel)
};

enum class ResizeMode : uint8_t { Nearest, Linear, Cubic };
template <>
struct EnumText<ResizeMode> {
  static constexpr std::string_view kNames[] = {"nearest", "linear", "cubic"};
};
enum class CoordinateMode : uint8_t {
  HalfPixel,
  PytorchHalfPixel,
  AlignCorners,
  Asymmetric,
  HalfPixelSymmetric,
  CropAndResize
};
template <>
struct EnumText<CoordinateMode> {
  static constexpr std::string_view kNames[] = {"half_pixel",           "pytorch_half_pixel",
                                                "align_corners",        "asymmetric",
                                                "half_pixel_symmetric", "tf_crop_and_resize"};
};
enum class NearestMode : uint8_t { RoundPreferFloor, RoundPreferCeil, Floor, Ceil };
template <>
struct EnumText<NearestMode> {
  static constexpr std::string_view kNames[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                                "ceil"};
};
enum class AspectPolicy : uint8_t { Stretch, NotLarger, NotSmaller };
template <>
struct EnumText<AspectPolicy> {
  static constexpr std::string_view kNames[] = {"stretch", "not_larger", "not_smaller"};
};
// resize(x, roi?, scales?, sizes?): scales or sizes for the listed axes (all when empty).
struct ResizeAttrs {
  ResizeMode mode = ResizeMode::Nearest;
  CoordinateMode coordinates = CoordinateMode::HalfPixel;
  NearestMode nearest = NearestMode::RoundPreferFloor;
  float cubic_a = -0.75f;
  bool exclude_outside = false;
  float extrapolation_value = 0.0f;
  bool antialias = false;
  std::vector<int64_t> axes;
  AspectPolicy aspect = AspectPolicy::Stretch;
  EC_ATTRS(ResizeAttrs, mode, coordinates, nearest, cubic_a, exclude_outside, extrapolation_value,
           antialias, axes, aspect)
};
enum class BorderMode : uint8_t { Zeros, Border, Reflection };
template <>
struct EnumText<BorderMode> {
  static constexpr std::string_view kNames[] = {"zeros", "border", "reflection"};
};
struct GridSampleAttrs {
  ResizeMode mode = ResizeMode::Linear;
  BorderMode padding = BorderMode::Zeros;
  bool align_corners = false;
  EC_ATTRS(GridSampleAttrs, mode, padding, align_corners)
};
struct AffineGridAttrs {
  bool align_corners = false;
  EC_ATTRS(AffineGridAttrs, align_corners)
};
// Order of the block inside the channels: depth-column-row or column-row-depth (pixel shuffle).
enum class DepthOrder : uint8_t { Dcr, Crd };
template <>
struct EnumText<DepthOrder> {
  static constexpr std::string_view kNames[] = {"dcr", "crd"};
};
struct DepthToSpaceAttrs {
  int64_t block = 1;
  DepthOrder order = DepthOrder::Dcr;
  Layout layout = Layout::ChannelsFirst;
  EC_ATTRS(DepthToSpaceAttrs, block, order, layout)
};
struct SpaceToDepthAttrs {
  int64_t block = 1;
  DepthOrder order = DepthOrder::Dcr;
  Layout layout = Layout::ChannelsFirst;
  EC_ATTRS(SpaceToDepthAttrs, block, order, layout)
};
// non_max_suppression(boxes, scores, max_per_class?, iou_threshold?, score_threshold?)
struct NmsAttrs {
  bool center_boxes = false;  // [cx, cy, w, h] instead of two corners
  EC_ATTRS(NmsAttrs, center_boxes)
};

// detection_post_process(box encodings, class scores, anchors): TFLite_Detection_PostProcess.
struct DetectionAttrs {
  int64_t max_detections = 10, max_classes_per_detection = 1, detections_per_class = 100;
  int64_t num_classes = 1;
  bool regular_nms = false;  // suppression class by class instead of on the best class of each box
  float score_threshold = 0.0f, iou_threshold = 0.5f;
  float y_scale = 1.0f, x_scale = 1.0f, h_scale = 1.0f, w_scale = 1.0f;
  EC_ATTRS(DetectionAttrs, max_detections, max_classes_per_detection, detections_per_class,
           num_classes, regular_nms, score_threshold, iou_threshold, y_scale, x_scale, h_scale,
           w_scale)
};

enum class Direction : uint8_t { Forward, Reverse, Bidirectional };
template <>
struct EnumText<Direction> {
  static constexpr std::string_view kNames[] = {"forward", "reverse", "bidirectional"};
};
// ONNX's gate orders (lstm i,o,f,c; gru z,r,h) and operand order.
struct RecurrentAttrs {
  int64_t hidden_size = 0;
  Direction direction = Direction::Forward;
  std::vector<std::string> activations;  // empty: the op's usual ones
  std::vector<float> activation_alpha, activation_beta;
  float clip = 0.0f;                 // 0: off
  bool input_forget = false;         // lstm
  bool linear_before_reset = false;  // gru
  bool batch_first = false;
  // lstm: x as a whole and h at every step pass through 8 bits, with a scale of their own each
  // time.
  bool dynamic_quantize_inputs = false;
  EC_ATTRS(RecurrentAttrs, hidden_size, direction, activations, activation_alpha, activation_beta,
           clip, input_forget, linear_before_reset, batch_first, dynamic_quantize_inputs)
};

// The recurrent ops below keep TFLite's operands and gate layout: one weight matrix per gate.
struct LstmSequenceAttrs {
  Activation activation = Activation::Tanh;        // of the cell
  float act_alpha = 0.0f, act_beta = 0.0f;         // clip: min, max
  float cell_clip = 0.0f, projection_clip = 0.0f;  // 0: off
  bool time_major = false;                         // [time, batch, in] instead of [batch, time, in]
  bool diagonal_recurrent = false;  // recurrent weights are diagonals, stored as lists
  bool asymmetric_quantize_inputs = false;
  // Integer form: parameters of the gates before normalisation (input, forget, cell, output) and of
  // the hidden state before projection.
  std::vector<float> intermediate_scales = {};
  std::vector<int64_t> intermediate_zero_points = {};
  EC_ATTRS(LstmSequenceAttrs, activation, act_alpha, act_beta, cell_clip, projection_clip,
           time_major, diagonal_recurrent, asymmetric_quantize_inputs, intermediate_scales,
           intermediate_zero_points)
};
struct RnnSequenceAttrs {
  Activation activation = Activation::Tanh;
  float act_alpha = 0.0f, act_beta = 0.0f;
  bool time_major = false;
  bool asymmetric_quantize_inputs = false;
  EC_ATTRS(RnnSequenceAttrs, activation, act_alpha, act_beta, time_major,
           asymmetric_quantize_inputs)
};
struct SvdfAttrs {
  int64_t rank = 1;  // filters per unit
  Activation activation = Activation::None;
  float act_alpha = 0.0f, act_beta = 0.0f;
  bool asymmetric_quantize_inputs = false;
  EC_ATTRS(SvdfAttrs, rank, activation, act_alpha, act_beta, asymmetric_quantize_inputs)
};

// dft(x, length?, axis?): x has a last dimension of 1 (real) or 2 (complex).
struct DftAttrs {
  bool inverse = false, onesided = false;
  EC_ATTRS(DftAttrs, inverse, onesided)
};
struct StftAttrs {
  bool onesided = true;
  EC_ATTRS(StftAttrs, onesided)
};
struct WindowAttrs {
  bool periodic = true;
  DType dtype = DType::F32;
  EC_ATTRS(WindowAttrs, periodic, dtype)
};
struct MelAttrs {
  DType dtype = DType::F32;
  EC_ATTRS(MelAttrs, dtype)
};

// The integer signal processing of TFLite Micro's signal library.
struct SignalWindowAttrs {
  int64_t shift = 0;
  EC_ATTRS(SignalWindowAttrs, shift)
};
struct SignalFftAttrs {
  int64_t fft_length = 0;
  EC_ATTRS(SignalFftAttrs, fft_length)
};
struct SignalEnergyAttrs {
  int64_t start_index = 0, end_index = 0;  // elements outside are 0
  EC_ATTRS(SignalEnergyAttrs, start_index, end_index)
};
struct SignalFilterBankAttrs {
  int64_t num_channels = 0;
  EC_ATTRS(SignalFilterBankAttrs, num_channels)
};
// Factors have spectral_subtraction_bits fraction bits; odd channels have the alternate ones.
struct SpectralSubtractionAttrs {
  int64_t smoothing = 0, one_minus_smoothing = 0;
  int64_t alternate_smoothing = 0, alternate_one_minus_smoothing = 0;
  int64_t smoothing_bits = 0, spectral_subtraction_bits = 0;
  int64_t min_signal_remaining = 0;
  bool clamping = false;
  EC_ATTRS(SpectralSubtractionAttrs, smoothing, one_minus_smoothing, alternate_smoothing,
           alternate_one_minus_smoothing, smoothing_bits, spectral_subtraction_bits,
           min_signal_remaining, clamping)
};
struct SignalPcanAttrs {
  int64_t snr_shift = 0;
  EC_ATTRS(SignalPcanAttrs, snr_shift)
};
struct SignalLogAttrs {
  int64_t input_correction_bits = 0, output_scale = 0;
  EC_ATTRS(SignalLogAttrs, input_correction_bits, output_scale)
};
struct SignalFramerAttrs {
  int64_t frame_size = 0, frame_step = 0;
  bool prefill = false;  // the samples before the first are zeros: every frame is valid
  EC_ATTRS(SignalFramerAttrs, frame_size, frame_step, prefill)
};
struct SignalStackerAttrs {
  int64_t num_channels = 0, left_context = 0, right_context = 0, step = 1;
  EC_ATTRS(SignalStackerAttrs, num_channels, left_context, right_context, step)
};
struct SignalDelayAttrs {
  int64_t delay_length = 0;
  EC_ATTRS(SignalDelayAttrs, delay_length)
};
struct SignalOverlapAddAttrs {
  int64_t frame_step = 0;
  EC_ATTRS(SignalOverlapAddAttrs, frame_step)
};

struct ReshapeAttrs {
  bool allow_zero = false;  // 0 means an empty dimension instead of "copy the input's"
  EC_ATTRS(ReshapeAttrs, allow_zero)
};
struct FlattenAttrs {
  int64_t axis = 1;
  EC_ATTRS(FlattenAttrs, axis)
};
struct ShapeAttrs {
  int64_t start = 0;
  int64_t end = INT64_MAX;
  EC_ATTRS(ShapeAttrs, start, end)
};
struct EyeLikeAttrs {
  DType dtype = DType::F32;
  int64_t k = 0;
  EC_ATTRS(EyeLikeAttrs, dtype, k)
};
struct TransposeAttrs {
  std::vector<int64_t> perm;
  EC_ATTRS(TransposeAttrs, perm)
};
enum class PadMode : uint8_t { Constant, Reflect, Edge, Wrap };
template <>
struct EnumText<PadMode> {
  static constexpr std::string_view kNames[] = {"constant", "reflect", "edge", "wrap"};
};
// pad(x, pads, value?, axes?)
struct PadAttrs {
  PadMode mode = PadMode::Constant;
  EC_ATTRS(PadAttrs, mode)
};
struct TriluAttrs {
  bool upper = true;
  EC_ATTRS(TriluAttrs, upper)
};
struct ReverseSequenceAttrs {
  int64_t batch_axis = 1, time_axis = 0;
  EC_ATTRS(ReverseSequenceAttrs, batch_axis, time_axis)
};
struct ReverseAttrs {
  std::vector<int64_t> axes;
  EC_ATTRS(ReverseAttrs, axes)
};
struct CenterCropPadAttrs {
  std::vector<int64_t> axes;
  EC_ATTRS(CenterCropPadAttrs, axes)
};
struct GatherAttrs {
  int64_t axis = 0;
  EC_ATTRS(GatherAttrs, axis)
};
struct GatherNdAttrs {
  int64_t batch_dims = 0;
  EC_ATTRS(GatherNdAttrs, batch_dims)
};
enum class Reduction : uint8_t { None, Add, Mul, Max, Min };
template <>
struct EnumText<Reduction> {
  static constexpr std::string_view kNames[] = {"none", "add", "mul", "max", "min"};
};
struct ScatterElementsAttrs {
  int64_t axis = 0;
  Reduction reduction = Reduction::None;
  EC_ATTRS(ScatterElementsAttrs, axis, reduction)
};
struct ScatterNdAttrs {
  Reduction reduction = Reduction::None;
  EC_ATTRS(ScatterNdAttrs, reduction)
};
struct TensorScatterAttrs {
  int64_t axis = -2;
  bool circular = false;
  EC_ATTRS(TensorScatterAttrs, axis, circular)
};
struct OneHotAttrs {
  int64_t axis = -1;
  EC_ATTRS(OneHotAttrs, axis)
};
struct CompressAttrs {
  bool flatten = true;  // select from the flattened input; else along axis
  int64_t axis = 0;
  EC_ATTRS(CompressAttrs, flatten, axis)
};
struct UniqueAttrs {
  bool flatten = true;
  int64_t axis = 0;
  bool sorted = true;
  EC_ATTRS(UniqueAttrs, flatten, axis, sorted)
};

enum class Rounding : uint8_t { HalfEven, HalfAway };
template <>
struct EnumText<Rounding> {
  static constexpr std::string_view kNames[] = {"half_even", "half_away"};
};
// quantize(x, scale?, zero_point?): saturate(round(x / scale) + zero_point). Without the operands
// the parameters are those of the result's type.
struct QuantizeAttrs {
  int64_t axis = 1;
  int64_t block_size = 0;  // 0: per tensor or per axis, by the rank of the scale
  DType dtype = DType::U8;
  bool saturate = true;  // 8-bit floats
  Rounding rounding = Rounding::HalfEven;
  EC_ATTRS(QuantizeAttrs, axis, block_size, dtype, saturate, rounding)
};
struct DequantizeAttrs {
  int64_t axis = 1;
  int64_t block_size = 0;
  DType dtype = DType::F32;
  EC_ATTRS(DequantizeAttrs, axis, block_size, dtype)
};
// fake_quant(x): the nearest of 2^num_bits equal steps over a range that contains zero exactly.
struct FakeQuantAttrs {
  float min = 0.0f, max = 0.0f;
  int64_t num_bits = 8;
  bool narrow_range = false;  // the lowest step is not used
  EC_ATTRS(FakeQuantAttrs, min, max, num_bits, narrow_range)
};

// read_state, write_state: the name links the two within a graph.
struct StateAttrs {
  std::string name;
  EC_ATTRS(StateAttrs, name)
};

// custom(operands...): an op of another program, kept as it is; the types of the results are given.
struct CustomAttrs {
  std::string code;     // its name there
  std::string options;  // its option bytes, in base64
  EC_ATTRS(CustomAttrs, code, options)
};

// random_*(shape): the seed makes results repeatable.
struct RandomUniformAttrs {
  DType dtype = DType::F32;
  float low = 0.0f, high = 1.0f;
  int64_t seed = 0;
  EC_ATTRS(RandomUniformAttrs, dtype, low, high, seed)
};
struct RandomNormalAttrs {
  DType dtype = DType::F32;
  float mean = 0.0f, scale = 1.0f;
  int64_t seed = 0;
  EC_ATTRS(RandomNormalAttrs, dtype, mean, scale, seed)
};
struct BernoulliAttrs {
  DType dtype = DType::F32;
  int64_t seed = 0;
  EC_ATTRS(BernoulliAttrs, dtype, seed)
};
struct MultinomialAttrs {
  DType dtype = DType::I32;
  int64_t sample_size = 1;
  int64_t seed = 0;
  EC_ATTRS(MultinomialAttrs, dtype, sample_size, seed)
};
// dropout(x, ratio?, training?): identity unless training is true.
struct DropoutAttrs {
  int64_t seed = 0;
  EC_ATTRS(DropoutAttrs, seed)
};

// loop(trip_count?, condition?, carried..., captures...): the body takes (iteration, condition,
// carried..., captures...) and gives (condition, carried..., scan results...).
struct LoopAttrs {
  int64_t num_carried = 0;
  EC_ATTRS(LoopAttrs, num_carried)
};
// scan(states..., scan inputs..., captures...): the body takes (states..., slices..., captures...)
// and gives (states..., slices of results...). Directions: 0 forward, 1 reverse.
struct ScanAttrs {
  int64_t num_states = 0, num_scan_inputs = 0;
  std::vector<int64_t> input_axes, input_directions, output_axes, output_directions;
  EC_ATTRS(ScanAttrs, num_states, num_scan_inputs, input_axes, input_directions, output_axes,
           output_directions)
};

}  // namespace ec
