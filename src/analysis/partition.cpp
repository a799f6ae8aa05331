#include "analysis/partition.h"

#include <algorithm>

namespace ec {

std::vector<size_t> alternating_groups(const std::vector<PartitionNode>& nodes) {
  std::vector<size_t> group(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    group[i] = nodes[i].on_device == nodes.front().on_device ? 0 : 1;
    for (const size_t from : nodes[i].producers)
      group[i] =
          std::max(group[i], group[from] + (nodes[from].on_device == nodes[i].on_device ? 0 : 1));
  }
  return group;
}

}  // namespace ec
