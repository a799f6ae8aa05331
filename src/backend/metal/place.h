// A model on its way into a package: half precision, the program, and where Core ML is predicted to
// run its operations.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backend/backend.h"
#include "backend/metal/half_precision.h"
#include "backend/metal/options.h"
#include "writer/coreml/coreml.h"

namespace ec::metal {

// What place() leaves for emit() and the self-check.
struct PlacedPackage {
  std::optional<CoremlProgram> program;
  std::vector<Diagnostic> problems;  // why there is none
  // The graph that was written, with everything computed in single precision.
  std::unique_ptr<Graph> compared;
  std::vector<KeptSingle> kept;
  std::vector<std::string> states;   // what users should know of them
  int64_t parameter_bytes = 0;       // as the package stores them
  std::vector<GivenShapes> checked;  // shapes of inputs with open sizes for the self-check
};

Result<PlacedModel> place_model(const ModelJob& job, const TargetOptions& options,
                                DiagnosticSink& sink);

// The package's program as a graph that computes in single precision.
Result<std::vector<std::unique_ptr<Graph>>> read_package(std::span<const ArtifactFile> files);

}  // namespace ec::metal
