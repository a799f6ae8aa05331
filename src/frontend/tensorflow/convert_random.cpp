// Random numbers. Results differ from TensorFlow's, which depend on its generators.
#include "frontend/tensorflow/table.h"

namespace ec::tf {
namespace {

// Any two numbers; the sum of large ones wraps around.
int64_t seed_of(const OpContext& ctx) {
  const auto first = static_cast<uint64_t>(ctx.attr_int("seed")),
             second = static_cast<uint64_t>(ctx.attr_int("seed2"));
  return static_cast<int64_t>(first * 1'000'003 % (uint64_t{1} << 40) + second);
}

Status uniform(OpContext& ctx) {
  RandomUniformAttrs attrs;
  EC_TRY(attrs.dtype, ctx.attr_dtype("dtype"));
  attrs.seed = seed_of(ctx);
  EC_TRY(ec::Tensor * sizes, ctx.as_i64(0));
  return ctx.finish(OpKind::RandomUniform, {sizes}, attrs);
}

Status normal(OpContext& ctx) {
  RandomNormalAttrs attrs;
  EC_TRY(attrs.dtype, ctx.attr_dtype("dtype"));
  attrs.seed = seed_of(ctx);
  EC_TRY(ec::Tensor * sizes, ctx.as_i64(0));
  return ctx.finish(OpKind::RandomNormal, {sizes}, attrs);
}

constexpr OpRow kRows[] = {
    {"RandomUniform", {1, 1}, uniform},
    {"RandomStandardNormal", {1, 1}, normal},
    {"StatelessRandomUniform", {2, 2}, uniform},
    {"StatelessRandomNormal", {2, 2}, normal},
};

}  // namespace

const std::span<const OpRow> kRandomRows = kRows;

}  // namespace ec::tf
