// quantize and dequantize with one scale for all elements: of operands, or carried by the tensors.
#include "ops/quantized/params.h"
#include "runtime/prepare/prepare.h"

namespace ec::prepare {

namespace {

constexpr int64_t kRun = 1 << 14;  // elements of a task

struct WholeParams {
  float scale = 0, zero_point = 0;
};

std::optional<WholeParams> given_params(const OpInstance& op) {
  const auto scale = constant_scalar(op, 1);
  if (!scale) return std::nullopt;
  if (!op.has(2)) return WholeParams{*scale, 0.0F};
  const OperandInfo& zero = op.input(2);
  if (zero.constant == nullptr || zero.count() != 1) return std::nullopt;
  WholeParams params{*scale, 0.0F};
  const bool known = quantized::with_stored_type(zero.dtype, [&](auto type) {
    params.zero_point = static_cast<float>(*reinterpret_cast<const decltype(type)*>(zero.constant));
  });
  return known ? std::optional(params) : std::nullopt;
}

// Scale and zero point: those of the operands where there are some, else of the tensor that holds
// integers.
std::optional<WholeParams> whole_params(const OpInstance& op, const Tensor* stored) {
  if (op.has(1)) return given_params(op);
  const auto& quant = stored->type().quant;
  if (!quant || quant->scales.size() != 1 || quant->zero_points.size() != 1) return std::nullopt;
  return WholeParams{quant->scales[0], static_cast<float>(quant->zero_points[0])};
}

template <class Fn>
Fn for_type(DType dtype, Fn i8, Fn u8, Fn i16) {
  switch (dtype) {
    case DType::I8:
      return i8;
    case DType::U8:
      return u8;
    case DType::I16:
      return i16;
    default:
      return nullptr;
  }
}

// Calls f(first, count) for runs of the elements, on all threads.
template <class F>
void for_runs(kernels::ThreadPool& pool, int64_t count, F&& f) {
  pool.parallel_for((count + kRun - 1) / kRun, [&](int64_t task, int) {
    f(task * kRun, std::min(kRun, count - task * kRun));
  });
}

}  // namespace

Prepared quantize(const OpInstance& op, const PrepareContext& ctx) {
  const DType dtype = op.output().dtype;
  const auto params = whole_params(op, op.op.output());
  const auto kernel =
      for_type(dtype, ctx.table.quantize_i8, ctx.table.quantize_u8, ctx.table.quantize_i16);
  if (!op.input(0).is_f32() || !params || kernel == nullptr) return nullptr;
  kernels::QuantizeArgs args;
  args.scale = params->scale;
  args.zero_point = params->zero_point;
  args.low = static_cast<float>(lowest_integer(dtype));
  args.high = static_cast<float>(highest_integer(dtype));
  args.half_away = op.attrs<QuantizeAttrs>().rounding == Rounding::HalfAway;
  const int64_t count = op.output().count();
  const auto size = static_cast<int64_t>(element_size(dtype));
  return make_op([kernel, args, count, size](const RunArgs& run) {
    for_runs(run.pool, count, [&](int64_t first, int64_t n) {
      kernels::QuantizeArgs part = args;
      part.x = run.in(0) + first;
      part.y = run.outputs[0] + first * size;
      part.n = n;
      kernel(part);
    });
  });
}

Prepared dequantize(const OpInstance& op, const PrepareContext& ctx) {
  const DType dtype = op.input(0).dtype;
  const auto params = whole_params(op, op.op.input(0));
  const auto kernel =
      for_type(dtype, ctx.table.dequantize_i8, ctx.table.dequantize_u8, ctx.table.dequantize_i16);
  if (op.output().dtype != DType::F32 || !params || kernel == nullptr) return nullptr;
  const int64_t count = op.output().count();
  const auto size = static_cast<int64_t>(element_size(dtype));
  return make_op([kernel, params, count, size](const RunArgs& run) {
    for_runs(run.pool, count, [&](int64_t first, int64_t n) {
      kernel(
          {run.inputs[0] + first * size, run.out() + first, n, params->scale, params->zero_point});
    });
  });
}

}  // namespace ec::prepare
