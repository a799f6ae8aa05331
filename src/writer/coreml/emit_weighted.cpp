// Convolutions, pools and products.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/window.h"
#include "writer/coreml/emitter.h"
#include "writer/coreml/forms.h"

namespace ec::mil {
namespace {

// Weights that are known when the program is compiled: constants and what unpacks them.
bool is_known(const Tensor* tensor) {
  if (tensor->is_constant()) return true;
  const Operation* producer = tensor->producer();
  return producer != nullptr && producer->kind() == OpKind::Dequantize &&
         producer->input(0)->is_constant();
}

Status refuse_fused(OpEmitter& e, Activation activation, Layout layout) {
  if (activation != Activation::None)
    return e.fail("an activation that is part of the operation", std::string(kPipelineHint));
  if (layout != Layout::ChannelsFirst)
    return e.fail("channels behind the other dimensions", std::string(kPipelineHint));
  return {};
}

// [begin, end] of each dimension from all begins, then all ends.
std::vector<int64_t> interleaved(const std::vector<int64_t>& pads) {
  const size_t rank = pads.size() / 2;
  std::vector<int64_t> result;
  for (size_t d = 0; d < rank; ++d) {
    result.push_back(pads[d]);
    result.push_back(pads[d + rank]);
  }
  return result;
}

bool all_zero(const std::vector<int64_t>& values) {
  return std::ranges::all_of(values, [](int64_t value) { return value == 0; });
}

void add_pads(OpEmitter& e, std::vector<Arg>& args, AutoPad mode,
              const std::vector<int64_t>& pads) {
  std::string_view type = all_zero(pads) ? "valid" : "custom";
  if (mode == AutoPad::SameUpper) type = "same";
  if (mode == AutoPad::SameLower) type = "same_lower";
  const bool counts = mode == AutoPad::Explicit;
  args.emplace_back("pad_type", e.text(mode == AutoPad::Valid ? "valid" : type));
  args.emplace_back("pad", e.ints(counts ? pads : std::vector<int64_t>(pads.size(), 0)));
}

std::vector<int64_t> kernel_of(const Tensor* weight) {
  const std::vector<int64_t> sizes = type_of(weight).dims;
  return {sizes.begin() + 2, sizes.end()};
}

Status refuse_integers(OpEmitter& e) {
  if (e.is_float_input()) return {};
  return e.fail("a convolution of integers, which programs do not have", "compute on floats");
}

Status emit_conv(OpEmitter& e) {
  const auto& attrs = e.attrs<ConvAttrs>();
  EC_CHECK_OK(refuse_fused(e, attrs.activation, attrs.layout));
  if (e.has(3)) return e.fail("a residual that is added", std::string(kPipelineHint));
  if (e.rank() < 3 || e.rank() > 5) return e.fail("more than three spatial dimensions");
  EC_CHECK_OK(refuse_integers(e));
  if (!e.input(1)->shape()->is_static()) return e.fail("a filter of open sizes");
  const WindowSpec spec = window_spec(attrs, kernel_of(e.input(1)));
  if (!is_known(e.input(1)) &&
      std::ranges::any_of(spec.dilations, [](int64_t d) { return d != 1; }))
    return e.fail("a computed filter with dilation");
  std::vector<Arg> args{{"x", e.in(0)},
                        {"weight", e.in(1)},
                        {"strides", e.ints(spec.strides)},
                        {"dilations", e.ints(spec.dilations)},
                        {"groups", e.i32(attrs.groups)}};
  if (e.has(2)) {
    if (!e.input(2)->is_constant()) return e.fail("a computed bias", std::string(kPipelineHint));
    args.emplace_back("bias", e.in(2));
  }
  add_pads(e, args, spec.auto_pad, interleaved(spec.pads));
  e.emit("conv", std::move(args));
  return {};
}

// A size that stands for open ones, where what is cut off does not depend on it.
constexpr int64_t kTriedSize = 16;

// What a transposed convolution leaves of the whole, at the begin and at the end.
std::pair<int64_t, int64_t> cut_of(const ConvTransposeAttrs& attrs, const WindowSpec& spec,
                                   size_t d, int64_t input) {
  const TransposedDim dim = resolve_transposed(attrs, spec, d, input);
  const int64_t whole = (input - 1) * dim.stride + (dim.kernel - 1) * dim.dilation + 1;
  return {dim.pad_begin, whole - dim.pad_begin - dim.output};
}

Status emit_conv_transpose(OpEmitter& e) {
  const auto& attrs = e.attrs<ConvTransposeAttrs>();
  EC_CHECK_OK(refuse_fused(e, attrs.activation, attrs.layout));
  const Tensor* x = e.input(0);
  if (e.rank() < 3 || e.rank() > 5) return e.fail("more than three spatial dimensions");
  EC_CHECK_OK(refuse_integers(e));
  if (!is_known(e.input(1))) EC_CHECK_OK(e.need(kCoremlIos17, "a computed filter"));
  const WindowSpec spec = window_spec(attrs, kernel_of(e.input(1)));
  std::vector<int64_t> pads;
  for (size_t d = 0; d < spec.rank(); ++d) {
    const int64_t input = e.sizes(x)[d + 2];
    const bool open = input == coreml::kUnknownSize;
    const auto [begin, end] = cut_of(attrs, spec, d, open ? kTriedSize : input);
    if (open && cut_of(attrs, spec, d, 2 * kTriedSize + 1) != std::pair(begin, end))
      return e.fail("an output of a stated size for an open one",
                    "fix the sizes with --input-shape");
    if (begin < 0 || end < 0)
      return e.fail("an output that reaches beyond the windows", std::string(kPipelineHint));
    pads.push_back(begin);
    pads.push_back(end);
  }
  std::vector<Arg> args{{"x", e.in(0)},
                        {"weight", e.in(1)},
                        {"strides", e.ints(spec.strides)},
                        {"dilations", e.ints(spec.dilations)},
                        {"groups", e.i32(attrs.groups)}};
  if (e.has(2)) {
    if (!e.input(2)->is_constant()) return e.fail("a computed bias", std::string(kPipelineHint));
    args.emplace_back("bias", e.in(2));
  }
  add_pads(e, args, AutoPad::Explicit, pads);
  e.emit("conv_transpose", std::move(args));
  return {};
}

// --- pools ---------------------------------------------------------------------------------------

// Pads at the end that give as many windows as the graph has: rounding up, where it adds any.
Result<std::vector<int64_t>> pool_pads(OpEmitter& e, const WindowSpec& spec) {
  std::vector<int64_t> pads;
  const std::vector<int64_t> in = e.sizes(e.input(0)), out = e.sizes(e.op().output());
  for (size_t d = 0; d < spec.rank(); ++d) {
    if (in[d + 2] == coreml::kUnknownSize) {
      // Open sizes are rounded up, or padded, when the program runs.
      pads.insert(pads.end(), {spec.pads[d], spec.pads[d + spec.rank()]});
      continue;
    }
    const WindowDim dim = resolve_window(spec, d, in[d + 2]);
    const int64_t reach = (out[d + 2] - 1) * dim.stride + dim.extent();
    const int64_t beyond = reach - in[d + 2] - dim.pad_begin;
    // Rounding up gives no window that lies in the padding alone.
    const bool too_many = dim.pad_end - beyond >= dim.stride;
    pads.push_back(dim.pad_begin);
    pads.push_back(too_many ? std::max<int64_t>(beyond, 0) : std::max(dim.pad_end, beyond));
  }
  return pads;
}

bool is_open_pool(OpEmitter& e) {
  const std::vector<int64_t> sizes = e.sizes(e.input(0));
  return std::find(sizes.begin() + 2, sizes.end(), coreml::kUnknownSize) != sizes.end();
}

// Open sizes: the program pads and rounds as the graph does.
Result<std::vector<Arg>> open_pool_args(OpEmitter& e, const WindowSpec& spec) {
  std::vector<int64_t> pads(2 * spec.rank(), 0);
  if (spec.auto_pad == AutoPad::Explicit) pads = interleaved(spec.pads);
  for (size_t d = 0; d < spec.rank() && spec.ceil_mode; ++d)
    if (pads[2 * d] != pads[2 * d + 1] || spec.rank() > 2 || spec.auto_pad != AutoPad::Explicit)
      return e.fail("rounding up open sizes beside padding that differs at both ends",
                    "fix the sizes with --input-shape");
  std::vector<Arg> args{{"x", e.in(0)},
                        {"kernel_sizes", e.ints(spec.kernel)},
                        {"strides", e.ints(spec.strides)},
                        {"ceil_mode", e.flag(spec.ceil_mode)}};
  add_pads(e, args, spec.auto_pad, pads);
  return args;
}

Result<std::vector<Arg>> pool_args(OpEmitter& e, const WindowSpec& spec) {
  if (e.rank() < 3 || e.rank() > 5) return e.fail("more than three spatial dimensions");
  if (!e.is_float_input()) return e.fail("pools of integers", std::string(kPipelineHint));
  constexpr int64_t kLargestWindow = int64_t{1} << 24;
  if (std::ranges::any_of(spec.kernel, [](int64_t size) { return size >= kLargestWindow; }))
    return e.fail("a window that is larger than any image");
  if (std::ranges::any_of(spec.dilations, [](int64_t d) { return d != 1; }))
    return e.fail("windows with dilation", std::string(kPipelineHint));
  if (is_open_pool(e)) return open_pool_args(e, spec);
  EC_TRY(const std::vector<int64_t> pads, pool_pads(e, spec));
  std::vector<Arg> args{{"x", e.in(0)},
                        {"kernel_sizes", e.ints(spec.kernel)},
                        {"strides", e.ints(spec.strides)},
                        {"ceil_mode", e.flag(false)}};
  add_pads(e, args, AutoPad::Explicit, pads);
  return args;
}

Status emit_max_pool(OpEmitter& e) {
  const auto& attrs = e.attrs<PoolAttrs>();
  EC_CHECK_OK(refuse_fused(e, Activation::None, attrs.layout));
  const auto& outputs = e.op().outputs();
  if (outputs.size() > 1 && !e.block().graph().is_unused(outputs[1]))
    return e.fail("the positions of the largest elements");
  EC_TRY(std::vector<Arg> args, pool_args(e, window_spec(attrs, attrs.kernel)));
  e.emit_result(0, "max_pool", std::move(args));
  return {};
}

Status emit_avg_pool(OpEmitter& e) {
  const auto& attrs = e.attrs<PoolAttrs>();
  EC_CHECK_OK(refuse_fused(e, Activation::None, attrs.layout));
  const WindowSpec spec = window_spec(attrs, attrs.kernel);
  EC_TRY(std::vector<Arg> args, pool_args(e, spec));
  // What rounding up adds at the end counts for no mean, padding does on request.
  if (attrs.count_include_pad && attrs.ceil_mode && spec.auto_pad == AutoPad::Explicit) {
    EC_TRY(const std::vector<int64_t> pads, pool_pads(e, spec));
    if (pads != interleaved(spec.pads) || is_open_pool(e))
      return e.fail("rounding up beside padding that counts");
  }
  args.emplace_back("exclude_padding_from_average", e.flag(!attrs.count_include_pad));
  e.emit("avg_pool", std::move(args));
  return {};
}

Status emit_lp_pool(OpEmitter& e) {
  const auto& attrs = e.attrs<LpPoolAttrs>();
  EC_CHECK_OK(refuse_fused(e, Activation::None, attrs.layout));
  if (attrs.p != 2) return e.fail("a norm other than the second");
  if (e.rank() > 4) return e.fail("a norm over windows of three dimensions");
  EC_TRY(std::vector<Arg> args, pool_args(e, window_spec(attrs, attrs.kernel)));
  e.emit("l2_pool", std::move(args));
  return {};
}

Status emit_global_pool(OpEmitter& e, std::string_view type) {
  EC_CHECK_OK(refuse_fused(e, Activation::None, e.attrs<GlobalPoolAttrs>().layout));
  std::vector<int64_t> axes(e.rank() - 2);
  std::iota(axes.begin(), axes.end(), 2);
  e.emit(type, {{"x", e.in(0)}, {"axes", e.ints(axes)}, {"keep_dims", e.flag(true)}});
  return {};
}
Status emit_global_avg_pool(OpEmitter& e) { return emit_global_pool(e, "reduce_mean"); }
Status emit_global_max_pool(OpEmitter& e) { return emit_global_pool(e, "reduce_max"); }

// --- products ------------------------------------------------------------------------------------

// Products as programs have them: a layer with constant weights [out, in], or a product.
struct Product {
  bool transpose_a = false, transpose_b = false;
};

std::string zeros(OpEmitter& e, int64_t count) {
  const DataType type = e.element();
  const auto bytes = static_cast<size_t>(count) * static_cast<size_t>(coreml::bits_of(type) / 8);
  return e.constant(ValueType::tensor(type, {count}), Buffer::allocate(bytes).to_blob());
}

Status emit_product(OpEmitter& e, const Product& p) {
  const Tensor *a = e.input(0), *b = e.input(1), *bias = e.input(2);
  if (e.rank(0) < 2 || e.rank(1) < 2)
    return e.fail("operands with one dimension", std::string(kPipelineHint));
  const bool vector = bias == nullptr || (bias->is_constant() && bias->shape()->rank() == 1);
  // Layers are documented for up to three dimensions.
  if (is_known(b) && e.rank(1) == 2 && p.transpose_b && !p.transpose_a && vector &&
      a->shape()->rank() <= 3) {
    const int64_t out = e.sizes(b)[0];
    const bool fits = bias == nullptr || e.sizes(bias)[0] == out;
    if (fits) {
      e.emit("linear", {{"x", e.in(0)},
                        {"weight", e.in(1)},
                        {"bias", bias == nullptr ? zeros(e, out) : e.in(2)}});
      return {};
    }
  }
  std::vector<Arg> args{{"x", e.in(0)},
                        {"y", e.in(1)},
                        {"transpose_x", e.flag(p.transpose_a)},
                        {"transpose_y", e.flag(p.transpose_b)}};
  if (bias == nullptr) {
    e.emit("matmul", std::move(args));
    return {};
  }
  const std::string product = e.step("matmul", std::move(args), type_of(e.op().output()));
  e.emit("add", {{"x", product}, {"y", e.in(2)}});
  return {};
}

Status emit_matmul(OpEmitter& e) {
  const auto& attrs = e.attrs<MatMulAttrs>();
  EC_CHECK_OK(refuse_fused(e, attrs.activation, Layout::ChannelsFirst));
  if (attrs.alpha != 1) return e.fail("a factor", std::string(kPipelineHint));
  return emit_product(e, {attrs.transpose_a, attrs.transpose_b});
}

Status emit_gemm(OpEmitter& e) {
  const auto& attrs = e.attrs<GemmAttrs>();
  EC_CHECK_OK(refuse_fused(e, attrs.activation, Layout::ChannelsFirst));
  if (attrs.alpha != 1 || (e.has(2) && attrs.beta != 1))
    return e.fail("factors", std::string(kPipelineHint));
  return emit_product(e, {attrs.transpose_a, attrs.transpose_b});
}

// --- attention -----------------------------------------------------------------------------------

enum : size_t { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kNonpad };

Status emit_attention(OpEmitter& e) {
  if (!has_coreml_attention(e.op()))
    return e.fail("caches, windows, factors or heads that programs do not have",
                  std::string(kPipelineHint));
  EC_CHECK_OK(e.need(kCoremlIos18, "attention as one operation"));
  std::vector<Arg> args{{"query", e.in(kQuery)}, {"key", e.in(kKey)}, {"value", e.in(kValue)}};
  if (e.has(kMask)) args.emplace_back("attn_mask", e.in(kMask));
  e.emit_result(0, "scaled_dot_product_attention", std::move(args));
  return {};
}

constexpr EmitRow kRows[] = {
    {OpKind::Conv, emit_conv},
    {OpKind::ConvTranspose, emit_conv_transpose},
    {OpKind::MaxPool, emit_max_pool},
    {OpKind::AvgPool, emit_avg_pool},
    {OpKind::LpPool, emit_lp_pool},
    {OpKind::GlobalAvgPool, emit_global_avg_pool},
    {OpKind::GlobalMaxPool, emit_global_max_pool},
    {OpKind::MatMul, emit_matmul},
    {OpKind::Gemm, emit_gemm},
    {OpKind::Attention, emit_attention},
};

}  // namespace

const std::span<const EmitRow> kEmitWeighted = kRows;

}  // namespace ec::mil

namespace ec {

bool has_coreml_attention(const Operation& op) {
  using namespace mil;
  const auto& attrs = op.attrs_as<AttentionAttrs>();
  for (const size_t i : {kPastKey, kPastValue, kNonpad})
    if (op.input(i) != nullptr) return false;
  for (size_t i = 1; i < op.outputs().size(); ++i)
    if (!op.graph().is_unused(op.output(i))) return false;
  const Shape* shapes[] = {nullptr, nullptr, nullptr};
  for (const size_t i : {kQuery, kKey, kValue}) {
    if (!op.input(i)->type().is_static()) return false;
    shapes[i] = &*op.input(i)->shape();
  }
  const Shape& query = *shapes[kQuery];
  if (query.rank() == 3 && (attrs.q_heads != 1 || attrs.kv_heads != 1)) return false;
  for (const Shape* shape : shapes)
    for (size_t d = 0; d + 2 < query.rank(); ++d)
      if (!(*shape)[d].same_size(query[d])) return false;
  // Programs broadcast masks by their last dimensions.
  const Tensor* mask = op.input(kMask);
  if (mask != nullptr && (!mask->type().is_static() || mask->shape()->rank() > query.rank() ||
                          mask->shape()->dims().back() != (*shapes[kKey])[query.rank() - 2] ||
                          (mask->dtype() != DType::Bool && !is_float(mask->dtype()))))
    return false;
  const double root = std::sqrt(static_cast<double>(query.dims().back().size()));
  constexpr double kSameScale = 1e-6;
  return !attrs.causal && attrs.left_window < 0 && attrs.right_window < 0 && attrs.softcap == 0 &&
         (attrs.scale == 0 || std::abs(double{attrs.scale} * root - 1) <= kSameScale);
}

}  // namespace ec
