// Where the operators of TFLite files run: on the Edge TPU or on the CPU beside it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backend/coral/options.h"
#include "report/placement.h"
#include "support/blob.h"

namespace ec::coral {

// A TFLite file and the report that gets its rows, its estimate and what cut the graph.
struct CandidateFile {
  std::string name;  // without extension
  Blob bytes;
  PlacementReport* report = nullptr;
  std::vector<std::string> sources = {};  // names of its operators in the source model
};

enum class ParameterMemory : uint8_t {
  Shared,      // the files run on one device: earlier ones have its memory first
  OnePerFile,  // each file has a device of its own
};

// Judges every file. Where the options ask for it, Google's compiler is run on all of them together
// and gives the Edge TPU code, one file each; else the result is empty.
Result<std::vector<Blob>> place_files(std::span<const CandidateFile> files, ParameterMemory memory,
                                      const TargetOptions& options, DiagnosticSink& sink);

}  // namespace ec::coral
