// The printer behind print() and save_ecir().
#pragma once

#include <functional>
#include <string>

#include "ir/text.h"

namespace ec {

// Text of a large constant; returns empty to leave the choice to the printer.
using ConstantPrinter = std::function<std::string(const Tensor&)>;

std::string print_graph(const Graph& graph, const ConstantPrinter& large_constant);

}  // namespace ec
