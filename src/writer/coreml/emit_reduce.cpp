// Reductions, running sums, the largest elements, softmax.
#include "ops/convert.h"
#include "writer/coreml/emitter.h"

namespace ec::mil {
namespace {

Status emit_reduction(OpEmitter& e, std::string_view type) {
  const auto& attrs = e.attrs<ReduceAttrs>();
  std::vector<int64_t> axes;
  if (e.has(1)) {
    const auto given = int_values(e.input(1));
    if (!given) return e.fail("axes that are computed", "export the model with constant axes");
    for (const int64_t axis : *given) axes.push_back(e.axis(axis));
  }
  if (axes.empty() && attrs.noop_with_empty_axes)
    return e.fail("a reduction over no axes", std::string(kPipelineHint));
  std::vector<Arg> args{{"x", e.in(0)}, {"keep_dims", e.flag(attrs.keep_dims)}};
  if (!axes.empty()) args.emplace_back("axes", e.ints(axes));
  e.emit(type, std::move(args));
  return {};
}

// Means, roots and logarithms of integers: programs do not say how they round.
Status emit_float_reduction(OpEmitter& e, std::string_view type) {
  if (!e.is_float_input()) return e.fail("a result that is rounded to integers");
  return emit_reduction(e, type);
}

Status emit_sum(OpEmitter& e) { return emit_reduction(e, "reduce_sum"); }
Status emit_mean(OpEmitter& e) { return emit_float_reduction(e, "reduce_mean"); }
Status emit_max(OpEmitter& e) { return emit_reduction(e, "reduce_max"); }
Status emit_min(OpEmitter& e) { return emit_reduction(e, "reduce_min"); }
Status emit_prod(OpEmitter& e) { return emit_reduction(e, "reduce_prod"); }
Status emit_l1(OpEmitter& e) { return emit_reduction(e, "reduce_l1_norm"); }
Status emit_l2(OpEmitter& e) { return emit_float_reduction(e, "reduce_l2_norm"); }
Status emit_log_sum(OpEmitter& e) { return emit_float_reduction(e, "reduce_log_sum"); }
Status emit_log_sum_exp(OpEmitter& e) { return emit_float_reduction(e, "reduce_log_sum_exp"); }
Status emit_sum_square(OpEmitter& e) { return emit_reduction(e, "reduce_sum_square"); }

Status emit_arg(OpEmitter& e, std::string_view type) {
  const auto& attrs = e.attrs<ArgReduceAttrs>();
  if (attrs.select_last) return e.fail("the last of equal elements", std::string(kPipelineHint));
  std::vector<Arg> args{
      {"x", e.in(0)}, {"axis", e.i32(e.axis(attrs.axis))}, {"keep_dims", e.flag(attrs.keep_dims)}};
  if (e.version() >= kCoremlIos17) args.emplace_back("output_dtype", e.text("int32"));
  e.emit(type, std::move(args));
  return {};
}
Status emit_arg_max(OpEmitter& e) { return emit_arg(e, "reduce_argmax"); }
Status emit_arg_min(OpEmitter& e) { return emit_arg(e, "reduce_argmin"); }

Status emit_cum_sum(OpEmitter& e) {
  const auto& attrs = e.attrs<CumulativeAttrs>();
  const auto axis = scalar_value(e.input(1));
  if (!axis) return e.fail("an axis that is computed", "export the model with a constant axis");
  e.emit("cumsum", {{"x", e.in(0)},
                    {"axis", e.i32(e.axis(saturate_to_int64(*axis)))},
                    {"exclusive", e.flag(attrs.exclusive)},
                    {"reverse", e.flag(attrs.reverse)}});
  return {};
}

Status emit_top_k(OpEmitter& e) {
  const auto& attrs = e.attrs<TopKAttrs>();
  const auto k = scalar_value(e.input(1));
  if (!k)
    return e.fail("a number of elements that is computed", "export the model with a constant k");
  std::vector<Arg> args{{"x", e.in(0)},
                        {"k", e.i32(saturate_to_int64(*k))},
                        {"axis", e.i32(e.axis(attrs.axis))},
                        {"ascending", e.flag(!attrs.largest)},
                        {"sort", e.flag(true)},
                        {"return_indices", e.flag(true)}};
  if (e.version() >= kCoremlIos17) args.emplace_back("output_indices_dtype", e.text("int32"));
  e.emit("topk", std::move(args));
  return {};
}

Status emit_softmax(OpEmitter& e) {
  e.emit("softmax", {{"x", e.in(0)}, {"axis", e.i32(e.axis(e.attrs<AxisAttrs>().axis))}});
  return {};
}

constexpr EmitRow kRows[] = {
    {OpKind::ReduceSum, emit_sum},
    {OpKind::ReduceMean, emit_mean},
    {OpKind::ReduceMax, emit_max},
    {OpKind::ReduceMin, emit_min},
    {OpKind::ReduceProd, emit_prod},
    {OpKind::ReduceL1, emit_l1},
    {OpKind::ReduceL2, emit_l2},
    {OpKind::ReduceLogSum, emit_log_sum},
    {OpKind::ReduceLogSumExp, emit_log_sum_exp},
    {OpKind::ReduceSumSquare, emit_sum_square},
    {OpKind::ArgMax, emit_arg_max},
    {OpKind::ArgMin, emit_arg_min},
    {OpKind::CumSum, emit_cum_sum},
    {OpKind::TopK, emit_top_k},
    {OpKind::Softmax, emit_softmax},
};

}  // namespace

const std::span<const EmitRow> kEmitReduce = kRows;

}  // namespace ec::mil
