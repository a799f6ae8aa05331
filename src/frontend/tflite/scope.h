// One subgraph while it is imported: the tensors of the file by index, and what they became.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "formats/tflite/model_file.h"
#include "ir/graph.h"

namespace ec::tflite {

struct Scope {
  Scope(ec::Graph& g, const SubGraph& s, bool main)
      : graph(g),
        source(s),
        is_main(main),
        values(size_of(s.tensors()), nullptr),
        poisoned(values.size(), false) {}

  ec::Graph& graph;
  const SubGraph& source;
  const bool is_main;  // operations land in the model's own graph, not in a nested one
  std::vector<ec::Tensor*> values;
  std::vector<bool> poisoned;  // the producer failed; already reported
  std::map<int32_t, std::string>
      handles;  // tensors that stand for variables, by the variable's key

  const Tensor& tensor(int32_t index) const {
    return *source.tensors()->Get(static_cast<flatbuffers::uoffset_t>(index));
  }
};

}  // namespace ec::tflite
