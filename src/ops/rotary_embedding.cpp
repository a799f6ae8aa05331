// Rotary position embedding: pairs of elements of each head rotate by an angle of their position.
#include <optional>

#include "ops/define.h"

namespace ec::ops {
namespace {

enum : size_t { kX, kCos, kSin, kPositions };

bool dims_differ(const Dim& a, const Dim& b) { return a.is_static() && b.is_static() && a != b; }

// Size of a head, when it is known.
Result<std::optional<int64_t>> head_size(const InferContext& ctx,
                                         const RotaryEmbeddingAttrs& attrs) {
  if (!ctx.shape(kX)) return std::optional<int64_t>();
  const Shape& x = *ctx.shape(kX);
  if (x.rank() != 3 && x.rank() != 4)
    return ctx.bad_shape("rotary embedding needs rank 3 or 4, not " + operand_text(ctx, kX));
  const Dim& last = x[x.rank() - 1];
  if (x.rank() == 3 && attrs.num_heads < 1)
    return ctx.bad_value("an input of rank 3 needs the number of heads");
  if (!last.is_static()) return std::optional<int64_t>();
  if (x.rank() == 4) return std::optional<int64_t>(last.size());
  if (last.size() % attrs.num_heads != 0)
    return ctx.bad_shape(std::to_string(attrs.num_heads) + " heads do not divide " +
                         operand_text(ctx, kX));
  return std::optional<int64_t>(last.size() / attrs.num_heads);
}

Status check_cache(const InferContext& ctx, size_t operand, const std::optional<int64_t>& half) {
  if (ctx.dtype(operand) != ctx.dtype(kX))
    return ctx.bad_type("operands have different element types: " + operand_text(ctx, kX) +
                        " and " + operand_text(ctx, operand));
  if (!ctx.shape(operand)) return {};
  const Shape& cache = *ctx.shape(operand);
  bool fits = cache.rank() == (ctx.has(kPositions) ? 2 : 3);
  fits = fits && !(half && dims_differ(cache[cache.rank() - 1], Dim(*half)));
  if (fits && cache.rank() == 3 && ctx.shape(kX)) {
    const Shape& x = *ctx.shape(kX);
    fits = !dims_differ(cache[0], x[0]) && !dims_differ(cache[1], x[x.rank() == 4 ? 2 : 1]);
  }
  if (!fits)
    return ctx.bad_shape("cache " + operand_text(ctx, operand) + " does not fit " +
                         operand_text(ctx, kX));
  return {};
}

Status infer_rotary(InferContext& ctx) {
  const auto& attrs = ctx.attrs<RotaryEmbeddingAttrs>();
  if (!is_float(ctx.dtype(kX)))
    return ctx.bad_type("rotary embedding needs a float type, not " + operand_text(ctx, kX));
  EC_TRY(const std::optional<int64_t> size, head_size(ctx, attrs));
  if (attrs.rotary_dim < 0 || (size && attrs.rotary_dim > *size))
    return ctx.bad_value("rotary size " + std::to_string(attrs.rotary_dim) + " does not fit " +
                         operand_text(ctx, kX));
  std::optional<int64_t> rotated = attrs.rotary_dim > 0 ? attrs.rotary_dim : size;
  if (rotated && *rotated % 2 != 0)
    return ctx.bad_value("rotary size " + std::to_string(*rotated) + " should be even");
  if (rotated) rotated = *rotated / 2;
  EC_CHECK_OK(check_cache(ctx, kCos, rotated));
  EC_CHECK_OK(check_cache(ctx, kSin, rotated));
  if (ctx.has(kPositions)) {
    if (!is_integer(ctx.dtype(kPositions)))
      return ctx.bad_type("positions should be integers, not " + operand_text(ctx, kPositions));
    if (ctx.shape(kPositions) && ctx.shape(kX)) {
      const Shape &p = *ctx.shape(kPositions), &x = *ctx.shape(kX);
      if (p.rank() != 2 || dims_differ(p[0], x[0]) || dims_differ(p[1], x[x.rank() == 4 ? 2 : 1]))
        return ctx.bad_shape("positions " + operand_text(ctx, kPositions) + " do not fit " +
                             operand_text(ctx, kX));
    }
  }
  ctx.set(0, ctx.dtype(kX), ctx.shape(kX));
  return {};
}

template <class C>
Status run_rotary(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<RotaryEmbeddingAttrs>();
  const auto shape = ctx.input(kX).shape;
  const bool heads_first = shape.size() == 4;
  const int64_t batch = shape[0], heads = heads_first ? shape[1] : attrs.num_heads;
  const int64_t length = shape[heads_first ? 2 : 1],
                size = heads_first ? shape[3] : shape[2] / heads;
  const int64_t half = (attrs.rotary_dim > 0 ? attrs.rotary_dim : size) / 2;
  const Reader<C> x(ctx.input(kX)), cosine(ctx.input(kCos)), sine(ctx.input(kSin));
  std::vector<int64_t> positions;
  if (ctx.has(kPositions)) {
    positions.resize(static_cast<size_t>(ctx.input(kPositions).count()));
    load<int64_t>(ctx.input(kPositions), positions);
    const int64_t known = std::min(ctx.input(kCos).shape[0], ctx.input(kSin).shape[0]);
    for (const int64_t p : positions)
      if (p < 0 || p >= known)
        return ctx.fail("position " + std::to_string(p) + " is outside the cache of " +
                        std::to_string(known));
  }
  Writer<C> out(ctx.output(0));
  std::copy(x.values().begin(), x.values().end(), out.data());
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < length; ++i) {
      const int64_t token = b * length + i;
      const int64_t row =
          (positions.empty() ? token : positions[static_cast<size_t>(token)]) * half;
      for (int64_t h = 0; h < heads; ++h) {
        const int64_t start =
            (heads_first ? (b * heads + h) * length + i : token * heads + h) * size;
        for (int64_t k = 0; k < half; ++k) {
          const auto first = static_cast<size_t>(start + (attrs.interleaved ? 2 * k : k));
          const auto second =
              static_cast<size_t>(start + (attrs.interleaved ? 2 * k + 1 : k + half));
          const C c = cosine[static_cast<size_t>(row + k)], s = sine[static_cast<size_t>(row + k)];
          out[first] = c * x[first] - s * x[second];
          out[second] = s * x[first] + c * x[second];
        }
      }
    }
  out.commit();
  return {};
}

Status reference_rotary(KernelContext& ctx) {
  if (ctx.output(0).count() == 0) return {};
  return with_float_type(ctx.output(0).dtype,
                         [&](auto type) { return run_rotary<decltype(type)>(ctx); });
}

}  // namespace

constexpr Rule kRotaryEmbeddingRules[] = {rule::floats("x"),
                                          rule::rank("x", 3, 4),
                                          rule::rank("cos", 2, 3),
                                          rule::same_rank("sin", "cos"),
                                          rule::rank("positions", 2),
                                          rule::integers("positions"),
                                          rule::between("num_heads", 0, 1 << 20),
                                          rule::at_least("rotary_dim", 0)};
EC_OP_DEF(RotaryEmbedding, .signature = "(x, cos, sin, positions?) -> y",
          .summary = "Turns pairs of elements of each head by the angles of their position (RoPE).",
          .rules = kRotaryEmbeddingRules, .infer = infer_rotary, .reference = reference_rotary,
          .quant = QuantRule::Never, .layout = LayoutRule::Fixed);

}  // namespace ec::ops
