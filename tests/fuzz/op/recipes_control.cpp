// Nested graphs, state, and operations of other programs.
#include <algorithm>

#include "fuzz/op/generate.h"
#include "fuzz/op/recipes.h"

namespace ec::fuzz {
namespace {

BuilderOptions options_within(const BuilderOptions& outer) {
  BuilderOptions options;
  options.real = outer.real;
  options.is_body = true;
  options.depth = outer.depth + 1;
  return options;
}

// A body whose inputs have the types of these tensors, and a builder for its content.
struct Body {
  Body(Builder& outer, const std::vector<TensorType>& types)
      : graph(std::make_unique<Graph>("body")),
        builder(*graph, outer.random(), options_within(outer.options())) {
    for (const TensorType& type : types) {
      Tensor* input = graph->add_input("", type);
      inputs.push_back(input);
      builder.keep(input);
    }
  }

  void grow() { add_operations(builder, builder.random().pick(0, 3)); }
  // A tensor of this element type, and of these sizes where `same_sizes`.
  Tensor* like(const TensorType& type, bool same_sizes) {
    const auto fits = [&](const Tensor& tensor) {
      return tensor.dtype() == type.dtype && tensor.type().quant == type.quant &&
             (!same_sizes || tensor.shape() == type.shape);
    };
    // The newest first: what was computed is worth more than an input that passes through.
    const auto& pool = builder.pool();
    for (auto it = pool.rbegin(); it != pool.rend(); ++it)
      if (fits(**it)) return *it;
    return nullptr;
  }
  // A result has a producer of its own: two results may not be one tensor everywhere.
  void result(Tensor* tensor) {
    Result<Tensor*> copy = graph->add_single(OpKind::Identity, {tensor});
    if (copy.ok()) graph->set_quant(*copy, tensor->type().quant);
    graph->add_output("", copy.ok() && builder.random().chance(50) ? *copy : tensor);
  }

  std::unique_ptr<Graph> graph;
  Builder builder;
  std::vector<Tensor*> inputs;
};

std::vector<Tensor*> captures(Builder& b, int64_t count) {
  std::vector<Tensor*> list;
  for (int64_t i = 0; i < count; ++i) list.push_back(b.reals(0, 4));
  return list;
}
std::vector<TensorType> types_of(const std::vector<Tensor*>& tensors) {
  std::vector<TensorType> types;
  for (const Tensor* tensor : tensors) types.push_back(tensor->type());
  return types;
}

void if_op(Builder& b, Call& c) {
  const std::vector<Tensor*> captured = captures(b, b.random().pick(1, 2));
  Body yes(b, types_of(captured)), no(b, types_of(captured));
  yes.grow();
  no.grow();
  c.outputs = static_cast<size_t>(b.random().pick(1, 2));
  for (size_t i = 0; i < c.outputs; ++i) {
    Tensor* first = yes.builder.pool()[b.random().index(yes.builder.pool().size())];
    Tensor* second = no.like(first->type(), b.random().chance(70));
    if (second == nullptr) {
      first = yes.inputs[0];
      second = no.inputs[0];
    }
    yes.result(first);
    no.result(second);
  }
  c.inputs = {b.flag(b.random().chance(50))};
  c.inputs.insert(c.inputs.end(), captured.begin(), captured.end());
  c.bodies.push_back(std::move(yes.graph));
  c.bodies.push_back(std::move(no.graph));
}

void loop(Builder& b, Call& c) {
  const int64_t carried = b.random().pick(0, 2);
  const std::vector<Tensor*> operands = captures(b, carried + b.random().pick(0, 1));
  std::vector<TensorType> types = {TensorType(DType::I64, Shape{}),
                                   TensorType(DType::Bool, Shape{})};
  for (const Tensor* tensor : operands) types.push_back(tensor->type());
  Body body(b, types);
  body.grow();
  // The condition: as it came, or a comparison with the number of the iteration.
  Tensor* condition = body.inputs[1];
  if (b.random().chance(40)) {
    const auto limit = static_cast<double>(b.random().pick(0, 3));
    Tensor* last = body.graph->add_scalar("", DType::I64, limit);
    if (Result<Tensor*> less = body.graph->add_single(OpKind::Less, {body.inputs[0], last});
        less.ok())
      condition = *less;
  }
  body.result(condition);
  for (int64_t i = 0; i < carried; ++i) {
    const auto n = static_cast<size_t>(i);
    Tensor* next = body.like(operands[n]->type(), true);
    body.result(next != nullptr ? next : body.inputs[n + 2]);
  }
  const int64_t stacked = carried == 0 ? 1 : b.random().pick(0, 1);
  for (int64_t i = 0; i < stacked; ++i)
    body.result(body.builder.pool()[b.random().index(body.builder.pool().size())]);
  c.attrs = LoopAttrs{carried};
  c.outputs = static_cast<size_t>(carried + stacked);
  // A loop that goes on until the limit on work ends it is rare: it costs as much as many models.
  const int64_t count = b.random().chance(1) ? INT64_MAX : b.random().pick(0, 4);
  c.inputs = {b.ints({}, {count}), b.random().chance(70) ? b.flag(b.random().chance(90)) : nullptr};
  c.inputs.insert(c.inputs.end(), operands.begin(), operands.end());
  c.bodies.push_back(std::move(body.graph));
}

void scan(Builder& b, Call& c) {
  ScanAttrs attrs;
  attrs.num_states = b.random().pick(0, 2);
  attrs.num_scan_inputs = b.random().pick(1, 2);
  const int64_t length = b.random().pick(1, 4);
  std::vector<Tensor*> operands = captures(b, attrs.num_states);
  std::vector<TensorType> types = types_of(operands);
  const bool axes = b.random().chance(30), directions = b.random().chance(30);
  for (int64_t i = 0; i < attrs.num_scan_inputs; ++i) {
    Sizes sizes = b.shape(1, 3);
    const auto axis = axes ? b.random().index(sizes.size()) : 0;
    if (axes) attrs.input_axes.push_back(static_cast<int64_t>(axis));
    if (directions) attrs.input_directions.push_back(b.random().pick(0, 1));
    sizes[axis] = length;
    operands.push_back(b.reals(sizes));
    TensorType slice = operands.back()->type();
    slice.shape->dims().erase(slice.shape->dims().begin() + static_cast<std::ptrdiff_t>(axis));
    types.push_back(std::move(slice));
  }
  Body body(b, types);
  body.grow();
  for (int64_t i = 0; i < attrs.num_states; ++i) {
    const auto n = static_cast<size_t>(i);
    Tensor* next = body.like(operands[n]->type(), true);
    body.result(next != nullptr ? next : body.inputs[n]);
  }
  const int64_t stacked = attrs.num_states == 0 ? 1 : b.random().pick(0, 1);
  for (int64_t i = 0; i < stacked; ++i) {
    body.result(body.builder.pool()[b.random().index(body.builder.pool().size())]);
    if (directions) attrs.output_directions.push_back(b.random().pick(0, 1));
  }
  c.attrs = attrs;
  c.inputs = std::move(operands);
  c.outputs = static_cast<size_t>(attrs.num_states + stacked);
  c.bodies.push_back(std::move(body.graph));
}

void custom(Builder& b, Call& c) {
  c.attrs = CustomAttrs{"SomeOp", ""};
  c.inputs = captures(b, b.random().pick(0, 2));
}

// Half of a pair: what is read here may be written by a later operation.
void read_state(Builder& b, Call& c) {
  c.attrs = StateAttrs{"state" + std::to_string(b.graph().operation_id_bound())};
  c.inputs = {b.given(b.random_value(b.real_type(), b.shape(0, 3)), true)};
}
void write_state(Builder& b, Call& c) {
  if (b.options().is_body || b.options().open_sizes) return;  // no operands: refused
  Tensor* value = b.floats(b.shape(0, 3));
  c.attrs = StateAttrs{"state" + std::to_string(b.graph().operation_id_bound())};
  c.inputs = {value};
  Tensor* initial = b.given(b.random_value(value->dtype(), *b.sizes_of(value)), true);
  if (Result<Tensor*> read = b.graph().add_single(OpKind::ReadState, {initial}, c.attrs); read.ok())
    b.keep(*read);
}

constexpr Recipe kControl[] = {
    {OpKind::If, if_op},
    {OpKind::Loop, loop},
    {OpKind::Scan, scan},
    {OpKind::Custom, custom},
    {OpKind::ReadState, read_state},
    {OpKind::WriteState, write_state},
};

}  // namespace

const std::span<const Recipe> kControlRecipes = kControl;

}  // namespace ec::fuzz
