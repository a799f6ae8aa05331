// How operations that run on a device and operations that do not fall into groups.
#pragma once

#include <cstddef>
#include <vector>

namespace ec {

// Operations in order of execution: whether each runs on the device, and the earlier operations
// whose results it reads, by position.
struct PartitionNode {
  bool on_device = false;
  std::vector<size_t> producers;
};

// The group of each operation. Groups alternate between device and host: those of even index are of
// the first operation's kind, the odd ones of the other. An operation joins the earliest group of
// its kind that comes after its producers, as TFLite forms the groups of delegates.
std::vector<size_t> alternating_groups(const std::vector<PartitionNode>& nodes);

}  // namespace ec
