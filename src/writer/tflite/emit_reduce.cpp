// Reductions, soft maximum, order.
#include <numeric>

#include "writer/tflite/emitter.h"
#include "writer/tflite/operands.h"

namespace ec::tflite {
namespace {

using Op = BuiltinOperator;

// The axes as the operator takes them; constants counted from the begin.
Result<int32_t> reduction_axes(OpEmitter& e) {
  const auto given = int_values(e.op().input(1));
  const bool listed = e.has(1) && e.input(1).type().num_elements() != 0;
  if (listed && !given) return e.int32_operand(1);
  std::vector<int64_t> axes;
  if (given)
    for (const int64_t axis : *given) axes.push_back(positive_axis(axis, e.rank()));
  if (axes.empty() && !e.attrs<ReduceAttrs>().noop_with_empty_axes) {
    axes.resize(e.rank());
    std::iota(axes.begin(), axes.end(), int64_t{0});
  }
  return e.ints(axes);
}

// The largest and smallest truth value have operators of their own.
Op of_type(Op code, DType dtype) {
  if (dtype != DType::Bool) return code;
  return code == Op::REDUCE_MAX ? Op::REDUCE_ANY : code == Op::REDUCE_MIN ? Op::REDUCE_ALL : code;
}

template <Op kCode>
Status emit_reduction(OpEmitter& e) {
  EC_TRY(const int32_t axes, reduction_axes(e));
  const bool keep = e.attrs<ReduceAttrs>().keep_dims;
  e.add(of_type(kCode, e.dtype()), {e.in(0), axes}, {e.out()},
        options(BuiltinOptions::ReducerOptions, CreateReducerOptions(e.fbb(), keep)));
  return {};
}

// Indices of the extreme element; the dimension goes and is put back by a reshape.
Status emit_arg(OpEmitter& e) {
  const auto& attrs = e.attrs<ArgReduceAttrs>();
  if (attrs.select_last) return e.fail("the last of equal elements");
  const bool largest = e.op().kind() == OpKind::ArgMax;
  const int64_t axis = positive_axis(attrs.axis, e.rank());
  const ec::Tensor* result =
      attrs.keep_dims ? e.op().output() : e.cast_result(0, {DType::I32, DType::I64});
  const DType dtype = result->dtype();
  const TensorType type = *tensor_type(dtype);
  const Options opts =
      largest ? options(BuiltinOptions::ArgMaxOptions, CreateArgMaxOptions(e.fbb(), type))
              : options(BuiltinOptions::ArgMinOptions, CreateArgMinOptions(e.fbb(), type));
  const Op code = largest ? Op::ARG_MAX : Op::ARG_MIN;
  const std::vector<int32_t> inputs{e.in(0), e.int_scalar(axis)};
  if (!attrs.keep_dims) return e.add(code, inputs, {e.graph().tensor(result)}, opts), ok_status();
  EC_CHECK_OK(e.require_static(*e.op().output()));
  Shape dropped = *e.op().output()->shape();
  dropped.dims().erase(dropped.dims().begin() + axis);
  const int32_t index = e.step(code, inputs, ec::TensorType(dtype, dropped), opts);
  e.add(Op::RESHAPE, {index, e.ints(e.op().output()->shape()->sizes())}, {e.out()});
  return {};
}

Status emit_cumulative_sum(OpEmitter& e) {
  const auto axis = scalar_value(e.op().input(1));
  if (!axis) return e.fail("an axis that is computed");
  const auto& attrs = e.attrs<CumulativeAttrs>();
  e.add(Op::CUMSUM, {e.in(0), e.int_scalar(positive_axis(static_cast<int64_t>(*axis), e.rank()))},
        {e.out()},
        options(BuiltinOptions::CumsumOptions,
                CreateCumsumOptions(e.fbb(), attrs.exclusive, attrs.reverse)));
  return {};
}

// Along the last dimension, largest first; indices come as i32.
Status emit_top_k(OpEmitter& e) {
  const auto& attrs = e.attrs<TopKAttrs>();
  const auto count = scalar_value(e.op().input(1));
  if (!count) return e.fail("a count that is computed");
  if (!attrs.largest || positive_axis(attrs.axis, e.rank()) + 1 != static_cast<int64_t>(e.rank()))
    return e.fail("the smallest, or along another than the last dimension");
  const ec::Tensor& indices = *e.cast_result(1, {DType::I32});
  const Options opts = options(BuiltinOptions::TopKV2Options, CreateTopKV2Options(e.fbb()));
  const std::vector<int32_t> inputs{e.in(0), e.int_scalar(static_cast<int64_t>(*count))};
  if (indices.dtype() == DType::I32)
    return e.add(Op::TOPK_V2, inputs, {e.out(0), e.graph().tensor(&indices)}, opts), ok_status();
  const int32_t narrow =
      e.graph().add_tensor(indices.name() + "_i32", ec::TensorType(DType::I32, *indices.shape()));
  e.add(Op::TOPK_V2, inputs, {e.out(0), narrow}, opts);
  if (e.graph().graph().is_unused(&indices)) return {};
  e.add(Op::CAST, {narrow}, {e.out(1)},
        options(BuiltinOptions::CastOptions,
                CreateCastOptions(e.fbb(), TensorType::INT32, *tensor_type(indices.dtype()))));
  return {};
}

bool along_last(const OpEmitter& e) {
  return positive_axis(e.attrs<AxisAttrs>().axis, e.rank()) + 1 == static_cast<int64_t>(e.rank());
}

Status emit_softmax(OpEmitter& e) {
  if (!along_last(e)) return e.fail("along another than the last dimension");
  if (is_integer(e.dtype()) && !e.input(0).type().quant) return e.fail("integers without a scale");
  e.add(Op::SOFTMAX, {e.in(0)}, {e.out()},
        options(BuiltinOptions::SoftmaxOptions, CreateSoftmaxOptions(e.fbb(), 1.0f)));
  return {};
}

Status emit_log_softmax(OpEmitter& e) {
  if (!along_last(e)) return e.fail("along another than the last dimension");
  e.add(Op::LOG_SOFTMAX, {e.in(0)}, {e.out()},
        options(BuiltinOptions::LogSoftmaxOptions, CreateLogSoftmaxOptions(e.fbb())));
  return {};
}

constexpr EmitRow kRows[] = {
    {OpKind::ReduceSum, emit_reduction<Op::SUM>},
    {OpKind::ReduceMean, emit_reduction<Op::MEAN>},
    {OpKind::ReduceMax, emit_reduction<Op::REDUCE_MAX>},
    {OpKind::ReduceMin, emit_reduction<Op::REDUCE_MIN>},
    {OpKind::ReduceProd, emit_reduction<Op::REDUCE_PROD>},
    {OpKind::ArgMax, emit_arg},
    {OpKind::ArgMin, emit_arg},
    {OpKind::CumSum, emit_cumulative_sum},
    {OpKind::TopK, emit_top_k},
    {OpKind::Softmax, emit_softmax},
    {OpKind::SoftmaxI16, emit_softmax},
    {OpKind::LogSoftmax, emit_log_softmax},
};

}  // namespace

const std::span<const EmitRow> kEmitReduce = kRows;

}  // namespace ec::tflite
