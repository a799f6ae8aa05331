// Layers that move elements: shapes, padding, cropping, repeating.
#include <numeric>

#include "frontend/keras/resize.h"
#include "frontend/keras/table.h"

namespace ec::keras {
namespace {

size_t spatial_of(const LayerCall& c) {
  const std::string& name = c.layer().class_name;
  return name.find("1D") != std::string::npos ? 1 : name.find("3D") != std::string::npos ? 3 : 2;
}

int64_t first_spatial(const LayerCall& c) { return c.channels_first() ? 2 : 1; }

Tensor* channels_last(LayerCall& c, Tensor* x) {
  Ints perm = {0};
  for (int64_t i = 2, n = c.rank(x); i < n; ++i) perm.push_back(i);
  perm.push_back(1);
  return c.transpose(x, perm);
}

Value flatten(LayerCall& c) {
  Tensor* x = c.x();
  const int64_t rank = c.rank(x);
  if (rank == 1) return c.unsqueeze(x, {1});
  if (c.channels_first() && rank > 2) x = channels_last(c, x);
  if (rank == 2) return x;
  // Open sizes stay with the batch; the rest follows.
  int64_t rest = 1;
  bool known = true;
  for (int64_t i = 1; i < rank; ++i) {
    known &= c.is_static(x, i);
    if (known && __builtin_mul_overflow(rest, c.size(x, i), &rest)) known = false;
  }
  return c.reshape(x, {Size(x, 0), known ? Size(rest) : Size(-1)});
}

Value reshape(LayerCall& c) {
  Tensor* x = c.x();
  Sizes shape = {Size(x, 0)};
  const Ints target = c.ints("target_shape");
  int64_t known = 1, total = 1;
  bool all_static = true, has_open = false;
  for (const int64_t n : target) {
    if (n == -1) has_open = true;
    if (n > 0 && __builtin_mul_overflow(known, n, &known))
      return c.fail(Code::TooLarge, "the shape is out of range");
  }
  for (int64_t i = 1, n = c.rank(x); i < n; ++i) {
    all_static &= c.is_static(x, i);
    if (all_static && __builtin_mul_overflow(total, c.size(x, i), &total)) all_static = false;
  }
  // With fixed features the open size is known, and the batch stays the only open one.
  for (const int64_t n : target)
    shape.push_back(n == -1 && has_open && all_static && known > 0 && total % known == 0
                        ? Size(total / known)
                        : Size(n));
  return c.reshape(x, shape);
}

Value permute(LayerCall& c) {
  Ints perm = {0};
  for (const int64_t d : c.ints("dims")) perm.push_back(d);
  return c.transpose(c.x(), perm);
}

Value repeat_vector(LayerCall& c) {
  Tensor* x = c.x();
  const int64_t n = c.integer("n");
  if (n < 0 || n > (1 << 24)) return c.fail(Code::BadValue, "a number of copies is out of range");
  return c.add(OpKind::Tile, {c.unsqueeze(x, {1}), c.int_list({1, n, 1})});
}

// [[top, bottom], [left, right]], [top, left] or a number.
bool amounts(LayerCall& c, std::string_view key, size_t spatial, Ints& begins, Ints& ends) {
  const Value& value = c.config(key);
  const auto rank = static_cast<size_t>(c.rank(c.x()));
  begins.assign(rank, 0);
  ends.assign(rank, 0);
  if (rank != spatial + 2) {
    c.fail(Code::ShapeMismatch, "an input of " + std::to_string(spatial + 2) +
                                    " dimensions is needed, not " + c.x()->type().text());
    return false;
  }
  for (size_t i = 0; i < spatial; ++i) {
    const size_t axis = static_cast<size_t>(first_spatial(c)) + i;
    const Value& own =
        value.is_list() && spatial > 1 && i < value.items().size() ? value.items()[i] : value;
    const Ints pair = c.ints_of(own, key, 2);
    begins[axis] = pair[0];
    ends[axis] = pair[1];
    if (pair[0] < 0 || pair[1] < 0 || pair[0] > (1 << 28) || pair[1] > (1 << 28)) {
      c.fail(Code::BadValue, "'" + std::string(key) + "' is out of range");
      return false;
    }
  }
  return c.ok();
}

Value zero_padding(LayerCall& c) {
  Ints begins, ends;
  if (!amounts(c, "padding", spatial_of(c), begins, ends)) return c.x();
  return c.pad(c.x(), begins, ends);
}

Value cropping(LayerCall& c) {
  Ints begins, ends, starts, stops, axes;
  if (!amounts(c, "cropping", spatial_of(c), begins, ends)) return c.x();
  for (size_t i = 0; i < begins.size(); ++i) {
    if (begins[i] == 0 && ends[i] == 0) continue;
    axes.push_back(static_cast<int64_t>(i));
    starts.push_back(begins[i]);
    stops.push_back(ends[i] == 0 ? INT64_MAX : -ends[i]);
  }
  if (axes.empty()) return c.x();
  return c.add(OpKind::Slice, {c.x(), c.int_list(starts), c.int_list(stops), c.int_list(axes)});
}

Value up_sampling(LayerCall& c) {
  const size_t spatial = spatial_of(c);
  Tensor* x = c.x();
  const Ints factors = c.window("size", spatial);
  const std::string mode = c.text("interpolation", "nearest");
  Ints axes(spatial);
  std::iota(axes.begin(), axes.end(), first_spatial(c));
  if (mode != "nearest") {
    Ints sizes;
    for (size_t i = 0; i < spatial; ++i) sizes.push_back(c.product(c.size(x, axes[i]), factors[i]));
    return resize(c, c.to_float(x), axes, sizes, mode, false);
  }
  ResizeAttrs attrs;
  attrs.coordinates = CoordinateMode::Asymmetric;
  attrs.nearest = NearestMode::Floor;
  attrs.axes = axes;
  std::vector<float> scales(factors.begin(), factors.end());
  Tensor* list = c.floats(Shape{Dim(static_cast<int64_t>(spatial))}, scales);
  return c.add(OpKind::Resize, {x, nullptr, list}, attrs);
}

constexpr LayerRow kRows[] = {
    {"Flatten", flatten},
    {"Reshape", reshape},
    {"Permute", permute},
    {"RepeatVector", repeat_vector},
    {"ZeroPadding1D", zero_padding},
    {"ZeroPadding2D", zero_padding},
    {"ZeroPadding3D", zero_padding},
    {"Cropping1D", cropping},
    {"Cropping2D", cropping},
    {"Cropping3D", cropping},
    {"UpSampling1D", up_sampling},
    {"UpSampling2D", up_sampling},
    {"UpSampling3D", up_sampling},
};

}  // namespace

const std::span<const LayerRow> kReshapeRows = kRows;

}  // namespace ec::keras
