// TensorLists: the elements stacked along a first dimension.
#include "frontend/tensorflow/table.h"
#include "frontend/tensorflow/types.h"

namespace ec::tf {
namespace {

Result<TensorList*> list_of(OpContext& ctx) {
  for (size_t i = 1; i < ctx.num_inputs(); ++i)
    if (!ctx.value(i).is_tensor() || ctx.is_complex(i))
      return ctx.fail(Code::TypeMismatch, "input " + std::to_string(i) + " is no tensor");
  if (ctx.value(0).kind == TfValue::Kind::List) return &ctx.importer().list(ctx.value(0).id);
  return ctx.fail(Code::TypeMismatch, "input 0 is no list of tensors");
}

Status set_list(OpContext& ctx, TensorList list) {
  return ctx.set_value(0, TfValue::list(ctx.importer().add_list(std::move(list))));
}

// What an operand says of the elements' shape; -1 is open, a single -1 says nothing.
std::optional<Shape> element_shape(const OpContext& ctx, size_t i) {
  const auto sizes = known_ints(ctx.in(i));
  if (!sizes || !ctx.in(i)->shape() || ctx.in(i)->shape()->rank() == 0) return std::nullopt;
  return to_shape(*sizes);
}

// The stack of a list; zeros where nothing was written yet.
Result<ec::Tensor*> stack_of(OpContext& ctx, const TensorList& list) {
  if (list.stack != nullptr) return list.stack;
  if (list.length == nullptr || !list.element || !list.element->is_static())
    return ctx.unsupported("elements of a list are read before they are written");
  EC_TRY(ec::Tensor * length, ctx.reshape(list.length, {1}));
  EC_TRY(ec::Tensor * sizes, ctx.concat({length, ctx.ints(list.element->sizes())}, 0));
  return ctx.add(OpKind::Fill, {sizes, ctx.scalar(list.dtype, 0.0)});
}

Status reserve(OpContext& ctx) {
  TensorList list;
  EC_TRY(list.dtype, ctx.attr_dtype("element_dtype"));
  list.element = element_shape(ctx, 0);
  EC_TRY(list.length, ctx.cast(ctx.in(1), DType::I64));
  return set_list(ctx, std::move(list));
}

Status empty(OpContext& ctx) {
  TensorList list;
  EC_TRY(list.dtype, ctx.attr_dtype("element_dtype"));
  list.element = element_shape(ctx, 0);
  list.length = ctx.scalar(DType::I64, 0.0);
  return set_list(ctx, std::move(list));
}

Status from_tensor(OpContext& ctx) {
  TensorList list;
  list.stack = ctx.in(0);
  list.dtype = ctx.dtype();
  if (const auto& shape = ctx.in(0)->shape(); shape && shape->rank() > 0)
    list.element = Shape(std::vector<Dim>(shape->begin() + 1, shape->end()));
  return set_list(ctx, std::move(list));
}

Status stack(OpContext& ctx) {
  EC_TRY(const TensorList* list, list_of(ctx));
  EC_TRY(ec::Tensor * y, stack_of(ctx, *list));
  return ctx.set(0, y);
}

Status get_item(OpContext& ctx) {
  EC_TRY(const TensorList* list, list_of(ctx));
  if (list->collects) return ctx.unsupported("a list that is written is also read");
  EC_TRY(ec::Tensor * elements, stack_of(ctx, *list));
  EC_TRY(ec::Tensor * y, ctx.gather(elements, ctx.in(1), 0));
  return ctx.set(0, y);
}

Status set_item(OpContext& ctx) {
  EC_TRY(const TensorList* old, list_of(ctx));
  TensorList list = *old;
  if (list.collects) {
    list.written = ctx.in(2);
    return set_list(ctx, std::move(list));
  }
  ec::Tensor* item = ctx.in(2);
  if (list.stack == nullptr && item->type().is_static()) list.element = *item->shape();
  EC_TRY(ec::Tensor * elements, stack_of(ctx, list));
  EC_TRY(ec::Tensor * index, ctx.cast(ctx.in(1), DType::I64));
  EC_TRY(index, ctx.reshape(index, {1, 1}));
  EC_TRY(item, ctx.unsqueeze(item, {0}));
  EC_TRY(list.stack, ctx.add(OpKind::ScatterNd, {elements, index, item}, ScatterNdAttrs{}));
  return set_list(ctx, std::move(list));
}

Status push_back(OpContext& ctx) {
  EC_TRY(const TensorList* old, list_of(ctx));
  TensorList list = *old;
  EC_TRY(ec::Tensor * item, ctx.unsqueeze(ctx.in(1), {0}));
  if (list.stack != nullptr) {
    EC_TRY(item, ctx.concat({list.stack, item}, 0));
  } else if (list.length == nullptr || known_scalar(list.length) != 0.0) {
    return ctx.unsupported("an element is added to a list whose length is not known");
  }
  list.stack = item;
  return set_list(ctx, std::move(list));
}

Status length(OpContext& ctx) {
  EC_TRY(const TensorList* list, list_of(ctx));
  ec::Tensor* count = list->length;
  if (list->stack != nullptr) {
    ShapeAttrs first;
    first.end = 1;
    EC_TRY(count, ctx.add(OpKind::Shape, {list->stack}, first));
    EC_TRY(count, ctx.reshape(count, std::vector<int64_t>{}));
  }
  if (count == nullptr) return ctx.unsupported("the length of the list is not known");
  EC_TRY(count, ctx.cast(count, DType::I32));
  return ctx.set(0, count);
}

Status gather(OpContext& ctx) {
  EC_TRY(const TensorList* list, list_of(ctx));
  EC_TRY(ec::Tensor * elements, stack_of(ctx, *list));
  EC_TRY(ec::Tensor * y, ctx.gather(elements, ctx.in(1), 0));
  return ctx.set(0, y);
}

constexpr Takes kAll = Takes::Anything;

constexpr OpRow kRows[] = {
    {"TensorListReserve", {2, 2}, reserve},          {"EmptyTensorList", {2, 2}, empty},
    {"TensorListFromTensor", {2, 2}, from_tensor},   {"TensorListStack", {2, 2}, stack, kAll},
    {"TensorListGetItem", {3, 3}, get_item, kAll},   {"TensorListSetItem", {3, 3}, set_item, kAll},
    {"TensorListPushBack", {2, 2}, push_back, kAll}, {"TensorListLength", {1, 1}, length, kAll},
    {"TensorListGather", {3, 3}, gather, kAll},
};

}  // namespace

const std::span<const OpRow> kListRows = kRows;

}  // namespace ec::tf
