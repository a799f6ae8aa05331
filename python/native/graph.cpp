// The native graph as edgecompiler.ir reads and builds it. All names are checked here: a name that
// is defined twice or not at all is the caller's error and gets a diagnostic, never an assertion.
#include "ir/graph.h"

#include "attributes.h"
#include "bindings.h"
#include "buffers.h"
#include "ir/text.h"
#include "support/strings.h"
#include "types.h"

namespace ec::python {
namespace {

using GraphPtr = std::shared_ptr<Graph>;

// --- reading -------------------------------------------------------------------------------------

py::list tensors_of(const Graph& graph) {
  py::list list;
  for (const Tensor* tensor : graph.tensors()) {
    py::object data = py::none();
    if (tensor->is_constant()) data = py::cast(Bytes{tensor->data(), /*writable=*/false});
    list.append(py::make_tuple(tensor->name(), std::string(dtype_name(tensor->dtype())),
                               shape_to_python(tensor->shape()), data,
                               quant_to_python(tensor->type().quant)));
  }
  return list;
}

py::list ops_of(const py::object& self) {
  const Graph& graph = py::cast<const Graph&>(self);
  py::list list;
  for (const Operation* op : graph.topological()) {
    py::list inputs, outputs, bodies;
    for (const Tensor* input : op->inputs())
      inputs.append(input ? py::object(py::str(input->name())) : py::object(py::none()));
    for (const Tensor* output : op->outputs()) outputs.append(output->name());
    for (const auto& body : op->bodies()) bodies.append(GraphPtr(body->clone()));
    list.append(py::make_tuple(std::string(op_name(op->kind())), inputs, outputs,
                               attributes_to_dict(op->attrs()), bodies, op->location().nodes,
                               op->location().op_type));
  }
  return list;
}

// --- building ------------------------------------------------------------------------------------

Tensor* find_or_throw(const Graph& graph, const std::string& name, const std::string& user) {
  Tensor* tensor = graph.find_tensor(name);
  if (tensor != nullptr) return tensor;
  std::vector<std::string_view> known;
  for (const Tensor* candidate : graph.tensors()) known.push_back(candidate->name());
  throw Failure(Error(Code::UndefinedName, "'" + name + "' is read but never defined")
                    .node(user)
                    .hint(did_you_mean(name, known)));
}

void refuse_duplicate(const Graph& graph, const std::string& name) {
  if (graph.find_tensor(name) != nullptr)
    throw Failure(Error(Code::DuplicateName, "'" + name + "' is defined twice"));
}

void add_constant(Graph& graph, const std::string& name, const std::string& dtype,
                  const std::vector<int64_t>& shape, const py::buffer& data) {
  refuse_duplicate(graph, name);
  TensorType type(dtype_from_text(dtype), Shape::of(shape));
  Blob blob = blob_from_buffer(data);
  const std::optional<int64_t> bytes = type.num_bytes();
  if (!bytes || static_cast<size_t>(*bytes) != blob.size())
    throw Failure(Error(Code::BadTensorData, "constant '" + name + "' holds " +
                                                 std::to_string(blob.size()) + " bytes, " +
                                                 type.text() + " needs another number"));
  graph.add_constant(name, std::move(type), std::move(blob));
}

const OpDef& op_or_throw(const std::string& op_type, const std::string& user) {
  if (const OpDef* def = find_op(op_type)) return *def;
  std::vector<std::string_view> known;
  for (const OpDef* def : all_ops()) known.push_back(def->name);
  throw Failure(Error(Code::UnsupportedOp, "no operation is named '" + op_type + "'")
                    .node(user, op_type)
                    .hint(did_you_mean(op_type, known)));
}

void add_op(Graph& graph, const std::string& op_type,
            const std::vector<std::optional<std::string>>& inputs,
            const std::vector<std::string>& outputs, const py::dict& attributes,
            const std::vector<GraphPtr>& bodies, const std::vector<std::string>& source_names,
            const std::string& source_type) {
  const std::string user =
      source_names.empty() ? (outputs.empty() ? op_type : outputs.front()) : source_names.front();
  const OpDef& def = op_or_throw(op_type, user);
  std::vector<Tensor*> operands;
  for (const auto& name : inputs)
    operands.push_back(name ? find_or_throw(graph, *name, user) : nullptr);
  for (const std::string& name : outputs) refuse_duplicate(graph, name);
  OpSpec spec;
  spec.attrs = attributes_from_dict(def, attributes);
  spec.location.nodes = source_names;
  spec.location.op_type = source_type;
  spec.num_outputs = outputs.size();
  spec.output_names = outputs;
  for (const GraphPtr& body : bodies) spec.bodies.push_back(body->clone());
  Result<Operation*> added = graph.add(def.kind, std::move(operands), std::move(spec));
  if (!added.ok()) throw Failure(std::move(added).error().node(user, op_type));
}

// Declared and inferred type of a tensor must agree; what inference left open is filled in.
void declare_type(Graph& graph, const std::string& name, const std::string& dtype,
                  const py::object& shape) {
  Tensor* tensor = graph.find_tensor(name);
  if (tensor == nullptr || tensor->producer() == nullptr) return;
  TensorType declared = type_from_python(dtype, shape);
  TensorType merged = tensor->type();
  bool agrees = merged.dtype == declared.dtype;
  if (agrees && declared.shape && merged.shape) {
    agrees = declared.shape->rank() == merged.shape->rank();
    for (size_t i = 0; agrees && i < merged.shape->rank(); ++i) {
      Dim& known = (*merged.shape)[i];
      const Dim& said = (*declared.shape)[i];
      if (!known.is_static() && said.is_static())
        known = said;
      else if (known.is_static() && said.is_static())
        agrees = known.size() == said.size();
    }
  } else if (agrees && declared.shape) {
    merged.shape = declared.shape;
  }
  if (!agrees)
    throw Failure(Error(Code::ShapeMismatch, "tensor '" + name + "' is declared as " +
                                                 declared.text() + ", but its operation gives " +
                                                 tensor->type().text())
                      .node(std::string(tensor->producer()->location().name()))
                      .hint("call infer_types() after changing inputs or operations"));
  graph.set_type(tensor, std::move(merged));
}

void set_quantization(Graph& graph, const std::string& name, std::vector<float> scales,
                      std::vector<int32_t> zero_points, int32_t axis) {
  if (Tensor* tensor = graph.find_tensor(name))
    graph.set_quant(tensor, QuantParams{std::move(scales), std::move(zero_points), axis});
}

}  // namespace

void bind_graph(py::module_& module) {
  py::class_<Graph, GraphPtr>(module, "Graph",
                              "The native graph; edgecompiler.ir.IRGraph wraps it.")
      .def(py::init<std::string>(), py::arg("name"))
      .def_property(
          "name", [](const Graph& g) { return text(g.name()); }, &Graph::set_name)
      .def_property(
          "metadata",
          [](const Graph& g) {
            py::dict dict;
            for (const auto& [key, value] : g.metadata()) dict[text(key)] = text(value);
            return dict;
          },
          [](Graph& g, std::map<std::string, std::string> m) { g.metadata() = std::move(m); })
      .def_property_readonly("inputs",
                             [](const Graph& g) {
                               std::vector<std::string> names;
                               for (const Tensor* t : g.inputs()) names.push_back(t->name());
                               return names;
                             })
      .def_property_readonly("outputs",
                             [](const Graph& g) {
                               std::vector<std::pair<std::string, std::string>> names;
                               for (size_t i = 0; i < g.outputs().size(); ++i)
                                 names.emplace_back(g.outputs()[i]->name(), g.output_names()[i]);
                               return names;
                             })
      .def("tensors", &tensors_of)
      .def("ops", &ops_of)
      .def(
          "add_input",
          [](Graph& g, const std::string& name, const std::string& dtype, const py::object& shape) {
            refuse_duplicate(g, name);
            g.add_input(name, type_from_python(dtype, shape));
          },
          py::arg("name"), py::arg("dtype"), py::arg("shape"))
      .def("add_constant", &add_constant, py::arg("name"), py::arg("dtype"), py::arg("shape"),
           py::arg("data"))
      .def("add_op", &add_op, py::arg("op_type"), py::arg("inputs"), py::arg("outputs"),
           py::arg("attributes"), py::arg("bodies"), py::arg("source_names"),
           py::arg("source_type"))
      .def("declare_type", &declare_type, py::arg("name"), py::arg("dtype"), py::arg("shape"))
      .def("set_quantization", &set_quantization, py::arg("name"), py::arg("scales"),
           py::arg("zero_points"), py::arg("axis"))
      .def(
          "add_output",
          [](Graph& g, const std::string& name, const std::string& tensor) {
            g.add_output(name, find_or_throw(g, tensor, "graph output"));
          },
          py::arg("name"), py::arg("tensor"))
      .def("verify",
           [](const Graph& g) {
             py::list items;
             for (const Diagnostic& d : verify(g)) items.append(diagnostic_to_dict(d));
             return items;
           })
      .def(
          "print",
          [](const Graph& g, bool elide) {
            return print(g, elide ? ConstantText::Elide : ConstantText::Full);
          },
          py::arg("elide") = false, py::call_guard<py::gil_scoped_release>())
      .def(
          "equals", [](const Graph& a, const Graph& b) { return a == b; }, py::arg("other"));
}

}  // namespace ec::python
