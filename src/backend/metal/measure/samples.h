// What a model is run on to measure what its form costs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ops/value.h"
#include "support/result.h"
#include "writer/coreml/coreml.h"

namespace ec {
namespace quantize {
class SampleSource;
}

namespace metal {

struct Samples {
  std::string name;                        // "random inputs"
  std::vector<std::vector<Value>> values;  // by sample and input, of the inputs' types
};

// The first samples of the source, as the inputs of the graph take them; random inputs where it is
// null. As many as a trial can take: models of many products get fewer, those of very many none,
// unless samples are given. NotOnTarget: why there are none. A limit is held on more of the given
// ones than tell what a form costs.
Result<Samples> samples_of(const Graph& graph, quantize::SampleSource* source,
                           std::span<const CoremlImageInput> images, bool for_limit = false);

}  // namespace metal
}  // namespace ec
