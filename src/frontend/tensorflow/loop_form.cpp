#include "frontend/tensorflow/loop_form.h"

#include <algorithm>
#include <cstring>

#include "formats/tensorflow/tensor_data.h"

namespace ec::tf {
namespace {

// Through nodes that pass values on.
Source origin(const FunctionBody& body, Source source) {
  for (int steps = 0; steps < 1000 && source.kind == Source::Kind::Node; ++steps) {
    const Node& node = body.function.list.nodes[source.index];
    if (node.op != "Identity" || body.inputs_of(node).empty()) break;
    source = body.inputs_of(node)[0];
  }
  return source;
}

const Node* node_of(const FunctionBody& body, const Source& source) {
  return source.kind == Source::Kind::Node ? &body.function.list.nodes[source.index] : nullptr;
}

std::vector<Source> operands_of(const FunctionBody& body, const Node& node) {
  std::vector<Source> operands;
  for (const Source& source : body.inputs_of(node))
    if (source.kind != Source::Kind::Control) operands.push_back(origin(body, source));
  return operands;
}

// The one integer that a constant node holds.
std::optional<int64_t> constant_of(const FunctionBody& body, const Source& source) {
  const Node* node = node_of(body, source);
  if (node == nullptr || node->op != "Const") return std::nullopt;
  for (const Attribute& attribute : node->attributes) {
    if (attribute.name != "value") continue;
    const auto value = decode_attribute(attribute.value);
    if (!value.ok()) return std::nullopt;
    const auto tensor = decode_tensor(value->message);
    if (!tensor.ok() || !tensor->dims.empty()) return std::nullopt;
    if (tensor->type != DataType::Int32 && tensor->type != DataType::Int64) return std::nullopt;
    // The views point into the message, whatever blob holds it.
    const Blob message(nullptr, std::as_bytes(std::span(tensor->message)));
    const auto data = TensorReader(message).read(*tensor);
    if (!data.ok()) return std::nullopt;
    int32_t narrow = 0;
    int64_t wide = 0;
    if (data->size() == sizeof(narrow)) {
      std::memcpy(&narrow, data->bytes().data(), sizeof(narrow));
      return narrow;
    }
    if (data->size() != sizeof(wide)) return std::nullopt;
    std::memcpy(&wide, data->bytes().data(), sizeof(wide));
    return wide;
  }
  return std::nullopt;
}

// argument i + 1
bool is_incremented(const FunctionBody& body, const Source& result, size_t argument) {
  const Node* node = node_of(body, result);
  if (node == nullptr || (node->op != "AddV2" && node->op != "Add")) return false;
  const std::vector<Source> operands = operands_of(body, *node);
  if (operands.size() != 2) return false;
  for (size_t i = 0; i < 2; ++i)
    if (operands[i].kind == Source::Kind::Argument && operands[i].index == argument)
      return constant_of(body, operands[1 - i]) == 1;
  return false;
}

// The comparisons that a condition joins by And.
bool find_bounds(const LoopForm& form, const Source& source, int depth,
                 std::vector<LoopForm::Bound>& bounds) {
  const FunctionBody& body = *form.condition;
  const Node* node = node_of(body, source);
  if (node == nullptr || depth > 8) return false;
  const std::vector<Source> operands = operands_of(body, *node);
  if (operands.size() != 2) return false;
  if (node->op == "LogicalAnd")
    return find_bounds(form, operands[0], depth + 1, bounds) &&
           find_bounds(form, operands[1], depth + 1, bounds);
  const bool greater = node->op == "Greater";
  if (node->op != "Less" && !greater) return false;
  const Source &counter = operands[greater ? 1 : 0], &limit = operands[greater ? 0 : 1];
  if (counter.kind != Source::Kind::Argument || counter.index >= form.counts.size() ||
      !form.counts[counter.index])
    return false;
  LoopForm::Bound bound;
  bound.counter = counter.index;
  if (limit.kind == Source::Kind::Argument) {
    if (limit.index >= form.stays.size() || !form.stays[limit.index]) return false;
    bound.value = limit.index;
  } else {
    bound.number = constant_of(body, limit);
    if (!bound.number) return false;
  }
  bounds.push_back(bound);
  return true;
}

size_t times_read(const FunctionBody& body, size_t argument) {
  return static_cast<size_t>(
      std::count_if(body.sources.begin(), body.sources.end(), [&](const Source& source) {
        return source.kind == Source::Kind::Argument && source.index == argument;
      }));
}

// The list gets one element in every iteration, at the place of the iteration or at place 0.
LoopForm::Collects how_collected(const LoopForm& form, const Source& result, size_t argument) {
  const Node* node = node_of(*form.body, result);
  if (node == nullptr || node->op != "TensorListSetItem" || times_read(*form.body, argument) != 1)
    return LoopForm::Collects::No;
  const std::vector<Source> operands = operands_of(*form.body, *node);
  if (operands.size() != 3 || operands[0].kind != Source::Kind::Argument ||
      operands[0].index != argument)
    return LoopForm::Collects::No;
  const Source& index = operands[1];
  if (index.kind == Source::Kind::Argument && index.index < form.counts.size() &&
      form.counts[index.index] && form.starts[index.index] == 0)
    return LoopForm::Collects::All;
  return constant_of(*form.body, index) == 0 ? LoopForm::Collects::Last : LoopForm::Collects::No;
}

}  // namespace

Result<LoopForm> loop_form(OpContext& ctx) {
  const std::vector<std::string_view> condition = ctx.attr_functions("cond"),
                                      body = ctx.attr_functions("body");
  if (condition.size() != 1 || body.size() != 1)
    return ctx.fail(Code::BadAttribute, "condition and body are missing");
  LoopForm form;
  EC_TRY(form.condition, ctx.importer().library().find(condition[0]));
  EC_TRY(form.body, ctx.importer().library().find(body[0]));
  const size_t count = ctx.num_inputs();
  if (form.body->results.size() != count || form.body->function.inputs.size() != count ||
      form.condition->function.inputs.size() != count || form.condition->results.size() != 1)
    return ctx.fail(Code::BadArity, "the numbers of values do not fit");
  form.stays.assign(count, false);
  form.counts.assign(count, false);
  form.starts.assign(count, 0);
  form.collects.assign(count, LoopForm::Collects::No);
  for (size_t i = 0; i < count; ++i) {
    const Source result = origin(*form.body, form.body->results[i]);
    form.stays[i] = result.kind == Source::Kind::Argument && result.index == i;
    if (!ctx.value(i).is_tensor() || !is_incremented(*form.body, result, i)) continue;
    const auto start = known_ints(ctx.in(i));
    if (!start || start->size() != 1 || !is_integer(ctx.dtype(i))) continue;
    form.counts[i] = true;
    form.starts[i] = start->front();
  }
  std::vector<LoopForm::Bound> bounds;
  if (find_bounds(form, origin(*form.condition, form.condition->results[0]), 0, bounds))
    form.bounds = std::move(bounds);
  if (!form.is_counted()) return form;
  for (size_t i = 0; i < count; ++i) {
    if (ctx.value(i).kind != TfValue::Kind::List) continue;
    const TensorList& list = ctx.importer().list(ctx.value(i).id);
    if (list.stack != nullptr) continue;
    const auto how = how_collected(form, origin(*form.body, form.body->results[i]), i);
    const bool one = list.length != nullptr && known_scalar(list.length) == 1.0;
    if (how == LoopForm::Collects::All || (how == LoopForm::Collects::Last && one))
      form.collects[i] = how;
  }
  return form;
}

}  // namespace ec::tf
