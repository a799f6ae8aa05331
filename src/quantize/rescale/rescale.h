// Tries to make channels alike between neighbouring layers (equalize.h) and keeps what was measured
// to help.
#pragma once

#include "quantize/report.h"
#include "quantize/request.h"

namespace ec::quantize {

struct Rescaled {
  std::unique_ptr<Graph> graph;  // null: the graph stays as it is
  std::vector<MethodGain> gains;
};

Result<Rescaled> rescale_channels(const Graph& graph, const TargetSpec& target,
                                  const PlanOptions& options, const QuantizeRequest& request,
                                  std::span<const size_t> samples);

}  // namespace ec::quantize
