// What a graph holds.
#pragma once

#include <map>
#include <string>

#include "edgecompiler/report/model.h"
#include "ir/graph.h"

namespace ec {

ModelSummary summarize(const Graph& graph);

// "1x3xHxW".
std::string dims_text(const InterfaceSummary& value);
// The order of dimensions of inputs and outputs ("input.x": "nhwc"), where the metadata tells it.
std::map<std::string, std::string> interface_layouts(const ModelSummary& summary);

}  // namespace ec
