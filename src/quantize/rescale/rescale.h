// Makes channels alike between neighbouring layers (equalize.h), or takes uneven ones apart
// (split_channels.h), and keeps the changed graph where trial runs show that it helps.
#pragma once

#include "quantize/report.h"
#include "quantize/request.h"
#include "quantize/trial/reference_outputs.h"

namespace ec::quantize {

struct Rescaled {
  std::unique_ptr<Graph> graph;                 // null: the graph stays as it is
  std::shared_ptr<ReferenceOutputs> reference;  // of that graph
  std::vector<MethodGain> gains;
};

// `reference`: float outputs of `graph`, to be used and added to.
Result<Rescaled> rescale_channels(const Graph& graph, std::shared_ptr<ReferenceOutputs> reference,
                                  const PlanOptions& options, const QuantizeRequest& request,
                                  std::span<const size_t> samples);

}  // namespace ec::quantize
