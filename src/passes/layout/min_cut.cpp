// Dinic's algorithm: levels by breadth-first search, then flow along paths that descend them, with
// an explicit path so that long graphs need no deep stack.
#include "passes/layout/min_cut.h"

#include <algorithm>

namespace ec {

void MinCut::add_edge(int from, int to, int64_t capacity) {
  if (capacity <= 0 || from == to) return;
  edges_.push_back({to, first_[static_cast<size_t>(from)], capacity});
  first_[static_cast<size_t>(from)] = static_cast<int>(edges_.size()) - 1;
  edges_.push_back({from, first_[static_cast<size_t>(to)], 0});
  first_[static_cast<size_t>(to)] = static_cast<int>(edges_.size()) - 1;
}

bool MinCut::label_levels() {
  level_.assign(first_.size(), -1);
  level_[static_cast<size_t>(source())] = 0;
  std::vector<int> queue{source()};
  for (size_t head = 0; head < queue.size(); ++head) {
    const int node = queue[head];
    for (int e = first_[static_cast<size_t>(node)]; e >= 0;
         e = edges_[static_cast<size_t>(e)].next) {
      const Edge& edge = edges_[static_cast<size_t>(e)];
      if (edge.capacity <= 0 || level_[static_cast<size_t>(edge.to)] >= 0) continue;
      level_[static_cast<size_t>(edge.to)] = level_[static_cast<size_t>(node)] + 1;
      queue.push_back(edge.to);
    }
  }
  return level_[static_cast<size_t>(sink())] >= 0;
}

void MinCut::block_flow() {
  current_ = first_;
  std::vector<int> path;  // edges from the source
  int node = source();
  while (true) {
    if (node == sink()) {
      int64_t flow = kInfinite;
      for (const int e : path) flow = std::min(flow, edges_[static_cast<size_t>(e)].capacity);
      size_t keep = path.size();
      for (size_t i = 0; i < path.size(); ++i) {
        Edge& edge = edges_[static_cast<size_t>(path[i])];
        edge.capacity -= flow;
        edges_[static_cast<size_t>(path[i] ^ 1)].capacity += flow;
        if (edge.capacity == 0) keep = std::min(keep, i);
      }
      // Go on from the first edge that is full now.
      node = edges_[static_cast<size_t>(path[keep] ^ 1)].to;
      path.resize(keep);
      continue;
    }
    int& e = current_[static_cast<size_t>(node)];
    while (e >= 0) {
      const Edge& edge = edges_[static_cast<size_t>(e)];
      if (edge.capacity > 0 &&
          level_[static_cast<size_t>(edge.to)] == level_[static_cast<size_t>(node)] + 1)
        break;
      e = edge.next;
    }
    if (e >= 0) {
      path.push_back(e);
      node = edges_[static_cast<size_t>(e)].to;
    } else if (path.empty()) {
      return;
    } else {
      // A dead end: leave it and never come back.
      level_[static_cast<size_t>(node)] = -1;
      node = edges_[static_cast<size_t>(path.back() ^ 1)].to;
      path.pop_back();
    }
  }
}

std::vector<bool> MinCut::reaches_sink() const {
  std::vector<bool> reaches(first_.size(), false);
  reaches[static_cast<size_t>(sink())] = true;
  std::vector<int> queue{sink()};
  for (size_t head = 0; head < queue.size(); ++head)
    for (int e = first_[static_cast<size_t>(queue[head])]; e >= 0;
         e = edges_[static_cast<size_t>(e)].next) {
      // The opposite edge leads here.
      const int from = edges_[static_cast<size_t>(e)].to;
      if (edges_[static_cast<size_t>(e ^ 1)].capacity <= 0 || reaches[static_cast<size_t>(from)])
        continue;
      reaches[static_cast<size_t>(from)] = true;
      queue.push_back(from);
    }
  return reaches;
}

std::vector<bool> MinCut::solve() {
  while (label_levels()) block_flow();
  // Between what the source still reaches and what still reaches the sink lie nodes that may be on
  // either side. Those connected to the source's side join it; connected components that do not
  // touch each other are decided one by one.
  std::vector<bool> on_source_side(first_.size());
  std::vector<int> queue;
  for (size_t i = 0; i < first_.size(); ++i) {
    on_source_side[i] = level_[i] >= 0;
    if (on_source_side[i] && static_cast<int>(i) != source()) queue.push_back(static_cast<int>(i));
  }
  const std::vector<bool> bound_to_sink = reaches_sink();
  for (size_t head = 0; head < queue.size(); ++head)
    for (int e = first_[static_cast<size_t>(queue[head])]; e >= 0;
         e = edges_[static_cast<size_t>(e)].next) {
      const auto to = static_cast<size_t>(edges_[static_cast<size_t>(e)].to);
      if (on_source_side[to] || bound_to_sink[to]) continue;
      on_source_side[to] = true;
      queue.push_back(static_cast<int>(to));
    }
  return on_source_side;
}

}  // namespace ec
