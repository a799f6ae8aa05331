#include "frontend/onnx/order.h"

#include <algorithm>
#include <unordered_map>

#include "frontend/onnx/limits.h"

namespace ec::onnx {
namespace {

using Producers = std::unordered_map<std::string_view, uint32_t>;

class Dependencies {
 public:
  Dependencies(const NodeList& list, Budget budget) : list_(list), budget_(budget) {
    for (uint32_t i = 0; i < list.nodes.size(); ++i)
      for (const std::string_view name : list.nodes[i].outputs)
        if (!name.empty()) producers_.emplace(name, i);
  }

  // The nodes that node i needs.
  std::vector<uint32_t> of(uint32_t i) const {
    std::vector<uint32_t> needed;
    add_node(list_.nodes[i], 0, needed);
    return needed;
  }

 private:
  void add_node(const Node& node, int depth, std::vector<uint32_t>& needed) const {
    for (const std::string_view name : node.inputs)
      if (const auto it = producers_.find(name); it != producers_.end())
        needed.push_back(it->second);
    if (depth >= kMaxDepth) return;
    for (const Attribute& attribute : node.attributes) {
      if (attribute.type != AttributeType::Graph && attribute.type != AttributeType::Graphs)
        continue;
      const auto messages = attribute_messages(attribute);
      if (!messages.ok()) continue;  // reported when the attribute is read
      for (const Bytes message : *messages) add_graph(message, depth + 1, needed);
    }
  }

  // Names that the nested graph defines itself may be taken for outer ones here: that adds an edge
  // only when the outer graph has the name, too, which valid models avoid.
  void add_graph(Bytes message, int depth, std::vector<uint32_t>& needed) const {
    Budget budget = budget_;
    const auto graph = decode_graph(message, budget);
    if (!graph.ok()) return;
    for (const Node& node : graph->list.nodes) add_node(node, depth, needed);
    for (const ValueInfo& output : graph->outputs)
      if (const auto it = producers_.find(output.name); it != producers_.end())
        needed.push_back(it->second);
  }

  const NodeList& list_;
  Budget budget_;
  Producers producers_;
};

}  // namespace

NodeOrder order_nodes(const NodeList& list, Budget budget) {
  const Dependencies dependencies(list, budget);
  enum : uint8_t { kNew, kOpen, kDone, kCyclic };
  std::vector<uint8_t> state(list.nodes.size(), kNew);
  struct Open {
    uint32_t node;
    std::vector<uint32_t> needed;
    size_t next = 0;
  };
  NodeOrder result;
  result.order.reserve(list.nodes.size());
  std::vector<Open> stack;  // explicit: chains may be as long as the graph
  const auto open = [&](uint32_t node) {
    state[node] = kOpen;
    stack.push_back({node, dependencies.of(node), 0});
  };
  for (uint32_t root = 0; root < list.nodes.size(); ++root) {
    if (state[root] == kNew) open(root);
    while (!stack.empty()) {
      Open& top = stack.back();
      if (top.next == top.needed.size()) {
        if (state[top.node] == kOpen) {
          state[top.node] = kDone;
          result.order.push_back(top.node);
        }
        stack.pop_back();
        continue;
      }
      const uint32_t needed = top.needed[top.next++];
      if (state[needed] == kNew) {
        open(needed);
      } else if (state[needed] == kOpen) {
        const auto start = std::find_if(stack.begin(), stack.end(),
                                        [&](const Open& o) { return o.node == needed; });
        std::vector<uint32_t> cycle;
        for (auto it = start; it != stack.end(); ++it) cycle.push_back(it->node);
        for (const uint32_t node : cycle) state[node] = kCyclic;
        result.cycles.push_back(std::move(cycle));
      }
    }
  }
  return result;
}

}  // namespace ec::onnx
