// Preprocessing layers: those that compute when a model runs, and those that only train.
#include <algorithm>
#include <cmath>

#include "frontend/keras/importer.h"
#include "frontend/keras/resize.h"
#include "frontend/keras/table.h"
#include "frontend/resampling.h"

namespace ec::keras {
namespace {

// A number, or one for each channel.
Tensor* factors(LayerCall& c, std::string_view key, double otherwise) {
  const Value& value = c.config(key);
  if (!value.is_list()) return c.scalar(DType::F32, value.as_number(otherwise));
  return c.tensor(value, DType::F32);
}

bool is_constant_number(const LayerCall& c, std::string_view key, double number) {
  return !c.config(key).is_list() && c.number(key, number) == number;
}

Value rescaling(LayerCall& c) {
  Tensor* y = c.to_float(c.x());
  if (!is_constant_number(c, "scale", 1) || c.config("scale").is_none())
    y = c.times(y, factors(c, "scale", 1));
  if (!is_constant_number(c, "offset", 0)) y = c.plus(y, factors(c, "offset", 0));
  return y;
}

// Mean or variance with dimensions of one for the axes that share it.
Tensor* statistic(LayerCall& c, Tensor* x, std::string_view name, const Ints& axes) {
  Tensor* values = c.has(name) ? c.tensor(c.config(name), DType::F32) : c.weight(name);
  if (c.rank(values) == c.rank(x) || c.rank(values) == 0) return values;
  Ints sizes(static_cast<size_t>(c.rank(x)), 1);
  for (const int64_t axis : axes) c.set(sizes, axis, c.size(x, axis));
  const bool fits = c.ok() && Shape::of(sizes).num_elements() == values->shape()->num_elements();
  return fits ? c.reshape(values, Sizes(sizes.begin(), sizes.end())) : values;
}

Value normalization(LayerCall& c) {
  Tensor* x = c.to_float(c.x());
  const int64_t rank = c.rank(x);
  Ints axes;
  if (!c.config("axis").is_none()) axes = c.axes(c.ints("axis"), rank);
  if (!c.has("mean")) c.variables({"mean", "variance", "count"});
  Tensor* mean = statistic(c, x, "mean", axes);
  Tensor* deviation = c.add_weight(OpKind::Sqrt, {statistic(c, x, "variance", axes)});
  deviation = c.add_weight(OpKind::Max, {deviation, c.scalar(DType::F32, 1e-7)});
  // Keras 2 adds the mean before it multiplies only in the inverse.
  if (c.flag("invert", false)) return c.plus(mean, c.times(x, deviation));
  return c.over(c.minus(x, mean), deviation);
}

struct Image {
  Ints axes;  // height, width
  int64_t height = 1, width = 1;
};

Image image_of(LayerCall& c, Tensor* x) {
  const int64_t rank = c.rank(x);
  if (rank != 3 && rank != 4) {
    c.fail(Code::ShapeMismatch, "an image is needed, not " + x->type().text());
    return {{0, 0}, 1, 1};
  }
  Image image;
  const int64_t first = c.channels_first() ? rank - 2 : rank - 3;
  image.axes = {first, first + 1};
  image.height = c.size(x, first);
  image.width = c.size(x, first + 1);
  // Sides are multiplied with those of targets.
  constexpr int64_t kLargestSide = int64_t{1} << 40;
  if (std::min(image.height, image.width) < 1 ||
      std::max(image.height, image.width) > kLargestSide) {
    c.fail(Code::ShapeMismatch, "an image with pixels is needed, not " + x->type().text());
    return {{0, 0}, 1, 1};
  }
  return image;
}

Tensor* crop(LayerCall& c, Tensor* x, const Ints& axes, const Ints& begins, const Ints& sizes) {
  Ints ends;
  for (size_t i = 0; i < axes.size(); ++i) ends.push_back(begins[i] + sizes[i]);
  return c.add(OpKind::Slice, {x, c.int_list(begins), c.int_list(ends), c.int_list(axes)});
}

int64_t part(int64_t a, int64_t b, int64_t d) {  // int(float(a * b) / d)
  return static_cast<int64_t>(static_cast<float>(a * b) / static_cast<float>(d));
}

bool is_size(int64_t size) { return size >= 1 && size <= (1 << 20); }

// The largest part in the middle with the sides of the target.
struct Middle {
  int64_t top = 0, left = 0, height = 1, width = 1;
};

Middle middle_of(const Image& image, int64_t height, int64_t width) {
  Middle middle;
  middle.height = std::clamp<int64_t>(part(image.width, height, width), 1, image.height);
  middle.width = std::clamp<int64_t>(part(image.height, width, height), 1, image.width);
  middle.top = (image.height - middle.height) / 2;
  middle.left = (image.width - middle.width) / 2;
  return middle;
}

Tensor* crop_to_ratio(LayerCall& c, Tensor* x, const Image& image, int64_t height, int64_t width) {
  const Middle middle = middle_of(image, height, width);
  return crop(c, x, image.axes, {middle.top, middle.left}, {middle.height, middle.width});
}

Value resizing(LayerCall& c) {
  Tensor* x = c.x();
  const DType before = x->dtype();
  x = c.to_float(x);
  const int64_t height = c.integer("height"), width = c.integer("width");
  const Image image = image_of(c, x);
  if (!c.ok() || !is_size(height) || !is_size(width))
    return c.fail(Code::BadValue, "the size is out of range");
  const std::string mode = c.text("interpolation", "bilinear");
  if (c.flag("crop_to_aspect_ratio", false)) {
    x = crop_to_ratio(c, x, image, height, width);
  } else if (c.flag("pad_to_aspect_ratio", false)) {
    const int64_t h = std::max(image.height, part(image.width, height, width));
    const int64_t w = std::max(image.width, part(image.height, width, height));
    Ints pads(static_cast<size_t>(c.rank(x)), 0);
    c.set(pads, image.axes[0], (h - image.height) / 2);
    c.set(pads, image.axes[1], (w - image.width) / 2);
    x = c.pad(x, pads, pads, c.like(x, c.number("fill_value", 0)));
  }
  Tensor* y = resize(c, x, image.axes, {height, width}, mode, c.flag("antialias", false));
  // Integers stay integers where no values are mixed.
  return mode == "nearest" && is_integer(before) ? c.cast(y, before) : y;
}

Value center_crop(LayerCall& c) {
  Tensor* x = c.to_float(c.x());
  const int64_t height = c.integer("height"), width = c.integer("width");
  const Image image = image_of(c, x);
  if (!c.ok() || !is_size(height) || !is_size(width))
    return c.fail(Code::BadValue, "the size is out of range");
  if (image.height >= height && image.width >= width)
    return crop(c, x, image.axes, {(image.height - height) / 2, (image.width - width) / 2},
                {height, width});
  // A smaller image is cropped to the sides of the target and enlarged.
  x = crop_to_ratio(c, x, image, height, width);
  return resize(c, x, image.axes, {height, width}, "bilinear", false);
}

// Numbers of classes as ones, or counts of them.
Value category_encoding(LayerCall& c) {
  Tensor* x = c.x();
  const std::string mode = c.text("output_mode", "multi_hot");
  const int64_t depth = c.integer("num_tokens");
  const Value& weights = c.arg(1, "count_weights");
  if (mode == "int") return x;
  const int64_t rank = c.rank(x);
  Tensor* ids = is_integer(x->dtype()) ? x : c.cast(x, DType::I32);
  Tensor* values = c.floats(Shape{Dim(2)}, std::vector<float>{0, 1});
  OneHotAttrs attrs;
  const auto one_hot = [&] {
    return c.add(OpKind::OneHot, {ids, c.scalar(DType::I64, static_cast<double>(depth)), values},
                 attrs);
  };
  if (mode == "one_hot") {
    // A last dimension of one is the index itself.
    if (rank > 1 && c.is_static(ids, rank - 1) && c.size(ids, rank - 1) == 1)
      ids = c.squeeze(ids, {rank - 1});
    return one_hot();
  }
  Tensor* ones = one_hot();
  if (mode == "multi_hot") {
    if (rank == 0) return ones;
    return c.reduce(OpKind::ReduceMax, ones, {rank - 1}, false);
  }
  if (mode != "count") return c.unsupported("output mode '" + mode + "'");
  if (weights.is_tensor())
    ones = c.times(ones, c.unsqueeze(c.to_float(weights.as_tensor()), {rank}));
  return rank == 0 ? ones : c.reduce(OpKind::ReduceSum, ones, {rank - 1}, false);
}

// The number of boundaries that a value reaches.
Value discretization(LayerCall& c) {
  Tensor* x = c.to_float(c.x());
  const Value& list = c.config("bin_boundaries");
  if (!list.is_list()) return c.unsupported("boundaries that are no list");
  Tensor* bins = nullptr;
  if (list.items().empty()) {
    bins = c.times(x, 0.0);
  } else {
    Tensor* edges = c.tensor(list, DType::F32);
    Tensor* reached = c.add(OpKind::GreaterOrEqual, {c.unsqueeze(x, {c.rank(x)}), edges});
    bins = c.reduce(OpKind::ReduceSum, c.cast(reached, DType::I32), {c.rank(x)}, false);
  }
  bins = c.cast(bins, DType::I32);
  const std::string mode = c.text("output_mode", "int");
  if (mode == "int") return bins;
  OneHotAttrs attrs;
  const auto depth = static_cast<double>(list.items().size() + 1);
  Tensor* values = c.floats(Shape{Dim(2)}, std::vector<float>{0, 1});
  const int64_t rank = c.rank(bins);
  if (mode == "one_hot" && rank > 1 && c.is_static(bins, rank - 1) && c.size(bins, rank - 1) == 1)
    bins = c.squeeze(bins, {rank - 1});
  Tensor* ones = c.add(OpKind::OneHot, {bins, c.scalar(DType::I64, depth), values}, attrs);
  if (mode == "one_hot") return ones;
  if (mode == "multi_hot") return c.reduce(OpKind::ReduceMax, ones, {rank - 1}, false);
  if (mode == "count") return c.reduce(OpKind::ReduceSum, ones, {rank - 1}, false);
  return c.unsupported("output mode '" + mode + "'");
}

// Layers one after the other.
Value pipeline(LayerCall& c) {
  Value x = c.arg(0, "inputs");
  for (const Value& entry : c.config("layers").items()) {
    const LayerConfig inner = read_layer(entry);
    auto weights = c.weights().child("layers/" + snake_case(inner.class_name), inner.name);
    if (!weights.ok()) return c.remember(std::move(weights).error()), Value::failed();
    x = c.call(inner, *weights, {std::move(x)});
  }
  return x;
}

Value nothing(LayerCall& c) { return c.x(); }

// Images that are changed at random while training pass as floats otherwise.
Value augmentation(LayerCall& c) { return c.to_float(c.x()); }

// Layers of training that computed always before Keras 3.8.
Value later_augmentation(LayerCall& c) {
  if (c.keras_release() < Release{3, 8})
    return c.unsupported("files of Keras before 3.8 run this layer outside training");
  return augmentation(c);
}

// Outside training: the middle in the shape of the target, resized to it; since 3.6 a part of the
// image from where that middle begins; since 3.8 the image as it is.
Value random_crop(LayerCall& c) {
  if (c.keras_release() >= Release{3, 8}) return nothing(c);
  Tensor* x = c.to_float(c.x());
  const int64_t height = c.integer("height"), width = c.integer("width");
  const Image image = image_of(c, x);
  if (!c.ok() || !is_size(height) || !is_size(width))
    return c.fail(Code::BadValue, "the size is out of range");
  if (c.keras_release() < Release{3, 6}) {
    x = crop_to_ratio(c, x, image, height, width);
  } else {
    const Middle middle = middle_of(image, height, width);
    x = crop(
        c, x, image.axes, {middle.top, middle.left},
        {std::min(height, image.height - middle.top), std::min(width, image.width - middle.left)});
  }
  const bool fits = c.size(x, image.axes[0]) == height && c.size(x, image.axes[1]) == width;
  return fits ? x : resize(c, x, image.axes, {height, width}, "bilinear", false);
}

// Contrast stretched to the whole range, for each image and channel.
Value auto_contrast(LayerCall& c) {
  Tensor* x = c.to_float(c.x());
  const Image image = image_of(c, x);
  double low = 0, high = 255;
  if (c.config("value_range").items().size() == 2) {
    low = c.config("value_range").items()[0].as_number();
    high = c.config("value_range").items()[1].as_number();
  }
  Tensor* lows = c.reduce(OpKind::ReduceMin, x, image.axes, true);
  Tensor* highs = c.reduce(OpKind::ReduceMax, x, image.axes, true);
  Tensor* range = c.minus(highs, lows);
  Tensor* flat = c.add(OpKind::Equal, {range, c.like(x, 0)});
  Tensor* scale = c.over(c.like(x, high - low), c.where(flat, c.like(x, 1), range));
  Tensor* y = c.plus(c.times(c.minus(x, lows), scale), low);
  return c.where(flat, x, c.clip(y, low, high));
}

// Kernels that the op `resize` does not have.
Tensor* resize_by_kernel(LayerCall& c, Tensor* x, const Ints& axes, const Ints& sizes,
                         ResampleKernel kernel, bool antialias) {
  for (size_t i = 0; i < axes.size() && c.ok(); ++i) {
    const int64_t input = c.size(x, axes[i]);
    const float scale = static_cast<float>(sizes[i]) / static_cast<float>(input);
    x = resample(c, x, axes[i], {kernel, input, sizes[i], scale, 0.0f, antialias},
                 c.importer().table_room());
  }
  return x;
}

constexpr LayerRow kRows[] = {
    {"Rescaling", rescaling, MaskRule::Pass},
    {"Normalization", normalization, MaskRule::Pass},
    {"Resizing", resizing},
    {"CenterCrop", center_crop},
    {"CategoryEncoding", category_encoding},
    {"Discretization", discretization},
    {"Pipeline", pipeline, MaskRule::Own},
    {"RandomFlip", augmentation},
    {"RandomRotation", augmentation},
    {"RandomZoom", augmentation},
    {"RandomTranslation", augmentation},
    {"RandomContrast", augmentation},
    {"RandomBrightness", augmentation},
    {"RandomHeight", nothing},
    {"RandomWidth", nothing},
    {"RandomShear", augmentation},
    {"RandomHue", augmentation},
    {"RandomSaturation", augmentation},
    {"RandomSharpness", augmentation},
    {"RandomPosterization", augmentation},
    {"RandomColorJitter", augmentation},
    {"RandomColorDegeneration", augmentation},
    {"RandomGrayscale", augmentation},
    {"RandomInvert", augmentation},
    {"RandomPerspective", augmentation},
    {"RandomGaussianBlur", augmentation},
    {"RandomErasing", augmentation},
    {"RandomElasticTransform", augmentation},
    {"RandomApply", nothing},
    {"RandomChoice", nothing},
    {"AugMix", augmentation},
    {"CutMix", augmentation},
    {"MixUp", augmentation},
    {"RandAugment", augmentation},
    {"TrivialAugmentWide", augmentation},
    {"AutoContrast", auto_contrast},
    {"Equalization", later_augmentation},
    {"Solarization", later_augmentation},
    {"RandomCrop", random_crop},
};

}  // namespace

Tensor* resize(LayerCall& c, Tensor* x, const Ints& axes, const Ints& sizes,
               const std::string& interpolation, bool antialias) {
  ResizeAttrs attrs;
  attrs.axes = axes;
  // TensorFlow leaves out what lies outside; so does its cubic kernel without averaging.
  attrs.antialias = attrs.exclude_outside = antialias && interpolation != "nearest";
  if (interpolation == "nearest") {
    attrs.nearest = NearestMode::RoundPreferCeil;  // floor((i + 0.5) * scale)
  } else if (interpolation == "bilinear") {
    attrs.mode = ResizeMode::Linear;
  } else if (interpolation == "bicubic") {
    attrs.mode = ResizeMode::Cubic;
    attrs.cubic_a = -0.5f;
    attrs.exclude_outside = true;
  } else if (const auto kernel = resample_kernel(interpolation)) {
    return resize_by_kernel(c, x, axes, sizes, *kernel, antialias);
  } else {
    return c.unsupported("interpolation '" + interpolation + "'");
  }
  return c.add(OpKind::Resize, {x, nullptr, nullptr, c.int_list(sizes)}, attrs);
}

const std::span<const LayerRow> kPreprocessingRows = kRows;

}  // namespace ec::keras
