// Models with open sizes for sessions: optimised anew for every set of input shapes.
#pragma once

#include <memory>
#include <string>

#include "edgecompiler/options.h"
#include "frontend/default_sizes.h"
#include "runtime/session.h"

namespace ec {

// Whether an input of the graph has an open size.
bool has_open_sizes(const Graph& graph);

// `pipeline` is what optimises the graph once its sizes are fixed. `given`: shapes of the data that
// will be fed, where they are known; else the session prepares for the default sizes.
OpenModel make_open_model(std::shared_ptr<const Graph> imported, const CompileOptions& options,
                          std::string pipeline, const GivenShapes& given = {});

}  // namespace ec
