#include "formats/onnx/decode.h"

#include "formats/onnx/fields.h"
#include "formats/onnx/wire.h"

namespace ec::onnx {
namespace {

using wire::guarded;
using wire::Reader;

// Longest list of numbers or texts in an attribute. Data of this size belongs into a tensor.
constexpr size_t kMaxAttributeList = size_t{4} << 20;

Error too_long(std::string_view what) {
  return Error(Code::TooLarge, std::string(what) + " is longer than the limit");
}

StringEntry read_entry(Bytes message) {
  StringEntry entry;
  for (Reader r(message); r.next();) {
    if (r.tag() == field::entry::kKey)
      r.read(entry.key);
    else if (r.tag() == field::entry::kValue)
      r.read(entry.value);
    else
      r.skip();
  }
  return entry;
}

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

// Files older than the type field say the type by the value that is present.
AttributeType type_of_field(uint32_t tag) {
  switch (tag) {
    case field::attribute::kFloat:
      return AttributeType::Float;
    case field::attribute::kInt:
      return AttributeType::Int;
    case field::attribute::kString:
      return AttributeType::String;
    case field::attribute::kTensor:
      return AttributeType::Tensor;
    case field::attribute::kGraph:
      return AttributeType::Graph;
    case field::attribute::kFloats:
      return AttributeType::Floats;
    case field::attribute::kInts:
      return AttributeType::Ints;
    case field::attribute::kStrings:
      return AttributeType::Strings;
    case field::attribute::kTensors:
      return AttributeType::Tensors;
    case field::attribute::kGraphs:
      return AttributeType::Graphs;
    default:
      return AttributeType::Undefined;
  }
}

uint32_t field_of_type(AttributeType type) {
  switch (type) {
    case AttributeType::Tensor:
      return field::attribute::kTensor;
    case AttributeType::Graph:
      return field::attribute::kGraph;
    case AttributeType::SparseTensor:
      return field::attribute::kSparseTensor;
    case AttributeType::TypeProto:
      return field::attribute::kTypeProto;
    case AttributeType::Tensors:
      return field::attribute::kTensors;
    case AttributeType::Graphs:
      return field::attribute::kGraphs;
    case AttributeType::SparseTensors:
      return field::attribute::kSparseTensors;
    case AttributeType::TypeProtos:
      return field::attribute::kTypeProtos;
    default:
      return 0;
  }
}

Attribute read_attribute(Bytes message) {
  Attribute attribute;
  attribute.message = message;
  int32_t type = 0;
  AttributeType implied = AttributeType::Undefined;
  for (Reader r(message); r.next();) {
    if (const AttributeType seen = type_of_field(r.tag()); seen != AttributeType::Undefined)
      implied = seen;
    switch (r.tag()) {
      case field::attribute::kName:
        r.read(attribute.name);
        break;
      case field::attribute::kFloat:
        r.read(attribute.real);
        break;
      case field::attribute::kInt:
        r.read(attribute.integer);
        break;
      case field::attribute::kString:
        r.read(attribute.text);
        break;
      case field::attribute::kType:
        r.read(type);
        break;
      case field::attribute::kReference:
        r.read(attribute.reference);
        break;
      default:
        r.skip();
    }
  }
  attribute.type = type == 0 ? implied : static_cast<AttributeType>(type);
  return attribute;
}

struct NodeCounts {
  size_t nodes = 0, names = 0, attributes = 0;
};

void count_node(Bytes message, NodeCounts& counts) {
  ++counts.nodes;
  for (Reader r(message); r.next(); r.skip()) {
    if (!r.is_message()) continue;
    if (r.tag() == field::node::kInput || r.tag() == field::node::kOutput) ++counts.names;
    if (r.tag() == field::node::kAttribute) ++counts.attributes;
  }
}

// Nodes are read in two walks: the first counts, so that the second fills lists that never move.
Status reserve(NodeList& list, const NodeCounts& counts, Budget& budget) {
  EC_CHECK_OK(budget.charge(counts.nodes, sizeof(Node)));
  EC_CHECK_OK(budget.charge(counts.names, sizeof(std::string_view)));
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

// Calls f(tag, message) for each nested message.
template <class F>
void for_each_message(Bytes message, F&& f) {
  for (Reader r(message); r.next();) {
    if (!r.is_message()) {
      r.skip();
      continue;
    }
    const uint32_t tag = r.tag();  // reading ends the field
    Bytes nested;
    r.read(nested);
    f(tag, nested);
  }
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

Status Budget::charge(size_t count, size_t bytes_each) {
  if (count > left_ / bytes_each)
    return Error(Code::TooLarge,
                 "the file lists more elements than a model of its size can honestly have")
        .hint("the file is damaged or was made to exhaust memory");
  left_ -= count * bytes_each;
  return {};
}

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

Result<Tensor> decode_tensor(Bytes message) {
  return guarded([&]() -> Result<Tensor> {
    Tensor tensor;
    tensor.message = message;
    int32_t data_type = 0, location = 0;
    for (Reader r(message); r.next();) {
      Bytes nested;
      switch (r.tag()) {
        case field::tensor::kDims:
          if (!r.append(tensor.dims, kMaxRank)) return too_long("a tensor's list of dimensions");
          break;
        case field::tensor::kDataType:
          r.read(data_type);
          break;
        case field::tensor::kName:
          r.read(tensor.name);
          break;
        case field::tensor::kRawData:
          if (r.is_message()) tensor.raw_data.emplace();
          r.read(tensor.raw_data ? *tensor.raw_data : nested);
          break;
        case field::tensor::kExternalData:
          r.read(nested);
          if (tensor.external_data.size() >= kMaxRank)
            return too_long("a tensor's external data list");
          tensor.external_data.push_back(read_entry(nested));
          break;
        case field::tensor::kDataLocation:
          r.read(location);
          break;
        default:
          r.skip();
      }
    }
    tensor.data_type = static_cast<DataType>(data_type);
    tensor.external = location == 1;
    return tensor;
  });
}

Result<SparseTensor> decode_sparse_tensor(Bytes message) {
  return guarded([&]() -> Result<SparseTensor> {
    SparseTensor sparse;
    Bytes values, indices;
    for (Reader r(message); r.next();) {
      if (r.tag() == field::sparse_tensor::kValues) {
        r.read(values);
      } else if (r.tag() == field::sparse_tensor::kIndices) {
        r.read(indices);
      } else if (r.tag() == field::sparse_tensor::kDims) {
        if (!r.append(sparse.dims, kMaxRank)) return too_long("a tensor's list of dimensions");
      } else {
        r.skip();
      }
    }
    EC_TRY(sparse.values, decode_tensor(values));
    EC_TRY(sparse.indices, decode_tensor(indices));
    return sparse;
  });
}

namespace {

Dimension read_dimension(Bytes message) {
  Dimension dim;
  for (Reader r(message); r.next();) {
    if (r.tag() == field::dimension::kValue && r.is_varint()) {
      r.read(dim.value.emplace());
      dim.param = {};
    } else if (r.tag() == field::dimension::kParam) {
      r.read(dim.param);
      dim.value.reset();
    } else {
      r.skip();
    }
  }
  return dim;
}

Status read_tensor_type(Bytes message, Type& type) {
  int32_t element = 0;
  Bytes shape;
  for (Reader r(message); r.next();) {
    if (r.tag() == field::tensor_type::kElement) {
      r.read(element);
    } else if (r.tag() == field::tensor_type::kShape) {
      type.has_shape = type.has_shape || r.is_message();
      r.read(shape);
    } else {
      r.skip();
    }
  }
  type.element = static_cast<DataType>(element);
  bool long_shape = false;
  for_each_message(shape, [&](uint32_t tag, Bytes nested) {
    if (tag != field::shape::kDim || (long_shape = long_shape || type.dims.size() >= kMaxRank))
      return;
    type.dims.push_back(read_dimension(nested));
  });
  if (long_shape) return too_long("a type's list of dimensions");
  return {};
}

Type::Kind kind_of_field(uint32_t tag) {
  switch (tag) {
    case field::type::kTensor:
      return Type::Kind::Tensor;
    case field::type::kSequence:
      return Type::Kind::Sequence;
    case field::type::kMap:
      return Type::Kind::Map;
    case field::type::kSparseTensor:
      return Type::Kind::SparseTensor;
    case field::type::kOptional:
      return Type::Kind::Optional;
    case field::type::kOpaque:
      return Type::Kind::Opaque;
    default:
      return Type::Kind::None;
  }
}

}  // namespace

Result<Type> decode_type(Bytes message) {
  return guarded([&]() -> Result<Type> {
    Type type;
    Bytes body;
    for_each_message(message, [&](uint32_t tag, Bytes nested) {
      const Type::Kind kind = kind_of_field(tag);
      if (kind == Type::Kind::None) return;
      type.kind = kind;
      body = nested;
    });
    if (type.kind == Type::Kind::Tensor) EC_CHECK_OK(read_tensor_type(body, type));
    if (type.kind == Type::Kind::Sequence || type.kind == Type::Kind::Optional)
      for_each_message(body, [&](uint32_t tag, Bytes nested) {
        if (tag == 1) type.inner = nested;  // elem_type of both
      });
    return type;
  });
}

namespace {

template <class T>
Result<std::vector<T>> attribute_list(const Attribute& attribute, uint32_t tag) {
  return guarded([&]() -> Result<std::vector<T>> {
    std::vector<T> values;
    for (Reader r(attribute.message); r.next();) {
      if (r.tag() != tag) {
        r.skip();
        continue;
      }
      if (!r.append(values, kMaxAttributeList))
        return too_long("attribute '" + std::string(attribute.name) + "'");
    }
    return values;
  });
}

}  // namespace

Result<std::vector<int64_t>> attribute_ints(const Attribute& attribute) {
  return attribute_list<int64_t>(attribute, field::attribute::kInts);
}
Result<std::vector<float>> attribute_floats(const Attribute& attribute) {
  return attribute_list<float>(attribute, field::attribute::kFloats);
}
Result<std::vector<std::string_view>> attribute_strings(const Attribute& attribute) {
  return attribute_list<std::string_view>(attribute, field::attribute::kStrings);
}
Result<std::vector<Bytes>> attribute_messages(const Attribute& attribute) {
  return attribute_list<Bytes>(attribute, field_of_type(attribute.type));
}

Result<Bytes> attribute_message(const Attribute& attribute) {
  EC_TRY(const std::vector<Bytes> all, attribute_messages(attribute));
  if (all.empty())
    return Error(Code::BadAttribute,
                 "attribute '" + std::string(attribute.name) + "' declares a value it lacks");
  return all.back();
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
