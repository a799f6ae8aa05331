// Matrix products, normalisation, attention, recurrent and signal ops.
#include <algorithm>

#include "ops/convert.h"
#include "writer/onnx/emitter.h"

namespace ec::onnx {
namespace {

Status axis_op(OpEmitter& e, std::string_view name) {
  AttributeList a;
  a.add("axis", e.attrs<AxisAttrs>().axis);
  e.node(name, e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status softmax(OpEmitter& e) { return axis_op(e, "Softmax"); }
Status log_softmax(OpEmitter& e) { return axis_op(e, "LogSoftmax"); }
Status hardmax(OpEmitter& e) { return axis_op(e, "Hardmax"); }

// A scale of ones: ONNX does not let it be absent. Sizes that are open, or more than any network
// has, leave a scalar, which fits by broadcasting.
std::string unit_scale(OpEmitter& e, int64_t axis) {
  const std::optional<Shape>& shape = e.type(0).shape;
  TensorType type(e.dtype(), Shape{});
  const auto rank = shape ? static_cast<int64_t>(shape->rank()) : 0;
  const int64_t first = axis < 0 ? axis + rank : axis;
  for (int64_t d = std::max<int64_t>(first, 0); d < rank; ++d)
    type.shape->push_back((*shape)[static_cast<size_t>(d)]);
  constexpr int64_t kMostBytes = int64_t{1} << 20;
  const auto bytes = type.num_bytes();
  if (!bytes || *bytes > kMostBytes) return e.scalar(e.dtype(), 1);
  Buffer ones = Buffer::allocate(static_cast<size_t>(*bytes));
  const std::vector<double> values(static_cast<size_t>(*type.num_elements()), 1.0);
  const std::vector<int64_t> sizes = type.shape->sizes();
  store<double>(MutableView{type.dtype, sizes, ones.data(), nullptr}, values);
  return e.graph().add_initializer("scale", type, std::move(ones).to_blob());
}

Status layer_norm(OpEmitter& e) {
  const auto& attrs = e.attrs<LayerNormAttrs>();
  AttributeList a;
  a.add("axis", attrs.axis);
  a.add("epsilon", attrs.epsilon);
  std::vector<std::string> inputs = e.inputs();
  if (inputs.size() < 2) inputs.resize(2);
  if (inputs[1].empty()) inputs[1] = unit_scale(e, attrs.axis);
  e.node(e.op().kind() == OpKind::LayerNorm ? "LayerNormalization" : "RMSNormalization",
         std::move(inputs), e.outputs(), std::move(a));
  return {};
}

Status lp_norm(OpEmitter& e) {
  AttributeList a;
  a.add("axis", e.attrs<LpNormAttrs>().axis);
  a.add("p", e.attrs<LpNormAttrs>().p);
  e.node("LpNormalization", e.inputs(), e.outputs(), std::move(a));
  return {};
}

bool is_matrix(const ec::Tensor* tensor) { return tensor->shape() && tensor->shape()->rank() == 2; }

// Two plain matrices: Gemm has the transpositions, alpha and the bias.
Status matmul_as_gemm(OpEmitter& e, const MatMulAttrs& attrs) {
  AttributeList a;
  if (attrs.alpha != 1.0f) a.add("alpha", attrs.alpha);
  if (attrs.transpose_a) a.add("transA", int64_t{1});
  if (attrs.transpose_b) a.add("transB", int64_t{1});
  const bool plain = attrs.activation == Activation::None;
  const std::string y = plain ? e.out() : e.temp();
  e.node("Gemm", e.inputs(), {y}, std::move(a));
  if (!plain)
    e.activation(attrs.activation, attrs.act_alpha, attrs.act_beta, e.op().output()->dtype(), y,
                 e.out());
  return {};
}

Result<std::string> matmul_operand(OpEmitter& e, size_t i, bool transpose) {
  if (!transpose) return e.in(i);
  EC_TRY(const size_t rank, e.rank(e.op().input(i)));
  std::vector<int64_t> perm;
  for (size_t d = 0; d < rank; ++d) perm.push_back(static_cast<int64_t>(d));
  if (rank >= 2) std::swap(perm[rank - 1], perm[rank - 2]);
  return e.transposed_operand(i, perm);
}

Status matmul(OpEmitter& e) {
  EC_CHECK_OK(e.need_one_type());
  const auto& attrs = e.attrs<MatMulAttrs>();
  const bool bias = e.op().input(2) != nullptr;
  if (is_float(e.dtype()) && is_matrix(e.op().input(0)) && is_matrix(e.op().input(1)) &&
      (bias || attrs.transpose_a || attrs.transpose_b || attrs.alpha != 1.0f))
    return matmul_as_gemm(e, attrs);
  EC_TRY(const std::string a, matmul_operand(e, 0, attrs.transpose_a));
  EC_TRY(const std::string b, matmul_operand(e, 1, attrs.transpose_b));
  // The last of the steps that are there gives the result.
  const bool scaled = attrs.alpha != 1.0f, activated = attrs.activation != Activation::None;
  std::string y = scaled || bias || activated ? e.temp() : e.out();
  e.node("MatMul", {a, b}, {y});
  if (scaled) {
    const std::string next = bias || activated ? e.temp() : e.out();
    e.node("Mul", {y, e.scalar(e.dtype(), attrs.alpha)}, {next});
    y = next;
  }
  if (bias) {
    const std::string next = activated ? e.temp() : e.out();
    e.node("Add", {y, e.in(2)}, {next});
    y = next;
  }
  if (activated)
    e.activation(attrs.activation, attrs.act_alpha, attrs.act_beta, e.op().output()->dtype(), y,
                 e.out());
  return {};
}

Status gemm(OpEmitter& e) {
  EC_CHECK_OK(e.need_one_type());
  const auto& attrs = e.attrs<GemmAttrs>();
  AttributeList a;
  if (attrs.alpha != 1.0f) a.add("alpha", attrs.alpha);
  if (attrs.beta != 1.0f) a.add("beta", attrs.beta);
  if (attrs.transpose_a) a.add("transA", int64_t{1});
  if (attrs.transpose_b) a.add("transB", int64_t{1});
  const bool plain = attrs.activation == Activation::None;
  const std::string y = plain ? e.out() : e.temp();
  e.node("Gemm", e.inputs(), {y}, std::move(a));
  if (!plain)
    e.activation(attrs.activation, attrs.act_alpha, attrs.act_beta, e.op().output()->dtype(), y,
                 e.out());
  return {};
}

Status einsum(OpEmitter& e) {
  AttributeList a;
  a.add("equation", std::string_view(e.attrs<EinsumAttrs>().equation));
  e.node("Einsum", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status attention(OpEmitter& e) {
  const auto& attrs = e.attrs<AttentionAttrs>();
  AttributeList a;
  if (attrs.scale != 0.0f) a.add("scale", attrs.scale);
  if (attrs.causal) a.add("is_causal", int64_t{1});
  if (attrs.q_heads != 0) a.add("q_num_heads", attrs.q_heads);
  if (attrs.kv_heads != 0) a.add("kv_num_heads", attrs.kv_heads);
  if (attrs.softcap != 0.0f) a.add("softcap", attrs.softcap);
  if (attrs.left_window >= 0) a.add("left_window_size", attrs.left_window);
  if (attrs.right_window >= 0) a.add("right_window_size", attrs.right_window);
  if (attrs.qk_output_mode != 0) a.add("qk_matmul_output_mode", attrs.qk_output_mode);
  if (attrs.softmax_precision != DType::F32)
    a.add("softmax_precision", type_number(attrs.softmax_precision));
  e.node("Attention", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status rotary_embedding(OpEmitter& e) {
  const auto& attrs = e.attrs<RotaryEmbeddingAttrs>();
  AttributeList a;
  if (attrs.interleaved) a.add("interleaved", int64_t{1});
  if (attrs.num_heads != 0) a.add("num_heads", attrs.num_heads);
  if (attrs.rotary_dim != 0) a.add("rotary_embedding_dim", attrs.rotary_dim);
  e.node("RotaryEmbedding", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status recurrent(OpEmitter& e) {
  const auto& attrs = e.attrs<RecurrentAttrs>();
  const OpKind kind = e.op().kind();
  if (attrs.dynamic_quantize_inputs)
    return e.fail("inputs that are quantised at every step (DynamicQuantizeLSTM)");
  AttributeList a;
  a.add("hidden_size", attrs.hidden_size);
  if (attrs.direction != Direction::Forward)
    a.add("direction", EnumText<Direction>::kNames[static_cast<size_t>(attrs.direction)]);
  if (!attrs.activations.empty())
    a.add("activations", std::span<const std::string>(attrs.activations));
  if (!attrs.activation_alpha.empty())
    a.add("activation_alpha", std::span<const float>(attrs.activation_alpha));
  if (!attrs.activation_beta.empty())
    a.add("activation_beta", std::span<const float>(attrs.activation_beta));
  if (attrs.clip != 0.0f) a.add("clip", attrs.clip);
  if (attrs.input_forget) a.add("input_forget", int64_t{1});
  if (attrs.linear_before_reset) a.add("linear_before_reset", int64_t{1});
  if (attrs.batch_first) a.add("layout", int64_t{1});
  e.node(kind == OpKind::Lstm  ? "LSTM"
         : kind == OpKind::Gru ? "GRU"
                               : "RNN",
         e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status dft(OpEmitter& e) {
  AttributeList a;
  if (e.attrs<DftAttrs>().inverse) a.add("inverse", int64_t{1});
  if (e.attrs<DftAttrs>().onesided) a.add("onesided", int64_t{1});
  e.node("DFT", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status stft(OpEmitter& e) {
  AttributeList a;
  a.add("onesided", int64_t{e.attrs<StftAttrs>().onesided});
  e.node("STFT", e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status window(OpEmitter& e) {
  const auto& attrs = e.attrs<WindowAttrs>();
  const OpKind kind = e.op().kind();
  AttributeList a;
  a.add("periodic", int64_t{attrs.periodic});
  a.add("output_datatype", type_number(attrs.dtype));
  e.node(kind == OpKind::HannWindow      ? "HannWindow"
         : kind == OpKind::HammingWindow ? "HammingWindow"
                                         : "BlackmanWindow",
         e.inputs(), e.outputs(), std::move(a));
  return {};
}

Status mel_weight_matrix(OpEmitter& e) {
  AttributeList a;
  a.add("output_datatype", type_number(e.attrs<MelAttrs>().dtype));
  e.node("MelWeightMatrix", e.inputs(), e.outputs(), std::move(a));
  return {};
}

constexpr WriteRow kRows[] = {
    {OpKind::Softmax, softmax},
    {OpKind::LogSoftmax, log_softmax},
    {OpKind::Hardmax, hardmax},
    {OpKind::LayerNorm, layer_norm},
    {OpKind::RmsNorm, layer_norm},
    {OpKind::LpNorm, lp_norm},
    {OpKind::MatMul, matmul},
    {OpKind::Gemm, gemm},
    {OpKind::Einsum, einsum},
    {OpKind::Attention, attention},
    {OpKind::RotaryEmbedding, rotary_embedding},
    {OpKind::Lstm, recurrent},
    {OpKind::Gru, recurrent},
    {OpKind::Rnn, recurrent},
    {OpKind::Dft, dft},
    {OpKind::Stft, stft},
    {OpKind::HannWindow, window},
    {OpKind::HammingWindow, window},
    {OpKind::BlackmanWindow, window},
    {OpKind::MelWeightMatrix, mel_weight_matrix},
};

}  // namespace

const std::span<const WriteRow> kWriteNeural = kRows;

}  // namespace ec::onnx
