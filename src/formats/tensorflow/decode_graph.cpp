// Graphs, functions and their nodes.
#include <algorithm>

#include "formats/protobuf/wire.h"
#include "formats/tensorflow/decode.h"

namespace ec::tf {
namespace {

using wire::for_each_message;
using wire::guarded;
using wire::Reader;

namespace field {
// GraphDef
constexpr uint32_t kGraphNode = 1, kGraphLibrary = 2, kLibraryFunction = 1;
// NodeDef
constexpr uint32_t kNodeName = 1, kNodeOp = 2, kNodeInput = 3, kNodeAttr = 5;
// Entries of maps
constexpr uint32_t kKey = 1, kValue = 2;
// FunctionDef
constexpr uint32_t kFunctionSignature = 1, kFunctionNode = 3, kFunctionRet = 4, kFunctionAttr = 5,
                   kFunctionControlRet = 6;
// OpDef and ArgDef
constexpr uint32_t kOpName = 1, kOpInput = 2, kOpOutput = 3;
constexpr uint32_t kArgName = 1, kArgType = 3;
}  // namespace field

struct NodeCounts {
  size_t nodes = 0, names = 0, attributes = 0;
  size_t whole = 0;  // nodes that are long enough to have a name and an operator
};

// A name, an operator and an attribute or two.
constexpr size_t kWholeNodeBytes = 24;

void count_node(Bytes message, NodeCounts& counts) {
  ++counts.nodes;
  if (message.size() >= kWholeNodeBytes) ++counts.whole;
  for (Reader r(message); r.next(); r.skip()) {
    if (!r.is_message()) continue;
    if (r.tag() == field::kNodeInput) ++counts.names;
    if (r.tag() == field::kNodeAttr) ++counts.attributes;
  }
}

// Nodes are read in two walks: the first counts, so that the second fills lists that never move.
Status reserve(NodeList& list, const NodeCounts& counts, Budget& budget) {
  // A whole node with two operands is free: the graph that it becomes takes ten times as much.
  EC_CHECK_OK(budget.charge(counts.nodes - counts.whole, sizeof(Node)));
  EC_CHECK_OK(budget.charge(counts.names - std::min(counts.names, 2 * counts.whole),
                            sizeof(std::string_view)));
  EC_CHECK_OK(budget.charge(counts.attributes - std::min(counts.attributes, counts.whole),
                            sizeof(Attribute)));
  list.nodes.reserve(counts.nodes);
  list.names.reserve(counts.names);
  list.attributes.reserve(counts.attributes);
  return {};
}

// An entry of a map: two fields of one message.
NamedValue read_entry(Bytes message) {
  NamedValue entry;
  for (Reader r(message); r.next();) {
    if (r.tag() == field::kKey)
      r.read(entry.name);
    else if (r.tag() == field::kValue)
      r.read(entry.value);
    else
      r.skip();
  }
  return entry;
}

Attribute read_attribute(Bytes message) {
  const NamedValue entry = read_entry(message);
  return {entry.name, entry.value};
}

void read_node(Bytes message, NodeList& list) {
  Node node;
  const size_t first_name = list.names.size(), first_attribute = list.attributes.size();
  for (Reader r(message); r.next();) {
    if (!r.is_message()) {
      r.skip();
      continue;
    }
    const uint32_t tag = r.tag();
    Bytes value;
    r.read(value);
    if (tag == field::kNodeName)
      node.name = value;
    else if (tag == field::kNodeOp)
      node.op = value;
    else if (tag == field::kNodeInput)
      list.names.push_back(value);
    else if (tag == field::kNodeAttr)
      list.attributes.push_back(read_attribute(value));
  }
  node.inputs = std::span(list.names).subspan(first_name);
  node.attributes = std::span(list.attributes).subspan(first_attribute);
  list.nodes.push_back(node);
}

Result<NodeList> read_nodes(Bytes message, uint32_t node_tag, Budget& budget) {
  NodeCounts counts;
  for_each_message(message, [&](uint32_t tag, Bytes node) {
    if (tag == node_tag) count_node(node, counts);
  });
  NodeList list;
  EC_CHECK_OK(reserve(list, counts, budget));
  for_each_message(message, [&](uint32_t tag, Bytes node) {
    if (tag == node_tag) read_node(node, list);
  });
  return list;
}

Argument read_argument(Bytes message) {
  Argument argument;
  for (Reader r(message); r.next();) {
    if (r.tag() == field::kArgName) {
      r.read(argument.name);
    } else if (r.tag() == field::kArgType) {
      int32_t type = 0;
      r.read(type);
      argument.type = static_cast<DataType>(type);
    } else {
      r.skip();
    }
  }
  return argument;
}

// Fields of a function that become structs of their own.
Status charge_lists(Bytes message, Budget& budget) {
  size_t count = 0;
  for_each_message(message, [&](uint32_t tag, Bytes nested) {
    if (tag == field::kFunctionSignature)
      for_each_message(nested, [&](uint32_t, Bytes) { ++count; });
    else if (tag != field::kFunctionNode)
      ++count;
  });
  return budget.charge(count, sizeof(NamedValue));
}

}  // namespace

Result<GraphDef> decode_graph(Bytes message, Budget& budget) {
  return guarded([&]() -> Result<GraphDef> {
    GraphDef graph;
    EC_TRY(graph.list, read_nodes(message, field::kGraphNode, budget));
    Status status;
    for_each_message(message, [&](uint32_t tag, Bytes library) {
      if (tag != field::kGraphLibrary || !status.ok()) return;
      size_t count = 0;
      for_each_message(library, [&](uint32_t, Bytes) { ++count; });
      status = budget.charge(count, sizeof(Bytes));
      if (!status.ok()) return;
      for_each_message(library, [&](uint32_t inner, Bytes function) {
        if (inner == field::kLibraryFunction) graph.functions.push_back(function);
      });
    });
    if (!status.ok()) return std::move(status).error();
    return graph;
  });
}

Result<std::string_view> function_name(Bytes message) {
  return guarded([&]() -> Result<std::string_view> {
    std::string_view name;
    for_each_message(message, [&](uint32_t tag, Bytes signature) {
      if (tag != field::kFunctionSignature) return;
      for_each_message(signature, [&](uint32_t inner, Bytes text) {
        if (inner == field::kOpName) name = text;
      });
    });
    return name;
  });
}

Result<Function> decode_function(Bytes message, Budget& budget) {
  return guarded([&]() -> Result<Function> {
    Function function;
    EC_CHECK_OK(charge_lists(message, budget));
    for_each_message(message, [&](uint32_t tag, Bytes nested) {
      switch (tag) {
        case field::kFunctionSignature:
          for_each_message(nested, [&](uint32_t inner, Bytes value) {
            if (inner == field::kOpName) function.name = value;
            if (inner == field::kOpInput) function.inputs.push_back(read_argument(value));
            if (inner == field::kOpOutput) function.outputs.push_back(read_argument(value));
          });
          break;
        case field::kFunctionRet:
          function.results.push_back(read_entry(nested));
          break;
        case field::kFunctionControlRet:
          function.control_results.push_back(read_entry(nested).value);
          break;
        case field::kFunctionAttr:
          function.attributes.push_back(read_attribute(nested));
          break;
        default:
          break;
      }
    });
    EC_TRY(function.list, read_nodes(message, field::kFunctionNode, budget));
    return function;
  });
}

bool looks_like_graph(Bytes head) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(head[i]); };
  if (head.size() < 8 || byte(0) != 0x0a) return false;
  size_t at = 1;
  while (at < head.size() && (byte(at) & 0x80) != 0) ++at;  // length of the node
  ++at;
  if (at + 2 >= head.size() || byte(at) != 0x0a) return false;
  size_t name = byte(at + 1);
  at += 2;
  if (name > 127 && at < head.size()) name = (name & 0x7f) | size_t{byte(at++)} << 7;
  at += name;
  if (name == 0 || name > 1000 || at + 2 >= head.size() || byte(at) != 0x12) return false;
  const size_t op = byte(at + 1);
  if (op == 0 || op > 64 || at + 2 + op > head.size()) return false;
  const std::string_view text = head.substr(at + 2, op);
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace ec::tf
