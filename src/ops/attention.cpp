// Scaled dot-product attention with caches, masks, windows and grouped heads; rotary positions.
#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/define.h"
#include "ops/dim_math.h"
#include "support/budget.h"

namespace ec::ops {
namespace {

enum : size_t { kQ, kK, kV, kMask, kPastKey, kPastValue, kNonpad };

// --- inference -----------------------------------------------------------------------------------

// One of q, k, v with the same four dimensions in either form.
struct Heads {
  Dim batch = Dim::unknown(), heads = Dim::unknown(), length = Dim::unknown(),
      size = Dim::unknown();
};

Result<Heads> heads_of(const InferContext& ctx, size_t i, int64_t head_count) {
  Heads h;
  if (!ctx.shape(i)) return h;
  const Shape& shape = *ctx.shape(i);
  if (shape.rank() == 4) return Heads{shape[0], shape[1], shape[2], shape[3]};
  if (shape.rank() != 3)
    return ctx.bad_shape("attention needs operands of rank 3 or 4, not " + operand_text(ctx, i));
  if (head_count < 1 || head_count > (1 << 20))
    return ctx.bad_value("operands of rank 3 need the numbers of heads");
  h = {shape[0], Dim(head_count), shape[1], Dim::unknown()};
  if (shape[2].is_static()) {
    if (shape[2].size() % head_count != 0)
      return ctx.bad_shape(std::to_string(head_count) + " heads do not divide " +
                           operand_text(ctx, i));
    h.size = Dim(shape[2].size() / head_count);
  }
  return h;
}

Status check_types(const InferContext& ctx) {
  const auto& attrs = ctx.attrs<AttentionAttrs>();
  for (const size_t i : {kQ, kK, kV, kPastKey, kPastValue}) {
    if (!ctx.has(i)) continue;
    if (!is_float(ctx.dtype(i)) || ((i == kK || i == kPastKey) && ctx.dtype(i) != ctx.dtype(kQ)) ||
        (i == kPastValue && ctx.dtype(i) != ctx.dtype(kV)))
      return ctx.bad_type("attention needs operands of one float type: " + operand_text(ctx, kQ) +
                          " and " + operand_text(ctx, i));
  }
  if (ctx.has(kNonpad) && !is_integer(ctx.dtype(kNonpad)))
    return ctx.bad_type("lengths should be integers, not " + operand_text(ctx, kNonpad));
  if (ctx.has(kPastKey) != ctx.has(kPastValue))
    return ctx.fail(Code::BadArity, "past keys and past values come together");
  if (ctx.has(kPastKey) && ctx.has(kNonpad))
    return ctx.fail(Code::BadArity, "past keys and lengths exclude each other");
  if (attrs.qk_output_mode < 0 || attrs.qk_output_mode > 3)
    return ctx.bad_value("output mode " + std::to_string(attrs.qk_output_mode) +
                         " is outside [0, 3]");
  if (attrs.left_window < -1 || attrs.right_window < -1)
    return ctx.bad_value("window sizes should be -1 or more");
  return {};
}

Status check_mask(const InferContext& ctx, const Shape& target) {
  if (!ctx.has(kMask) || !ctx.shape(kMask)) return {};
  const Shape& mask = *ctx.shape(kMask);
  bool fits = mask.rank() >= 1 && mask.rank() <= 4;
  for (size_t d = 0; fits && d < mask.rank(); ++d) {
    const Dim &own = mask[d], &wanted = target[4 - mask.rank() + d];
    if (!own.is_static() || !wanted.is_static()) continue;
    // The last dimension may be shorter: keys beyond it are masked.
    fits = d + 1 == mask.rank() ? own.size() <= wanted.size() : own.size() == 1 || own == wanted;
  }
  if (!fits)
    return ctx.bad_shape("mask " + operand_text(ctx, kMask) + " does not fit " + target.text());
  return {};
}

Status infer_attention(InferContext& ctx) {
  const auto& attrs = ctx.attrs<AttentionAttrs>();
  EC_CHECK_OK(check_types(ctx));
  EC_TRY(Heads q, heads_of(ctx, kQ, attrs.q_heads));
  EC_TRY(Heads k, heads_of(ctx, kK, attrs.kv_heads));
  EC_TRY(Heads v, heads_of(ctx, kV, attrs.kv_heads));
  EC_TRY(Heads past_key, heads_of(ctx, ctx.has(kPastKey) ? kPastKey : kK, attrs.kv_heads));
  EC_TRY(Heads past_value, heads_of(ctx, ctx.has(kPastValue) ? kPastValue : kV, attrs.kv_heads));
  for (const size_t i : {kK, kV})
    if (ctx.shape(kQ) && ctx.shape(i) && ctx.shape(i)->rank() != ctx.shape(kQ)->rank())
      return ctx.bad_shape("queries " + operand_text(ctx, kQ) + " and keys or values " +
                           operand_text(ctx, i) + " have different ranks");
  for (const size_t i : {kPastKey, kPastValue})
    if (ctx.has(i) && ctx.shape(i) && ctx.shape(i)->rank() != 4)
      return ctx.bad_shape("a cache should have rank 4, not " + operand_text(ctx, i));
  for (const Heads* other : {&k, &v, &past_key, &past_value}) {
    EC_TRY(q.batch, merge_dims(ctx, q.batch, other->batch, "batch"));
    EC_TRY(k.heads, merge_dims(ctx, k.heads, other->heads, "number of key and value heads"));
  }
  EC_TRY(k.size, merge_dims(ctx, k.size, q.size, "head size"));
  EC_TRY(k.size, merge_dims(ctx, k.size, past_key.size, "head size"));
  EC_TRY(v.size, merge_dims(ctx, v.size, past_value.size, "head size"));
  EC_TRY(k.length, merge_dims(ctx, k.length, v.length, "length of keys and values"));
  EC_TRY(past_key.length,
         merge_dims(ctx, past_key.length, past_value.length, "length of past keys and values"));
  if (q.heads.is_static() && k.heads.is_static() &&
      (k.heads.size() == 0 || q.heads.size() % k.heads.size() != 0))
    return ctx.bad_shape(k.heads.text() + " key heads do not divide " + q.heads.text() +
                         " query heads");
  Dim total = k.length;
  if (ctx.has(kPastKey)) {
    EC_TRY(total, add_dims(ctx, past_key.length, k.length));
  }
  EC_CHECK_OK(check_mask(ctx, Shape{q.batch, q.heads, q.length, total}));
  if (ctx.has(kNonpad) && ctx.shape(kNonpad) && ctx.shape(kNonpad)->rank() != 1)
    return ctx.bad_shape("lengths should be one per batch, not " + operand_text(ctx, kNonpad));
  if (ctx.has(kNonpad) && ctx.shape(kNonpad)) {
    EC_TRY(q.batch, merge_dims(ctx, q.batch, (*ctx.shape(kNonpad))[0], "batch"));
  }
  std::optional<Shape> y;
  if (ctx.shape(kQ)) {
    if (ctx.shape(kQ)->rank() == 4) {
      y = Shape{q.batch, q.heads, q.length, v.size};
    } else {
      EC_TRY(const Dim hidden, multiply_dims(ctx, q.heads, v.size));
      y = Shape{q.batch, q.length, hidden};
    }
  }
  ctx.set(0, ctx.dtype(kQ), std::move(y));
  if (ctx.num_outputs() > 1) ctx.set(1, ctx.dtype(kK), Shape{q.batch, k.heads, total, k.size});
  if (ctx.num_outputs() > 2) ctx.set(2, ctx.dtype(kV), Shape{q.batch, k.heads, total, v.size});
  if (ctx.num_outputs() > 3) ctx.set(3, ctx.dtype(kQ), Shape{q.batch, q.heads, q.length, total});
  return {};
}

// --- kernel --------------------------------------------------------------------------------------

// Rows of one of q, k, v, y in either form.
struct RowIndex {
  int64_t heads, length, size;
  bool heads_first;  // rank 4

  RowIndex(std::span<const int64_t> shape, int64_t head_count) {
    heads_first = shape.size() == 4;
    heads = heads_first ? shape[1] : head_count;
    length = shape[heads_first ? 2 : 1];
    size = heads_first ? shape[3] : shape[2] / head_count;
  }
  int64_t operator()(int64_t b, int64_t h, int64_t i) const {
    return (heads_first ? (b * heads + h) * length + i : (b * length + i) * heads + h) * size;
  }
};

// Keys or values: what is cached, then what is new.
template <class C>
struct CachedRows {
  std::optional<Reader<C>> past;
  Reader<C> fresh;
  RowIndex index;
  int64_t past_length = 0;

  CachedRows(KernelContext& ctx, size_t operand, size_t past_operand, int64_t head_count)
      : fresh(ctx.input(operand)), index(ctx.input(operand).shape, head_count) {
    if (!ctx.has(past_operand)) return;
    past.emplace(ctx.input(past_operand));
    past_length = ctx.input(past_operand).shape[2];
  }
  int64_t total() const { return past_length + index.length; }
  const C* row(int64_t b, int64_t h, int64_t j) const {
    if (j < past_length)
      return past->data() + ((b * index.heads + h) * past_length + j) * index.size;
    return fresh.data() + index(b, h, j - past_length);
  }
  void copy_to(const MutableView& view) const {
    if (view.count() == 0) return;
    Writer<C> out(view);
    C* target = out.data();
    const int64_t batch = view.shape[0];
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < index.heads; ++h)
        for (int64_t j = 0; j < total(); ++j, target += index.size)
          std::copy_n(row(b, h, j), index.size, target);
    out.commit();
  }
};

// The values added to the scores: the mask operand, causality, windows and padding.
class Bias {
 public:
  Bias(KernelContext& ctx, int64_t queries, int64_t keys, int64_t past)
      : attrs_(ctx.attrs<AttentionAttrs>()), keys_(keys), offset_(past) {
    if (ctx.has(kMask)) {
      const ConstView& view = ctx.input(kMask);
      mask_.resize(static_cast<size_t>(view.count()));
      load<double>(view, mask_);
      if (view.dtype == DType::Bool)
        for (double& m : mask_) m = m != 0.0 ? 0.0 : -INFINITY;
      shape_.assign(4 - view.rank(), 1);
      shape_.insert(shape_.end(), view.shape.begin(), view.shape.end());
    }
    if (ctx.has(kNonpad)) {
      nonpad_.resize(static_cast<size_t>(ctx.input(kNonpad).count()));
      load<int64_t>(ctx.input(kNonpad), nonpad_);
      // Beyond the keys nothing changes; this keeps sums of lengths in range.
      for (int64_t& n : nonpad_) n = std::clamp<int64_t>(n, 0, keys_);
      queries_ = queries;
    }
  }

  double operator()(int64_t b, int64_t h, int64_t i, int64_t j) const {
    int64_t position = i + offset_;
    if (!nonpad_.empty()) {
      const int64_t valid = nonpad_[static_cast<size_t>(b)];
      if (j >= valid) return -INFINITY;
      position = i + valid - queries_;
    }
    if (attrs_.causal && j > position) return -INFINITY;
    if (attrs_.left_window >= 0 && position - j > attrs_.left_window) return -INFINITY;
    if (attrs_.right_window >= 0 && j - position > attrs_.right_window) return -INFINITY;
    if (shape_.empty()) return 0.0;
    if (j >= shape_[3]) return -INFINITY;
    const auto along = [&](size_t d, int64_t at) { return shape_[d] == 1 ? 0 : at; };
    return mask_[static_cast<size_t>(
        ((along(0, b) * shape_[1] + along(1, h)) * shape_[2] + along(2, i)) * shape_[3] + j)];
  }

 private:
  const AttentionAttrs& attrs_;
  int64_t keys_, offset_, queries_ = 0;
  std::vector<double> mask_;
  std::vector<int64_t> shape_;
  std::vector<int64_t> nonpad_;
};

// Softmax of a row; a row whose every element is -inf becomes zeros.
void softmax(std::span<double> row) {
  double largest = -INFINITY;
  for (const double x : row) largest = std::max(largest, x);
  double sum = 0.0;
  for (double& x : row) {
    x = largest == -INFINITY ? 0.0 : std::exp(x - largest);
    sum += x;
  }
  if (sum == 0.0) return;
  for (double& x : row) x /= sum;
}

// Rounds through a storage type that is narrower than the arithmetic.
void round_through(DType dtype, std::span<double> row) {
  if (dtype != DType::F16 && dtype != DType::BF16) return;
  std::vector<uint16_t> bits(row.size());
  const int64_t shape[] = {static_cast<int64_t>(row.size())};
  const MutableView view{dtype, shape, reinterpret_cast<std::byte*>(bits.data()), nullptr};
  store<double>(view, row);
  load<double>(view, row);
}

// The scores of one query, then its probabilities; `shown` gets the stage asked for.
template <class C>
void attend(const AttentionAttrs& attrs, const C* query, const CachedRows<C>& keys,
            const Bias& bias, double scale, int64_t b, int64_t h, int64_t group, int64_t i,
            std::span<double> row, double* shown) {
  const auto show = [&](int64_t stage) {
    if (shown != nullptr && attrs.qk_output_mode == stage) std::copy(row.begin(), row.end(), shown);
  };
  for (size_t j = 0; j < row.size(); ++j) {
    const C* key = keys.row(b, group, static_cast<int64_t>(j));
    double sum = 0.0;
    for (int64_t d = 0; d < keys.index.size; ++d)
      sum += static_cast<double>(query[d]) * static_cast<double>(key[d]);
    row[j] = sum * scale;
  }
  show(0);
  if (attrs.softcap > 0.0f)
    for (double& x : row) x = double{attrs.softcap} * std::tanh(x / double{attrs.softcap});
  show(1);
  bool masked = true;
  for (size_t j = 0; j < row.size(); ++j) {
    const double add = bias(b, h, i, static_cast<int64_t>(j));
    masked = masked && add == -INFINITY;
    row[j] += add;
  }
  show(2);
  round_through(attrs.softmax_precision, row);
  // Decided by the masks: a masked score may have been infinite, and its sum no number.
  if (masked)
    std::fill(row.begin(), row.end(), 0.0);
  else
    softmax(row);
  show(3);
}

template <class C>
void run_attention(KernelContext& ctx) {
  const auto& attrs = ctx.attrs<AttentionAttrs>();
  const RowIndex q_index(ctx.input(kQ).shape, attrs.q_heads);
  const Reader<C> q(ctx.input(kQ));
  const CachedRows<C> keys(ctx, kK, kPastKey, attrs.kv_heads),
      values(ctx, kV, kPastValue, attrs.kv_heads);
  if (ctx.num_outputs() > 1) keys.copy_to(ctx.output(1));
  if (ctx.num_outputs() > 2) values.copy_to(ctx.output(2));
  const int64_t batch = ctx.input(kQ).shape[0], total = keys.total();
  const double scale =
      attrs.scale != 0.0f
          ? double{attrs.scale}
          : 1.0 / std::sqrt(static_cast<double>(std::max<int64_t>(q_index.size, 1)));
  const Bias bias(ctx, q_index.length, total, keys.past_length);
  Writer<C> out(ctx.output(0));
  const RowIndex out_index(ctx.output(0).shape, q_index.heads);
  std::vector<double> shown(ctx.num_outputs() > 3 ? static_cast<size_t>(ctx.output(3).count()) : 0);
  if (out.size() == 0 && shown.empty()) return;
  std::vector<double> row(static_cast<size_t>(total)), sums(static_cast<size_t>(values.index.size));
  Ticker ticker;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < q_index.heads; ++h)
      for (int64_t i = 0; i < q_index.length; ++i) {
        if (ticker.tick(total * (16 + q_index.size + values.index.size))) return;
        const int64_t group = h / (q_index.heads / keys.index.heads);
        double* stage = shown.empty()
                            ? nullptr
                            : shown.data() + ((b * q_index.heads + h) * q_index.length + i) * total;
        attend(attrs, q.data() + q_index(b, h, i), keys, bias, scale, b, h, group, i, row, stage);
        std::fill(sums.begin(), sums.end(), 0.0);
        for (int64_t j = 0; j < total; ++j) {
          const double p = row[static_cast<size_t>(j)];
          if (p == 0.0) continue;
          const C* value = values.row(b, group, j);
          for (size_t d = 0; d < sums.size(); ++d) sums[d] += p * static_cast<double>(value[d]);
        }
        std::transform(sums.begin(), sums.end(), out.data() + out_index(b, h, i),
                       [](double x) { return static_cast<C>(x); });
      }
  out.commit();
  if (!shown.empty()) store<double>(ctx.output(3), shown);
}

Status reference_attention(KernelContext& ctx) {
  for (size_t i = 0; i < ctx.num_inputs(); ++i)
    if (ctx.has(i) && i != kMask && i != kNonpad && ctx.input(i).dtype != ctx.input(kQ).dtype) {
      run_attention<double>(ctx);
      return {};
    }
  with_float_type(ctx.output(0).dtype, [&](auto type) { run_attention<decltype(type)>(ctx); });
  return {};
}

}  // namespace

constexpr Rule kAttentionRules[] = {rule::rank("q", 3, 4),
                                    rule::same_rank("k", "q"),
                                    rule::same_rank("v", "q"),
                                    rule::rank("mask", 1, 4),
                                    rule::rank("past_key", 4),
                                    rule::rank("past_value", 4),
                                    rule::rank("nonpad_kv_seqlen", 1),
                                    rule::integers("nonpad_kv_seqlen"),
                                    rule::between("q_heads", 0, 1 << 20),
                                    rule::between("kv_heads", 0, 1 << 20),
                                    rule::between("qk_output_mode", 0, 3),
                                    rule::between("left_window", -1, INT64_MAX),
                                    rule::between("right_window", -1, INT64_MAX)};
EC_OP_DEF(Attention,
          .signature =
              "(q, k, v, mask?, past_key?, past_value?, nonpad_kv_seqlen?) -> (y, present_key?, "
              "present_value?, qk?)",
          .summary =
              "softmax(scale q k^T + masks) v per head, with grouped heads, key and value caches, "
              "causal and window masks.",
          .rules = kAttentionRules, .infer = infer_attention, .reference = reference_attention,
          .quant = QuantRule::Never, .layout = LayoutRule::Fixed);

}  // namespace ec::ops
