// The network whose saved statistics are damaged by fuzz_statistics and statistics_mutation_test.
//
// Statistics are bound to their graph by a fingerprint. Files of statistics have @GRAPH@ in its
// place, so that they stay good when the text form of graphs changes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace ec::fuzz {

// Parsed once; lives as long as the program.
const Graph& statistics_graph();

// With the fingerprint of the graph in place of the mark, and the other way round.
std::string with_fingerprint(std::string_view text);
std::string with_mark(std::string text);

}  // namespace ec::fuzz
