// Nodes that cannot be converted and stay in the graph as custom operations (ADR 24).
#include <algorithm>

#include "frontend/tensorflow/importer.h"
#include "frontend/tensorflow/op_context.h"
#include "frontend/tensorflow/types.h"

namespace ec::tf {
namespace {

// No operator has more results that a graph reads one by one; a damaged name may ask for billions.
constexpr size_t kMostKeptOutputs = 256;

// Parts of a loop that freezing took apart. They form a circle, which no graph holds.
constexpr std::string_view kLoopParts[] = {"Enter",    "Exit",    "NextIteration",   "LoopCond",
                                           "RefEnter", "RefExit", "RefNextIteration"};

// The first type that the node's attributes tell of a result.
std::optional<DType> told_type(const OpContext& node) {
  for (const char* name : {"Tout", "dtype", "out_type", "T", "Tvalues", "Tparams"})
    if (node.has_attr(name))
      if (const auto type = to_dtype(node.attr_type(name, DataType::Invalid))) return type;
  return std::nullopt;
}

// The shapes that TensorFlow noted when it wrote the node.
std::vector<std::optional<Shape>> told_shapes(const Node& node) {
  std::vector<std::optional<Shape>> shapes;
  for (const Attribute& attribute : node.attributes) {
    if (attribute.name != "_output_shapes") continue;
    const auto value = decode_attribute(attribute.value);
    if (!value.ok() || value->kind != AttributeValue::Kind::List) break;
    const auto list = decode_list(value->message);
    if (!list.ok()) break;
    for (const Bytes message : list->shapes) {
      const auto shape = decode_shape(message);
      shapes.push_back(shape.ok() ? to_shape(*shape) : std::nullopt);
    }
  }
  return shapes;
}

}  // namespace

size_t Importer::outputs_read(Frame& frame, uint32_t index) const {
  if (frame.outputs_read.empty()) {
    frame.outputs_read.resize(frame.values.size(), 1);
    const auto count = [&](const Source& source) {
      if (source.kind == Source::Kind::Node)
        frame.outputs_read[source.index] =
            std::max<size_t>(frame.outputs_read[source.index], size_t{source.output} + 1);
    };
    std::ranges::for_each(frame.body.sources, count);
    std::ranges::for_each(frame.body.results, count);
  }
  return frame.outputs_read[index];
}

// What the file says of the results; a guess where it says nothing.
std::vector<TensorType> Importer::kept_types(Frame& frame, uint32_t index,
                                             const std::vector<ec::Tensor*>& operands) {
  const Node& node = frame.body.function.list.nodes[index];
  const OpContext context(*this, frame, node, {}, Location());
  const auto like = std::ranges::find_if(operands, [](const ec::Tensor* tensor) {
    return tensor != nullptr && is_float(tensor->dtype());
  });
  const DType guess = like == operands.end() ? DType::F32 : (*like)->dtype();
  TensorType type(told_type(context).value_or(guess));
  // `inspect` shows types and guesses no sizes; `check` judges what follows.
  if (!keeping_->takes_faults() && like != operands.end()) type.shape = (*like)->shape();
  std::vector<TensorType> types(outputs_read(frame, index), type);
  const std::vector<std::optional<Shape>> shapes = told_shapes(node);
  for (size_t i = 0; i < std::min(types.size(), shapes.size()); ++i)
    if (shapes[i]) types[i].shape = shapes[i];
  return types;
}

bool Importer::keep_node(Frame& frame, uint32_t index, const Location& location, const Error& error,
                         const BeforeNode& before) {
  // What a state was told cannot be taken back.
  if (keeping_ == nullptr || stopped_ || states_->changes() != before.state_changes) return false;
  if (outputs_read(frame, index) > kMostKeptOutputs) return false;
  const Node& node = frame.body.function.list.nodes[index];
  if (std::ranges::find(kLoopParts, node.op) != std::end(kLoopParts)) return false;
  ec::Graph& graph = frame.site.graph;
  std::vector<ec::Tensor*> operands;
  bool changes_lists = false;
  for (const Source& source : frame.body.inputs_of(node)) {
    if (source.kind == Source::Kind::Control) continue;
    const TfValue input = value(frame, source);
    changes_lists = changes_lists || input.kind == TfValue::Kind::List;
    operands.push_back(input.is_tensor() ? input.tensor : nullptr);
  }
  if (!keeping_->takes(error.code(), operands)) return false;
  // Lists may hold what was built; constants may be those of variables, and are erased in the end.
  if (!changes_lists)
    erase_unfinished(graph, before.operations, graph.tensor_id_bound(),
                     [](const ec::Tensor*) { return true; });
  std::vector<TensorType> types = kept_types(frame, index, operands);
  Result<Operation*> op = keeping_->add(graph, std::move(operands), std::move(types), location,
                                        explained(Error(error.diagnostic())).diagnostic());
  if (!op.ok()) return false;
  std::vector<TfValue>& results = frame.values[index];
  results.clear();
  for (ec::Tensor* output : (*op)->outputs()) results.push_back(TfValue::of(output));
  return true;
}

}  // namespace ec::tf
