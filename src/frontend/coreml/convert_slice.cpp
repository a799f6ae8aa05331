// Parts of tensors, by ranges along every dimension. Places may be known only when the model runs.
#include "frontend/coreml/table.h"
#include "support/checked.h"

namespace ec::mil {
namespace {

struct Ranges {
  int64_t dims = 0;
  std::optional<Ints> begin, end;  // nothing: computed
  Tensor *begins = nullptr, *ends = nullptr;
  Ints stride;
  std::vector<bool> from_start, to_end, squeeze;
};

std::vector<bool> mask_of(OpCall& c, std::string_view parameter, size_t count) {
  const Ints values = c.ints(parameter, Ints(count, 0));
  if (values.size() != count) {
    c.fail(Code::ShapeMismatch, "'" + std::string(parameter) + "' does not fit the operand");
    return std::vector<bool>(count, false);
  }
  std::vector<bool> mask;
  for (const int64_t value : values) mask.push_back(value != 0);
  return mask;
}

Ranges read_ranges(OpCall& c, Tensor* x) {
  Ranges r;
  r.dims = c.rank(x);
  const auto count = static_cast<size_t>(r.dims);
  r.begin = c.known("begin");
  r.end = c.known("end");
  if (!r.begin) r.begins = c.as_i64(c.in("begin"));
  if (!r.end) r.ends = c.as_i64(c.in("end"));
  r.stride = c.ints("stride", Ints(count, 1));
  r.from_start = mask_of(c, "begin_mask", count);
  r.to_end = mask_of(c, "end_mask", count);
  r.squeeze = mask_of(c, "squeeze_mask", count);
  const auto fits = [&](const std::optional<Ints>& list) { return !list || list->size() == count; };
  if (r.stride.size() != count || !fits(r.begin) || !fits(r.end))
    c.fail(Code::ShapeMismatch, "begin, end and stride do not fit the operand");
  for (const int64_t step : r.stride)
    if (step == 0) c.fail(Code::BadValue, "a stride is 0");
  return r;
}

// Element i of a list that may be computed, as i64[1].
Tensor* entry(OpCall& c, const std::optional<Ints>& known, Tensor* computed, size_t i) {
  if (known) return c.int_list({(*known)[i]});
  const auto at = static_cast<int64_t>(i);
  return c.slice(computed, 0, at, at + 1);
}

// Where a single element ends: the last one counted from the end has nothing behind it.
Tensor* behind(OpCall& c, const Ranges& r, size_t i) {
  if (r.begin) {
    const int64_t at = (*r.begin)[i];
    return c.int_list({at == -1 || at == INT64_MAX ? INT64_MAX : at + 1});
  }
  Tensor* next = c.plus(entry(c, r.begin, r.begins, i), c.int_list({1}));
  Tensor* last = c.add(OpKind::Equal, {next, c.int_list({0})});
  return c.where(last, c.int_list({INT64_MAX}), next);
}

Tensors slice_by_index(OpCall& c) {
  Tensor* x = c.in("x");
  const Ranges r = read_ranges(c, x);
  if (!c.ok()) return {x};
  Tensors starts, ends;
  Ints axes, steps, removed;
  for (size_t i = 0; i < static_cast<size_t>(r.dims); ++i) {
    const bool back = r.stride[i] < 0;
    const auto axis = static_cast<int64_t>(i);
    if (r.squeeze[i]) {
      removed.push_back(axis);
      starts.push_back(r.from_start[i] ? c.int_list({0}) : entry(c, r.begin, r.begins, i));
      ends.push_back(r.from_start[i] ? c.int_list({1}) : behind(c, r, i));
      steps.push_back(1);
    } else {
      const bool from_start = r.from_start[i] || (r.begin && (*r.begin)[i] == 0 && !back);
      if (from_start && r.to_end[i] && r.stride[i] == 1) continue;
      starts.push_back(r.from_start[i] ? c.int_list({back ? INT64_MAX : 0})
                                       : entry(c, r.begin, r.begins, i));
      ends.push_back(r.to_end[i] ? c.int_list({back ? INT64_MIN : INT64_MAX})
                                 : entry(c, r.end, r.ends, i));
      steps.push_back(r.stride[i]);
    }
    axes.push_back(axis);
  }
  if (axes.empty()) return {x};
  Tensor* y = c.add(OpKind::Slice, {x, c.concat(starts, 0), c.concat(ends, 0), c.int_list(axes),
                                    c.int_list(steps)});
  return {c.squeeze(y, removed)};
}

Tensors slice_by_size(OpCall& c) {
  Tensor* x = c.in("x");
  Tensor *begin = c.as_i64(c.in("begin")), *size = c.as_i64(c.in("size"));
  Ints axes;
  for (int64_t i = 0, n = c.rank(x); i < n; ++i) axes.push_back(i);
  // A size of -1 is what is left.
  Tensor* rest = c.add(OpKind::Less, {size, c.int_list({0})});
  Tensor* end = c.where(rest, c.int_list({INT64_MAX}), c.plus(begin, size));
  return {c.add(OpKind::Slice, {x, begin, end, c.int_list(axes)})};
}

Tensors crop(OpCall& c) {
  Tensor* x = c.in("x");
  const Ints height = c.ints("crop_height"), width = c.ints("crop_width");
  const int64_t dims = c.rank(x);
  if (!c.ok() || height.size() != 2 || width.size() != 2 || dims < 2)
    return {c.fail(Code::ShapeMismatch, "crop needs two numbers for height and for width")};
  for (const int64_t cut : {height[0], height[1], width[0], width[1]})
    if (cut < 0 || cut > kMaxTensorBytes)
      return {c.fail(Code::BadValue, "crop cannot cut off " + std::to_string(cut) + " elements")};
  const auto end = [](int64_t cut) { return cut == 0 ? INT64_MAX : -cut; };
  return {c.add(OpKind::Slice,
                {x, c.int_list({height[0], width[0]}), c.int_list({end(height[1]), end(width[1])}),
                 c.int_list({dims - 2, dims - 1})})};
}

// Positions that a range along one dimension of a known size names.
Ints positions(const Ranges& r, size_t i, int64_t size) {
  const int64_t step = r.stride[i];
  const auto place = [&](int64_t at, int64_t low, int64_t high) {
    return std::clamp(at < 0 ? at + size : at, low, high);
  };
  const bool back = step < 0;
  int64_t from = back ? size - 1 : 0, to = back ? -1 : size;
  if (!r.from_start[i]) from = place((*r.begin)[i], back ? -1 : 0, back ? size - 1 : size);
  if (!r.to_end[i]) to = place((*r.end)[i], back ? -1 : 0, back ? size - 1 : size);
  Ints all;
  if (r.squeeze[i])
    return {r.from_start[i] ? 0 : place((*r.begin)[i], 0, std::max<int64_t>(size - 1, 0))};
  // Behind one step of more than the dimension there is nothing.
  const int64_t stride = std::clamp(step, -size - 1, size + 1);
  for (int64_t at = from; back ? at > to : at < to; at += stride) all.push_back(at);
  return all;
}

// An update with steps: every element of it has a position in x that is known.
Tensor* scatter_update(OpCall& c, Tensor* x, Tensor* update, const Ranges& r) {
  constexpr int64_t kMost = int64_t{1} << 20;
  if (!r.begin || !r.end) return c.unsupported("an update with steps at places that are computed");
  Ints flat = {0};
  for (size_t i = 0; i < static_cast<size_t>(r.dims); ++i) {
    const int64_t size = c.size(x, static_cast<int64_t>(i));
    if (!c.ok() || size > kMost) return c.unsupported("an update with steps of a large tensor");
    if (!c.afford(size)) return x;
    const Ints along = positions(r, i, size);
    Ints next;
    if (!c.afford(static_cast<int64_t>(flat.size() * along.size()))) return x;
    for (const int64_t before : flat)
      for (const int64_t at : along) next.push_back(before * size + at);
    flat = std::move(next);
  }
  Tensor* indices = c.int_list(flat);
  ScatterElementsAttrs attrs;
  Tensor* y =
      c.add(OpKind::ScatterElements, {c.reshape(x, {-1}), indices, c.reshape(update, {-1})}, attrs);
  return c.reshape(y, c.sizes(x));
}

Tensors slice_update(OpCall& c) {
  Tensor *x = c.in("x"), *update = c.in("update");
  const Ranges r = read_ranges(c, x);
  if (!c.ok()) return {x};
  Ints removed;
  bool steps = false;
  for (size_t i = 0; i < static_cast<size_t>(r.dims); ++i) {
    if (r.squeeze[i]) removed.push_back(static_cast<int64_t>(i));
    steps |= !r.squeeze[i] && r.stride[i] != 1;
  }
  if (c.rank(update) == r.dims - static_cast<int64_t>(removed.size()))
    update = c.unsqueeze(update, removed);
  if (steps) return {scatter_update(c, x, update, r)};
  Tensors starts;
  for (size_t i = 0; i < static_cast<size_t>(r.dims); ++i) {
    if (r.from_start[i]) {
      starts.push_back(c.int_list({0}));
      continue;
    }
    Tensor* at = entry(c, r.begin, r.begins, i);
    Tensor* size = c.shape_list({Size(x, static_cast<int64_t>(i))});
    Tensor* negative = c.add(OpKind::Less, {at, c.int_list({0})});
    starts.push_back(c.where(negative, c.plus(at, size), at));
  }
  return {c.add(OpKind::DynamicUpdateSlice, {x, update, c.concat(starts, 0)})};
}

constexpr OpRow kRows[] = {
    {"slice_by_index", kIos15, "x begin end stride? begin_mask? end_mask? squeeze_mask?",
     slice_by_index},
    {"slice_by_size", kIos15, "x begin size", slice_by_size},
    {"slice_update", kIos18, "x update begin end stride? begin_mask? end_mask? squeeze_mask?",
     slice_update},
    {"crop", kIos15, "x crop_height crop_width", crop},
};

}  // namespace

const std::span<const OpRow> kSliceRows = kRows;

}  // namespace ec::mil
