// Whether graphs that were read back from files compute what the compiled graph computes.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "edgecompiler/report/compile.h"
#include "ir/graph.h"
#include "support/result.h"

namespace ec {

// SelfCheckFailed: the compiler is at fault.
Error self_check_failed(std::string message);

// Runs both on made-up inputs. The written graphs are run one after the other, each on the outputs
// of the one before: the first has the inputs of the expected graph and the last its outputs, in
// order. Where the expected graph cannot be run, the result says why. A graph with open sizes runs
// once with each of `shapes`: the shapes of the inputs with open sizes, by name.
Result<SelfCheck> check_same_results(
    const Graph& expected, std::span<const std::unique_ptr<Graph>> written,
    std::span<const std::map<std::string, std::vector<int64_t>>> shapes = {});

}  // namespace ec
