// The one place where a failure inside the library becomes an exception of the public API.
#pragma once

#include <utility>

#include "edgecompiler/error.h"
#include "support/result.h"

namespace ec {

Problem problem_of(const Diagnostic& diagnostic);

// Throws the exception of the first error's code, carrying it and what else the sink holds.
[[noreturn]] void raise(const Error& error, const DiagnosticSink& sink);

template <class T>
T value_or_raise(Result<T> result, const DiagnosticSink& sink = {}) {
  if (!result.ok()) raise(result.error(), sink);
  return std::move(result).value();
}

}  // namespace ec
