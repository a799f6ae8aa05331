// Pools: windows, the whole, and windows by the number of results.
#include <numeric>

#include "frontend/keras/convolution.h"
#include "frontend/keras/pooling.h"
#include "frontend/keras/table.h"
#include "ops/window.h"

namespace ec::keras {
namespace {

size_t spatial_of(const LayerCall& c) {
  const std::string& name = c.layer().class_name;
  return name.find("1D") != std::string::npos ? 1 : name.find("3D") != std::string::npos ? 3 : 2;
}

Ints spatial_axes(const LayerCall& c, size_t spatial) {
  Ints axes(spatial);
  std::iota(axes.begin(), axes.end(), c.channels_first() ? 2 : 1);
  return axes;
}

template <OpKind kKind>
Value window_pool(LayerCall& c) {
  const size_t spatial = spatial_of(c);
  // Layers of one dimension call their window pool_size, pool_length in the oldest files.
  const Ints kernel = c.window("pool_size", spatial);
  const Ints strides = c.has("strides") ? c.window("strides", spatial) : kernel;
  return pool(c, kKind, c.float_x(), kernel, strides, c.text("padding", "valid"),
              c.channels_first());
}

template <OpKind kKind>
Value global_pool(LayerCall& c) {
  const size_t spatial = spatial_of(c);
  Tensor* x = c.float_x();
  const Ints axes = spatial_axes(c, spatial);
  const bool keep = c.flag("keepdims", false);
  Tensor* mask = c.mask();
  if (kKind == OpKind::ReduceMean && spatial == 1 && mask != nullptr) {
    // The mean of the steps that count.
    const int64_t time = axes.front();
    Tensor* weights = c.unsqueeze(c.cast(mask, x->dtype()), {time == 1 ? 2 : 1});
    Tensor* sum = c.reduce(OpKind::ReduceSum, c.times(x, weights), axes, keep);
    return c.over(sum, c.reduce(OpKind::ReduceSum, weights, axes, keep));
  }
  return c.reduce(kKind, x, axes, keep);
}

// Windows from floor(i * in / out) to ceil((i + 1) * in / out).
template <OpKind kKind>
Value adaptive_pool(LayerCall& c) {
  const size_t spatial = spatial_of(c);
  Tensor* x = c.float_x();
  const Ints wanted = c.window("output_size", spatial);
  const Ints axes = spatial_axes(c, spatial);
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t in = c.size(x, axes[i]), out = wanted[i];
    if (!c.ok()) return x;
    if (out == in) continue;
    if (out > 4096) return c.unsupported("more than 4096 windows");
    if (in < 1 || in > int64_t{1} << 40)
      return c.fail(Code::ShapeMismatch, "windows over a side of " + std::to_string(in));
    Tensors parts;
    for (int64_t o = 0; o < out; ++o) {
      const int64_t begin = o * in / out, end = ((o + 1) * in + out - 1) / out;
      parts.push_back(c.reduce(kKind, c.slice(x, axes[i], begin, end), {axes[i]}, true));
    }
    x = c.concat(std::move(parts), axes[i]);
  }
  return x;
}

constexpr LayerRow kRows[] = {
    {"MaxPooling1D", window_pool<OpKind::MaxPool>},
    {"MaxPooling2D", window_pool<OpKind::MaxPool>},
    {"MaxPooling3D", window_pool<OpKind::MaxPool>},
    {"AveragePooling1D", window_pool<OpKind::AvgPool>},
    {"AveragePooling2D", window_pool<OpKind::AvgPool>},
    {"AveragePooling3D", window_pool<OpKind::AvgPool>},
    {"MaxPool1D", window_pool<OpKind::MaxPool>},
    {"MaxPool2D", window_pool<OpKind::MaxPool>},
    {"MaxPool3D", window_pool<OpKind::MaxPool>},
    {"AvgPool1D", window_pool<OpKind::AvgPool>},
    {"AvgPool2D", window_pool<OpKind::AvgPool>},
    {"AvgPool3D", window_pool<OpKind::AvgPool>},
    {"GlobalMaxPooling1D", global_pool<OpKind::ReduceMax>},
    {"GlobalMaxPooling2D", global_pool<OpKind::ReduceMax>},
    {"GlobalMaxPooling3D", global_pool<OpKind::ReduceMax>},
    {"GlobalAveragePooling1D", global_pool<OpKind::ReduceMean>},
    {"GlobalAveragePooling2D", global_pool<OpKind::ReduceMean>},
    {"GlobalAveragePooling3D", global_pool<OpKind::ReduceMean>},
    {"AdaptiveMaxPooling1D", adaptive_pool<OpKind::ReduceMax>},
    {"AdaptiveMaxPooling2D", adaptive_pool<OpKind::ReduceMax>},
    {"AdaptiveMaxPooling3D", adaptive_pool<OpKind::ReduceMax>},
    {"AdaptiveAveragePooling1D", adaptive_pool<OpKind::ReduceMean>},
    {"AdaptiveAveragePooling2D", adaptive_pool<OpKind::ReduceMean>},
    {"AdaptiveAveragePooling3D", adaptive_pool<OpKind::ReduceMean>},
};

}  // namespace

Tensor* pool(LayerCall& c, OpKind kind, Tensor* x, const Ints& kernel, const Ints& strides,
             const std::string& padding, bool channels_first) {
  if (c.rank(x) != static_cast<int64_t>(kernel.size()) + 2)
    return c.fail(Code::ShapeMismatch, "an input of " + std::to_string(kernel.size() + 2) +
                                           " dimensions is needed, not " + x->type().text());
  PoolAttrs attrs;
  attrs.layout = channels_first ? Layout::ChannelsFirst : Layout::ChannelsLast;
  attrs.kernel = kernel;
  attrs.strides = strides;
  set_pool_padding(c, x, padding, attrs);
  return c.add(kind, {x}, attrs);
}

const std::span<const LayerRow> kPoolRows = kRows;

}  // namespace ec::keras
