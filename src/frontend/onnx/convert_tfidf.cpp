// TfIdfVectorizer on integers: how often each n-gram of a pool occurs in the input. Every length
// and skip distance compares shifted views of the input with all n-grams of that length at once.
#include <algorithm>

#include "frontend/onnx/table.h"

namespace ec::onnx {
namespace {

struct Pool {
  int64_t min_length = 1, max_length = 1, max_skip = 0;
  std::vector<int64_t> items;    // all 1-grams, then all 2-grams, ...
  std::vector<int64_t> starts;   // of each length in items
  std::vector<int64_t> indexes;  // output coordinate of each n-gram
  std::vector<float> weights;

  // The items of all n-grams of one length.
  std::span<const int64_t> grams(int64_t n) const {
    const auto i = static_cast<size_t>(n - 1);
    const int64_t begin = starts[i];
    const int64_t end = i + 1 < starts.size() ? starts[i + 1] : static_cast<int64_t>(items.size());
    return std::span(items).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  }
};

Result<Pool> read_pool(NodeContext& ctx) {
  constexpr size_t kMaxItems = size_t{1} << 20;
  Pool pool;
  pool.min_length = ctx.attr_int("min_gram_length");
  pool.max_length = ctx.attr_int("max_gram_length");
  pool.max_skip = ctx.attr_int("max_skip_count");
  pool.items = ctx.attr_ints("pool_int64s");
  pool.starts = ctx.attr_ints("ngram_counts");
  pool.indexes = ctx.attr_ints("ngram_indexes");
  pool.weights = ctx.attr_floats("weights");
  EC_CHECK_OK(ctx.attr_status());
  if (ctx.has_attr("pool_strings")) return ctx.fail(Code::UnsupportedType, "the pool is text");
  const auto lengths = static_cast<int64_t>(pool.starts.size());
  if (pool.min_length < 1 || pool.max_length < pool.min_length || pool.max_length > lengths ||
      pool.max_skip < 0 || pool.items.size() > kMaxItems)
    return ctx.fail(Code::BadAttribute, "lengths or skips of the n-grams are out of range");
  size_t count = 0;
  for (int64_t n = 1; n <= lengths; ++n) {
    const int64_t begin = pool.starts[static_cast<size_t>(n - 1)];
    const int64_t end =
        n < lengths ? pool.starts[static_cast<size_t>(n)] : static_cast<int64_t>(pool.items.size());
    if (begin < 0 || end < begin || end > static_cast<int64_t>(pool.items.size()) ||
        (end - begin) % n != 0)
      return ctx.fail(Code::BadAttribute, "attribute 'ngram_counts' does not fit the pool");
    count += static_cast<size_t>((end - begin) / n);
  }
  if (pool.indexes.size() != count || (!pool.weights.empty() && pool.weights.size() != count))
    return ctx.fail(Code::BadAttribute, "'ngram_indexes' or 'weights' does not fit the pool");
  return pool;
}

class Vectorizer {
 public:
  Vectorizer(NodeContext& ctx, const Pool& pool, ec::Tensor* rows, int64_t length)
      : ctx_(ctx), pool_(pool), rows_(rows), length_(length) {}

  // Counts of the n-grams of one length, [rows, n-grams]; null when none can occur.
  Result<ec::Tensor*> counts(int64_t n) {
    ec::Tensor* sum = nullptr;
    // A single item has nothing to skip.
    const int64_t skips = n == 1 ? 0 : pool_.max_skip;
    for (int64_t skip = 0; skip <= skips && (n - 1) * (skip + 1) + 1 <= length_; ++skip) {
      EC_TRY(ec::Tensor * found, matches(n, skip + 1));
      EC_TRY(found, ctx_.cast(found, DType::F32));
      ReduceAttrs drop;
      drop.keep_dims = false;
      EC_TRY(found, ctx_.add(OpKind::ReduceSum, {found, ctx_.ints({1})}, drop));
      if (sum == nullptr) {
        sum = found;
      } else {
        EC_TRY(sum, ctx_.add(OpKind::Add, {sum, found}));
      }
    }
    return sum;
  }

 private:
  // Whether the n-gram starts at a position, [rows, positions, n-grams].
  Result<ec::Tensor*> matches(int64_t n, int64_t distance) {
    const std::span<const int64_t> grams = pool_.grams(n);
    const auto count = grams.size() / static_cast<size_t>(n);
    const int64_t positions = length_ - (n - 1) * distance;
    ec::Tensor* all = nullptr;
    for (int64_t k = 0; k < n; ++k) {
      std::vector<int64_t> items;
      for (size_t g = 0; g < count; ++g)
        items.push_back(grams[g * static_cast<size_t>(n) + static_cast<size_t>(k)]);
      const int64_t start = k * distance;
      EC_TRY(ec::Tensor * view,
             ctx_.add(OpKind::Slice,
                      {rows_, ctx_.ints({start}), ctx_.ints({start + positions}), ctx_.ints({1})}));
      EC_TRY(view, ctx_.unsqueeze(view, std::vector<int64_t>{2}));
      EC_TRY(ec::Tensor * same, ctx_.add(OpKind::Equal, {view, ctx_.ints(items)}));
      if (all == nullptr) {
        all = same;
      } else {
        EC_TRY(all, ctx_.add(OpKind::And, {all, same}));
      }
    }
    return all;
  }

  NodeContext& ctx_;
  const Pool& pool_;
  ec::Tensor* rows_;  // [rows, length], i64
  int64_t length_;
};

// Columns of counts in the order of the output; coordinates that no n-gram has are zero.
Result<ec::Tensor*> place_columns(NodeContext& ctx, ec::Tensor* counts,
                                  const std::vector<int64_t>& coordinates,
                                  const std::vector<int64_t>& all_indexes) {
  constexpr int64_t kMaxOutput = int64_t{1} << 24;
  const int64_t last = *std::max_element(all_indexes.begin(), all_indexes.end());
  const int64_t first = *std::min_element(all_indexes.begin(), all_indexes.end());
  if (first < 0 || last >= kMaxOutput)
    return ctx.fail(Code::BadAttribute, "attribute 'ngram_indexes' is out of range");
  const auto zero_column = static_cast<int64_t>(coordinates.size());
  std::vector<int64_t> columns(static_cast<size_t>(last + 1), zero_column);
  for (size_t i = 0; i < coordinates.size(); ++i) {
    int64_t& column = columns[static_cast<size_t>(coordinates[i])];
    if (column != zero_column)
      return ctx.unsupported("two n-grams with the same output coordinate are not supported");
    column = static_cast<int64_t>(i);
  }
  EC_TRY(counts, ctx.add(OpKind::Pad, {counts, ctx.ints({0, 0, 0, 1})}, PadAttrs{}));
  GatherAttrs by_column;
  by_column.axis = 1;
  return ctx.add(OpKind::Gather, {counts, ctx.ints(columns)}, by_column);
}

Status tf_idf_vectorizer(NodeContext& ctx) {
  constexpr std::string_view kModes[] = {"TF", "IDF", "TFIDF"};
  const size_t mode = ctx.attr_choice("mode", kModes, 0);
  EC_TRY(const Pool pool, read_pool(ctx));
  EC_TRY(const size_t rank, ctx.rank());
  if (rank < 1 || rank > 2) return ctx.fail(Code::ShapeMismatch, "the input has to be 1-D or 2-D");
  const Dim length = (*ctx.in(0)->shape())[rank - 1];
  if (!length.is_static())
    return ctx.fail(Code::DynamicShape, "the length of the input has to be known");
  EC_TRY(ec::Tensor * rows, ctx.cast(ctx.in(0), DType::I64));
  if (rank == 1) {
    EC_TRY(rows, ctx.unsqueeze(rows, std::vector<int64_t>{0}));
  }
  Vectorizer vectorizer(ctx, pool, rows, length.size());
  std::vector<ec::Tensor*> parts;
  std::vector<int64_t> coordinates;
  std::vector<float> weights;
  size_t gram = 0;
  for (int64_t n = 1; n <= static_cast<int64_t>(pool.starts.size()); ++n) {
    const size_t count = pool.grams(n).size() / static_cast<size_t>(n);
    const size_t first = gram;
    gram += count;
    if (n < pool.min_length || n > pool.max_length || count == 0) continue;
    EC_TRY(ec::Tensor * counts, vectorizer.counts(n));
    if (counts == nullptr) continue;
    parts.push_back(counts);
    for (size_t i = first; i < gram; ++i) {
      coordinates.push_back(pool.indexes[i]);
      weights.push_back(pool.weights.empty() ? 1.0f : pool.weights[i]);
    }
  }
  if (parts.empty()) return ctx.unsupported("no n-gram of the pool fits the input");
  AxisAttrs columns;
  columns.axis = 1;
  EC_TRY(ec::Tensor * y, ctx.add(OpKind::Concat, parts, columns));
  if (mode == 1) {
    EC_TRY(y, ctx.add(OpKind::Min, {y, ctx.scalar(DType::F32, 1.0)}));
  }
  if (mode != 0 && !pool.weights.empty()) {
    ec::Tensor* factors = ctx.graph().add_constant<float>(
        "", Shape{static_cast<int64_t>(weights.size())}, std::span<const float>(weights));
    EC_TRY(y, ctx.add(OpKind::Mul, {y, factors}));
  }
  EC_TRY(y, place_columns(ctx, y, coordinates, pool.indexes));
  if (rank == 1) return ctx.finish(OpKind::Squeeze, {y, ctx.ints({0})});
  ctx.set(0, y);
  return {};
}

constexpr OpRow kRows[] = {
    {"TfIdfVectorizer", 9, kLatest, {1, 1}, {1, 1}, tf_idf_vectorizer},
};

}  // namespace

const std::span<const OpRow> kTfIdfRows = kRows;

}  // namespace ec::onnx
