// What a SavedModel has around its graph: signatures, assets, objects.
#include <algorithm>

#include "formats/protobuf/wire.h"
#include "formats/tensorflow/decode.h"

namespace ec::tf {
namespace {

using wire::for_each_message;
using wire::guarded;
using wire::Reader;

namespace field {
// SavedModel, MetaGraphDef, MetaInfoDef, SaverDef
constexpr uint32_t kMetaGraph = 2;
constexpr uint32_t kInfo = 1, kGraph = 2, kSaver = 3, kSignature = 5, kAsset = 6, kObjects = 7;
constexpr uint32_t kInfoTag = 4, kInfoVersion = 5, kSaverRestore = 3;
// SignatureDef, TensorInfo
constexpr uint32_t kInputs = 1, kOutputs = 2, kMethod = 3;
constexpr uint32_t kTensorName = 1, kTensorType = 2, kTensorShape = 3;
// AssetFileDef
constexpr uint32_t kAssetTensor = 1, kAssetFile = 2;
// Entries of maps
constexpr uint32_t kKey = 1, kValue = 2;
// SavedObjectGraph, SavedObject, its kinds
constexpr uint32_t kNodes = 1, kFunctions = 2, kBoundInputs = 2;
constexpr uint32_t kChildren = 1, kObjectAsset = 5, kObjectVariable = 7, kObjectConstant = 9,
                   kObjectResource = 10, kVariableName = 6;
constexpr uint32_t kChildNode = 1, kChildName = 2;
// TrackableObject: attributes with the names of stored values
constexpr uint32_t kTrackableAttributes = 2, kAttributeName = 1, kAttributeKey = 3;
}  // namespace field

struct Entry {
  std::string_view key;
  Bytes value;
};

Entry read_entry(Bytes message) {
  Entry entry;
  for_each_message(message, [&](uint32_t tag, Bytes text) {
    if (tag == field::kKey) entry.key = text;
    if (tag == field::kValue) entry.value = text;
  });
  return entry;
}

Result<TensorInfo> read_tensor_info(Bytes message) {
  const Entry entry = read_entry(message);
  TensorInfo info;
  info.key = entry.key;
  Bytes shape;
  for (Reader r(entry.value); r.next();) {
    if (r.tag() == field::kTensorName) {
      r.read(info.name);
    } else if (r.tag() == field::kTensorType) {
      int32_t type = 0;
      r.read(type);
      info.type = static_cast<DataType>(type);
    } else if (r.tag() == field::kTensorShape) {
      r.read(shape);
    } else {
      r.skip();
    }
  }
  EC_TRY(info.shape, decode_shape(shape));
  return info;
}

template <class List>
void sort_by_key(List& list) {
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.key < b.key; });
}

Result<Signature> read_signature(Bytes message) {
  const Entry entry = read_entry(message);
  Signature signature;
  signature.key = entry.key;
  for (Reader r(entry.value); r.next();) {
    const uint32_t tag = r.tag();
    if (!r.is_message()) {
      r.skip();
      continue;
    }
    Bytes nested;
    r.read(nested);
    if (tag == field::kMethod) {
      signature.method = nested;
    } else if (tag == field::kInputs || tag == field::kOutputs) {
      EC_TRY(TensorInfo info, read_tensor_info(nested));
      (tag == field::kInputs ? signature.inputs : signature.outputs).push_back(std::move(info));
    }
  }
  // The file's order is that of a hash table.
  sort_by_key(signature.inputs);
  sort_by_key(signature.outputs);
  return signature;
}

AssetFile read_asset(Bytes message) {
  AssetFile asset;
  for_each_message(message, [&](uint32_t tag, Bytes value) {
    if (tag == field::kAssetFile) asset.file = value;
    if (tag != field::kAssetTensor) return;
    for_each_message(value, [&](uint32_t inner, Bytes name) {
      if (inner == field::kTensorName) asset.tensor = name;
    });
  });
  return asset;
}

Status read_meta_part(uint32_t tag, Bytes nested, MetaGraph& meta) {
  switch (tag) {
    case field::kInfo:
      for_each_message(nested, [&](uint32_t inner, Bytes value) {
        if (inner == field::kInfoTag) meta.tags.push_back(value);
        if (inner == field::kInfoVersion) meta.version = value;
      });
      break;
    case field::kGraph:
      meta.graph = nested;
      break;
    case field::kSaver:
      for_each_message(nested, [&](uint32_t inner, Bytes value) {
        if (inner == field::kSaverRestore) meta.restore_op = value;
      });
      break;
    case field::kSignature: {
      EC_TRY(Signature signature, read_signature(nested));
      meta.signatures.push_back(std::move(signature));
      break;
    }
    case field::kAsset:
      meta.assets.push_back(read_asset(nested));
      break;
    case field::kObjects:
      meta.objects = nested;
      break;
    default:
      break;
  }
  return {};
}

// Entries of signatures and lists become structs many times their size.
Status charge_entries(Bytes message, Budget& budget) {
  size_t infos = 0, others = 0;
  for_each_message(message, [&](uint32_t tag, Bytes nested) {
    ++others;
    if (tag == field::kInfo) for_each_message(nested, [&](uint32_t, Bytes) { ++others; });
    if (tag == field::kSignature)
      for_each_message(read_entry(nested).value, [&](uint32_t, Bytes) { ++infos; });
  });
  EC_CHECK_OK(budget.charge(infos, 2 * sizeof(TensorInfo)));
  return budget.charge(others, 2 * sizeof(Signature));
}

Result<MetaGraph> read_meta_graph(Bytes message, Budget& budget) {
  MetaGraph meta;
  EC_CHECK_OK(charge_entries(message, budget));
  for (Reader r(message); r.next();) {
    const uint32_t tag = r.tag();
    if (!r.is_message()) {
      r.skip();
      continue;
    }
    Bytes nested;
    r.read(nested);
    EC_CHECK_OK(read_meta_part(tag, nested, meta));
  }
  sort_by_key(meta.signatures);
  return meta;
}

SavedObject::Child read_child(Bytes message) {
  SavedObject::Child child{{}, 0};
  for (Reader r(message); r.next();) {
    if (r.tag() == field::kChildNode)
      r.read(child.node);
    else if (r.tag() == field::kChildName)
      r.read(child.name);
    else
      r.skip();
  }
  return child;
}

// The stored value of a checkpoint's object.
void read_checkpoint_attribute(Bytes message, SavedObject& object) {
  std::string_view name, key;
  for_each_message(message, [&](uint32_t tag, Bytes text) {
    if (tag == field::kAttributeName) name = text;
    if (tag == field::kAttributeKey) key = text;
  });
  if (name == "VARIABLE_VALUE") object.checkpoint_key = key;
}

SavedObject read_object(Bytes message, bool of_checkpoint) {
  SavedObject object;
  for_each_message(message, [&](uint32_t tag, Bytes nested) {
    if (tag == field::kChildren) {
      object.children.push_back(read_child(nested));
    } else if (of_checkpoint) {
      if (tag == field::kTrackableAttributes) read_checkpoint_attribute(nested, object);
    } else if (tag == field::kObjectVariable) {
      object.kind = SavedObject::Kind::Variable;
      for_each_message(nested, [&](uint32_t inner, Bytes text) {
        if (inner == field::kVariableName) object.name = text;
      });
    } else if (tag == field::kObjectConstant) {
      object.kind = SavedObject::Kind::Constant;
    } else if (tag == field::kObjectAsset) {
      object.kind = SavedObject::Kind::Asset;
    } else if (tag == field::kObjectResource) {
      object.kind = SavedObject::Kind::Resource;
    }
  });
  return object;
}

Status read_captures(Bytes message, Budget& budget, ObjectGraph& graph) {
  const Entry entry = read_entry(message);
  std::vector<int64_t>& captures = graph.captures[entry.key];
  for (Reader r(entry.value); r.next();) {
    if (r.tag() != field::kBoundInputs) {
      r.skip();
      continue;
    }
    const size_t before = captures.size();
    if (!r.append(captures, 1 << 24)) return Error(Code::TooLarge, "too many captures");
    EC_CHECK_OK(budget.charge(captures.size() - before, sizeof(int64_t)));
  }
  return {};
}

Result<ObjectGraph> read_objects(Bytes message, bool of_checkpoint, Budget& budget) {
  ObjectGraph graph;
  size_t objects = 0, children = 0, functions = 0;
  for_each_message(message, [&](uint32_t tag, Bytes nested) {
    if (tag == field::kFunctions) ++functions;
    if (tag != field::kNodes) return;
    ++objects;
    for_each_message(nested, [&](uint32_t, Bytes) { ++children; });
  });
  EC_CHECK_OK(budget.charge(objects, sizeof(SavedObject)));
  EC_CHECK_OK(budget.charge(children, 2 * sizeof(SavedObject::Child)));
  EC_CHECK_OK(budget.charge(functions, 128));
  Status status;
  graph.nodes.reserve(objects);
  for_each_message(message, [&](uint32_t tag, Bytes nested) {
    if (!status.ok()) return;
    if (tag == field::kNodes) graph.nodes.push_back(read_object(nested, of_checkpoint));
    if (tag == field::kFunctions && !of_checkpoint) status = read_captures(nested, budget, graph);
  });
  if (!status.ok()) return std::move(status).error();
  return graph;
}

}  // namespace

Result<std::vector<MetaGraph>> decode_saved_model(Bytes message, Budget& budget) {
  return guarded([&]() -> Result<std::vector<MetaGraph>> {
    std::vector<MetaGraph> graphs;
    for (Reader r(message); r.next();) {
      if (r.tag() != field::kMetaGraph || !r.is_message()) {
        r.skip();
        continue;
      }
      Bytes nested;
      r.read(nested);
      EC_CHECK_OK(budget.charge(1, sizeof(MetaGraph)));
      EC_TRY(MetaGraph meta, read_meta_graph(nested, budget));
      graphs.push_back(std::move(meta));
    }
    return graphs;
  });
}

Result<ObjectGraph> decode_object_graph(Bytes message, Budget& budget) {
  return guarded([&] { return read_objects(message, false, budget); });
}

Result<ObjectGraph> decode_checkpoint_objects(Bytes message, Budget& budget) {
  return guarded([&] { return read_objects(message, true, budget); });
}

}  // namespace ec::tf
