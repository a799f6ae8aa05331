// Attention and its helpers.
#include "frontend/onnx/table.h"

namespace ec::onnx {
namespace {

Status attention(NodeContext& ctx) {
  AttentionAttrs attrs;
  attrs.scale = ctx.attr_float("scale", 0.0f);
  attrs.causal = ctx.attr_bool("is_causal", false);
  attrs.q_heads = ctx.attr_int("q_num_heads", 0);
  attrs.kv_heads = ctx.attr_int("kv_num_heads", 0);
  attrs.softcap = ctx.attr_float("softcap", 0.0f);
  attrs.qk_output_mode = ctx.attr_int("qk_matmul_output_mode", 0);
  attrs.softmax_precision = ctx.attr_dtype("softmax_precision", DType::F32);
  attrs.left_window = ctx.attr_int("left_window_size", -1);
  attrs.right_window = ctx.attr_int("right_window_size", -1);
  return ctx.finish(OpKind::Attention, ctx.tensors(), attrs);
}

Status rotary_embedding(NodeContext& ctx) {
  RotaryEmbeddingAttrs attrs;
  attrs.interleaved = ctx.attr_bool("interleaved", false);
  attrs.num_heads = ctx.attr_int("num_heads", 0);
  attrs.rotary_dim = ctx.attr_int("rotary_embedding_dim", 0);
  return ctx.finish(OpKind::RotaryEmbedding, ctx.tensors(), attrs);
}

constexpr OpRow kRows[] = {
    {"Attention", 23, kLatest, {3, 7}, {1, 4}, attention},
    {"RotaryEmbedding", 23, kLatest, {3, 4}, {1, 1}, rotary_embedding},
};

}  // namespace

const std::span<const OpRow> kAttentionRows = kRows;

}  // namespace ec::onnx
