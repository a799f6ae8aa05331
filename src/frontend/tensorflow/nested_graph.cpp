#include "frontend/tensorflow/nested_graph.h"

namespace ec::tf {

ec::Tensor* capture(NestedGraph& nested, ec::Tensor* outer) {
  if (outer->is_constant())
    return nested.graph->add_constant(outer->name(), outer->type(), outer->raw_data());
  if (const auto known = nested.inputs.find(outer); known != nested.inputs.end())
    return known->second;
  ec::Tensor* input = nested.graph->add_input("", outer->type());
  nested.graph->set_dim_values(input, outer->dim_values());
  nested.captures.push_back(outer);
  nested.inputs.emplace(outer, input);
  return input;
}

TfValue capture(Importer& importer, NestedGraph& nested, const TfValue& outer) {
  if (outer.is_tensor()) return TfValue::of(capture(nested, outer.tensor), outer.complex);
  if (outer.kind != TfValue::Kind::List) return outer;
  TensorList list = importer.list(outer.id);
  if (list.stack != nullptr) list.stack = capture(nested, list.stack);
  if (list.length != nullptr) list.length = capture(nested, list.length);
  return TfValue::list(importer.add_list(std::move(list)));
}

}  // namespace ec::tf
