// Bodies of branches and loops: what they read from outside becomes a constant, an input with an
// operand beside it, or stays what it is.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "frontend/tensorflow/op_context.h"

namespace ec::tf {

// A body that is being built.
struct NestedGraph {
  NestedGraph(Importer& importer, std::string name)
      : graph(std::make_unique<ec::Graph>(std::move(name))),
        site(*graph, false, importer.turned_room(), importer.weight_memory()) {}
  std::unique_ptr<ec::Graph> graph;
  Site site;
  std::vector<ec::Tensor*> captures;  // tensors outside, one for each input that capture() added
  std::map<const ec::Tensor*, ec::Tensor*> inputs;  // those inputs; looked up only
};

// The value as the body sees it.
TfValue capture(Importer& importer, NestedGraph& nested, const TfValue& outer);
// An input of the body that stands for a tensor outside.
ec::Tensor* capture(NestedGraph& nested, ec::Tensor* outer);

}  // namespace ec::tf
