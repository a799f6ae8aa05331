#include "frontend/tensorflow/checkpoint_variables.h"

#include <deque>

#include "formats/tensorflow/decode.h"
#include "formats/tensorflow/tensor_data.h"
#include "frontend/tensorflow/types.h"
#include "support/strings.h"

namespace ec::tf {
namespace {

constexpr std::string_view kObjectsKey = "_CHECKPOINTABLE_OBJECT_GRAPH";
constexpr size_t kMaxVariables = 1 << 22;

std::optional<std::string_view> function_of(const Node& node) {
  for (const Attribute& attribute : node.attributes) {
    if (attribute.name != "f") continue;
    const auto value = decode_attribute(attribute.value);
    if (value.ok() && value->kind == AttributeValue::Kind::Function) return value->text;
  }
  return std::nullopt;
}

// Objects of the model and of the checkpoint stand for each other when the same names lead to
// them. Gives the key of each object of the model.
std::vector<std::string_view> keys_of_objects(const ObjectGraph& model, const ObjectGraph& stored) {
  std::vector<std::string_view> keys(model.nodes.size());
  std::vector<bool> seen(model.nodes.size(), false);
  if (model.nodes.empty() || stored.nodes.empty()) return keys;
  std::deque<std::pair<size_t, size_t>> queue{{0, 0}};
  seen[0] = true;
  while (!queue.empty()) {
    const auto [here, there] = queue.front();
    queue.pop_front();
    keys[here] = stored.nodes[there].checkpoint_key;
    std::map<std::string_view, int64_t> names;
    for (const SavedObject::Child& child : stored.nodes[there].children)
      names.emplace(child.name, child.node);
    for (const SavedObject::Child& child : model.nodes[here].children) {
      const auto found = names.find(child.name);
      if (found == names.end() || child.node < 0 || found->second < 0) continue;
      const auto next = static_cast<size_t>(child.node);
      const auto other = static_cast<size_t>(found->second);
      if (next >= model.nodes.size() || other >= stored.nodes.size() || seen[next]) continue;
      seen[next] = true;
      queue.emplace_back(next, other);
    }
  }
  return keys;
}

// The node behind an edge, through those that pass values on.
const Node* producer(const FunctionBody& body, Source source) {
  for (int steps = 0; steps < 100 && source.kind == Source::Kind::Node; ++steps) {
    const Node& node = body.function.list.nodes[source.index];
    if (node.op != "Identity" || body.inputs_of(node).empty()) return &node;
    source = body.inputs_of(node)[0];
  }
  return nullptr;
}

// The names that a RestoreV2 node reads.
Result<std::vector<std::string_view>> restored_names(const FunctionBody& body, const Node& node) {
  const auto inputs = body.inputs_of(node);
  const Node* names = inputs.size() > 1 ? producer(body, inputs[1]) : nullptr;
  if (names == nullptr) return std::vector<std::string_view>();
  for (const Attribute& attribute : names->attributes) {
    if (attribute.name != "value") continue;
    EC_TRY(const AttributeValue value, decode_attribute(attribute.value));
    EC_TRY(const Tensor tensor, decode_tensor(value.message));
    return tensor_texts(tensor, kMaxVariables);
  }
  return std::vector<std::string_view>();
}

// Assignments of restored values in a graph or function: what is assigned, and the key.
struct Restored {
  Source variable;
  std::string_view key;
};

Result<std::vector<Restored>> restored_variables(const FunctionBody& body) {
  std::vector<Restored> found;
  std::map<const Node*, std::vector<std::string_view>> names;
  for (const Node& node : body.function.list.nodes) {
    if (node.op != "AssignVariableOp" && node.op != "Assign") continue;
    const auto inputs = body.inputs_of(node);
    if (inputs.size() < 2) continue;
    Source value = inputs[1];
    for (int steps = 0; steps < 100 && value.kind == Source::Kind::Node; ++steps) {
      const Node& from = body.function.list.nodes[value.index];
      if (from.op != "Identity" || body.inputs_of(from).empty()) break;
      value = body.inputs_of(from)[0];
    }
    if (value.kind != Source::Kind::Node) continue;
    const Node& restore = body.function.list.nodes[value.index];
    if (restore.op != "RestoreV2") continue;
    const auto known = names.find(&restore);
    if (known == names.end()) {
      EC_TRY(names[&restore], restored_names(body, restore));
    }
    const std::vector<std::string_view>& keys = names[&restore];
    if (value.output < keys.size()) found.push_back({inputs[0], keys[value.output]});
  }
  return found;
}

Result<Blob> read_range(const FileBytes& file, const Checkpoint::Range& range) {
  if (range.offset > file.size() || range.size > file.size() - range.offset)
    return Error(Code::BadTensorData, "a value ends at byte " + std::to_string(range.offset) +
                                          " + " + std::to_string(range.size) + ", the file '" +
                                          range.name + "' has " + std::to_string(file.size()))
        .hint("the data file is cut off or belongs to another model");
  if (range.size == 0) return Blob();
  return range.is_weight ? file.later(range.offset, range.size)
                         : file.range(range.offset, range.size);
}

}  // namespace

Result<std::unique_ptr<CheckpointVariables>> CheckpointVariables::open(const ModelSource& source,
                                                                       const MetaGraph& meta,
                                                                       FunctionLibrary& library,
                                                                       Budget& budget) {
  std::unique_ptr<CheckpointVariables> variables(new CheckpointVariables());
  const std::filesystem::path folder = "variables";
  if (!source.has_member(folder / "variables.index")) return variables;
  EC_TRY(const Blob index, source.member(folder / "variables.index"));
  variables->shards_ = std::make_shared<std::map<std::string, FileBytes>>();
  const auto read = [shards = variables->shards_, &source,
                     folder](const Checkpoint::Range& range) -> Result<Blob> {
    auto known = shards->find(range.name);
    if (known == shards->end()) {
      EC_TRY(InputFile file, source.open_member(folder / range.name));
      EC_TRY(FileBytes bytes, FileBytes::open(std::move(file)));
      known = shards->emplace(range.name, std::move(bytes)).first;
    }
    return read_range(known->second, range);
  };
  EC_TRY(variables->checkpoint_, Checkpoint::open(index, "variables", read));
  EC_CHECK_OK(variables->find_by_objects(meta, library.main(), budget));
  EC_CHECK_OK(variables->find_by_restore(meta, library));
  return variables;
}

// The objects that a function captures are its last inputs, in order.
Status CheckpointVariables::find_by_objects(const MetaGraph& meta, const FunctionBody& graph,
                                            Budget& budget) {
  if (meta.objects.empty() || checkpoint_->find(kObjectsKey) == nullptr) return {};
  EC_TRY(const ObjectGraph model, decode_object_graph(meta.objects, budget));
  EC_TRY(const Blob stored_bytes, checkpoint_->read_text(kObjectsKey));
  const std::string_view stored_text(reinterpret_cast<const char*>(stored_bytes.bytes().data()),
                                     stored_bytes.size());
  EC_TRY(const ObjectGraph stored, decode_checkpoint_objects(stored_text, budget));
  const std::vector<std::string_view> keys = keys_of_objects(model, stored);
  const auto& nodes = graph.function.list.nodes;
  for (const Node& node : nodes) {
    const auto function = function_of(node);
    if (!function) continue;
    const auto captures = model.captures.find(*function);
    if (captures == model.captures.end()) continue;
    std::vector<Source> inputs;
    for (const Source& input : graph.inputs_of(node))
      if (input.kind != Source::Kind::Control) inputs.push_back(input);
    const std::vector<int64_t>& objects = captures->second;
    if (objects.size() > inputs.size()) continue;
    const size_t first = inputs.size() - objects.size();
    for (size_t i = 0; i < objects.size(); ++i) {
      const Source& input = inputs[first + i];
      if (input.kind != Source::Kind::Node || objects[i] < 0 ||
          static_cast<size_t>(objects[i]) >= keys.size())
        continue;
      const std::string_view key = keys[static_cast<size_t>(objects[i])];
      if (!key.empty()) by_objects_.emplace(nodes[input.index].name, key);
    }
  }
  return {};
}

Status CheckpointVariables::find_by_restore(const MetaGraph& meta, FunctionLibrary& library) {
  const FunctionBody& graph = library.main();
  const auto& nodes = graph.function.list.nodes;
  EC_TRY(const std::vector<Restored> in_graph, restored_variables(graph));
  for (const Restored& restored : in_graph)
    if (restored.variable.kind == Source::Kind::Node)
      by_restore_.emplace(nodes[restored.variable.index].name, restored.key);
  const auto call = graph.nodes.find(meta.restore_op);
  if (call == graph.nodes.end()) return {};
  const Node& node = nodes[call->second];
  const auto function = function_of(node);
  if (!function || !library.contains(*function)) return {};
  EC_TRY(const FunctionBody* body, library.find(*function));
  EC_TRY(const std::vector<Restored> in_function, restored_variables(*body));
  const auto inputs = graph.inputs_of(node);
  for (const Restored& restored : in_function) {
    if (restored.variable.kind != Source::Kind::Argument ||
        restored.variable.index >= inputs.size())
      continue;
    const Source& given = inputs[restored.variable.index];
    if (given.kind == Source::Kind::Node)
      by_restore_.emplace(nodes[given.index].name, restored.key);
  }
  return {};
}

Result<VariableSource::Stored> CheckpointVariables::read(std::string_view node,
                                                         std::string_view shared_name) {
  const std::string_view shown = shared_name.empty() ? node : shared_name;
  if (!checkpoint_)
    return Error(Code::ExternalDataMissing,
                 "variable '" + printable(shown) + "': the model has no variables/variables.index")
        .hint("copy the whole folder of the SavedModel");
  std::vector<std::string_view> keys;
  if (const auto found = by_objects_.find(node); found != by_objects_.end())
    keys.push_back(found->second);
  if (const auto found = by_restore_.find(node); found != by_restore_.end())
    keys.push_back(found->second);
  keys.push_back(shared_name);
  keys.push_back(node);
  for (const std::string_view key : keys) {
    const CheckpointEntry* entry = key.empty() ? nullptr : checkpoint_->find(key);
    if (entry == nullptr) continue;
    const auto dtype = to_dtype(entry->type);
    if (!dtype)
      return Error(Code::UnsupportedType,
                   "variable '" + printable(shown) + "' is of type " + data_type_name(entry->type));
    if (is_complex(entry->type))
      return Error(Code::UnsupportedType, "variable '" + printable(shown) + "' is complex");
    for (const int64_t size : entry->dims)
      if (size < 0) return Error(Code::BadTensorData, "a variable has a size of -1");
    EC_TRY(Blob data, checkpoint_->read(*entry, key));
    return Stored{TensorType(*dtype, Shape::of(entry->dims)), std::move(data)};
  }
  return Error(Code::ExternalDataMissing,
               "variable '" + printable(shown) + "' has no value in the checkpoint")
      .hint("export the model again; the folder's files may belong to different exports");
}

Status CheckpointVariables::check_unchanged() const {
  if (shards_ != nullptr)
    for (const auto& [name, shard] : *shards_) {
      EC_CHECK_OK(shard.fault());
      EC_CHECK_OK(shard.file()->check_unchanged());
    }
  return {};
}

}  // namespace ec::tf
