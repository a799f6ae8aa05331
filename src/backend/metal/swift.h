// A few lines of Swift that load a package and run it once, as a start for an application.
#pragma once

#include <string>
#include <string_view>

#include "backend/metal/options.h"
#include "formats/coreml/model.h"

namespace ec::metal {

// `package` is the package's file name. The text is never compiled here.
std::string swift_source(const coreml::Interface& interface, std::string_view package,
                         ComputeUnits units);

}  // namespace ec::metal
