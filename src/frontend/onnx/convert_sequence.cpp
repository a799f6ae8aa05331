// Sequences and optionals. They exist only here: a sequence is a list of values of known length, so
// every operator on it picks or lists tensors and leaves nothing in the graph.
#include <algorithm>

#include "formats/onnx/decode.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/table.h"

namespace ec::onnx {
namespace {

using Items = std::vector<Binding>;

Result<const Items*> items_of(const NodeContext& ctx, size_t i) {
  const Binding& binding = ctx.binding(i);
  if (binding.is(Binding::Kind::Sequence)) return binding.items.get();
  return ctx.fail(Code::TypeMismatch, "input " + std::to_string(i) + " has to be a sequence");
}

// A position that is known at import, counted from the end when negative.
Result<size_t> position_of(const NodeContext& ctx, size_t i, size_t length) {
  EC_TRY(const std::vector<int64_t> values, ctx.need_ints(i, "position"));
  const auto n = static_cast<int64_t>(length);
  if (values.size() != 1 || values[0] < -n || values[0] >= n)
    return ctx.fail(Code::BadValue, "the position is outside the sequence of " +
                                        std::to_string(length) + " elements");
  return static_cast<size_t>(values[0] < 0 ? values[0] + n : values[0]);
}

Status sequence_empty(NodeContext& ctx) {
  ctx.ignore_attr("dtype");
  ctx.set(0, Binding::of(Items{}));
  return {};
}

Status sequence_construct(NodeContext& ctx) {
  Items items;
  for (size_t i = 0; i < ctx.num_inputs(); ++i) items.push_back(ctx.binding(i));
  ctx.set(0, Binding::of(std::move(items)));
  return {};
}

// An element at a position known only at run time: all elements are stacked and one is gathered,
// which needs equal shapes.
Status sequence_at_run_time(NodeContext& ctx, const Items& items) {
  std::vector<ec::Tensor*> stack;
  for (const Binding& item : items) {
    if (!item.is(Binding::Kind::Tensor) || item.tensor->type() != items[0].tensor->type() ||
        !item.tensor->type().is_static())
      return ctx.unsupported("a position that is not constant needs elements of one fixed shape");
    EC_TRY(ec::Tensor * row, ctx.unsqueeze(item.tensor, std::vector<int64_t>{0}));
    stack.push_back(row);
  }
  EC_TRY(ec::Tensor * all, ctx.add(OpKind::Concat, stack, AxisAttrs{}));
  EC_TRY(ec::Tensor * position, ctx.reshape(ctx.in(1), {}));
  return ctx.finish(OpKind::Gather, {all, position}, GatherAttrs{});
}

Status sequence_at(NodeContext& ctx) {
  EC_TRY(const Items* items, items_of(ctx, 0));
  if (!items->empty() && ctx.in(1) != nullptr && !NodeContext::known_ints(ctx.in(1)))
    return sequence_at_run_time(ctx, *items);
  EC_TRY(const size_t position, position_of(ctx, 1, items->size()));
  ctx.set(0, (*items)[position]);
  return {};
}

Status sequence_insert(NodeContext& ctx) {
  EC_TRY(const Items* old, items_of(ctx, 0));
  Items items = *old;
  size_t position = items.size();
  if (ctx.has(2)) {
    EC_TRY(position, position_of(ctx, 2, items.size() + 1));
    // Counted from the end, -1 is before the last element.
    const auto values = NodeContext::known_ints(ctx.in(2));
    if ((*values)[0] < 0) position -= 1;
  }
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(position), ctx.binding(1));
  ctx.set(0, Binding::of(std::move(items)));
  return {};
}

Status sequence_erase(NodeContext& ctx) {
  EC_TRY(const Items* old, items_of(ctx, 0));
  Items items = *old;
  if (items.empty()) return ctx.fail(Code::BadValue, "the sequence is empty");
  size_t position = items.size() - 1;
  if (ctx.has(1)) {
    EC_TRY(position, position_of(ctx, 1, items.size()));
  }
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(position));
  ctx.set(0, Binding::of(std::move(items)));
  return {};
}

Status sequence_length(NodeContext& ctx) {
  EC_TRY(const Items* items, items_of(ctx, 0));
  ctx.set(0, ctx.scalar(DType::I64, static_cast<double>(items->size())));
  return {};
}

Status concat_from_sequence(NodeContext& ctx) {
  EC_TRY(const Items* items, items_of(ctx, 0));
  if (items->empty()) return ctx.fail(Code::BadValue, "the sequence is empty");
  AxisAttrs attrs;
  attrs.axis = ctx.attr_int("axis");
  const bool stack = ctx.attr_bool("new_axis", false);
  std::vector<ec::Tensor*> tensors;
  for (const Binding& item : *items) {
    if (!item.is(Binding::Kind::Tensor))
      return ctx.fail(Code::TypeMismatch, "an element of the sequence is no tensor");
    ec::Tensor* tensor = item.tensor;
    if (stack) {
      EC_TRY(tensor, ctx.unsqueeze(tensor, std::vector<int64_t>{attrs.axis}));
    }
    tensors.push_back(tensor);
  }
  return ctx.finish(OpKind::Concat, tensors, attrs);
}

// The pieces of a split: how many, and their sizes as an operand.
struct SplitSizes {
  size_t count = 0;
  ec::Tensor* sizes = nullptr;
};

Result<SplitSizes> chunks(NodeContext& ctx, const Dim& length, int64_t chunk) {
  constexpr int64_t kMaxPieces = 4096;
  if (!length.is_static())
    return ctx.fail(Code::DynamicShape, "the size of the split dimension is not known");
  if (chunk < 1 || length.size() / chunk > kMaxPieces)
    return ctx.fail(Code::BadValue, "cannot split " + length.text() + " elements into chunks of " +
                                        std::to_string(chunk));
  std::vector<int64_t> sizes;
  for (int64_t at = 0; at < length.size(); at += chunk)
    sizes.push_back(std::min(chunk, length.size() - at));
  return SplitSizes{sizes.size(), ctx.ints(sizes)};
}

// Listed sizes, chunks of one size, or single elements.
Result<SplitSizes> split_sizes(NodeContext& ctx, const Dim& length) {
  if (!ctx.has(1)) return chunks(ctx, length, 1);
  EC_TRY(const size_t rank, ctx.rank(1));
  if (rank == 1 && ctx.in(1)->type().is_static())
    return SplitSizes{static_cast<size_t>(*ctx.in(1)->type().num_elements()), ctx.in(1)};
  EC_TRY(const std::vector<int64_t> given, ctx.need_ints(1, "split"));
  if (rank == 0) return chunks(ctx, length, given[0]);
  return SplitSizes{given.size(), ctx.in(1)};
}

Status split_to_sequence(NodeContext& ctx) {
  EC_TRY(const size_t rank, ctx.rank());
  AxisAttrs attrs;
  attrs.axis = ctx.attr_int("axis", 0);
  const bool keep = ctx.attr_bool("keepdims", true);
  const auto r = static_cast<int64_t>(rank);
  if (attrs.axis < -r || attrs.axis >= r)
    return ctx.fail(Code::BadValue, "axis " + std::to_string(attrs.axis) + " is out of range");
  if (attrs.axis < 0) attrs.axis += r;
  const Dim length = (*ctx.in(0)->shape())[static_cast<size_t>(attrs.axis)];
  EC_TRY(const SplitSizes pieces, split_sizes(ctx, length));
  Items items;
  if (pieces.count > 0) {
    EC_TRY(Operation * op,
           ctx.add_op(OpKind::Split, {ctx.in(0), pieces.sizes}, attrs, pieces.count));
    for (ec::Tensor* part : op->outputs()) {
      if (!ctx.has(1) && !keep) {
        EC_TRY(part, ctx.add(OpKind::Squeeze, {part, ctx.ints({attrs.axis})}));
      }
      items.push_back(Binding::of(part));
    }
  }
  ctx.set(0, Binding::of(std::move(items)));
  return {};
}

// The body once per element, built into this graph.
Status sequence_map(NodeContext& ctx) {
  const Bytes body = ctx.attr_message("body", AttributeType::Graph);
  EC_CHECK_OK(ctx.attr_status());
  EC_TRY(const Items* items, items_of(ctx, 0));
  std::vector<Items> results(ctx.node().outputs.size());
  for (size_t k = 0; k < items->size(); ++k) {
    Items inputs;
    for (size_t i = 0; i < ctx.num_inputs(); ++i) {
      const Binding& input = ctx.binding(i);
      if (input.is(Binding::Kind::Sequence)) {
        if (input.items->size() != items->size())
          return ctx.fail(Code::ShapeMismatch, "the sequences have different lengths");
        inputs.push_back((*input.items)[k]);
      } else {
        inputs.push_back(input);
      }
    }
    const auto outputs = ctx.importer().inline_graph(body, ctx.scope(), ctx.frame(), inputs);
    if (!outputs) return ctx.poison(), ok_status();
    if (outputs->size() < results.size())
      return ctx.fail(Code::BadArity, "the body has fewer outputs than the node");
    for (size_t i = 0; i < results.size(); ++i) results[i].push_back((*outputs)[i]);
  }
  for (size_t i = 0; i < results.size(); ++i) ctx.set(i, Binding::of(std::move(results[i])));
  return {};
}

// --- optionals ----------------------------------------------------------------------------------

Status optional(NodeContext& ctx) {
  ctx.ignore_attr("type");
  ctx.set(0, ctx.num_inputs() > 0 ? ctx.binding(0) : Binding());
  return {};
}

Status optional_has_element(NodeContext& ctx) {
  const bool has = ctx.num_inputs() > 0 && ctx.has(0);
  ctx.set(0, ctx.scalar(DType::Bool, has ? 1.0 : 0.0));
  return {};
}

Status optional_get_element(NodeContext& ctx) {
  if (!ctx.has(0)) return ctx.fail(Code::BadValue, "the optional has no element");
  ctx.set(0, ctx.binding(0));
  return {};
}

constexpr Arity k1{1, 1};

constexpr OpRow kRows[] = {
    {"SequenceEmpty", 11, kLatest, {0, 0}, k1, sequence_empty, true},
    {"SequenceConstruct", 11, kLatest, {1, kMany}, k1, sequence_construct, true},
    {"SequenceAt", 11, kLatest, {2, 2}, k1, sequence_at, true},
    {"SequenceInsert", 11, kLatest, {2, 3}, k1, sequence_insert, true},
    {"SequenceErase", 11, kLatest, {1, 2}, k1, sequence_erase, true},
    {"SequenceLength", 11, kLatest, k1, k1, sequence_length, true},
    {"SequenceMap", 17, kLatest, {1, kMany}, {1, kMany}, sequence_map, true},
    {"ConcatFromSequence", 11, kLatest, k1, k1, concat_from_sequence, true},
    {"SplitToSequence", 11, kLatest, {1, 2}, k1, split_to_sequence},
    {"Optional", 15, kLatest, {0, 1}, k1, optional, true},
    {"OptionalHasElement", 15, kLatest, {0, 1}, k1, optional_has_element, true},
    {"OptionalGetElement", 15, kLatest, k1, k1, optional_get_element, true},
};

}  // namespace

const std::span<const OpRow> kSequenceRows = kRows;

}  // namespace ec::onnx
