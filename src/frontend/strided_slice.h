// TensorFlow's and TFLite's strided slice: ranges, indices and new dimensions by masks. `Context`
// is what the converters of a front end see; both have the same names for what is needed here.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "frontend/known_values.h"
#include "ops/attrs.h"
#include "support/checked.h"
#include "support/result.h"

namespace ec {

// One bit for each entry of begin, end and strides.
struct SliceMasks {
  int64_t begin = 0, end = 0, ellipsis = 0, new_axis = 0, shrink_axis = 0;
};

template <class Context>
class StridedSlice {
 public:
  // The node's inputs are x, begin, end and strides.
  StridedSlice(Context& ctx, const SliceMasks& masks) : ctx_(ctx), masks_(masks) {}

  Result<Tensor*> convert() {
    EC_TRY(const size_t entries, count_entries());
    EC_TRY(const size_t rank, ctx_.rank());
    EC_CHECK_OK(read_entries(entries, rank));
    const auto begin = known_ints(ctx_.in(1)), end = known_ints(ctx_.in(2));
    EC_TRY(const std::vector<int64_t> strides, ctx_.need_ints(3, "strides"));
    if (strides.size() != entries || (begin && begin->size() != entries) ||
        (end && end->size() != entries))
      return ctx_.fail(Code::ShapeMismatch, "begin, end and strides have different lengths");
    EC_TRY(Tensor * x,
           begin && end ? slice_known(*begin, *end, strides) : slice_open(begin, end, strides));
    return reshape(x);
  }

 private:
  // What one entry of begin, end and strides means for the input's dimensions.
  struct Entry {
    enum class Kind : uint8_t { Range, Index, NewAxis } kind = Kind::Range;
    size_t number = 0;  // of begin, end and strides; SIZE_MAX: a whole dimension
    int64_t axis = 0;   // of the input
  };

  static bool has(int64_t mask, size_t entry) { return entry < 31 && (mask >> entry & 1) != 0; }

  Result<size_t> count_entries() const {
    const auto count = ctx_.in(1)->type().num_elements();
    if (!count || *count > 31)
      return ctx_.fail(Code::DynamicShape, "the number of slices has to be known and small");
    return static_cast<size_t>(*count);
  }

  Status read_entries(size_t entries, size_t rank) {
    size_t used = 0;  // entries that take a dimension of the input
    bool ellipsis = false;
    for (size_t i = 0; i < entries; ++i) {
      if (has(masks_.ellipsis, i) && !ellipsis) {
        ellipsis = true;
      } else if (!has(masks_.new_axis, i)) {
        ++used;
      }
    }
    if (used > rank)
      return ctx_.fail(Code::ShapeMismatch, std::to_string(used) + " slices of an input of " +
                                                std::to_string(rank) + " dimensions");
    int64_t axis = 0;
    ellipsis = false;
    for (size_t i = 0; i < entries; ++i) {
      if (has(masks_.ellipsis, i) && !ellipsis) {
        ellipsis = true;
        for (size_t k = used; k < rank; ++k)
          entries_.push_back({Entry::Kind::Range, SIZE_MAX, axis++});
      } else if (has(masks_.new_axis, i)) {
        entries_.push_back({Entry::Kind::NewAxis, i, axis});
      } else {
        const bool index = has(masks_.shrink_axis, i);
        entries_.push_back({index ? Entry::Kind::Index : Entry::Kind::Range, i, axis++});
      }
    }
    return {};
  }

  Result<Tensor*> slice_known(const std::vector<int64_t>& begin, const std::vector<int64_t>& end,
                              const std::vector<int64_t>& strides) {
    std::vector<int64_t> starts, ends, axes, steps;
    for (const Entry& entry : entries_) {
      if (entry.kind == Entry::Kind::NewAxis || entry.number == SIZE_MAX) continue;
      const size_t i = entry.number;
      const bool back = strides[i] < 0;
      int64_t from = has(masks_.begin, i) ? (back ? INT64_MAX : 0) : begin[i];
      int64_t to = has(masks_.end, i) ? (back ? INT64_MIN : INT64_MAX) : end[i];
      int64_t step = strides[i];
      if (entry.kind == Entry::Kind::Index) {
        from = begin[i];
        to = from == -1 || from == INT64_MAX ? INT64_MAX : from + 1;
        step = 1;
      }
      if (step == 0) return ctx_.fail(Code::BadValue, "a stride is 0");
      if (from == 0 && to == INT64_MAX && step == 1) continue;
      starts.push_back(from);
      ends.push_back(to);
      axes.push_back(entry.axis);
      steps.push_back(step);
    }
    if (axes.empty()) return ctx_.in(0);
    return ctx_.add(OpKind::Slice, {ctx_.in(0), ctx_.ints(starts), ctx_.ints(ends), ctx_.ints(axes),
                                    ctx_.ints(steps)});
  }

  // Places that only a run tells: ranges, and indices with stride 1.
  Result<Tensor*> slice_open(const std::optional<std::vector<int64_t>>& begin,
                             const std::optional<std::vector<int64_t>>& end,
                             const std::vector<int64_t>& strides) {
    std::vector<Tensor*> starts, ends;
    std::vector<int64_t> axes, steps;
    for (const Entry& entry : entries_) {
      if (entry.kind == Entry::Kind::NewAxis || entry.number == SIZE_MAX) continue;
      const size_t i = entry.number;
      const bool index = entry.kind == Entry::Kind::Index, back = strides[i] < 0;
      if (strides[i] == 0) return ctx_.fail(Code::BadValue, "a stride is 0");
      if (index && strides[i] != 1)
        return ctx_.unsupported("strides other than 1 with an index that is not constant");
      EC_TRY(Tensor * from, has(masks_.begin, i) && !index
                                ? Result<Tensor*>(ctx_.ints({back ? INT64_MAX : 0}))
                                : place(1, begin, i));
      Tensor* to = nullptr;
      if (index) {
        EC_TRY(Tensor * next, ctx_.add(OpKind::Add, {from, ctx_.ints({1})}));
        // The last element counted from the end has nothing behind it.
        EC_TRY(Tensor * last, ctx_.add(OpKind::Equal, {next, ctx_.ints({0})}));
        EC_TRY(to, ctx_.add(OpKind::Where, {last, ctx_.ints({INT64_MAX}), next}));
      } else if (has(masks_.end, i)) {
        to = ctx_.ints({back ? INT64_MIN : INT64_MAX});
      } else {
        EC_TRY(to, place(2, end, i));
      }
      starts.push_back(from);
      ends.push_back(to);
      axes.push_back(entry.axis);
      steps.push_back(strides[i]);
    }
    if (axes.empty()) return ctx_.in(0);
    EC_TRY(Tensor * all_starts, ctx_.add(OpKind::Concat, starts, AxisAttrs{}));
    EC_TRY(Tensor * all_ends, ctx_.add(OpKind::Concat, ends, AxisAttrs{}));
    return ctx_.add(OpKind::Slice,
                    {ctx_.in(0), all_starts, all_ends, ctx_.ints(axes), ctx_.ints(steps)});
  }

  Result<Tensor*> place(size_t input, const std::optional<std::vector<int64_t>>& known, size_t i) {
    if (known) return ctx_.ints({(*known)[i]});
    EC_TRY(Tensor * list, ctx_.cast(ctx_.in(input), DType::I64));
    const auto at = static_cast<int64_t>(i);
    return ctx_.add(OpKind::Slice, {list, ctx_.ints({at}), ctx_.ints({at + 1})});
  }

  // Dimensions that an index removes go, new ones come.
  Result<Tensor*> reshape(Tensor* x) {
    std::vector<int64_t> removed, added;
    int64_t place = 0;
    for (const Entry& entry : entries_) {
      if (entry.kind == Entry::Kind::Index) removed.push_back(entry.axis);
      if (entry.kind == Entry::Kind::NewAxis) added.push_back(place);
      if (entry.kind != Entry::Kind::Index) ++place;
    }
    if (!removed.empty()) {
      EC_TRY(x, ctx_.squeeze(x, removed));
    }
    if (!added.empty()) {
      EC_TRY(x, ctx_.unsqueeze(x, added));
    }
    return x;
  }

  Context& ctx_;
  const SliceMasks masks_;
  std::vector<Entry> entries_;
};

// slice(x, begin, size): a size of -1 means up to the end.
template <class Context>
Result<Tensor*> slice_of_sizes(Context& ctx) {
  const auto begin = known_ints(ctx.in(1)), size = known_ints(ctx.in(2));
  if (begin && size) {
    if (begin->size() != size->size())
      return ctx.fail(Code::ShapeMismatch, "begin and size have different lengths");
    std::vector<int64_t> ends;
    for (size_t i = 0; i < begin->size(); ++i)
      ends.push_back((*size)[i] < 0 ? INT64_MAX
                                    : checked_add((*begin)[i], (*size)[i]).value_or(INT64_MAX));
    return ctx.add(OpKind::Slice, {ctx.in(0), ctx.ints(*begin), ctx.ints(ends)});
  }
  EC_TRY(Tensor * starts, ctx.as_i64(1));
  EC_TRY(Tensor * sizes, ctx.as_i64(2));
  EC_TRY(Tensor * sums, ctx.add(OpKind::Add, {starts, sizes}));
  EC_TRY(Tensor * open, ctx.add(OpKind::Less, {sizes, ctx.scalar(DType::I64, 0.0)}));
  EC_TRY(Tensor * ends, ctx.add(OpKind::Where, {open, ctx.ints({INT64_MAX}), sums}));
  return ctx.add(OpKind::Slice, {ctx.in(0), starts, ends});
}

}  // namespace ec
