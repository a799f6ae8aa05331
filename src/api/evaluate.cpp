// The public function of evaluate.h.
#include "edgecompiler/evaluate.h"

#include "api/raise.h"
#include "evaluate/evaluate.h"

namespace ec {

EvaluateReport evaluate(const std::string& model, const Options& options) {
  DiagnosticSink sink;
  return value_or_raise(evaluate_model(default_registry(), model, options, sink), sink);
}

}  // namespace ec
