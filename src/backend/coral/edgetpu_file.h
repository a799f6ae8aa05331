// Files that hold Edge TPU code: recognised, and described for `inspect`.
#pragma once

#include <optional>

#include "edgecompiler/report/property.h"
#include "support/result.h"

namespace ec {
class ModelSource;
}

namespace ec::coral {

// Whether it is a TFLite file with code that only the device runs.
Result<bool> is_edgetpu_code(const ModelSource& source, DiagnosticSink& sink);
// The compiled packages of the file. Nothing where it holds none.
Result<std::optional<Inspection>> inspect_file(const ModelSource& source, DiagnosticSink& sink);

}  // namespace ec::coral
