// A minimum cut of a directed graph with capacities: which nodes stay on the source's side. The
// layout pass asks it which operations to compute in the wanted layout.
#pragma once

#include <cstdint>
#include <vector>

namespace ec {

class MinCut {
 public:
  static constexpr int64_t kInfinite = int64_t{1} << 60;

  MinCut() : first_(2, -1) {}
  int source() const { return 0; }
  int sink() const { return 1; }
  int add_node() {
    first_.push_back(-1);
    return static_cast<int>(first_.size()) - 1;
  }
  // Costs `capacity` when `from` is on the source's side and `to` on the sink's.
  void add_edge(int from, int to, int64_t capacity);
  // For every node: is it on the source's side of a minimum cut? Of several minimum cuts, one that
  // keeps together what is connected to nodes that must be on the source's side; nodes that have
  // nothing to do with those are on the sink's side.
  std::vector<bool> solve();

 private:
  struct Edge {
    int to;
    int next;  // of the same node; -1: last
    int64_t capacity;
  };
  bool label_levels();
  void block_flow();
  std::vector<bool> reaches_sink() const;

  std::vector<int> first_, current_, level_;
  std::vector<Edge> edges_;
};

}  // namespace ec
