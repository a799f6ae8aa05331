// LSTM, GRU and RNN.
#include "frontend/onnx/table.h"

namespace ec::onnx {
namespace {

template <OpKind kKind>
Status recurrent(NodeContext& ctx) {
  RecurrentAttrs attrs;
  attrs.direction = ctx.attr_enum("direction", Direction::Forward);
  attrs.activations = ctx.attr_strings("activations");
  attrs.activation_alpha = ctx.attr_floats("activation_alpha");
  attrs.activation_beta = ctx.attr_floats("activation_beta");
  attrs.clip = ctx.attr_float("clip", 0.0f);
  attrs.batch_first = ctx.attr_bool("layout", false);
  if (kKind == OpKind::Lstm) attrs.input_forget = ctx.attr_bool("input_forget", false);
  if (kKind == OpKind::Gru) attrs.linear_before_reset = ctx.attr_bool("linear_before_reset", false);
  ctx.ignore_attr("output_sequence");  // version 1: whether Y is wanted; naming it says so
  // The recurrent weights are [directions, gates * hidden, hidden].
  const auto& weights = ctx.in(2)->shape();
  if (ctx.has_attr("hidden_size")) {
    attrs.hidden_size = ctx.attr_int("hidden_size");
  } else if (weights && weights->rank() == 3 && (*weights)[2].is_static()) {
    attrs.hidden_size = (*weights)[2].size();
  } else {
    return ctx.fail(Code::BadAttribute, "attribute 'hidden_size' is missing");
  }
  return ctx.finish(kKind, ctx.tensors(), attrs);
}

constexpr OpRow kRows[] = {
    {"LSTM", 1, kLatest, {3, 8}, {0, 3}, recurrent<OpKind::Lstm>},
    {"GRU", 1, kLatest, {3, 6}, {0, 2}, recurrent<OpKind::Gru>},
    {"RNN", 1, kLatest, {3, 6}, {0, 2}, recurrent<OpKind::Rnn>},
};

}  // namespace

const std::span<const OpRow> kRecurrentRows = kRows;

}  // namespace ec::onnx
