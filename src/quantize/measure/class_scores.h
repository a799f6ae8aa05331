// Where an output holds scores of classes, and how often two networks prefer the same one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace ec::quantize {

// The number of classes where a shape is one list of scores per sample: one dimension behind the
// first is above one. 0: it is something else.
size_t score_classes(std::span<const int64_t> shape);

// By output: the dimension along which a softmax made it. Empty: none did.
std::vector<std::optional<size_t>> softmax_axes(const Graph& graph);

// Lists of scores: [rows, classes, inner].
struct ScoreLists {
  size_t rows = 0, classes = 0, inner = 1;
};
// One list per sample, or one for each position of what a softmax made. Empty: no scores.
std::optional<ScoreLists> score_lists(std::span<const int64_t> shape,
                                      std::optional<size_t> softmax_axis);
// Whether some output holds scores, as far as the graph tells.
bool has_score_lists(const Graph& graph);

// Counts lists whose largest element has the same index in both networks.
struct Agreement {
  int64_t same = 0, rows = 0;

  void add(std::span<const float> a, std::span<const float> b, const ScoreLists& lists);
  std::optional<double> share() const;  // empty without rows
};

}  // namespace ec::quantize
