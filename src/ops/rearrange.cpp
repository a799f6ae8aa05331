// Ops that move elements: reverse, space_to_batch, batch_to_space,
// dynamic_update_slice.
#include <algorithm>
#include <cstring>

#include "ops/define.h"
#include "ops/dim_math.h"
#include "ops/indexing.h"
#include "ops/move.h"

namespace ec::ops {
namespace {

// --- reverse ------------------------------------------------------------------------------------

Status infer_reverse(InferContext& ctx) { return infer_same_as_first(ctx); }

Status reverse(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  const MutableView& y = ctx.output(0);
  if (x.count() == 0) return {};
  const std::vector<int64_t> to = row_major_strides(y.shape);
  std::vector<int64_t> from = row_major_strides(x.shape);
  int64_t first = 0;
  for (const int64_t given : ctx.attrs<ReverseAttrs>().axes) {
    const auto axis = static_cast<size_t>(given);
    first += (x.shape[axis] - 1) * from[axis];
    from[axis] = -from[axis];
  }
  const size_t bytes = element_size(x.dtype);
  strided_copy(y.data, to, x.data + static_cast<size_t>(first) * bytes, from, y.shape, bytes);
  return {};
}

// --- space_to_batch, batch_to_space -------------------------------------------------------------

// Block sizes and the two pads (or crops) of each of the first spatial dimensions.
struct Blocks {
  std::vector<int64_t> sizes, before, after;
  int64_t product = 1;
};

std::string bad_block(const Blocks& blocks, size_t d) {
  return "block " + std::to_string(blocks.sizes[d]) + " with pads or crops " +
         std::to_string(blocks.before[d]) + " and " + std::to_string(blocks.after[d]) +
         " cannot be used";
}

// Empty text: every block is positive, nothing is negative and the product fits.
std::string check_blocks(Blocks& blocks) {
  constexpr int64_t kMost = int64_t{1} << 40;
  for (size_t d = 0; d < blocks.sizes.size(); ++d) {
    if (blocks.sizes[d] < 1 || blocks.before[d] < 0 || blocks.after[d] < 0 ||
        blocks.before[d] > kMost || blocks.after[d] > kMost)
      return bad_block(blocks, d);
    const auto product = checked_mul(blocks.product, blocks.sizes[d]);
    if (!product || *product > kMost) return bad_block(blocks, d);
    blocks.product = *product;
  }
  return {};
}

std::optional<Blocks> make_blocks(const std::vector<int64_t>& sizes,
                                  const std::vector<int64_t>& pairs) {
  if (pairs.size() != 2 * sizes.size()) return std::nullopt;
  Blocks blocks{sizes, {}, {}};
  for (size_t d = 0; d < sizes.size(); ++d) {
    blocks.before.push_back(pairs[2 * d]);
    blocks.after.push_back(pairs[2 * d + 1]);
  }
  return blocks;
}

// The operands when both are known.
Result<std::optional<Blocks>> known_blocks(const InferContext& ctx) {
  EC_CHECK_OK(require_integer(ctx, 1, "the block shape"));
  EC_CHECK_OK(require_integer(ctx, 2, "the pads or crops"));
  const auto sizes = ctx.int_values(1), pairs = ctx.int_values(2);
  if (!sizes || !pairs) return std::optional<Blocks>{};
  auto blocks = make_blocks(*sizes, *pairs);
  if (!blocks)
    return ctx.bad_shape("block shape " + operand_text(ctx, 1) + " and pads or crops " +
                         operand_text(ctx, 2) + " do not fit");
  if (const std::string fault = check_blocks(*blocks); !fault.empty()) return ctx.bad_value(fault);
  if (ctx.shape(0) && ctx.shape(0)->rank() < blocks->sizes.size() + 1)
    return ctx.bad_shape(operand_text(ctx, 0) + " has too few dimensions for " +
                         std::to_string(blocks->sizes.size()) + " blocks");
  return blocks;
}

Result<Blocks> kernel_blocks(const KernelContext& ctx) {
  auto blocks = make_blocks(read_ints(ctx, 1), read_ints(ctx, 2));
  if (!blocks || ctx.input(0).rank() < blocks->sizes.size() + 1)
    return ctx.fail("block shape and pads or crops do not fit the input");
  if (std::string fault = check_blocks(*blocks); !fault.empty()) return ctx.fail(std::move(fault));
  return *blocks;
}

// The sizes after the move, or nothing where they do not divide.
std::optional<std::vector<int64_t>> space_to_batch_shape(std::span<const int64_t> x,
                                                         const Blocks& blocks) {
  std::vector<int64_t> out(x.begin(), x.end());
  const auto batch = checked_mul(out[0], blocks.product);
  if (!batch) return std::nullopt;
  out[0] = *batch;
  for (size_t d = 0; d < blocks.sizes.size(); ++d) {
    const auto padded = checked_add(x[d + 1], blocks.before[d] + blocks.after[d]);
    if (!padded || *padded % blocks.sizes[d] != 0) return std::nullopt;
    out[d + 1] = *padded / blocks.sizes[d];
  }
  return out;
}

std::optional<std::vector<int64_t>> batch_to_space_shape(std::span<const int64_t> x,
                                                         const Blocks& blocks) {
  std::vector<int64_t> out(x.begin(), x.end());
  if (out[0] % blocks.product != 0) return std::nullopt;
  out[0] /= blocks.product;
  for (size_t d = 0; d < blocks.sizes.size(); ++d) {
    const auto whole = checked_mul(x[d + 1], blocks.sizes[d]);
    if (!whole || *whole < blocks.before[d] + blocks.after[d]) return std::nullopt;
    out[d + 1] = *whole - blocks.before[d] - blocks.after[d];
  }
  return out;
}

using BlockShapeFn = std::optional<std::vector<int64_t>> (*)(std::span<const int64_t>,
                                                             const Blocks&);

template <BlockShapeFn kShape>
Status infer_blocks(InferContext& ctx) {
  EC_TRY(const std::optional<Blocks> blocks, known_blocks(ctx));
  std::optional<Shape> shape;
  if (ctx.shape(0)) {
    shape = Shape(std::vector<Dim>(ctx.shape(0)->rank(), Dim::unknown()));
    // Dimensions behind the blocks stay.
    for (size_t d = blocks ? blocks->sizes.size() + 1 : shape->rank(); d < shape->rank(); ++d)
      (*shape)[d] = (*ctx.shape(0))[d];
  }
  if (blocks && ctx.shape(0) && ctx.shape(0)->is_static()) {
    const auto sizes = kShape(ctx.shape(0)->sizes(), *blocks);
    if (!sizes) return ctx.bad_shape("blocks, pads or crops do not divide " + operand_text(ctx, 0));
    shape = Shape::of(*sizes);
  }
  ctx.set(0, ctx.dtype(0), std::move(shape));
  return {};
}

// Calls f(batch-side row, space-side row) for every row of elements behind the blocked dimensions;
// the space side is -1 where it lies in the padding. `space` are the sizes of the space side.
template <class F>
void for_each_block_row(std::span<const int64_t> batched, std::span<const int64_t> space,
                        const Blocks& blocks, F&& f) {
  const size_t m = blocks.sizes.size();
  IndexWalker walker(batched.first(m + 1));
  int64_t row = 0;
  do {
    int64_t rest = walker.index()[0] / space[0], at = walker.index()[0] % space[0];
    std::vector<int64_t> position(m);
    for (size_t d = m; d-- > 0;) {
      position[d] = walker.index()[d + 1] * blocks.sizes[d] + rest % blocks.sizes[d];
      rest /= blocks.sizes[d];
    }
    bool inside = true;
    for (size_t d = 0; d < m; ++d) {
      const int64_t coordinate = position[d] - blocks.before[d];
      inside = inside && coordinate >= 0 && coordinate < space[d + 1];
      if (inside) at = at * space[d + 1] + coordinate;
    }
    f(row++, inside ? at : -1);
  } while (walker.next());
}

Status space_to_batch(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  EC_TRY(const Blocks blocks, kernel_blocks(ctx));
  const auto shape = space_to_batch_shape(x.shape, blocks);
  if (!shape) return ctx.fail("blocks and pads do not divide the input");
  EC_CHECK_OK(prepare_output(ctx, 0, x.dtype, *shape));
  const MutableView& y = ctx.output(0);
  if (y.count() == 0) return {};
  const int64_t run = count_elements(y.shape.subspan(blocks.sizes.size() + 1));
  const size_t bytes = element_size(x.dtype), row_bytes = static_cast<size_t>(run) * bytes;
  const std::vector<std::byte> zero = zero_element(y);
  for_each_block_row(y.shape, x.shape, blocks, [&](int64_t to, int64_t from) {
    std::byte* target = y.data + static_cast<size_t>(to) * row_bytes;
    if (from < 0)
      fill_elements(target, zero.data(), bytes, run);
    else
      std::memcpy(target, x.data + static_cast<size_t>(from) * row_bytes, row_bytes);
  });
  return {};
}

Status batch_to_space(KernelContext& ctx) {
  const ConstView& x = ctx.input(0);
  EC_TRY(const Blocks blocks, kernel_blocks(ctx));
  const auto shape = batch_to_space_shape(x.shape, blocks);
  if (!shape) return ctx.fail("blocks and crops do not divide the input");
  EC_CHECK_OK(prepare_output(ctx, 0, x.dtype, *shape));
  const MutableView& y = ctx.output(0);
  if (y.count() == 0) return {};
  const size_t row_bytes =
      static_cast<size_t>(count_elements(y.shape.subspan(blocks.sizes.size() + 1))) *
      element_size(x.dtype);
  for_each_block_row(x.shape, y.shape, blocks, [&](int64_t from, int64_t to) {
    if (to >= 0)
      std::memcpy(y.data + static_cast<size_t>(to) * row_bytes,
                  x.data + static_cast<size_t>(from) * row_bytes, row_bytes);
  });
  return {};
}

// --- dynamic_update_slice -----------------------------------------------------------------------

Status infer_dynamic_update_slice(InferContext& ctx) {
  EC_CHECK_OK(require_same_type(ctx, 0, 1));
  EC_CHECK_OK(require_integer(ctx, 2, "the starts"));
  if (ctx.shape(0) && ctx.shape(1)) {
    if (ctx.shape(0)->rank() != ctx.shape(1)->rank())
      return ctx.bad_shape("update " + operand_text(ctx, 1) + " has another rank than " +
                           operand_text(ctx, 0));
    EC_CHECK_OK(require_within(ctx, *ctx.shape(1), *ctx.shape(0), -1, "update"));
  }
  const auto starts = ctx.type(2).num_elements();
  if (starts && ctx.shape(0) && *starts != static_cast<int64_t>(ctx.shape(0)->rank()))
    return ctx.bad_shape("starts " + operand_text(ctx, 2) + " need one number per dimension of " +
                         operand_text(ctx, 0));
  return infer_same_as_first(ctx);
}

Status dynamic_update_slice(KernelContext& ctx) {
  const ConstView &x = ctx.input(0), &update = ctx.input(1);
  const MutableView& y = ctx.output(0);
  const std::vector<int64_t> starts = read_ints(ctx, 2), strides = row_major_strides(x.shape);
  if (starts.size() != x.rank() || update.rank() != x.rank())
    return ctx.fail("the update and its starts need one number per dimension of the input");
  int64_t first = 0;
  for (size_t d = 0; d < x.rank(); ++d) {
    if (update.shape[d] > x.shape[d]) return ctx.fail("the update is larger than the input");
    // A start outside moves to the nearest index at which the update fits.
    first += std::clamp<int64_t>(starts[d], 0, x.shape[d] - update.shape[d]) * strides[d];
  }
  EC_CHECK_OK(copy_through(ctx));
  if (update.count() == 0) return {};
  const size_t bytes = element_size(x.dtype);
  strided_copy(y.data + static_cast<size_t>(first) * bytes, strides, update.data,
               row_major_strides(update.shape), update.shape, bytes);
  return {};
}

}  // namespace

constexpr Rule kReverseRules[] = {rule::axes("axes", "x")};
EC_OP_DEF(Reverse, .signature = "(x) -> y",
          .summary = "The elements in opposite order along the given axes.", .rules = kReverseRules,
          .infer = infer_reverse, .reference = reverse, .quant = QuantRule::SameAsInput,
          .layout = LayoutRule::Fixed);
constexpr Rule kSpaceToBatchRules[] = {rule::min_rank("x", 1), rule::integers("block_shape"),
                                       rule::positive("block_shape"), rule::integers("pads"),
                                       rule::not_negative("pads")};
EC_OP_DEF(
    SpaceToBatch, .signature = "(x, block_shape, pads) -> y",
    .summary =
        "Pads the dimensions behind the batch with zeros, cuts them into blocks and moves the "
        "positions inside a block into the batch.",
    .rules = kSpaceToBatchRules, .infer = infer_blocks<space_to_batch_shape>,
    .reference = space_to_batch, .quant = QuantRule::SameAsInput, .layout = LayoutRule::Fixed);
constexpr Rule kBatchToSpaceRules[] = {rule::min_rank("x", 1), rule::integers("block_shape"),
                                       rule::positive("block_shape"), rule::integers("crops"),
                                       rule::not_negative("crops")};
EC_OP_DEF(BatchToSpace, .signature = "(x, block_shape, crops) -> y",
          .summary = "The inverse of space_to_batch: blocks from the batch, then crops.",
          .rules = kBatchToSpaceRules, .infer = infer_blocks<batch_to_space_shape>,
          .reference = batch_to_space, .quant = QuantRule::SameAsInput,
          .layout = LayoutRule::Fixed);
constexpr Rule kDynamicUpdateSliceRules[] = {rule::same_rank("update", "x"),
                                             rule::integers("starts")};
EC_OP_DEF(
    DynamicUpdateSlice, .signature = "(x, update, starts) -> y",
    .summary = "x with the update written at the starts, which are moved to where the update fits.",
    .rules = kDynamicUpdateSliceRules, .infer = infer_dynamic_update_slice,
    .reference = dynamic_update_slice, .quant = QuantRule::SameAsInput,
    .layout = LayoutRule::Fixed);

}  // namespace ec::ops
