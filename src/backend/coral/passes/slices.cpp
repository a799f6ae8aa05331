// Slices and gathers: the device slices without steps, and has no gather and no uneven split.
#include <algorithm>
#include <numeric>

#include "backend/coral/passes/rules.h"

namespace ec::passes {
namespace {

constexpr size_t kMostRuns = 16;
constexpr int64_t kMostFilters = int64_t{1} << 20;

// A max pool of one pixel with strides takes every n-th pixel.
Result<bool> strided_to_pool(Rewriter& r, Operation* op) {
  const auto sizes = static_shape(op->input(0));
  auto ranges = slice_ranges(op);
  if (!sizes || !ranges || sizes->size() > 4 || !moves_elements_only(op)) return false;
  const size_t missing = 4 - sizes->size();
  PoolAttrs pool;
  pool.layout = Layout::ChannelsLast;
  pool.kernel = {1, 1};
  pool.strides = {1, 1};
  bool strided = false;
  for (AxisRange& range : *ranges) {
    const size_t d = static_cast<size_t>(range.axis) + missing;
    if (range.step == 1) continue;
    if (d != 1 && d != 2) return false;
    strided = true;
    pool.strides[d - 1] = range.step;
    range.step = 1;
  }
  const DType dtype = op->output()->dtype();
  const bool pools = is_float_form(op) ||
                     (op->output()->type().quant && (dtype == DType::I8 || dtype == DType::U8));
  if (!strided || !pools) return false;
  std::erase_if(*ranges, [&](const AxisRange& range) {
    return range.start == 0 && range.end == (*sizes)[static_cast<size_t>(range.axis)];
  });
  Replacement p(r, op);
  Tensor* x = op->input(0);
  if (!ranges->empty()) {
    EC_TRY(x, add_slice(r, x, *ranges, {op}));
    with_parameters_of(p, x, op->output());
  }
  std::vector<int64_t> image = x->shape()->sizes();
  image.insert(image.begin(), missing, 1);
  if (missing > 0) x = with_parameters_of(p, p.sized(x, image), op->output());
  Tensor* y = with_parameters_of(p, p.op(OpKind::MaxPool, {x}, pool), op->output());
  return rewritten(p, p.reshape(y, *op->output()->shape()), "SLICE and a 1x1 MAX_POOL_2D");
}

struct Run {
  int64_t begin = 0, end = 0;
};
std::vector<Run> runs_of(std::span<const int64_t> indices) {
  std::vector<Run> runs;
  for (const int64_t at : indices) {
    if (!runs.empty() && runs.back().end == at)
      ++runs.back().end;
    else
      runs.push_back({at, at + 1});
  }
  return runs;
}

// Channels in another order: 1x1 filters with a single one each.
Result<bool> channels_by_convolution(Replacement& p, Operation* op,
                                     std::span<const int64_t> indices,
                                     const std::vector<int64_t>& sizes) {
  const int64_t in = sizes.back(), rows = [&] {
    int64_t n = 1;
    for (size_t d = 0; d + 1 < sizes.size(); ++d) n *= sizes[d];
    return n;
  }();
  const auto out = static_cast<int64_t>(indices.size());
  if (in * out > kMostFilters) return false;
  std::vector<int64_t> ones;
  for (int64_t o = 0; o < out; ++o) ones.push_back(o * in + indices[static_cast<size_t>(o)]);
  Tensor* x = op->input(0);
  const bool image = sizes.size() == 4;
  if (!image) x = with_parameters_of(p, p.sized(x, {1, 1, rows, in}), op->output());
  ConvAttrs attrs;
  attrs.layout = Layout::ChannelsLast;
  Tensor* filters = selection_filters(p, op->input(0), {out, 1, 1, in}, ones);
  Tensor* y = with_parameters_of(p, p.op(OpKind::Conv, {x, filters}, attrs), op->output());
  return rewritten(p, p.reshape(y, *op->output()->shape()), "a 1x1 convolution that picks");
}

Result<bool> gather_to_slices(Rewriter& r, Operation* op) {
  const auto sizes = static_shape(op->input(0)), index_shape = static_shape(op->input(1));
  auto indices = is_constant(op->input(1)) ? int_values(op->input(1)) : std::nullopt;
  const DType dtype = op->output()->dtype();
  const bool byte = op->output()->type().quant && (dtype == DType::I8 || dtype == DType::U8);
  if (!sizes || !indices || indices->empty() || index_shape->size() > 1 ||
      !moves_elements_only(op) || !(byte || (is_float_form(op) && dtype == DType::F32)))
    return false;
  const int64_t axis = positive_axis(op->attrs_as<GatherAttrs>().axis, sizes->size());
  const int64_t size = (*sizes)[static_cast<size_t>(axis)];
  for (int64_t& at : *indices) {
    if (at < 0) at += size;
    if (at < 0 || at >= size) return false;
  }
  const std::vector<Run> runs = runs_of(*indices);
  Replacement p(r, op);
  if (runs.size() > kMostRuns) {
    const bool channels = axis + 1 == static_cast<int64_t>(sizes->size());
    return channels ? channels_by_convolution(p, op, *indices, *sizes) : Result<bool>(false);
  }
  std::vector<Tensor*> parts;
  for (const Run& run : runs)
    parts.push_back(
        with_parameters_of(p, p.slice(op->input(0), axis, run.begin, run.end), op->output()));
  Tensor* y = with_parameters_of(p, p.concat(std::move(parts), axis), op->output());
  return rewritten(p, p.reshape(y, *op->output()->shape()),
                   runs.size() == 1 ? "SLICE" : "slices and CONCATENATION");
}

Result<bool> uneven_split_to_slices(Rewriter& r, Operation* op) {
  const auto in = static_shape(op->input(0));
  if (!in) return false;
  const int64_t axis = positive_axis(op->attrs_as<AxisAttrs>().axis, in->size());
  std::vector<int64_t> sizes;
  for (const Tensor* part : op->outputs()) {
    const auto shape = static_shape(part);
    if (!shape || part->type().quant != op->input(0)->type().quant) return false;
    sizes.push_back((*shape)[static_cast<size_t>(axis)]);
  }
  if (std::adjacent_find(sizes.begin(), sizes.end(), std::not_equal_to<>()) == sizes.end())
    return false;
  Replacement p(r, op);
  std::vector<Tensor*> parts;
  int64_t at = 0;
  for (const int64_t size : sizes) {
    parts.push_back(
        with_parameters_of(p, p.slice(op->input(0), axis, at, at + size), op->input(0)));
    at += size;
  }
  return rewritten_all(p, parts, "slices");
}

constexpr RewriteRule kRules[] = {
    {OpKind::Slice, strided_to_pool, "strided slices"},
    {OpKind::Gather, gather_to_slices, "gathers"},
    {OpKind::Split, uneven_split_to_slices, "splits"},
};

}  // namespace

const std::span<const RewriteRule> kCoralSlices = kRules;

}  // namespace ec::passes
