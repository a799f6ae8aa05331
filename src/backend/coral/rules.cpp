#include "backend/coral/rules.h"

#include <algorithm>

namespace ec::coral::rules {

using tflite::ActivationFunctionType;

namespace {

Verdict limited(std::string reason, std::string fix) {
  return {Status::Limited, std::move(reason), std::move(fix), {}};
}

Verdict not_constant(const OperatorView& op, size_t i) {
  const tflite::Tensor* tensor = op.input(i);
  const std::string name(tensor != nullptr ? tflite::text_of(tensor->name()) : "");
  return {Status::NotConstant,
          "parameter '" + name + "' is computed at run time",
          "freeze the weights into the model before conversion",
          {}};
}

// Weights, and a bias where there is one, are constants.
std::optional<Verdict> parameters(const OperatorView& op, size_t weights, size_t bias) {
  if (!op.is_constant(weights)) return not_constant(op, weights);
  if (op.input(bias) != nullptr && !op.is_constant(bias)) return not_constant(op, bias);
  return std::nullopt;
}

// Pooling and concatenation apply no function to what they move.
std::optional<Verdict> no_activation(ActivationFunctionType activation) {
  if (activation == ActivationFunctionType::NONE) return std::nullopt;
  return limited("has a fused activation", "apply the activation as an operator of its own");
}

// Averages of compiled files reach this far.
constexpr int64_t kLargestWindow = 42 * 42;

// Axes of a reduction, counted from the first dimension.
std::optional<std::vector<int64_t>> reduced_axes(const OperatorView& op) {
  auto axes = op.input_integers(1);
  if (!axes) return std::nullopt;
  const auto rank = static_cast<int64_t>(op.input_shape(0).size());
  for (int64_t& axis : *axes) axis += axis < 0 ? rank : 0;
  return axes;
}

// Only tensors of four dimensions have one for the batch; fewer are image and channels.
bool is_batch(int64_t axis, size_t rank) { return axis == 0 && rank >= 4; }

std::string axis_text(std::string_view verb) {
  return std::string(verb) + " the batch (dimension 0 of 4)";
}

}  // namespace

Verdict any(const OperatorView&, const Rules&) { return {}; }

Verdict convolution(const OperatorView& op, const Rules&) {
  if (auto fault = parameters(op, 1, 2)) return *fault;
  const auto* options = op.op().builtin_options_as_Conv2DOptions();
  if (options != nullptr && options->dilation_w_factor() != options->dilation_h_factor())
    return limited("dilation is " + std::to_string(options->dilation_h_factor()) + "x" +
                       std::to_string(options->dilation_w_factor()),
                   "use the same dilation in x and y");
  return {};
}

Verdict depthwise(const OperatorView& op, const Rules& rules) {
  if (auto fault = parameters(op, 1, 2)) return *fault;
  const auto* options = op.op().builtin_options_as_DepthwiseConv2DOptions();
  if (options == nullptr) return {};
  const int32_t x = options->dilation_w_factor(), y = options->dilation_h_factor();
  const std::string text = "dilation is " + std::to_string(y) + "x" + std::to_string(x);
  if (x != y) return limited(text, "use the same dilation in x and y");
  if (rules.runtime < 13 && x != 1)
    return limited(text + "; runtime 12 takes none", "use runtime 13 or newer");
  return {};
}

Verdict fully_connected(const OperatorView& op, const Rules&) {
  if (auto fault = parameters(op, 1, 2)) return *fault;
  const auto* options = op.op().builtin_options_as_FullyConnectedOptions();
  if (options != nullptr &&
      options->weights_format() != tflite::FullyConnectedOptionsWeightsFormat::DEFAULT)
    return limited("weights are shuffled", "convert with weights in the default format");
  const std::vector<int64_t> out = op.output_shape();
  for (size_t d = 0; d + 1 < out.size(); ++d)
    if (out[d] != 1)
      return limited("output " + shape_text(out) + " is more than one row",
                     "use batch 1; for several rows use a 1x1 convolution");
  return {};
}

Verdict transpose_conv(const OperatorView& op, const Rules&) {
  if (auto fault = parameters(op, 1, 3)) return *fault;
  if (!op.is_constant(0)) return not_constant(op, 0);
  return {};
}

Verdict pool(const OperatorView& op, const Rules&) {
  const auto* options = op.op().builtin_options_as_Pool2DOptions();
  if (options == nullptr) return {};
  return no_activation(options->fused_activation_function()).value_or(Verdict{});
}

Verdict concatenation(const OperatorView& op, const Rules&) {
  if (const auto* options = op.op().builtin_options_as_ConcatenationOptions())
    if (auto fault = no_activation(options->fused_activation_function())) return *fault;
  for (size_t i = 0; i < op.num_inputs(); ++i) {
    if (!op.is_constant(i)) continue;
    if (op.num_inputs() != 2)
      return limited("one of " + std::to_string(op.num_inputs()) + " inputs is constant",
                     "join constants with exactly one other tensor");
    if (!op.is_zero(i))
      return limited("the constant input is not all zero", "pad with zeros, or add the constant");
  }
  return {};
}

Verdict mean(const OperatorView& op, const Rules& rules) {
  const auto axes = reduced_axes(op);
  if (!axes) return not_constant(op, 1);
  const std::vector<int64_t> in = op.input_shape(0);
  for (const int64_t axis : *axes) {
    if (is_batch(axis, in.size())) return limited(axis_text("averages over"), "use batch 1");
    const bool channels = axis == static_cast<int64_t>(in.size()) - 1;
    if (!channels) continue;
    if (rules.runtime < 13)
      return limited("averages over channels; runtime 12 takes x and y only",
                     "use runtime 13 or newer");
    if (in.back() % 4 != 0)
      return limited(
          "averages over " + std::to_string(in.back()) + " channels, which is no multiple of 4",
          "pad the channels to a multiple of 4");
  }
  Verdict verdict;
  int64_t window = 1;
  for (const int64_t axis : *axes)
    if (axis >= 0 && axis < static_cast<int64_t>(in.size()))
      window = std::min(kLargestWindow + 1,
                        window * std::max<int64_t>(1, in[static_cast<size_t>(axis)]));
  if (window > kLargestWindow)
    verdict.note = "averages " + shape_text(in) + ": windows beyond 42x42 are in no compiled file";
  return verdict;
}

Verdict reduce(const OperatorView& op, const Rules&) {
  const auto axes = reduced_axes(op);
  if (!axes) return not_constant(op, 1);
  for (const int64_t axis : *axes)
    if (is_batch(axis, op.input_shape(0).size()))
      return limited(axis_text("reduces"), "use batch 1");
  return {};
}

Verdict pack(const OperatorView& op, const Rules&) {
  const auto* options = op.op().builtin_options_as_PackOptions();
  const std::vector<int64_t> out = op.output_shape();
  int64_t axis = options != nullptr ? options->axis() : 0;
  if (axis < 0) axis += static_cast<int64_t>(out.size());
  return is_batch(axis, out.size()) ? limited(axis_text("stacks along"), "stack another dimension")
                                    : Verdict{};
}

Verdict pad(const OperatorView& op, const Rules& rules) {
  const auto amounts = op.input_integers(1);
  if (!amounts) return not_constant(op, 1);
  const size_t rank = op.input_shape(0).size();
  for (size_t d = 0; d < rank && 2 * d + 1 < amounts->size(); ++d) {
    if ((*amounts)[2 * d] == 0 && (*amounts)[2 * d + 1] == 0) continue;
    if (is_batch(static_cast<int64_t>(d), rank)) return limited(axis_text("pads"), "use batch 1");
    if (rules.runtime < 13 && d + 1 == rank)
      return limited("pads channels; runtime 12 takes x and y only", "use runtime 13 or newer");
  }
  return {};
}

Verdict prelu(const OperatorView& op, const Rules&) {
  if (!op.is_constant(1)) return not_constant(op, 1);
  const std::vector<int64_t> slopes = op.input_shape(1);
  const auto longer = std::ranges::count_if(slopes, [](int64_t size) { return size > 1; });
  const bool per_channel = longer == 0 || (longer == 1 && slopes.back() > 1);
  return per_channel ? Verdict{}
                     : limited("slopes have the shape " + shape_text(slopes),
                               "use one slope per channel (Keras: shared_axes=[1, 2])");
}

Verdict resize(const OperatorView& op, const Rules& rules) {
  const std::vector<int64_t> in = op.input_shape(0), out = op.output_shape();
  if (in.size() != 4 || out.size() != 4) return limited("is no image of 3 dimensions", "");
  // No pair of files shows a scale between 2 and 16: from where on it is refused is not known.
  const bool large = out[1] > 4 * in[1] || out[2] > 4 * in[2];
  const std::string scale = "resizes " + std::to_string(in[1]) + "x" + std::to_string(in[2]) +
                            " to " + std::to_string(out[1]) + "x" + std::to_string(out[2]);
  if (rules.evidence == Evidence::Fitted && large)
    return limited(scale + "; more than 4 times was refused in every file seen",
                   "resize in steps of 2, or leave the resize to the application");
  Verdict verdict;
  if (large) verdict.note = scale + ": may be refused by size";
  return verdict;
}

Verdict softmax(const OperatorView& op, const Rules& rules) {
  const std::vector<int64_t> in = op.input_shape(0);
  for (size_t d = 0; d + 1 < in.size(); ++d)
    if (in[d] != 1)
      return limited("input " + shape_text(in) + " has more than one row",
                     "compute softmax in the application, or per row");
  if (in.empty() || in.back() <= 16000) return {};
  // Two compiled files hold one of 16,384.
  if (rules.evidence == Evidence::Published || in.back() > 16384)
    return limited(std::to_string(in.back()) + " elements are more than 16,000",
                   "compute softmax in the application");
  Verdict verdict;
  verdict.note = std::to_string(in.back()) + " elements are more than the documented 16,000";
  return verdict;
}

Verdict split(const OperatorView& op, const Rules&) {
  const auto axis = op.input_integers(0);
  if (!axis || axis->size() != 1) return not_constant(op, 0);
  const std::vector<int64_t> in = op.input_shape(1);
  const int64_t given = (*axis)[0];
  const int64_t at = given < 0 ? given + static_cast<int64_t>(in.size()) : given;
  return is_batch(at, in.size()) ? limited(axis_text("splits"), "use batch 1") : Verdict{};
}

Verdict squeeze(const OperatorView& op, const Rules& rules) {
  if (rules.runtime >= 13) return {};
  const std::vector<int64_t> in = op.input_shape(0), out = op.output_shape();
  const bool leading_only =
      out.size() <= in.size() && std::equal(out.rbegin(), out.rend(), in.rbegin());
  return leading_only ? Verdict{} : limited("removes inner dimensions", "use runtime 13 or newer");
}

Verdict strided_slice(const OperatorView& op, const Rules&) {
  const auto strides = op.input_integers(3);
  if (!strides) return not_constant(op, 3);
  for (const int64_t stride : *strides)
    if (stride != 1)
      return limited("has a stride of " + std::to_string(stride), "slice with stride 1");
  const auto* options = op.op().builtin_options_as_StridedSliceOptions();
  if (options != nullptr && options->ellipsis_mask() != 0)
    return limited("uses an ellipsis", "give begin and end of every dimension");
  if (options != nullptr && options->new_axis_mask() != 0)
    return limited("adds a dimension", "add the dimension with a reshape");
  return {};
}

}  // namespace ec::coral::rules
