#include "frontend/tensorflow/interface.h"

#include <algorithm>

#include "formats/tensorflow/decode.h"
#include "frontend/input_shapes.h"
#include "frontend/tensorflow/limits.h"
#include "frontend/tensorflow/types.h"
#include "support/strings.h"

namespace ec::tf {
namespace {

struct Declared {
  std::string name;
  uint32_t node = 0;
  DataType type = DataType::Invalid;
  PartialShape shape;
};

std::optional<AttributeValue> attribute(const Node& node, std::string_view name) {
  for (const Attribute& attribute : node.attributes) {
    if (attribute.name != name) continue;
    const auto value = decode_attribute(attribute.value);
    if (value.ok()) return *value;
  }
  return std::nullopt;
}

// Type and shape as the node itself declares them.
Declared declared_by(const Node& node, uint32_t index) {
  Declared input;
  input.name = std::string(node.name.substr(0, kMaxNameLength));
  input.node = index;
  for (const char* name : {"dtype", "T", "DstT", "Tparams"})
    if (const auto type = attribute(node, name); type && type->kind == AttributeValue::Kind::Type) {
      input.type = static_cast<DataType>(type->integer);
      break;
    }
  if (const auto shape = attribute(node, "shape");
      shape && shape->kind == AttributeValue::Kind::Shape) {
    if (auto decoded = decode_shape(shape->message); decoded.ok()) input.shape = *decoded;
  } else if (const auto shapes = attribute(node, "_output_shapes");
             shapes && shapes->kind == AttributeValue::Kind::List) {
    if (const auto list = decode_list(shapes->message); list.ok() && !list->shapes.empty())
      if (auto decoded = decode_shape(list->shapes[0]); decoded.ok()) input.shape = *decoded;
  }
  // A placeholder of version 1 without a shape has none that is known.
  if (input.shape && input.shape->empty() && node.op == "Placeholder" &&
      !attribute(node, "_output_shapes"))
    if (const auto shape = attribute(node, "shape"); shape && shape->message.empty())
      input.shape = std::vector<int64_t>{};
  return input;
}

// Open sizes become symbols. The first dimension of all inputs is one batch when each of them
// leaves it open, as Keras has it.
void name_sizes(const std::vector<Declared>& inputs, std::vector<NamedInput>& named) {
  const bool batch = std::all_of(inputs.begin(), inputs.end(), [](const Declared& input) {
    return input.shape && input.shape->size() >= 2 && input.shape->front() < 0;
  });
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].shape) continue;
    // The name stands in every shape that follows from this one.
    constexpr size_t kLongName = 64;
    const std::string& own = inputs[i].name;
    const std::string name = own.size() <= kLongName ? own : "input" + std::to_string(i);
    Shape shape;
    for (size_t d = 0; d < inputs[i].shape->size(); ++d) {
      const int64_t size = (*inputs[i].shape)[d];
      if (size >= 0)
        shape.push_back(Dim(size));
      else if (d == 0 && batch)
        shape.push_back(Dim::symbol("batch"));
      else
        shape.push_back(Dim::symbol(name + "_dim" + std::to_string(d)));
    }
    if (is_complex(inputs[i].type)) shape.push_back(Dim(2));
    named[i].type.shape = std::move(shape);
  }
}

Status add_inputs(const std::vector<Declared>& inputs, const ImportOptions& options,
                  DiagnosticSink& sink, Interface& interface) {
  std::vector<NamedInput> named;
  const size_t before = sink.error_count();
  for (const Declared& input : inputs) {
    const auto dtype = to_dtype(input.type);
    if (!dtype)
      sink.report(Error(Code::UnsupportedType, "input '" + printable(input.name) + "' is of type " +
                                                   data_type_name(input.type))
                      .hint("export the model from the tensors behind it on"));
    named.push_back({input.name, TensorType(dtype.value_or(DType::F32))});
  }
  if (sink.error_count() > before) return sink.first_error();
  name_sizes(inputs, named);
  apply_input_options(named, options, sink);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto& shape = named[i].type.shape;
    if (!is_complex(inputs[i].type) || !shape) continue;
    if (shape->rank() == 0 || !(*shape)[shape->rank() - 1].same_size(Dim(2)))
      sink.report(Error(Code::ShapeMismatch, "input '" + printable(inputs[i].name) +
                                                 "' is complex: its last size has to be 2")
                      .hint("the last dimension holds real and imaginary parts"));
  }
  if (sink.error_count() > before) return sink.first_error();
  for (size_t i = 0; i < inputs.size(); ++i)
    interface.inputs.push_back(
        {named[i].name, inputs[i].node, named[i].type, is_complex(inputs[i].type)});
  return {};
}

Error no_node(std::string_view name, const FunctionBody& graph) {
  std::vector<std::string_view> names;
  for (const Node& node : graph.function.list.nodes) {
    if (names.size() >= 5000) break;
    names.push_back(node.name);
  }
  return Error(Code::UnknownInput, "the graph has no node '" + printable(name) + "'")
      .hint(did_you_mean(name, names));
}

// Whether the node alone tells nothing that a user asks for.
bool is_result(const Node& node) {
  for (const char* op :
       {"NoOp", "Const", "Placeholder", "PlaceholderV2", "Assert", "SaveV2", "RestoreV2", "Assign",
        "AssignVariableOp", "VarHandleOp", "VariableV2", "PrintV2", "MergeV2Checkpoints"})
    if (node.op == op) return false;
  return true;
}

// Nodes that are computed from a placeholder.
std::vector<bool> computed_nodes(const FunctionBody& graph) {
  const auto& nodes = graph.function.list.nodes;
  std::vector<std::vector<uint32_t>> readers(nodes.size());
  std::vector<bool> computed(nodes.size(), false);
  std::vector<uint32_t> stack;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    for (const Source& source : graph.inputs_of(nodes[i]))
      if (source.kind == Source::Kind::Node) readers[source.index].push_back(i);
    if (nodes[i].op == "Placeholder" || nodes[i].op == "PlaceholderV2") stack.push_back(i);
  }
  while (!stack.empty()) {
    const uint32_t node = stack.back();
    stack.pop_back();
    if (computed[node]) continue;
    computed[node] = true;
    for (const uint32_t reader : readers[node])
      if (!computed[reader]) stack.push_back(reader);
  }
  return computed;
}

// What nothing reads is an output. Copies of weights that only control edges name are none, where
// anything is computed from an input.
std::vector<Interface::Output> unread_nodes(const FunctionBody& graph) {
  const auto& nodes = graph.function.list.nodes;
  const std::vector<bool> computed = computed_nodes(graph);
  std::vector<bool> read(nodes.size(), false);
  for (const Source& source : graph.sources)
    if (source.kind == Source::Kind::Node) read[source.index] = true;
  std::vector<Interface::Output> outputs, constants;
  for (uint32_t i = 0; i < nodes.size(); ++i)
    if (!read[i] && is_result(nodes[i]))
      (computed[i] ? outputs : constants)
          .push_back(
              {std::string(nodes[i].name.substr(0, kMaxNameLength)), {Source::Kind::Node, i, 0}});
  return outputs.empty() ? constants : outputs;
}

// Nodes that the outputs need.
std::vector<bool> needed_nodes(const FunctionBody& graph,
                               const std::vector<Interface::Output>& outputs,
                               const std::vector<bool>& stops) {
  std::vector<bool> needed(graph.function.list.nodes.size(), false);
  std::vector<uint32_t> stack;
  for (const Interface::Output& output : outputs) stack.push_back(output.source.index);
  while (!stack.empty()) {
    const uint32_t node = stack.back();
    stack.pop_back();
    if (needed[node]) continue;
    needed[node] = true;
    if (stops[node]) continue;
    for (const Source& source : graph.inputs_of(graph.function.list.nodes[node]))
      if (source.kind == Source::Kind::Node && !needed[source.index]) stack.push_back(source.index);
  }
  return needed;
}

}  // namespace

Result<Interface> interface_of_signature(const Signature& signature, const FunctionBody& graph,
                                         const ImportOptions& options, DiagnosticSink& sink) {
  Interface interface;
  std::vector<Declared> inputs;
  for (const TensorInfo& info : signature.inputs) {
    const Source source = graph.find(info.name);
    if (source.kind != Source::Kind::Node) return no_node(info.name, graph);
    inputs.push_back(
        {std::string(info.key.substr(0, kMaxNameLength)), source.index, info.type, info.shape});
  }
  // The order of the call is the order of the model's arguments; the signature has none.
  std::vector<uint32_t> place(graph.function.list.nodes.size(), UINT32_MAX);
  for (const TensorInfo& info : signature.outputs) {
    const Source source = graph.find(info.name);
    if (source.kind != Source::Kind::Node) return no_node(info.name, graph);
    interface.outputs.push_back({std::string(info.key.substr(0, kMaxNameLength)), source});
    uint32_t next = 0;
    for (const Source& operand : graph.inputs_of(graph.function.list.nodes[source.index]))
      if (operand.kind == Source::Kind::Node && place[operand.index] == UINT32_MAX)
        place[operand.index] = next++;
  }
  std::stable_sort(inputs.begin(), inputs.end(), [&](const Declared& a, const Declared& b) {
    return place[a.node] < place[b.node];
  });
  EC_CHECK_OK(add_inputs(inputs, options, sink, interface));
  return interface;
}

Result<Interface> interface_of_graph(const FunctionBody& graph, const ImportOptions& options,
                                     DiagnosticSink& sink) {
  Interface interface;
  const auto& nodes = graph.function.list.nodes;
  for (const std::string& name : options.part.outputs) {
    const Source source = graph.find(name);
    if (source.kind != Source::Kind::Node) return no_node(name, graph);
    interface.outputs.push_back({name, source});
  }
  if (interface.outputs.empty()) interface.outputs = unread_nodes(graph);
  if (interface.outputs.empty())
    return Error(Code::CorruptFile, "the graph has no node that could be an output")
        .hint("save the graph frozen, with the nodes that compute its outputs");
  std::vector<Declared> inputs;
  std::vector<bool> stops(nodes.size(), false);
  for (const std::string& name : options.part.inputs) {
    const Source source = graph.find(name);
    if (source.kind != Source::Kind::Node || source.output != 0) return no_node(name, graph);
    if (stops[source.index]) continue;
    stops[source.index] = true;
    inputs.push_back(declared_by(nodes[source.index], source.index));
    inputs.back().name = name;
  }
  if (inputs.empty()) {
    const std::vector<bool> needed = needed_nodes(graph, interface.outputs, stops);
    for (uint32_t i = 0; i < nodes.size(); ++i)
      if (needed[i] && (nodes[i].op == "Placeholder" || nodes[i].op == "PlaceholderV2"))
        inputs.push_back(declared_by(nodes[i], i));
  }
  EC_CHECK_OK(add_inputs(inputs, options, sink, interface));
  return interface;
}

}  // namespace ec::tf
