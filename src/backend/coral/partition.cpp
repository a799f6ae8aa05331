#include "backend/coral/partition.h"

#include <algorithm>

namespace ec::coral {
namespace {

// The group of each operator: groups of even index are of the first operator's kind, the odd ones
// of the other. An operator joins the earliest group of its kind that comes after its producers.
std::vector<size_t> group_numbers(const tflite::SubGraph& graph,
                                  const std::vector<PlacedOperator>& operators) {
  const bool first_on_device = !operators.empty() && operators.front().mapped();
  std::vector<std::optional<size_t>> producer(tflite::size_of(graph.tensors()));
  std::vector<size_t> group(operators.size());
  for (size_t i = 0; i < operators.size(); ++i) {
    const tflite::Operator& op = *graph.operators()->Get(static_cast<flatbuffers::uoffset_t>(i));
    const auto kind = [&](size_t k) { return operators[k].mapped(); };
    group[i] = kind(i) == first_on_device ? 0 : 1;
    for (size_t k = 0; k < tflite::size_of(op.inputs()); ++k) {
      const int32_t tensor = op.inputs()->Get(static_cast<flatbuffers::uoffset_t>(k));
      if (tensor < 0 || !producer[static_cast<size_t>(tensor)]) continue;
      const size_t from = *producer[static_cast<size_t>(tensor)];
      group[i] = std::max(group[i], group[from] + (kind(from) == kind(i) ? 0 : 1));
    }
    for (size_t k = 0; k < tflite::size_of(op.outputs()); ++k) {
      const int32_t tensor = op.outputs()->Get(static_cast<flatbuffers::uoffset_t>(k));
      if (tensor >= 0) producer[static_cast<size_t>(tensor)] = i;
    }
  }
  return group;
}

}  // namespace

Partition partition(const tflite::ModelFile& file, const Rules& rules) {
  Partition result;
  if (file.num_subgraphs() == 0) return result;
  const tflite::SubGraph& graph = file.subgraph(0);
  for (size_t i = 0; i < tflite::size_of(graph.operators()); ++i) {
    const OperatorView op(file, graph,
                          *graph.operators()->Get(static_cast<flatbuffers::uoffset_t>(i)));
    PlacedOperator placed;
    placed.index = i;
    placed.op = op.name();
    placed.node = op.label();
    placed.verdict = judge(op, rules);
    placed.macs = op.macs();
    placed.parameter_bytes = op.parameter_bytes();
    result.operators.push_back(std::move(placed));
  }
  const std::vector<size_t> group = group_numbers(graph, result.operators);
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
