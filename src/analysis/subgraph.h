// Operations of a graph as a graph of their own.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace ec {

// An output of a subgraph: its name there, and the tensor of the whole graph that it gives.
struct SubgraphOutput {
  std::string name;
  const Tensor* tensor = nullptr;
};

// What the operations and the wanted results need from outside, each once, in the order in which it
// is first read. Constants are left out: a subgraph has copies of them. What `known` has already is
// left out as well.
std::vector<Tensor*> outside_operands(std::span<const Operation* const> operations,
                                      std::span<Tensor* const> results,
                                      std::span<Tensor* const> known = {});

// A graph with copies of the operations, which stand in order of execution. `inputs` become its
// inputs under their own names; every operand must be one of them, a constant or the result of an
// operation before.
Result<std::unique_ptr<Graph>> extract_subgraph(std::string name,
                                                std::span<const Operation* const> operations,
                                                std::span<Tensor* const> inputs,
                                                std::span<const SubgraphOutput> outputs);

}  // namespace ec
