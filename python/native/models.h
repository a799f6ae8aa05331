// Models as callers hand them over, and failures of jobs that read them.
#pragma once

#include "bindings.h"
#include "driver/model_ref.h"

namespace ec::python {

// The value, or the failure with all diagnostics; `path` and `target` tell what was asked for.
template <class T>
T value_or_fail(Result<T> result, DiagnosticSink& sink, const std::string& path,
                const std::string& target) {
  if (result.ok()) return std::move(result).value();
  if (!sink.has_errors()) sink.report(result.error().diagnostic());
  throw Failure(sink.diagnostics(), path, target);
}

}  // namespace ec::python
