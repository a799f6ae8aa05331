// Lists of tensors of one shape: a tensor with one more dimension, of which elements are read and
// replaced.
#include "frontend/coreml/table.h"

namespace ec::mil {
namespace {

TensorList list_of(OpCall& c) {
  const MilValue* found = c.value("ls");
  if (found != nullptr && found->kind == MilValue::Kind::List) return found->list;
  c.fail(Code::TypeMismatch, "'ls' is no list");
  return {};
}

Tensors make_list(OpCall& c) {
  const auto shape = c.has("elem_shape") ? c.known("elem_shape") : std::optional<Ints>(Ints{});
  if (!shape) return {c.unsupported("lists whose elements have sizes that are not known")};
  Sizes sizes = {c.integer("init_length", 1)};
  for (const int64_t size : *shape) sizes.emplace_back(size);
  int64_t elements = 1;
  for (const Size& size : sizes)
    if (size.value < 0 ||
        __builtin_mul_overflow(elements, std::max<int64_t>(size.value, 1), &elements) ||
        elements > (int64_t{1} << 28))
      return {c.fail(Code::TooLarge, "the list is too large")};
  TensorList list;
  list.stack = c.fill(sizes, c.scalar(c.dtype("dtype", "fp32"), 0));
  list.fresh = true;
  list.dynamic = c.flag("dynamic_length", true);
  c.bind(0, MilValue::of(list));
  return {};
}

// Elements at indices [K] replaced by the rows of a tensor.
Tensor* replaced(OpCall& c, Tensor* stack, Tensor* indices, Tensor* rows) {
  Tensor* places = c.unsqueeze(c.as_i64(indices), {1});
  return c.add(OpKind::ScatterNd, {stack, places, rows}, ScatterNdAttrs{});
}

Tensors list_write(OpCall& c) {
  TensorList list = list_of(c);
  if (!c.ok()) return {c.in("value")};
  Tensor* index = c.reshape(c.cast(c.in("index"), DType::I64), {1});
  list.stack = replaced(c, list.stack, index, c.unsqueeze(c.in("value"), {0}));
  list.fresh = false;
  c.bind(0, MilValue::of(list));
  return {};
}

Tensors list_scatter(OpCall& c) {
  TensorList list = list_of(c);
  Tensor *indices = c.in("indices"), *rows = c.in("value");
  if (!c.ok()) return {rows};
  // A list that grows takes all rows at once where nothing was in it.
  if (list.fresh && list.dynamic)
    list.stack = rows;
  else
    list.stack = replaced(c, list.stack, indices, rows);
  list.fresh = false;
  c.bind(0, MilValue::of(list));
  return {};
}

Tensors list_read(OpCall& c) {
  const TensorList list = list_of(c);
  if (!c.ok()) return {c.in("index")};
  Tensor* index = c.cast(c.reshape(c.in("index"), Sizes{}), DType::I64);
  return {c.gather(list.stack, index, 0)};
}

Tensors list_gather(OpCall& c) {
  const TensorList list = list_of(c);
  if (!c.ok()) return {c.in("indices")};
  return {c.gather(list.stack, c.as_i64(c.in("indices")), 0)};
}

Tensors list_length(OpCall& c) {
  const TensorList list = list_of(c);
  if (!c.ok()) return {c.fail(Code::TypeMismatch, "'ls' is no list")};
  return {c.reshape(c.shape_list({Size(list.stack, 0)}), Sizes{})};
}

constexpr OpRow kRows[] = {
    {"make_list", kIos15, "init_length? dynamic_length? elem_shape? dtype?", make_list},
    {"list_write", kIos15, "ls index value", list_write},
    {"list_scatter", kIos15, "ls indices value", list_scatter},
    {"list_read", kIos15, "ls index", list_read},
    {"list_gather", kIos15, "ls indices", list_gather},
    {"list_length", kIos15, "ls", list_length},
};

}  // namespace

const std::span<const OpRow> kListRows = kRows;

}  // namespace ec::mil
