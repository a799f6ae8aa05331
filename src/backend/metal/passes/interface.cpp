// The types of inputs and outputs: packages have f32, f16 and i32.
#include "backend/metal/passes/rules.h"
#include "ops/attrs.h"

namespace ec::passes {
namespace {

DType interface_type(DType dtype) {
  switch (dtype) {
    case DType::F32:
    case DType::F16:
      return dtype;
    case DType::I8:
    case DType::U8:
    case DType::I16:
    case DType::U16:
    case DType::I32:
    case DType::I64:
      return DType::I32;
    default:
      return DType::F32;
  }
}

// What a model calls a number alone is a list of one in a package.
Shape interface_shape(const Shape& shape) { return shape.rank() == 0 ? Shape{1} : shape; }

bool fits(const Tensor* tensor) {
  return tensor->dtype() == interface_type(tensor->dtype()) && !tensor->type().quant;
}

Status replace_input(Graph& graph, size_t i) {
  Tensor* old = graph.inputs()[i];
  const std::string name = old->name();
  const DType dtype = old->dtype();
  const Shape shape = *old->shape();
  graph.rename(old, name + "_as_given");
  Tensor* fresh = graph.add_input(name, TensorType(interface_type(dtype), interface_shape(shape)));
  Tensor* value = fresh;
  if (shape.rank() == 0) {
    EC_TRY(value, graph.add_single(OpKind::Reshape,
                                   {value, graph.add_ints("", std::span<const int64_t>())},
                                   ReshapeAttrs{}));
  }
  if (fresh->dtype() != dtype) {
    EC_TRY(value, graph.add_single(OpKind::Cast, {value}, CastAttrs{.to = dtype}));
  }
  graph.replace_all_uses(old, value);
  return {};
}

}  // namespace

Status give_interface_types(Graph& graph, PassStats& stats) {
  // New inputs go to the end: the order stays where all from the first changed one on are new.
  const std::vector<Tensor*> inputs = graph.inputs();
  size_t first = inputs.size();
  for (size_t i = inputs.size(); i-- > 0;)
    if (inputs[i]->shape() && (!fits(inputs[i]) || inputs[i]->shape()->rank() == 0)) first = i;
  for (size_t i = first; i < inputs.size(); ++i) {
    if (!inputs[i]->shape() || inputs[i]->type().quant) return {};
    EC_CHECK_OK(replace_input(graph, i));
    stats.count("interface types");
    ++stats.changes;
  }
  for (size_t i = first; i < inputs.size(); ++i) graph.erase_input(first);
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    Tensor* output = graph.outputs()[i];
    if (fits(output) || output->type().quant) continue;
    EC_TRY(Tensor * cast, graph.add_single(OpKind::Cast, {output},
                                           CastAttrs{.to = interface_type(output->dtype())}));
    graph.set_output(i, cast);
    stats.count("interface types");
    ++stats.changes;
  }
  return {};
}

}  // namespace ec::passes
