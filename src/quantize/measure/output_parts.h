// Parts of outputs: boxes, scores, masks and keypoints that one tensor holds side by side. Each has
// a unit and a size of its own, so that an error is judged against the part it falls into. Over the
// whole tensor the largest part would hide what the others lose.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ops/value.h"

namespace ec::quantize {

enum class PartMeaning : uint8_t {
  Values,  // coordinates, logits, images: every element counts by its size
  Scores,  // probabilities of which most are near zero: those near or above a threshold count
};
std::string_view part_meaning_name(PartMeaning meaning);

// Elements of an output whose index along `axis` is in [begin, end).
struct OutputPart {
  size_t axis = 0;
  int64_t begin = 0, end = 0;
  PartMeaning meaning = PartMeaning::Values;
  bool whole = true;  // all elements; axis, begin and end say nothing

  bool operator==(const OutputPart&) const = default;
};
// By output of the graph; each has at least one part, and parts do not overlap.
using OutputParts = std::vector<std::vector<OutputPart>>;

// What the graph tells: concatenations in front of outputs, and sigmoids or softmaxes in front of
// those.
OutputParts parts_of_graph(const Graph& graph);
// Cuts and joins the parts by what the outputs of some samples show: `outputs` holds those of one
// sample after the other.
void refine_parts(OutputParts& parts, std::span<const std::vector<Value>> outputs);

// "[:, 4:22]"; empty for the whole output.
std::string part_text(const OutputPart& part);

// Calls `visit` with each contiguous run of elements of the part: its first index and its length.
void for_each_run(const OutputPart& part, std::span<const int64_t> shape,
                  const std::function<void(size_t first, size_t count)>& visit);

// Sums of squares that judge a part.
struct PartError {
  double noise = 0, signal = 0;
};
PartError part_error(const OutputPart& part, std::span<const int64_t> shape,
                     std::span<const float> expected, std::span<const float> got);

}  // namespace ec::quantize
