// Pools.
#include "frontend/coreml/table.h"
#include "frontend/coreml/window.h"

namespace ec::mil {
namespace {

template <class Attrs>
Attrs pool_attrs(OpCall& c, Tensor* x) {
  Attrs attrs;
  attrs.kernel = c.ints("kernel_sizes");
  const Window window = read_window(c, x, attrs.kernel);
  attrs.strides = window.strides;
  attrs.pads = window.pads;
  attrs.auto_pad = window.auto_pad;
  attrs.ceil_mode = c.flag("ceil_mode", false);
  return attrs;
}

Tensors max_pool(OpCall& c) {
  Tensor* x = c.in("x");
  return {c.add(OpKind::MaxPool, {x}, pool_attrs<PoolAttrs>(c, x))};
}

Tensors avg_pool(OpCall& c) {
  Tensor* x = c.in("x");
  PoolAttrs attrs = pool_attrs<PoolAttrs>(c, x);
  attrs.count_include_pad = !c.flag("exclude_padding_from_average", false);
  return {c.add(OpKind::AvgPool, {x}, attrs)};
}

Tensors l2_pool(OpCall& c) {
  Tensor* x = c.in("x");
  return {c.add(OpKind::LpPool, {x}, pool_attrs<LpPoolAttrs>(c, x))};
}

constexpr std::string_view kPool = "x kernel_sizes strides? pad_type pad? ceil_mode?";

constexpr OpRow kRows[] = {
    {"max_pool", kIos15, kPool, max_pool},
    {"l2_pool", kIos15, kPool, l2_pool},
    {"avg_pool", kIos15,
     "x kernel_sizes strides? pad_type pad? ceil_mode? exclude_padding_from_average?", avg_pool},
};

}  // namespace

const std::span<const OpRow> kPoolRows = kRows;

}  // namespace ec::mil
