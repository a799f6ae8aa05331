// Gathering, scattering and selection by index.
#include "frontend/onnx/table.h"

namespace ec::onnx {
namespace {

template <OpKind kKind>
Status gather(NodeContext& ctx) {
  GatherAttrs attrs;
  attrs.axis = ctx.attr_int("axis", 0);
  return ctx.finish(kKind, ctx.tensors(), attrs);
}

Status gather_nd(NodeContext& ctx) {
  GatherNdAttrs attrs;
  attrs.batch_dims = ctx.attr_int("batch_dims", 0);
  return ctx.finish(OpKind::GatherNd, ctx.tensors(), attrs);
}

Status scatter_elements(NodeContext& ctx) {
  ScatterElementsAttrs attrs;
  attrs.axis = ctx.attr_int("axis", 0);
  attrs.reduction = ctx.attr_enum("reduction", Reduction::None);
  return ctx.finish(OpKind::ScatterElements, ctx.tensors(), attrs);
}

Status scatter_nd(NodeContext& ctx) {
  ScatterNdAttrs attrs;
  attrs.reduction = ctx.attr_enum("reduction", Reduction::None);
  return ctx.finish(OpKind::ScatterNd, ctx.tensors(), attrs);
}

Status tensor_scatter(NodeContext& ctx) {
  constexpr std::string_view kModes[] = {"linear", "circular"};
  TensorScatterAttrs attrs;
  attrs.axis = ctx.attr_int("axis", -2);
  attrs.circular = ctx.attr_choice("mode", kModes, 0) == 1;
  return ctx.finish(OpKind::TensorScatter, ctx.tensors(), attrs);
}

Status one_hot(NodeContext& ctx) {
  OneHotAttrs attrs;
  attrs.axis = ctx.attr_int("axis", -1);
  return ctx.finish(OpKind::OneHot, ctx.tensors(), attrs);
}

Status compress(NodeContext& ctx) {
  CompressAttrs attrs;
  attrs.flatten = !ctx.has_attr("axis");
  attrs.axis = ctx.attr_int("axis", 0);
  return ctx.finish(OpKind::Compress, ctx.tensors(), attrs);
}

Status unique(NodeContext& ctx) {
  UniqueAttrs attrs;
  attrs.flatten = !ctx.has_attr("axis");
  attrs.axis = ctx.attr_int("axis", 0);
  attrs.sorted = ctx.attr_bool("sorted", true);
  return ctx.finish(OpKind::Unique, {ctx.in(0)}, attrs);
}

constexpr Arity k1{1, 1}, k2{2, 2}, k3{3, 3};

constexpr OpRow kRows[] = {
    {"Gather", 1, kLatest, k2, k1, gather<OpKind::Gather>},
    {"GatherElements", 11, kLatest, k2, k1, gather<OpKind::GatherElements>},
    {"GatherND", 11, kLatest, k2, k1, gather_nd},
    {"Scatter", 9, kLatest, k3, k1, scatter_elements},  // deprecated since 11, still written
    {"ScatterElements", 11, kLatest, k3, k1, scatter_elements},
    {"ScatterND", 11, kLatest, k3, k1, scatter_nd},
    {"TensorScatter", 24, kLatest, {2, 3}, k1, tensor_scatter},
    {"OneHot", 9, kLatest, k3, k1, one_hot},
    {"NonZero", 9, kLatest, k1, k1, direct<OpKind::NonZero>},
    {"Compress", 9, kLatest, k2, k1, compress},
    {"Unique", 11, kLatest, k1, {1, 4}, unique},
};

}  // namespace

const std::span<const OpRow> kGatherRows = kRows;

}  // namespace ec::onnx
