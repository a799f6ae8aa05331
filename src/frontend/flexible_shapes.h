// Sizes that stay open where a target else fixes every size: a range for each size, or a list of
// whole shapes. The user names inputs or dimensions of the model (docs/open-sizes.md).
//
// A range belongs to a dimension, not to an input: dimensions of one name have one size in all
// inputs, so each of them follows. What was chosen is written into the graph's metadata, where
// targets find it again behind the passes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgecompiler/options.h"
#include "frontend/default_sizes.h"
#include "frontend/frontend.h"
#include "ir/graph.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace ec {

// Metadata of a graph with open sizes: "flexible_shape.NAME" = "1x3x224..448x224..448".
inline constexpr std::string_view kFlexibleShapeKey = "flexible_shape.";

struct SizeRange {
  int64_t low = 1, high = 1;
  bool is_fixed() const { return low == high; }
  bool has(int64_t size) const { return low <= size && size <= high; }
};

// Sizes of one input: a range for each dimension, or whole shapes.
struct FlexibleShape {
  std::vector<SizeRange> ranges;
  std::vector<std::vector<int64_t>> listed;
  bool is_listed() const { return !listed.empty(); }
  size_t rank() const { return is_listed() ? listed.front().size() : ranges.size(); }
  std::string text() const;  // "1x3x224..448x224..448", "1x3x224x224,1x3x320x320"
};

// Sizes of one dimension: a range, or a list.
struct FlexibleDim {
  SizeRange range;
  std::vector<int64_t> listed;
  std::string text() const;  // "1..512", "128,256"
};

struct FlexibleShapes {
  std::map<std::string, FlexibleShape> inputs;  // by name; empty name: the only input
  std::map<std::string, FlexibleDim> dims;
  bool empty() const { return inputs.empty() && dims.empty(); }
};

// Usage: a text that is no such value.
Result<FlexibleShape> parse_flexible_shape(std::string_view text);  // without the name
// "NAME:1x3x224..448x224..448" each, and "NAME=1..512".
Result<FlexibleShapes> parse_flexible_shapes(const std::vector<std::string>& shapes,
                                             const std::vector<std::string>& dims);

// What is read with open sizes must not be given sizes when it is read: those are the defaults.
void leave_open(const FlexibleShapes& flexible, ImportOptions& options);

// Fixes all other sizes, by the rules of default_shapes(), and notes in the metadata what stays
// open. `shapes` and `dims` are the user's sizes, which are the default of what stays open.
// BadShapeOption: the model does not leave these sizes open, or cannot be computed with them.
Status bind_flexible_shapes(Graph& graph, const FlexibleShapes& flexible, const GivenShapes& given,
                            const ShapesByName& shapes, const SizesByName& dims,
                            DiagnosticSink& sink);

// --- what the metadata says, later ---------------------------------------------------------------

struct FlexibleInput {
  std::string name;
  std::vector<int64_t> shape;  // the default
  FlexibleShape sizes;
};
// The inputs with open sizes, in the graph's order.
std::vector<FlexibleInput> flexible_inputs(const Graph& graph);
void set_flexible_input(Graph& graph, const FlexibleInput& input);

// A copy of the graph with these shapes for its inputs.
Result<std::unique_ptr<Graph>> with_shapes(const Graph& graph, const GivenShapes& shapes);

// Shapes of all of them that go together: the default first, then every listed one, or the smallest
// and the largest.
std::vector<GivenShapes> admitted_shapes(const std::vector<FlexibleInput>& inputs);

}  // namespace ec
