#include "backend/coral/partition.h"

#include <optional>

#include "analysis/partition.h"

namespace ec::coral {
namespace {

// The operators with what each reads.
std::vector<PartitionNode> nodes_of(const tflite::SubGraph& graph,
                                    const std::vector<PlacedOperator>& operators) {
  std::vector<std::optional<size_t>> producer(tflite::size_of(graph.tensors()));
  std::vector<PartitionNode> nodes(operators.size());
  for (size_t i = 0; i < operators.size(); ++i) {
    const tflite::Operator& op = *graph.operators()->Get(static_cast<flatbuffers::uoffset_t>(i));
    nodes[i].on_device = operators[i].mapped();
    for (size_t k = 0; k < tflite::size_of(op.inputs()); ++k) {
      const int32_t tensor = op.inputs()->Get(static_cast<flatbuffers::uoffset_t>(k));
      if (tensor >= 0 && producer[static_cast<size_t>(tensor)])
        nodes[i].producers.push_back(*producer[static_cast<size_t>(tensor)]);
    }
    for (size_t k = 0; k < tflite::size_of(op.outputs()); ++k) {
      const int32_t tensor = op.outputs()->Get(static_cast<flatbuffers::uoffset_t>(k));
      if (tensor >= 0) producer[static_cast<size_t>(tensor)] = i;
    }
  }
  return nodes;
}

}  // namespace

Partition partition(const tflite::ModelFile& file, const Rules& rules,
                    std::span<const std::string> sources) {
  Partition result;
  if (file.num_subgraphs() == 0) return result;
  const tflite::SubGraph& graph = file.subgraph(0);
  for (size_t i = 0; i < tflite::size_of(graph.operators()); ++i) {
    const OperatorView op(file, graph,
                          *graph.operators()->Get(static_cast<flatbuffers::uoffset_t>(i)));
    PlacedOperator placed;
    placed.index = i;
    placed.op = op.name();
    placed.result = op.label();
    placed.node = i < sources.size() && !sources[i].empty() ? sources[i] : placed.result;
    placed.verdict = judge(op, rules);
    placed.macs = op.macs();
    placed.parameter_bytes = op.parameter_bytes();
    result.operators.push_back(std::move(placed));
  }
  const std::vector<size_t> group = alternating_groups(nodes_of(graph, result.operators));
  std::optional<size_t> device;  // the first group on the device
  for (size_t i = 0; i < group.size(); ++i)
    if (result.operators[i].mapped() && (!device || group[i] < *device)) device = group[i];
  for (size_t i = 0; i < group.size(); ++i) {
    PlacedOperator& op = result.operators[i];
    if (!op.mapped() && device && group[i] == *device + 1 && !result.cut_by) result.cut_by = i;
    if (op.mapped() && group[i] == *device) ++result.mapped;
  }
  for (size_t i = 0; i < group.size(); ++i) {
    PlacedOperator& op = result.operators[i];
    if (!op.mapped() || group[i] == *device) continue;
    op.verdict.status = Status::LaterGroup;
    op.verdict.reason = "would run on the device, but only behind operators that do not";
    if (result.cut_by) {
      const PlacedOperator& cut = result.operators[*result.cut_by];
      op.verdict.reason = "would run on the device, but comes after " + cut.op + " '" + cut.node +
                          "', which cut the graph";
      op.verdict.fix = cut.verdict.fix;
    }
  }
  return result;
}

}  // namespace ec::coral
