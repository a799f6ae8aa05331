// Transposed convolutions: one group, dense filters, pads that are SAME or VALID.
#include <algorithm>

#include "backend/tflite/passes/fused_activation.h"
#include "backend/tflite/passes/rules.h"
#include "backend/tflite/passes/windows.h"
#include "ops/same_padding.h"

namespace ec::passes {
namespace {

// Filters [I, h, w, O / groups] with zeros between their elements (dilation) and between groups.
struct DenseFilters {
  std::vector<int64_t> shape;
  std::vector<float> values;
};
std::optional<DenseFilters> dense_filters(const Operation* op, const WindowSpec& spec) {
  const auto& attrs = op->attrs_as<ConvTransposeAttrs>();
  const Tensor* weights = op->input(1);
  if (!weights->is_constant() || weights->dtype() != DType::F32) return std::nullopt;
  const std::vector<int64_t> from = weights->shape()->sizes();
  const int64_t in = from[0], out = from[3], g = attrs.groups;
  DenseFilters dense;
  dense.shape = {in, (from[1] - 1) * spec.dilations[0] + 1, (from[2] - 1) * spec.dilations[1] + 1,
                 out * g};
  const auto count = Shape::of(dense.shape).num_elements();
  constexpr int64_t kMaxElements = int64_t{1} << 24;
  if (!count || *count > kMaxElements) return std::nullopt;
  dense.values.assign(static_cast<size_t>(*count), 0.0f);
  const auto values = weights->values<float>();
  size_t at = 0;
  for (int64_t i = 0; i < in; ++i)
    for (int64_t y = 0; y < from[1]; ++y)
      for (int64_t x = 0; x < from[2]; ++x)
        for (int64_t o = 0; o < out; ++o, ++at) {
          const int64_t row =
              (i * dense.shape[1] + y * spec.dilations[0]) * dense.shape[2] + x * spec.dilations[1];
          dense.values[static_cast<size_t>(row * out * g + i / (in / g) * out + o)] = values[at];
        }
  return dense;
}

Result<bool> make_dense(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<ConvTransposeAttrs>();
  if (!is_channels_last(op) || has_quant(op) || rank_of(op->input(0)) != 4) return false;
  const auto weights = static_shape(op->input(1));
  if (!weights || weights->size() != 4) return false;
  const WindowSpec spec = window_spec(attrs, std::span(*weights).subspan(1, 2));
  if (attrs.groups == 1 && spec.dilations[0] == 1 && spec.dilations[1] == 1) return false;
  const auto dense = dense_filters(op, spec);
  if (!dense) return false;
  Replacement p(r, op);
  Attrs plain = op->attrs();
  plain.edit<ConvTransposeAttrs>().groups = 1;
  plain.edit<ConvTransposeAttrs>().dilations.clear();
  std::vector<Tensor*> inputs = op->inputs();
  inputs[1] = p.floats(Shape::of(dense->shape), dense->values);
  return p.replace(p.op(OpKind::ConvTranspose, std::move(inputs), std::move(plain)));
}

// The whole range that the filters reach, cropped by the pads.
Result<bool> crop_conv_transpose(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<ConvTransposeAttrs>();
  const auto in = static_shape(op->input(0)), weights = static_shape(op->input(1));
  if (!is_channels_last(op) || has_quant(op) || !in || !weights || in->size() != 4) return false;
  const WindowSpec spec = window_spec(attrs, std::span(*weights).subspan(1, 2));
  std::vector<TransposedDim> windows;
  for (size_t d = 0; d < 2; ++d)
    windows.push_back(resolve_transposed(attrs, spec, d, (*in)[d + 1]));
  if (padding_scheme(windows) != PaddingScheme::Other) return false;
  Attrs plain = op->attrs();
  ConvTransposeAttrs& edited = plain.edit<ConvTransposeAttrs>();
  edited.pads.clear(), edited.output_sizes.clear(), edited.output_padding.clear();
  edited.auto_pad = AutoPad::Explicit;
  std::vector<int64_t> begin, end;
  bool crops = false;
  for (const TransposedDim& w : windows) {
    const int64_t reach = (w.input - 1) * w.stride + (w.kernel - 1) * w.dilation + 1;
    const int64_t more = std::max<int64_t>(0, w.pad_begin + w.output - reach);
    // Zeros further out than the operator can give, or before the first element: not in real
    // models.
    if (w.pad_begin < 0 || more >= w.stride) return false;
    edited.output_padding.push_back(more);
    begin.push_back(w.pad_begin);
    end.push_back(w.pad_begin + w.output);
    crops = crops || w.pad_begin != 0 || reach + more != w.output;
  }
  // Filters that stay dilated, since they are no constants, fit no scheme; there is nothing to
  // crop.
  if (!crops) return false;
  const FusedActivation taken = take_activation<ConvTransposeAttrs>(plain);
  Replacement p(r, op);
  Tensor* y = activated(p, p.op(OpKind::ConvTranspose, op->inputs(), std::move(plain)), taken);
  const int64_t axes[] = {1, 2};
  return p.replace(p.op(OpKind::Slice, {y, p.ints(begin), p.ints(end), p.ints(axes)}));
}

constexpr RewriteRule kRules[] = {
    {OpKind::ConvTranspose, make_dense, "filters made dense"},
    {OpKind::ConvTranspose, crop_conv_transpose, "cropped results"},
};

}  // namespace

const std::span<const RewriteRule> kTfliteConvTranspose = kRules;

}  // namespace ec::passes
