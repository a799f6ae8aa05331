// Quantised element-wise operations on bytes, bit by bit as the integer kernels of the op table
// compute them.
#include "ops/kernel.h"
#include "runtime/prepare/integer_parts.h"

namespace ec::prepare {
namespace {

constexpr int64_t kRun = 1 << 14;  // elements of a task

// Two operands of which one has the result's shape and the other repeats along leading dimensions.
struct Pairs {
  size_t whole = 0, other = 1;  // operands
  int64_t count = 0, period = 0;

  // May the result lie in the memory of an operand, by bit.
  uint32_t in_place() const { return 1U << whole | (period == count ? 1U << other : 0U); }

  // Calls f(first of the result, first of the other, elements) for runs of the result; runs with
  // one value on the other side, or as many as it has.
  template <class F>
  void run(kernels::ThreadPool& pool, F&& f) const {
    const bool straight = period == count || period == 1;
    const int64_t step = straight ? kRun : std::max<int64_t>(1, kRun / period) * period;
    pool.parallel_for((count + step - 1) / step, [&](int64_t task, int) {
      const int64_t first = task * step, last = std::min(count, first + step);
      if (straight) return f(first, period == 1 ? 0 : first, last - first);
      for (int64_t at = first; at < last; at += period) f(at, int64_t{0}, period);
    });
  }
};

// The dimensions of `small` but for leading ones are the last of `large`.
bool repeats_into(std::span<const int64_t> small, std::span<const int64_t> large) {
  while (!small.empty() && small.front() == 1) small = small.subspan(1);
  return small.size() <= large.size() && std::ranges::equal(small, large.last(small.size()));
}

std::optional<Pairs> pairs_of(const OpInstance& op) {
  for (const size_t whole : {0U, 1U}) {
    const OperandInfo& other = op.input(1 - whole);
    if (op.input(whole).shape != op.output().shape || !repeats_into(other.shape, op.output().shape))
      continue;
    return Pairs{whole, 1 - whole, op.output().count(), other.count()};
  }
  return std::nullopt;
}

// One factor for all elements. Empty: one above 1, which the kernels do not take.
std::optional<Stage> stage_of(quantized::Multiplier factor, const Params& out, DType dtype) {
  Stage stage(1);
  for (size_t i = 0; i < static_cast<size_t>(kInt8Panel); ++i)
    if (!stage.set_factor(i, factor)) return std::nullopt;
  stage.set_output(out.zero_point - offset_of(dtype), {-128, 127});
  return stage;
}

// Each operand on the common scale comes out of a table of its 256 values.
Prepared sum(const OpInstance& op, const PrepareContext& ctx, int32_t sign_of_second) {
  const auto a = params_of(op.op.input(0)), b = params_of(op.op.input(1)),
             out = params_of(op.op.output(0));
  const auto pairs = pairs_of(op);
  const DType dtype = op.output().dtype;
  if (!a || !b || !out || !pairs || !all_bytes(op) || !is_byte(a->zero_point, dtype) ||
      !is_byte(b->zero_point, dtype))
    return nullptr;
  const bool is_signed = dtype == DType::I8;
  constexpr int kBits = 20;
  const double twice = 2 * std::max(a->scale, b->scale);
  const auto table_of = [&](const Params& p, int32_t sign) {
    const quantized::Multiplier m = quantized::quantize_multiplier(p.scale / twice);
    std::vector<int32_t> table;
    // By the bits of the byte, read as a signed one.
    for (int32_t v = -128; v < 128; ++v) {
      const int32_t stored = is_signed || v >= 0 ? v : v + 256;
      table.push_back(sign *
                      quantized::multiply(quantized::shift_left(stored - p.zero_point, kBits), m));
    }
    return table;
  };
  const auto stage = stage_of(
      quantized::quantize_multiplier(twice / (static_cast<double>(1 << kBits) * out->scale)), *out,
      dtype);
  if (!stage) return nullptr;
  std::vector<int32_t> tables[] = {table_of(*a, 1), table_of(*b, sign_of_second)};
  return make_op(
      [kernel = ctx.table.int8_add, stage = *stage, pairs = *pairs, is_signed,
       whole = std::move(tables[pairs->whole]),
       other = std::move(tables[pairs->other])](const RunArgs& args) {
        const kernels::Requantize q = stage.view();
        pairs.run(args.pool, [&](int64_t first, int64_t first_other, int64_t n) {
          int8_t* y = bytes_of(args.outputs[0]) + first;
          kernel({bytes_of(args.inputs[pairs.whole]) + first,
                  bytes_of(args.inputs[pairs.other]) + first_other, pairs.period == 1 ? 0 : 1,
                  whole.data(), other.data(), y, n},
                 q);
          if (!is_signed) turn_highest_bits(y, n);
        });
      },
      0, pairs->in_place());
}

}  // namespace

Prepared integer_add(const OpInstance& op, const PrepareContext& ctx) { return sum(op, ctx, 1); }
Prepared integer_sub(const OpInstance& op, const PrepareContext& ctx) { return sum(op, ctx, -1); }

Prepared integer_mul(const OpInstance& op, const PrepareContext& ctx) {
  const auto a = params_of(op.op.input(0)), b = params_of(op.op.input(1)),
             out = params_of(op.op.output(0));
  const auto pairs = pairs_of(op);
  if (!a || !b || !out || !pairs || !all_bytes(op) || op.output().dtype != DType::I8 ||
      !is_byte(a->zero_point, DType::I8) || !is_byte(b->zero_point, DType::I8))
    return nullptr;
  // TFLite computes the factor in float.
  const float factor =
      static_cast<float>(a->scale) * static_cast<float>(b->scale) / static_cast<float>(out->scale);
  const auto stage = stage_of(quantized::quantize_multiplier(double{factor}), *out, DType::I8);
  if (!stage) return nullptr;
  const int32_t zeros[] = {a->zero_point, b->zero_point};
  return make_op(
      [kernel = ctx.table.int8_mul, stage = *stage, pairs = *pairs, whole = zeros[pairs->whole],
       other = zeros[pairs->other]](const RunArgs& args) {
        const kernels::Requantize q = stage.view();
        pairs.run(args.pool, [&](int64_t first, int64_t first_other, int64_t n) {
          kernel({bytes_of(args.inputs[pairs.whole]) + first,
                  bytes_of(args.inputs[pairs.other]) + first_other, pairs.period == 1 ? 0 : 1,
                  whole, other, bytes_of(args.outputs[0]) + first, n},
                 q);
        });
      },
      0, pairs->in_place());
}

// A function of one byte: the op table's kernel says what it makes of each.
Prepared integer_function(const OpInstance& op, const PrepareContext&) {
  const DType in = op.input(0).dtype, out = op.output().dtype;
  const auto is_bytes = [](DType dtype) { return dtype == DType::I8 || dtype == DType::U8; };
  if (op.inputs.size() != 1 || op.outputs.size() != 1 || !is_bytes(in) || !is_bytes(out) ||
      op.input(0).shape != op.output().shape || !params_of(op.op.input(0)) ||
      !params_of(op.op.output(0)))
    return nullptr;
  uint8_t all[256];
  for (size_t i = 0; i < 256; ++i) all[i] = static_cast<uint8_t>(i);
  const Value bytes(in, {256}, Blob::copy_of(std::span<const uint8_t>(all)));
  const Value* operand = &bytes;
  const auto results = evaluate(op.op, std::span(&operand, 1));
  if (!results) return nullptr;
  const auto table = results->front().data.bytes();
  if (table.size() != 256) return nullptr;
  return make_op(
      [count = op.output().count(),
       table = std::vector<std::byte>(table.begin(), table.end())](const RunArgs& args) {
        args.pool.parallel_for((count + kRun - 1) / kRun, [&](int64_t task, int) {
          const int64_t first = task * kRun, last = std::min(count, first + kRun);
          const std::byte* x = args.inputs[0];
          std::byte* y = args.outputs[0];
          for (int64_t i = first; i < last; ++i) y[i] = table[std::to_integer<size_t>(x[i])];
        });
      },
      0, 0b1);
}

}  // namespace ec::prepare
