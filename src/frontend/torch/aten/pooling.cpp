// Pooling.
#include <algorithm>

#include "frontend/torch/aten/table.h"
#include "support/checked.h"

namespace ec::torch {
namespace {

// Tensor with a batch dimension; pools also take single samples.
struct Sample {
  ec::Tensor* x = nullptr;
  bool added = false;
};

Result<Sample> with_batch(Call& c, size_t spatial) {
  ec::Tensor* x = c.tensor("self");
  if (c.rank(x) != static_cast<int64_t>(spatial) + 1) return Sample{x, false};
  EC_TRY(ec::Tensor * batched, c.unsqueeze(x, {0}));
  return Sample{batched, true};
}

Result<ec::Tensor*> without_batch(Call& c, ec::Tensor* y, const Sample& sample) {
  return sample.added ? c.squeeze(y, {0}) : Result<ec::Tensor*>(y);
}

size_t spatial_of(const Call& c, std::string_view name) {
  return static_cast<size_t>(c.schema().find(name)->type.list_size);
}

PoolAttrs window(Call& c, size_t spatial) {
  PoolAttrs attrs;
  attrs.kernel = c.ints("kernel_size", spatial);
  attrs.strides = c.items("stride").empty() ? attrs.kernel : c.ints("stride", spatial);
  const Ints pads = c.ints("padding", spatial);
  attrs.pads = pads;
  attrs.pads.insert(attrs.pads.end(), pads.begin(), pads.end());
  if (c.has("dilation")) attrs.dilations = c.ints("dilation", spatial);
  attrs.ceil_mode = c.boolean("ceil_mode");
  return attrs;
}

Result<Tensors> pool_max(Call& c, size_t num_outputs) {
  const size_t spatial = spatial_of(c, "kernel_size");
  const PoolAttrs attrs = window(c, spatial);
  EC_TRY(const Sample sample, with_batch(c, spatial));
  EC_TRY(Tensors results, c.add_many(OpKind::MaxPool, {sample.x}, attrs, num_outputs));
  if (num_outputs == 2) {
    // The IR counts through the whole tensor, PyTorch within one channel.
    int64_t plane = 1;
    for (size_t i = 0; i < spatial; ++i) plane *= c.size(sample.x, static_cast<int64_t>(i) + 2);
    ModAttrs mod;
    EC_TRY(results[1],
           c.add(OpKind::Mod, {results[1], c.scalar(DType::I64, static_cast<double>(plane))}, mod));
  }
  for (ec::Tensor*& result : results) {
    EC_TRY(result, without_batch(c, result, sample));
  }
  return results;
}

Result<ec::Tensor*> max_pool(Call& c) {
  EC_TRY(const Tensors results, pool_max(c, 1));
  return results.front();
}

Result<std::vector<TorchValue>> max_pool_with_indices(Call& c) {
  EC_TRY(const Tensors results, pool_max(c, 2));
  return std::vector<TorchValue>(results.begin(), results.end());
}

Result<ec::Tensor*> avg_pool(Call& c) {
  const size_t spatial = spatial_of(c, "kernel_size");
  PoolAttrs attrs = window(c, spatial);
  attrs.count_include_pad = c.boolean("count_include_pad");
  EC_TRY(const Sample sample, with_batch(c, spatial));
  const bool has_divisor = c.has("divisor_override");
  if (has_divisor) {
    if (attrs.ceil_mode) return c.unsupported("divisor_override with ceil_mode");
    attrs.count_include_pad = true;  // then every window divides by the kernel's size
  }
  EC_TRY(ec::Tensor * y, c.add(OpKind::AvgPool, {sample.x}, attrs));
  if (has_divisor) {
    double factor = 1.0 / static_cast<double>(c.integer("divisor_override"));
    for (const int64_t size : attrs.kernel) factor *= static_cast<double>(size);
    EC_TRY(y, c.add(OpKind::Mul, {y, c.scalar(y->dtype(), factor)}));
  }
  return without_batch(c, y, sample);
}

// Bin i of n covers [floor(i size / n), ceil((i + 1) size / n)).
struct Bin {
  int64_t begin, end;
};
Bin bin_of(int64_t i, int64_t size, int64_t bins) {
  // In whole parts and remainders: i * size may be beyond 64 bits.
  const int64_t whole = size / bins, rest = size % bins;
  return {i * whole + i * rest / bins, (i + 1) * whole + ((i + 1) * rest + bins - 1) / bins};
}

// Reduces the bins along one axis when their sizes differ: slice by slice.
Result<ec::Tensor*> reduce_bins(Call& c, ec::Tensor* x, int64_t axis, int64_t bins, OpKind kind) {
  const int64_t size = c.size(x, axis);
  Tensors parts;
  for (int64_t i = 0; i < bins; ++i) {
    const Bin bin = bin_of(i, size, bins);
    EC_TRY(ec::Tensor * part, c.slice(x, axis, bin.begin, bin.end));
    EC_TRY(part, c.add(kind, {part, c.int_list({axis})}, ReduceAttrs{}));
    parts.push_back(part);
  }
  return c.concat(std::move(parts), axis);
}

// Sizes of the result; None keeps the input's.
Ints adaptive_sizes(Call& c, const ec::Tensor* x, size_t spatial) {
  Ints sizes;
  const std::vector<TorchValue> items = c.items("output_size");
  for (size_t i = 0; i < spatial; ++i) {
    const TorchValue item =
        items.empty() ? TorchValue() : items[items.size() == 1 ? 0 : std::min(i, items.size() - 1)];
    const auto known = item.is_none() ? std::nullopt : known_int(item);
    if (!item.is_none() && !known)
      c.remember(c.fail(Code::DataDependent, "argument 'output_size' has to be known"));
    sizes.push_back(known ? *known : c.size(x, static_cast<int64_t>(i) + 2));
    if (sizes.back() < 1 || sizes.back() > 65536) {
      c.remember(c.fail(Code::BadValue, "output_size has to be positive"));
      sizes.back() = 1;
    }
  }
  return sizes;
}

Result<ec::Tensor*> adaptive(Call& c, const Sample& sample, const Ints& sizes, bool average) {
  ec::Tensor* x = sample.x;
  if (std::ranges::all_of(sizes, [](int64_t size) { return size == 1; }))
    return c.add(average ? OpKind::GlobalAvgPool : OpKind::GlobalMaxPool, {x}, GlobalPoolAttrs{});
  PoolAttrs attrs;
  bool even = true;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t size = c.size(x, static_cast<int64_t>(i) + 2);
    even = even && size % sizes[i] == 0;
    attrs.kernel.push_back(std::max<int64_t>(size / sizes[i], 1));
  }
  if (even) {
    if (std::ranges::all_of(attrs.kernel, [](int64_t size) { return size == 1; })) return x;
    attrs.strides = attrs.kernel;
    return c.add(average ? OpKind::AvgPool : OpKind::MaxPool, {x}, attrs);
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    EC_TRY(x, reduce_bins(c, x, static_cast<int64_t>(i) + 2, sizes[i],
                          average ? OpKind::ReduceMean : OpKind::ReduceMax));
  }
  return x;
}

Result<ec::Tensor*> adaptive_avg_pool(Call& c) {
  const size_t spatial = spatial_of(c, "output_size");
  EC_TRY(const Sample sample, with_batch(c, spatial));
  EC_TRY(ec::Tensor * y, adaptive(c, sample, adaptive_sizes(c, sample.x, spatial), true));
  return without_batch(c, y, sample);
}

// The indices are there when all bins have one size.
Result<std::vector<TorchValue>> adaptive_max_pool(Call& c) {
  const size_t spatial = spatial_of(c, "output_size");
  EC_TRY(const Sample sample, with_batch(c, spatial));
  const Ints sizes = adaptive_sizes(c, sample.x, spatial);
  Ints kernel;
  bool even = true;
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t size = c.size(sample.x, static_cast<int64_t>(i) + 2);
    even = even && size % sizes[i] == 0;
    kernel.push_back(std::max<int64_t>(size / sizes[i], 1));
  }
  EC_TRY(ec::Tensor * y, adaptive(c, sample, sizes, false));
  EC_TRY(y, without_batch(c, y, sample));
  if (!even) return std::vector<TorchValue>{y, TorchValue()};
  static constexpr std::string_view kPools[] = {"aten::max_pool1d_with_indices",
                                                "aten::max_pool2d_with_indices",
                                                "aten::max_pool3d_with_indices"};
  EC_TRY(const std::vector<TorchValue> pooled,
         c.ops(kPools[spatial - 1], {c.tensor("self"), TorchValue::ints(kernel)}));
  return std::vector<TorchValue>{y, pooled[1]};
}

Result<ec::Tensor*> max_unpool2d(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t rank = c.rank(x);
  const Ints sizes = c.ints("output_size", 2);
  const auto area = checked_extent(sizes, 1);
  if (rank < 2 || !area) return c.fail(Code::BadValue, "output_size does not fit the input");
  // Indices count within a channel: a scatter along the flattened plane.
  Ints flat, full;
  for (int64_t i = 0; i < rank - 2; ++i) flat.push_back(c.size(x, i));
  full = flat;
  Ints plane = flat;
  flat.push_back(-1);
  plane.push_back(sizes[0] == 0 || sizes[1] == 0 ? 0 : *area);
  full.insert(full.end(), sizes.begin(), sizes.end());
  EC_TRY(ec::Tensor * values, c.reshape(x, flat));
  EC_TRY(ec::Tensor * index, c.reshape(c.tensor("indices"), flat));
  EC_TRY(ec::Tensor * zeros, c.fill(c.int_list(plane), c.scalar(x->dtype(), 0)));
  ScatterElementsAttrs attrs;
  attrs.axis = rank - 2;
  EC_TRY(ec::Tensor * y, c.add(OpKind::ScatterElements, {zeros, index, values}, attrs));
  return c.reshape(y, full);
}

constexpr OperatorRow kRows[] = {
    {"aten::max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, "
     "int[1] dilation=1, bool ceil_mode=False) -> Tensor",
     max_pool},
    {"aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
     "int[2] dilation=1, bool ceil_mode=False) -> Tensor",
     max_pool},
    {"aten::max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, "
     "int[3] dilation=1, bool ceil_mode=False) -> Tensor",
     max_pool},
    {"aten::max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], "
     "int[1] padding=0, int[1] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
     max_pool_with_indices},
    {"aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], "
     "int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
     max_pool_with_indices},
    {"aten::max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], "
     "int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
     max_pool_with_indices},
    {"aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, "
     "bool ceil_mode=False, bool count_include_pad=True) -> Tensor",
     avg_pool},
    {"aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
     "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
     avg_pool},
    {"aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, "
     "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
     avg_pool},
    {"aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor", adaptive_avg_pool},
    {"aten::adaptive_avg_pool2d(Tensor self, int?[2] output_size) -> Tensor", adaptive_avg_pool},
    {"aten::adaptive_avg_pool3d(Tensor self, int?[3] output_size) -> Tensor", adaptive_avg_pool},
    {"aten::_adaptive_avg_pool2d(Tensor self, int[2] output_size) -> Tensor", adaptive_avg_pool},
    {"aten::_adaptive_avg_pool3d(Tensor self, int[3] output_size) -> Tensor", adaptive_avg_pool},
    {"aten::adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)",
     adaptive_max_pool},
    {"aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)",
     adaptive_max_pool},
    {"aten::adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)",
     adaptive_max_pool},
    {"aten::max_unpool2d(Tensor self, Tensor indices, int[2] output_size) -> Tensor", max_unpool2d},
};

}  // namespace

const std::span<const OperatorRow> kPoolingRows = kRows;

}  // namespace ec::torch
