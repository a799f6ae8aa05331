// Models with open sizes for sessions: optimised anew for every set of input shapes.
#pragma once

#include <memory>
#include <string>

#include "driver/registry.h"
#include "frontend/default_sizes.h"
#include "runtime/session.h"

namespace ec {

// `pipeline` is what optimises the graph once its sizes are fixed. The session prepares for the
// default sizes where the model has some.
OpenModel make_open_model(const Registry& registry, std::shared_ptr<const Graph> imported,
                          std::string pipeline, PassManagerOptions options);

}  // namespace ec
