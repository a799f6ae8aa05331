// Blocks of pixels as channels and back; selection of boxes.
#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/define.h"
#include "ops/window.h"
#include "support/budget.h"

namespace ec::ops {
namespace {

// --- depth_to_space, space_to_depth --------------------------------------------------------------

Status check_block(const InferContext& ctx, int64_t block) {
  if (block < 1 || block > (1 << 20))
    return ctx.bad_value("block size " + std::to_string(block) + " is out of range");
  if (ctx.shape(0) && ctx.shape(0)->rank() != 4)
    return ctx.bad_shape("an image of rank 4 is needed, not " + operand_text(ctx, 0));
  return {};
}

Result<Dim> multiplied(const InferContext& ctx, const Dim& dim, int64_t factor) {
  if (factor == 1) return dim;
  if (!dim.is_static()) return Dim::unknown();
  const auto product = checked_mul(dim.size(), factor);
  if (!product) return ctx.bad_shape("the result of " + operand_text(ctx, 0) + " is too large");
  return Dim(*product);
}

Result<Dim> divided(const InferContext& ctx, const Dim& dim, int64_t divisor) {
  if (divisor == 1) return dim;
  if (!dim.is_static()) return Dim::unknown();
  if (dim.size() % divisor != 0)
    return ctx.bad_shape(dim.text() + " of " + operand_text(ctx, 0) + " is no multiple of " +
                         std::to_string(divisor));
  return Dim(dim.size() / divisor);
}

template <class A, bool ToSpace>
Status infer_blocks(InferContext& ctx) {
  const auto& attrs = ctx.attrs<A>();
  EC_CHECK_OK(check_block(ctx, attrs.block));
  ctx.set(0, ctx.dtype(0), std::nullopt);
  if (!ctx.shape(0)) return {};
  Shape out = *ctx.shape(0);
  for (size_t axis = 1; axis < 4; ++axis) {
    const bool channel = axis == channel_axis(attrs.layout, 4);
    const int64_t factor = channel ? attrs.block * attrs.block : attrs.block;
    EC_TRY(out[axis], channel == ToSpace ? divided(ctx, out[axis], factor)
                                         : multiplied(ctx, out[axis], factor));
  }
  ctx.set(0, ctx.dtype(0), std::move(out));
  return {};
}

// Offsets of the deep and the wide image's elements for one position: (n, c, y, x) of the deep
// image without its block, and (row, column) in the block.
struct BlockIndex {
  int64_t channels, height, width, block;  // of the deep image, channels divided by block^2
  bool channels_first;
  DepthOrder order;

  static int64_t at(int64_t n, int64_t c, int64_t y, int64_t x, int64_t cs, int64_t h, int64_t w,
                    bool first) {
    return first ? ((n * cs + c) * h + y) * w + x : ((n * h + y) * w + x) * cs + c;
  }
  int64_t deep(int64_t n, int64_t c, int64_t y, int64_t x, int64_t row, int64_t column) const {
    const int64_t inside = row * block + column;
    const int64_t channel =
        order == DepthOrder::Dcr ? inside * channels + c : c * block * block + inside;
    return at(n, channel, y, x, channels * block * block, height, width, channels_first);
  }
  int64_t wide(int64_t n, int64_t c, int64_t y, int64_t x, int64_t row, int64_t column) const {
    return at(n, c, y * block + row, x * block + column, channels, height * block, width * block,
              channels_first);
  }
};

template <class A, bool ToSpace>
Status reference_blocks(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<A>();
  const MutableView& out = ctx.output(0);
  if (out.count() == 0) return {};
  const auto deep = channels_first_shape(attrs.layout, ToSpace ? ctx.input(0).shape : out.shape);
  const int64_t block = attrs.block;
  const BlockIndex index{deep[1] / (block * block),
                         deep[2],
                         deep[3],
                         block,
                         attrs.layout == Layout::ChannelsFirst,
                         attrs.order};
  const size_t size = element_size(out.dtype);
  const int64_t walk[] = {deep[0], index.channels, deep[2], deep[3], block, block};
  IndexWalker walker(walk);
  do {
    const auto& i = walker.index();
    const int64_t d = index.deep(i[0], i[1], i[2], i[3], i[4], i[5]),
                  w = index.wide(i[0], i[1], i[2], i[3], i[4], i[5]);
    std::copy_n(ctx.input(0).data + static_cast<size_t>(ToSpace ? d : w) * size, size,
                out.data + static_cast<size_t>(ToSpace ? w : d) * size);
  } while (walker.next());
  return {};
}

// --- non_max_suppression -------------------------------------------------------------------------

enum : size_t { kBoxes, kScores, kMaxPerClass, kIouThreshold, kScoreThreshold };

bool dims_differ(const Dim& a, const Dim& b) { return a.is_static() && b.is_static() && a != b; }

Status infer_nms(InferContext& ctx) {
  for (const size_t i : {kBoxes, kScores}) {
    if (!is_float(ctx.dtype(i)))
      return ctx.bad_type("boxes and scores should be floats, not " + operand_text(ctx, i));
    if (ctx.shape(i) && ctx.shape(i)->rank() != 3)
      return ctx.bad_shape("boxes and scores need rank 3, not " + operand_text(ctx, i));
  }
  if (ctx.has(kMaxPerClass) && !is_integer(ctx.dtype(kMaxPerClass)))
    return ctx.bad_type("the number of boxes should be an integer, not " +
                        operand_text(ctx, kMaxPerClass));
  for (const size_t i : {kIouThreshold, kScoreThreshold})
    if (ctx.has(i) && !is_float(ctx.dtype(i)))
      return ctx.bad_type("thresholds should be floats, not " + operand_text(ctx, i));
  for (const size_t i : {kMaxPerClass, kIouThreshold, kScoreThreshold})
    if (ctx.has(i) && ctx.type(i).num_elements().value_or(1) > 1)
      return ctx.bad_shape("one number is needed, not " + operand_text(ctx, i));
  const auto &boxes = ctx.shape(kBoxes), &scores = ctx.shape(kScores);
  if (boxes && (*boxes)[2].is_static() && (*boxes)[2].size() != 4)
    return ctx.bad_shape("boxes should be [N, count, 4], not " + operand_text(ctx, kBoxes));
  if (boxes && scores &&
      (dims_differ((*boxes)[0], (*scores)[0]) || dims_differ((*boxes)[1], (*scores)[2])))
    return ctx.bad_shape("boxes " + operand_text(ctx, kBoxes) + " and scores " +
                         operand_text(ctx, kScores) + " do not fit");
  ctx.set(0, DType::I64, Shape{Dim::unknown(), 3});
  return {};
}

struct Box {
  float x0, y0, x1, y1;
  float area() const { return (x1 - x0) * (y1 - y0); }
};

Box make_box(const float* b, bool center) {
  if (center) return {b[0] - b[2] / 2, b[1] - b[3] / 2, b[0] + b[2] / 2, b[1] + b[3] / 2};
  return {std::min(b[1], b[3]), std::min(b[0], b[2]), std::max(b[1], b[3]), std::max(b[0], b[2])};
}

bool overlaps(const Box& a, const Box& b, float threshold) {
  const float width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  const float height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  if (!(width > 0.0f && height > 0.0f)) return false;
  const float common = width * height, whole = a.area() + b.area() - common;
  return common > 0.0f && a.area() > 0.0f && b.area() > 0.0f && whole > 0.0f &&
         common / whole > threshold;
}

// Numbers of the boxes that one class of one image keeps, best first.
std::vector<int64_t> select(std::span<const Box> boxes, std::span<const float> scores, size_t most,
                            float iou, const std::optional<float>& least) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < scores.size(); ++i)
    if (!least || scores[i] > *least) order.push_back(static_cast<int64_t>(i));
  const auto score = [&](int64_t i) { return scores[static_cast<size_t>(i)]; };
  // A NaN never wins: it sorts last, so that the order is one.
  const auto rank = [&](int64_t i) { return score(i) == score(i) ? score(i) : -INFINITY; };
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return rank(a) > rank(b); });
  std::vector<int64_t> kept;
  Ticker ticker;
  for (const int64_t i : order) {
    if (kept.size() >= most || ticker.tick(8 * static_cast<int64_t>(kept.size()))) break;
    const bool covered = std::any_of(kept.begin(), kept.end(), [&](int64_t k) {
      return overlaps(boxes[static_cast<size_t>(i)], boxes[static_cast<size_t>(k)], iou);
    });
    if (!covered) kept.push_back(i);
  }
  return kept;
}

template <class T>
std::optional<T> scalar_operand(KernelContext& ctx, size_t i) {
  if (!ctx.has(i) || ctx.input(i).count() == 0) return std::nullopt;
  T value{};
  load<T>(ctx.input(i), std::span(&value, 1));
  return value;
}

Status reference_nms(KernelContext& ctx) {
  const auto scores_shape = ctx.input(kScores).shape;
  const int64_t batch = scores_shape[0], classes = scores_shape[1], count = scores_shape[2];
  if (ctx.input(kScores).count() == 0) return ctx.allocate(0, DType::I64, {0, 3});
  const bool center = ctx.attrs<NmsAttrs>().center_boxes;
  const auto most = static_cast<size_t>(
      std::max<int64_t>(scalar_operand<int64_t>(ctx, kMaxPerClass).value_or(0), 0));
  const float iou = scalar_operand<float>(ctx, kIouThreshold).value_or(0.0f);
  const std::optional<float> least = scalar_operand<float>(ctx, kScoreThreshold);
  const Reader<float> boxes(ctx.input(kBoxes)), scores(ctx.input(kScores));
  std::vector<int64_t> out;
  std::vector<Box> image(static_cast<size_t>(count));
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t i = 0; i < count; ++i)
      image[static_cast<size_t>(i)] = make_box(boxes.data() + (n * count + i) * 4, center);
    for (int64_t c = 0; c < classes; ++c) {
      const auto row = scores.values().subspan(static_cast<size_t>((n * classes + c) * count),
                                               static_cast<size_t>(count));
      for (const int64_t i : select(image, row, most, iou, least)) out.insert(out.end(), {n, c, i});
    }
  }
  EC_CHECK_OK(ctx.allocate(0, DType::I64, {static_cast<int64_t>(out.size() / 3), 3}));
  std::copy(out.begin(), out.end(), ctx.output(0).as<int64_t>().begin());
  return {};
}

}  // namespace

constexpr Rule kDepthToSpaceRules[] = {rule::rank("x", 4), rule::between("block", 1, 1 << 20)};
EC_OP_DEF(DepthToSpace, .signature = "(x) -> y",
          .summary = "Spreads channels over blocks of pixels (pixel shuffle).",
          .rules = kDepthToSpaceRules, .infer = (infer_blocks<DepthToSpaceAttrs, true>),
          .reference = (reference_blocks<DepthToSpaceAttrs, true>), .quant = QuantRule::SameAsInput,
          .layout = LayoutRule::FollowsInput);
EC_OP_DEF(SpaceToDepth, .signature = "(x) -> y",
          .summary = "Collects blocks of pixels into channels.", .rules = kDepthToSpaceRules,
          .infer = (infer_blocks<SpaceToDepthAttrs, false>),
          .reference = (reference_blocks<SpaceToDepthAttrs, false>),
          .quant = QuantRule::SameAsInput, .layout = LayoutRule::FollowsInput);
constexpr Rule kNonMaxSuppressionRules[] = {
    rule::floats("boxes"),          rule::floats("scores"),          rule::rank("boxes", 3),
    rule::rank("scores", 3),        rule::integers("max_per_class"), rule::floats("iou_threshold"),
    rule::floats("score_threshold")};
EC_OP_DEF(
    NonMaxSuppression,
    .signature = "(boxes, scores, max_per_class?, iou_threshold?, score_threshold?) -> selected",
    .summary =
        "Best boxes of every class that do not overlap better ones: rows of image, class, box.",
    .rules = kNonMaxSuppressionRules, .sizes_from_values = true, .infer = infer_nms,
    .reference = reference_nms, .quant = QuantRule::Never, .layout = LayoutRule::Fixed);

}  // namespace ec::ops
