// Col2im: adds overlapping columns back into an image, the adjoint of unrolling windows.
#include <algorithm>

#include "ops/define.h"
#include "ops/matrix_product.h"
#include "ops/window.h"
#include "support/budget.h"

namespace ec::ops {
namespace {

// Number of window positions over the image, from known sizes; empty on overflow.
std::optional<int64_t> product(std::span<const int64_t> sizes) {
  int64_t total = 1;
  for (const int64_t size : sizes) {
    const auto next = checked_mul(total, size);
    if (!next) return std::nullopt;
    total = *next;
  }
  return total;
}

Status check_columns(const InferContext& ctx, std::span<const int64_t> image,
                     std::span<const int64_t> block) {
  const WindowSpec spec = window_spec(ctx.attrs<Col2ImAttrs>(), block);
  EC_CHECK_OK(check_window(ctx, spec));
  std::vector<int64_t> positions;
  for (size_t d = 0; d < image.size(); ++d) {
    EC_TRY(const Dim count, infer_window(ctx, spec, d, Dim(image[d])));
    positions.push_back(count.size());
  }
  const Dim& columns = (*ctx.shape(0))[2];
  const auto expected = product(positions);
  if (columns.is_static() && (!expected || *expected != columns.size()))
    return ctx.bad_shape("input " + operand_text(ctx, 0) + " has " + columns.text() +
                         " columns, the windows of image " + Shape::of(image).text() + " are " +
                         (expected ? std::to_string(*expected) : "too many"));
  return {};
}

Status infer_col2im(InferContext& ctx) {
  if (ctx.dtype(0) == DType::Bool)
    return ctx.bad_type("col2im needs numbers, not " + operand_text(ctx, 0));
  ctx.set(0, ctx.dtype(0), std::nullopt);
  if (ctx.shape(0) && ctx.shape(0)->rank() != 3)
    return ctx.bad_shape("col2im needs columns [N, C * block, L], not " + operand_text(ctx, 0));
  EC_CHECK_OK(check_sizes(ctx, 1));
  EC_CHECK_OK(check_sizes(ctx, 2));
  const auto image = ctx.dim_values(1);
  const auto block = ctx.int_values(2);
  if (!image || !block || !ctx.shape(0)) return {};
  if (image->empty() || image->size() != block->size())
    return ctx.bad_shape("image shape " + Shape(*image).text() + " and block shape " +
                         Shape::of(*block).text() + " have different ranks");
  const auto block_count = product(*block);
  if (!block_count || *block_count < 1) return ctx.bad_value("block shape has no positive size");
  Dim channels = Dim::unknown();
  if (const Dim& rows = (*ctx.shape(0))[1]; rows.is_static()) {
    if (rows.size() % *block_count != 0)
      return ctx.bad_shape("input " + operand_text(ctx, 0) + " has " + rows.text() +
                           " rows, no multiple of a block of " + std::to_string(*block_count));
    channels = Dim(rows.size() / *block_count);
  }
  if (const Shape sizes(*image); sizes.is_static())
    EC_CHECK_OK(check_columns(ctx, sizes.sizes(), *block));
  Shape out{(*ctx.shape(0))[0], channels};
  for (const Dim& dim : *image) out.push_back(dim);
  ctx.set(0, ctx.dtype(0), std::move(out));
  return {};
}

template <class C>
void run_col2im(KernelContext& ctx, std::span<const int64_t> block) {
  const auto out_shape = ctx.output(0).shape;
  const std::span<const int64_t> image = out_shape.subspan(2);
  const auto windows = resolve_windows(window_spec(ctx.attrs<Col2ImAttrs>(), block), image);
  const int64_t pixels = count_elements(image);
  const int64_t planes = out_shape[0] * out_shape[1];
  std::vector<int64_t> positions;
  for (const WindowDim& w : windows) positions.push_back(w.output);
  const auto strides = row_major_strides(image);
  const Reader<C> x(ctx.input(0));
  Writer<C> out(ctx.output(0));
  std::vector<Accumulator<C>> sums(static_cast<size_t>(pixels));
  const C* source = x.data();
  Ticker ticker;
  for (int64_t plane = 0; plane < planes; ++plane) {
    std::fill(sums.begin(), sums.end(), Accumulator<C>{});
    IndexWalker tap(block);
    do {
      if (ticker.tick(count_elements(positions))) return;
      IndexWalker position(positions);
      do {
        int64_t at = 0;
        for (size_t d = 0; d < windows.size() && at >= 0; ++d) {
          const WindowDim& w = windows[d];
          const int64_t i =
              position.index()[d] * w.stride - w.pad_begin + tap.index()[d] * w.dilation;
          at = i < 0 || i >= w.input ? -1 : at + i * strides[d];
        }
        if (at >= 0) sums[static_cast<size_t>(at)] += static_cast<Accumulator<C>>(*source);
        ++source;
      } while (position.next());
    } while (tap.next());
    for (int64_t i = 0; i < pixels; ++i)
      out[static_cast<size_t>(plane * pixels + i)] = static_cast<C>(sums[static_cast<size_t>(i)]);
  }
  out.commit();
}

Status reference_col2im(KernelContext& ctx) {
  if (ctx.output(0).count() == 0) return {};
  if (ctx.input(0).count() == 0) {
    std::fill_n(ctx.output(0).data, ctx.output(0).bytes(), std::byte{0});
    return {};
  }
  std::vector<int64_t> block(static_cast<size_t>(ctx.input(2).count()));
  load<int64_t>(ctx.input(2), block);
  with_compute_type(ctx.output(0).dtype,
                    [&](auto type) { run_col2im<decltype(type)>(ctx, block); });
  return {};
}

}  // namespace

constexpr Rule kCol2ImRules[] = {rule::numbers("x"),
                                 rule::rank("x", 3),
                                 rule::integers("image_shape"),
                                 rule::integers("block_shape"),
                                 rule::not_negative("image_shape"),
                                 rule::positive("block_shape"),
                                 rule::at_least("strides", 1),
                                 rule::at_least("dilations", 1),
                                 rule::at_least("pads", 0)};
EC_OP_DEF(Col2Im, .signature = "(x, image_shape, block_shape) -> y",
          .summary = "Adds the columns of sliding blocks back into an image; overlaps sum up.",
          .rules = kCol2ImRules, .infer = infer_col2im, .reference = reference_col2im,
          .quant = QuantRule::Never, .layout = LayoutRule::Fixed);

}  // namespace ec::ops
