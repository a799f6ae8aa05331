// Models, graphs, functions and their nodes.
#include "formats/onnx/decode.h"

#include "formats/onnx/decode_parts.h"
#include "formats/onnx/fields.h"
#include "formats/protobuf/wire.h"

namespace ec::onnx {
namespace {

using wire::for_each_message;
using wire::guarded;
using wire::Reader;

OpsetId read_opset(Bytes message) {
  OpsetId opset;
  for (Reader r(message); r.next();) {
    if (r.tag() == field::opset::kDomain)
      r.read(opset.domain);
    else if (r.tag() == field::opset::kVersion)
      r.read(opset.version);
    else
      r.skip();
  }
  return opset;
}

struct NodeCounts {
  size_t nodes = 0, names = 0, attributes = 0;
  size_t whole = 0;  // nodes that are long enough to have an operator, an operand and a result
};

// Operator, operand and result with the names that a large graph needs.
constexpr size_t kWholeNodeBytes = 16;

void count_node(Bytes message, NodeCounts& counts) {
  ++counts.nodes;
  if (message.size() >= kWholeNodeBytes) ++counts.whole;
  for (Reader r(message); r.next(); r.skip()) {
    if (!r.is_message()) continue;
    if (r.tag() == field::node::kInput || r.tag() == field::node::kOutput) ++counts.names;
    if (r.tag() == field::node::kAttribute) ++counts.attributes;
  }
}

// Nodes are read in two walks: the first counts, so that the second fills lists that never move.
Status reserve(NodeList& list, const NodeCounts& counts, Budget& budget) {
  // A whole node with its operands and results is free: the graph that it becomes takes ten times
  // as much, and a model may have a million of them.
  EC_CHECK_OK(budget.charge(counts.nodes - counts.whole, sizeof(Node)));
  const size_t free_names = 3 * counts.whole;
  EC_CHECK_OK(
      budget.charge(counts.names - std::min(counts.names, free_names), sizeof(std::string_view)));
  EC_CHECK_OK(budget.charge(counts.attributes, sizeof(Attribute)));
  list.nodes.reserve(counts.nodes);
  list.names.reserve(counts.names);
  list.attributes.reserve(counts.attributes);
  return {};
}

void read_names(Bytes message, uint32_t tag, NodeList& list,
                std::span<const std::string_view>& names) {
  const size_t first = list.names.size();
  for (Reader r(message); r.next();) {
    if (r.tag() == tag && r.is_message())
      r.read(list.names.emplace_back());
    else
      r.skip();
  }
  names = std::span(list.names).subspan(first);
}

void read_node(Bytes message, NodeList& list) {
  Node node;
  const size_t first_attribute = list.attributes.size();
  for (Reader r(message); r.next();) {
    switch (r.tag()) {
      case field::node::kName:
        r.read(node.name);
        break;
      case field::node::kOpType:
        r.read(node.op_type);
        break;
      case field::node::kDomain:
        r.read(node.domain);
        break;
      case field::node::kOverload:
        r.read(node.overload);
        break;
      case field::node::kAttribute: {
        if (!r.is_message()) {
          r.skip();
          break;
        }
        Bytes attribute;
        r.read(attribute);
        list.attributes.push_back(read_attribute(attribute));
        break;
      }
      default:
        r.skip();
    }
  }
  node.attributes = std::span(list.attributes).subspan(first_attribute);
  read_names(message, field::node::kInput, list, node.inputs);
  read_names(message, field::node::kOutput, list, node.outputs);
  list.nodes.push_back(node);
}

std::string_view tensor_name(Bytes message) {
  std::string_view name;
  for (Reader r(message); r.next();) {
    if (r.tag() == field::tensor::kName)
      r.read(name);
    else
      r.skip();
  }
  return name;
}

std::string_view sparse_tensor_name(Bytes message) {
  Bytes values;
  for (Reader r(message); r.next();) {
    if (r.tag() == field::sparse_tensor::kValues)
      r.read(values);
    else
      r.skip();
  }
  return tensor_name(values);
}

ValueInfo read_value_info(Bytes message) {
  ValueInfo info;
  for (Reader r(message); r.next();) {
    if (r.tag() == field::value_info::kName)
      r.read(info.name);
    else if (r.tag() == field::value_info::kType)
      r.read(info.type);
    else
      r.skip();
  }
  return info;
}

Status reserve_graph(Bytes message, Graph& graph, Budget& budget) {
  NodeCounts counts;
  size_t initializers = 0, sparse = 0, infos[3] = {};
  for_each_message(message, [&](uint32_t tag, Bytes nested) {
    if (tag == field::graph::kNode) count_node(nested, counts);
    if (tag == field::graph::kInitializer) ++initializers;
    if (tag == field::graph::kSparseInitializer) ++sparse;
    if (tag >= field::graph::kInput && tag <= field::graph::kValueInfo)
      ++infos[tag - field::graph::kInput];
  });
  EC_CHECK_OK(reserve(graph.list, counts, budget));
  EC_CHECK_OK(budget.charge(initializers + sparse, sizeof(NamedTensor)));
  EC_CHECK_OK(budget.charge(infos[0] + infos[1] + infos[2], sizeof(ValueInfo)));
  graph.initializers.reserve(initializers);
  graph.sparse_initializers.reserve(sparse);
  graph.inputs.reserve(infos[0]);
  graph.outputs.reserve(infos[1]);
  graph.value_info.reserve(infos[2]);
  return {};
}

}  // namespace

Result<Model> decode_model(Bytes message, Budget& budget) {
  return guarded([&]() -> Result<Model> {
    Model model;
    size_t lists = 0;
    for_each_message(message, [&](uint32_t tag, Bytes) {
      if (tag == field::model::kOpsetImport || tag == field::model::kMetadata ||
          tag == field::model::kFunctions)
        ++lists;
    });
    EC_CHECK_OK(budget.charge(lists, 2 * sizeof(StringEntry)));
    for (Reader r(message); r.next();) {
      if (r.tag() == field::model::kIrVersion)
        r.read(model.ir_version);
      else if (r.tag() == field::model::kModelVersion)
        r.read(model.model_version);
      else
        r.skip();
    }
    for_each_message(message, [&](uint32_t tag, Bytes nested) {
      switch (tag) {
        case field::model::kProducerName:
          model.producer_name = nested;
          break;
        case field::model::kProducerVersion:
          model.producer_version = nested;
          break;
        case field::model::kDomain:
          model.domain = nested;
          break;
        case field::model::kDoc:
          model.doc = nested;
          break;
        case field::model::kGraph:
          model.graph = nested;
          break;
        case field::model::kOpsetImport:
          model.opsets.push_back(read_opset(nested));
          break;
        case field::model::kMetadata:
          model.metadata.push_back(read_entry(nested));
          break;
        case field::model::kFunctions:
          model.functions.push_back(nested);
          break;
        default:
          break;
      }
    });
    return model;
  });
}

Result<Graph> decode_graph(Bytes message, Budget& budget) {
  return guarded([&]() -> Result<Graph> {
    Graph graph;
    EC_CHECK_OK(reserve_graph(message, graph, budget));
    for_each_message(message, [&](uint32_t tag, Bytes nested) {
      switch (tag) {
        case field::graph::kNode:
          read_node(nested, graph.list);
          break;
        case field::graph::kName:
          graph.name = nested;
          break;
        case field::graph::kDoc:
          graph.doc = nested;
          break;
        case field::graph::kInitializer:
          graph.initializers.push_back({tensor_name(nested), nested});
          break;
        case field::graph::kSparseInitializer:
          graph.sparse_initializers.push_back({sparse_tensor_name(nested), nested});
          break;
        case field::graph::kInput:
          graph.inputs.push_back(read_value_info(nested));
          break;
        case field::graph::kOutput:
          graph.outputs.push_back(read_value_info(nested));
          break;
        case field::graph::kValueInfo:
          graph.value_info.push_back(read_value_info(nested));
          break;
        default:
          break;
      }
    });
    return graph;
  });
}

Result<Function> decode_function(Bytes message, Budget& budget) {
  return guarded([&]() -> Result<Function> {
    Function function;
    NodeCounts counts;
    size_t others = 0;
    for_each_message(message, [&](uint32_t tag, Bytes nested) {
      tag == field::function::kNode ? count_node(nested, counts) : void(++others);
    });
    EC_CHECK_OK(reserve(function.list, counts, budget));
    EC_CHECK_OK(budget.charge(others, 2 * sizeof(Attribute)));
    for_each_message(message, [&](uint32_t tag, Bytes nested) {
      switch (tag) {
        case field::function::kName:
          function.name = nested;
          break;
        case field::function::kDomain:
          function.domain = nested;
          break;
        case field::function::kOverload:
          function.overload = nested;
          break;
        case field::function::kInput:
          function.inputs.push_back(nested);
          break;
        case field::function::kOutput:
          function.outputs.push_back(nested);
          break;
        case field::function::kAttribute:
          function.attributes.push_back(nested);
          break;
        case field::function::kAttributeProto:
          function.default_attributes.push_back(read_attribute(nested));
          break;
        case field::function::kOpsetImport:
          function.opsets.push_back(read_opset(nested));
          break;
        case field::function::kNode:
          read_node(nested, function.list);
          break;
        default:
          break;
      }
    });
    return function;
  });
}

bool looks_like_model(Bytes head) {
  // The head may end in the middle of a field: what was seen until then decides.
  int64_t version = 0;
  bool graph = false, opset = false;
  try {
    for (Reader r(head); r.next();) {
      if (r.tag() == field::model::kGraph && r.is_message()) graph = true;
      if (r.tag() == field::model::kOpsetImport && r.is_message()) opset = true;
      if (r.tag() == field::model::kIrVersion && r.is_varint())
        r.read(version);
      else
        r.skip();
    }
  } catch (const protozero::exception&) {
  }
  return version > 0 && version <= 100 && (graph || opset);
}

}  // namespace ec::onnx
