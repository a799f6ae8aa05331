#include "api/raise.h"

namespace ec {

Problem problem_of(const Diagnostic& d) {
  return {std::string(severity_name(d.severity)),
          code_id(d.code),
          d.file,
          d.node,
          d.op_type,
          d.message,
          d.notes,
          d.hint};
}

void raise(const Error& error, const DiagnosticSink& sink) {
  const Diagnostic& first = error.diagnostic();
  std::vector<Problem> problems = {problem_of(first)};
  for (const Diagnostic& diagnostic : sink.diagnostics())
    if (!(diagnostic == first)) problems.push_back(problem_of(diagnostic));
  const std::string text = format_diagnostic(first);
  switch (static_cast<int>(first.code) / 1000) {
    case 1:
    case 2:
      throw ModelError(text, std::move(problems));
    case 3:
      throw UnsupportedError(text, std::move(problems));
    case 4:
      throw QuantizationError(text, std::move(problems));
    case 5:
    case 6:
    case 8:
      throw BackendError(text, std::move(problems));
    case 7:
      throw RuntimeError(text, std::move(problems));
    default:
      throw InternalError(text, std::move(problems));
  }
}

}  // namespace ec
