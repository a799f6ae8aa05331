// Newer forms of attention, written out: linear attention as a scan over the sequence, the causal
// convolution with a carried state that comes before it, and attention with user-written steps.
#include <cmath>

#include "frontend/onnx/importer.h"
#include "frontend/onnx/table.h"

namespace ec::onnx {
namespace {

// --- CausalConvWithState ------------------------------------------------------------------------

// Depthwise convolution of [past, x]; the last k - 1 positions are the next call's past.
Status causal_conv_with_state(NodeContext& ctx) {
  constexpr std::string_view kActivations[] = {"none", "silu", "swish"};
  const bool silu = ctx.attr_choice("activation", kActivations, 0) != 0;
  const auto& weights = ctx.in(1)->shape();
  if (!weights || weights->rank() != 3 || !(*weights)[0].is_static() || !(*weights)[2].is_static())
    return ctx.fail(Code::DynamicShape, "the shape of the weights has to be known");
  const int64_t past = (*weights)[2].size() - 1;
  ec::Tensor* x = ctx.in(0);
  if (ctx.has(3)) {
    AxisAttrs along;
    along.axis = 2;
    EC_TRY(x, ctx.add(OpKind::Concat, {ctx.in(3), x}, along));
  } else if (past > 0) {
    EC_TRY(x, ctx.add(OpKind::Pad, {x, ctx.ints({0, 0, past, 0, 0, 0})}, PadAttrs{}));
  }
  ConvAttrs attrs;
  attrs.groups = (*weights)[0].size();
  if (silu) attrs.activation = Activation::Silu;
  EC_TRY(ec::Tensor * y, ctx.add(OpKind::Conv, {x, ctx.in(1), ctx.in(2)}, attrs));
  ctx.set(0, y);
  if (!ctx.wants(1)) return {};
  // The end of the sequence; with k = 1 nothing.
  EC_TRY(ec::Tensor * state, ctx.add(OpKind::Slice, {x, ctx.ints({past > 0 ? -past : INT64_MAX}),
                                                     ctx.ints({INT64_MAX}), ctx.ints({2})}));
  ctx.set(1, state);
  return {};
}

// --- LinearAttention ----------------------------------------------------------------------------

struct LinearForm {
  bool gated = false, delta = false;
  int64_t q_heads = 1, kv_heads = 1, key_size = 1;
  double scale = 1.0;
};

// One step, on f32: state' = decay * state + k (x) update, output = scale * q state'.
class StepBody {
 public:
  explicit StepBody(const LinearForm& form) : form_(form) {}

  Result<std::unique_ptr<ec::Graph>> build(const std::vector<TensorType>& types) {
    std::vector<ec::Tensor*> in;
    for (size_t i = 0; i < types.size(); ++i)
      in.push_back(graph_->add_input("in" + std::to_string(i), types[i]));
    // Operands: state [B, H, k, v], q [B, Hq, k], k [B, H, k], v [B, H, v], decay?, beta?
    ec::Tensor* state = in[0];
    size_t next = 4;
    if (form_.gated) {
      EC_TRY(ec::Tensor * decay, add(OpKind::Exp, {in[next++]}));
      EC_TRY(decay, unsqueeze(decay, 3));
      EC_TRY(state, add(OpKind::Mul, {decay, state}));
    }
    EC_TRY(ec::Tensor * key, unsqueeze(in[2], 3));
    EC_TRY(ec::Tensor * update, unsqueeze(in[3], 2));
    if (form_.delta) {
      EC_TRY(ec::Tensor * row, unsqueeze(in[2], 2));
      EC_TRY(ec::Tensor * recalled, add(OpKind::MatMul, {row, state}, MatMulAttrs{}));
      EC_TRY(update, add(OpKind::Sub, {update, recalled}));
      EC_TRY(ec::Tensor * rate, unsqueeze(in[next], 2));
      EC_TRY(rate, unsqueeze(rate, 3));
      EC_TRY(update, add(OpKind::Mul, {rate, update}));
    }
    EC_TRY(ec::Tensor * change, add(OpKind::Mul, {key, update}));
    EC_TRY(state, add(OpKind::Add, {state, change}));
    // Query heads of one group share the state of their key head.
    EC_TRY(ec::Tensor * query,
           reshape(in[1], {0, form_.kv_heads, form_.q_heads / form_.kv_heads, form_.key_size}));
    MatMulAttrs scaled;
    scaled.alpha = static_cast<float>(form_.scale);
    EC_TRY(ec::Tensor * result, add(OpKind::MatMul, {query, state}, scaled));
    EC_TRY(result, reshape(result, {0, form_.q_heads, -1}));
    graph_->add_output("state", state);
    graph_->add_output("out", result);
    return std::move(graph_);
  }

 private:
  Result<ec::Tensor*> add(OpKind kind, std::vector<ec::Tensor*> inputs, Attrs attrs = {}) {
    return graph_->add_single(kind, std::move(inputs), std::move(attrs));
  }
  Result<ec::Tensor*> unsqueeze(ec::Tensor* x, int64_t axis) {
    return add(OpKind::Unsqueeze, {x, graph_->add_ints("", std::span(&axis, 1))});
  }
  Result<ec::Tensor*> reshape(ec::Tensor* x, const std::vector<int64_t>& shape) {
    return add(OpKind::Reshape, {x, graph_->add_ints("", shape)}, ReshapeAttrs{});
  }

  const LinearForm& form_;
  std::unique_ptr<ec::Graph> graph_ = std::make_unique<ec::Graph>("step");
};

// [B, T, heads * size] to [T, B, heads, size] in f32; size -1 is worked out.
Result<ec::Tensor*> by_time(NodeContext& ctx, ec::Tensor* x, int64_t heads) {
  EC_TRY(x, ctx.cast(x, DType::F32));
  EC_TRY(x, ctx.reshape(x, std::vector<int64_t>{0, 0, heads, -1}));
  return ctx.transpose(x, {1, 0, 2, 3});
}

TensorType without_first(const TensorType& type) {
  if (!type.shape || type.shape->rank() == 0) return TensorType(type.dtype);
  std::vector<Dim> dims(type.shape->begin() + 1, type.shape->end());
  return TensorType(type.dtype, Shape(std::move(dims)));
}

Result<int64_t> last_size(const NodeContext& ctx, size_t i, int64_t heads) {
  const auto& shape = ctx.in(i)->shape();
  if (!shape || shape->rank() != 3 || !(*shape)[2].is_static())
    return ctx.fail(Code::DynamicShape, "the sizes of the heads have to be known");
  const int64_t size = (*shape)[2].size();
  if (heads < 1 || size % heads != 0)
    return ctx.fail(Code::ShapeMismatch,
                    std::to_string(heads) + " heads do not divide " + ctx.in(i)->type().text());
  return size / heads;
}

Result<LinearForm> read_form(NodeContext& ctx) {
  constexpr std::string_view kRules[] = {"linear", "gated", "delta", "gated_delta"};
  const size_t rule = ctx.attr_choice("update_rule", kRules, 3);
  LinearForm form;
  form.gated = rule == 1 || rule == 3;
  form.delta = rule >= 2;
  form.q_heads = ctx.attr_int("q_num_heads");
  form.kv_heads = ctx.attr_int("kv_num_heads");
  form.scale = ctx.attr_float("scale", 0.0f);
  ctx.ignore_attr("chunk_size");
  EC_CHECK_OK(ctx.attr_status());
  if (form.kv_heads < 1 || form.q_heads < 1 || form.q_heads % form.kv_heads != 0)
    return ctx.fail(Code::BadAttribute, "the numbers of heads do not fit together");
  if ((form.gated && !ctx.has(4)) || (form.delta && !ctx.has(5)))
    return ctx.fail(Code::BadArity, "the update rule needs 'decay' or 'beta'");
  EC_TRY(form.key_size, last_size(ctx, 0, form.q_heads));
  if (form.scale == 0.0) form.scale = 1.0 / std::sqrt(static_cast<double>(form.key_size));
  return form;
}

Result<ec::Tensor*> first_state(NodeContext& ctx, const LinearForm& form) {
  if (ctx.has(3)) return ctx.cast(ctx.in(3), DType::F32);
  EC_TRY(const int64_t value_size, last_size(ctx, 2, form.kv_heads));
  ShapeAttrs batch_only;
  batch_only.end = 1;
  EC_TRY(ec::Tensor * batch, ctx.add(OpKind::Shape, {ctx.in(0)}, batch_only));
  EC_TRY(ec::Tensor * shape,
         ctx.add(OpKind::Concat, {batch, ctx.ints({form.kv_heads, form.key_size, value_size})},
                 AxisAttrs{}));
  return ctx.add(OpKind::Fill, {shape, ctx.scalar(DType::F32, 0.0)});
}

Status linear_attention(NodeContext& ctx) {
  EC_TRY(const LinearForm form, read_form(ctx));
  EC_TRY(ec::Tensor * state, first_state(ctx, form));
  EC_TRY(ec::Tensor * q, by_time(ctx, ctx.in(0), form.q_heads));
  EC_TRY(ec::Tensor * k, by_time(ctx, ctx.in(1), form.kv_heads));
  EC_TRY(ec::Tensor * v, by_time(ctx, ctx.in(2), form.kv_heads));
  std::vector<ec::Tensor*> operands = {state, q, k, v};
  if (form.gated) {
    EC_TRY(ec::Tensor * decay, by_time(ctx, ctx.in(4), form.kv_heads));
    operands.push_back(decay);
  }
  if (form.delta) {
    // [B, T, H] or [B, T, 1]
    EC_TRY(ec::Tensor * beta, ctx.cast(ctx.in(5), DType::F32));
    EC_TRY(beta, ctx.transpose(beta, {1, 0, 2}));
    operands.push_back(beta);
  }
  std::vector<TensorType> types = {state->type()};
  for (size_t i = 1; i < operands.size(); ++i) types.push_back(without_first(operands[i]->type()));
  EC_TRY(std::unique_ptr<ec::Graph> body, StepBody(form).build(types));
  OpSpec spec;
  ScanAttrs attrs;
  attrs.num_states = 1;
  attrs.num_scan_inputs = static_cast<int64_t>(operands.size()) - 1;
  spec.attrs = attrs;
  spec.location = ctx.location();
  spec.num_outputs = 2;
  spec.bodies.push_back(std::move(body));
  EC_TRY(Operation * scan, ctx.graph().add(OpKind::Scan, std::move(operands), std::move(spec)));
  EC_TRY(ec::Tensor * y, ctx.transpose(scan->output(1), {1, 0, 2, 3}));
  EC_TRY(y, ctx.reshape(y, std::vector<int64_t>{0, 0, -1}));
  EC_TRY(y, ctx.cast(y, ctx.dtype()));
  ctx.set(0, y);
  if (!ctx.wants(1)) return {};
  EC_TRY(ec::Tensor * last, ctx.cast(scan->output(0), ctx.has(3) ? ctx.dtype(3) : ctx.dtype()));
  ctx.set(1, last);
  return {};
}

// --- FlexAttention ------------------------------------------------------------------------------

// Key and value heads repeated for the query heads of their group.
Result<ec::Tensor*> repeat_heads(NodeContext& ctx, ec::Tensor* x, int64_t q_heads) {
  if (!x->shape() || x->shape()->rank() != 4 || !(*x->shape())[1].is_static())
    return ctx.fail(Code::DynamicShape, "the numbers of heads have to be known");
  const int64_t heads = (*x->shape())[1].size();
  if (heads == q_heads) return x;
  if (heads < 1 || q_heads % heads != 0)
    return ctx.fail(Code::ShapeMismatch, "the numbers of heads do not fit together");
  std::vector<int64_t> index;
  for (int64_t i = 0; i < q_heads; ++i) index.push_back(i / (q_heads / heads));
  GatherAttrs by_head;
  by_head.axis = 1;
  return ctx.add(OpKind::Gather, {x, ctx.ints(index)}, by_head);
}

// A step that the model gives as a graph, or x itself.
Result<ec::Tensor*> modified(NodeContext& ctx, std::string_view name, ec::Tensor* x) {
  if (!ctx.has_attr(name)) return x;
  const Bytes graph = ctx.attr_message(name, AttributeType::Graph);
  EC_CHECK_OK(ctx.attr_status());
  const auto results =
      ctx.importer().inline_graph(graph, ctx.scope(), ctx.frame(), {Binding::of(x)});
  if (!results) return ctx.poison(), x;
  if (results->size() != 1 || !results->front().is(Binding::Kind::Tensor))
    return ctx.fail(Code::BadArity, "'" + std::string(name) + "' has to give one tensor");
  return results->front().tensor;
}

Status flex_attention(NodeContext& ctx) {
  const auto& shape = ctx.in(0)->shape();
  if (!shape || shape->rank() != 4 || !(*shape)[1].is_static() || !(*shape)[3].is_static())
    return ctx.fail(Code::DynamicShape, "the numbers and sizes of heads have to be known");
  const DType precision =
      ctx.attr_dtype("softmax_precision", ctx.dtype() == DType::F64 ? DType::F64 : DType::F32);
  const double usual = 1.0 / std::sqrt(static_cast<double>((*shape)[3].size()));
  MatMulAttrs product;
  product.transpose_b = true;
  product.alpha = ctx.has_attr("scale") ? ctx.attr_float("scale", 1.0f) : static_cast<float>(usual);
  EC_TRY(ec::Tensor * k, repeat_heads(ctx, ctx.in(1), (*shape)[1].size()));
  EC_TRY(ec::Tensor * v, repeat_heads(ctx, ctx.in(2), (*shape)[1].size()));
  EC_TRY(ec::Tensor * q, ctx.cast(ctx.in(0), precision));
  EC_TRY(k, ctx.cast(k, precision));
  EC_TRY(ec::Tensor * scores, ctx.add(OpKind::MatMul, {q, k}, product));
  EC_TRY(scores, modified(ctx, "score_mod", scores));
  AxisAttrs last;
  last.axis = -1;
  EC_TRY(ec::Tensor * probabilities, ctx.add(OpKind::Softmax, {scores}, last));
  EC_TRY(probabilities, modified(ctx, "prob_mod", probabilities));
  if (ctx.is_poisoned()) return {};
  EC_TRY(probabilities, ctx.cast(probabilities, v->dtype()));
  return ctx.finish(OpKind::MatMul, {probabilities, v}, MatMulAttrs{});
}

constexpr OpRow kRows[] = {
    {"CausalConvWithState", 27, kLatest, {2, 4}, {1, 2}, causal_conv_with_state},
    {"LinearAttention", 27, kLatest, {3, 6}, {1, 2}, linear_attention},
};
constexpr OpRow kPreview[] = {
    {"FlexAttention", 1, kLatest, {3, 3}, {1, 1}, flex_attention},
};

}  // namespace

const std::span<const OpRow> kLinearAttentionRows = kRows;
const std::span<const OpRow> kPreviewRows = kPreview;

}  // namespace ec::onnx
