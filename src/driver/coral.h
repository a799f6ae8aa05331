// The Coral target as seen from the driver: placement of models on the Edge TPU.
#pragma once

#include <filesystem>
#include <span>

#include "driver/check.h"
#include "ir/graph.h"
#include "passes/manager.h"
#include "support/blob.h"

namespace ec {

// A TFLite file and the report that gets its rows, its estimate and what cut the graph.
struct CoralFile {
  std::string name;  // without extension
  Blob bytes;
  CheckReport* report = nullptr;
};

enum class ParameterMemory : uint8_t {
  Shared,      // the files run on one device: earlier ones have its memory first
  OnePerFile,  // each has a device of its own
};

// Judges every file. With options.edgetpu_compiler Google's compiler is run on all of them together
// and gives the Edge TPU code, one file each; else the result is empty.
Result<std::vector<Blob>> place_on_coral(std::span<const CoralFile> files, ParameterMemory memory,
                                         const CompileOptions& options, DiagnosticSink& sink);

// What the passes of the target wrote in another form so that it runs on the device, in words.
std::vector<std::string> coral_rewrites(const PipelineReport& passes);

Status check_coral(const std::filesystem::path& path, const CompileOptions& options,
                   CheckReport& report, DiagnosticSink& sink);
// A TFLite file with code that only the device runs.
Result<bool> is_edgetpu_code(const std::filesystem::path& path, DiagnosticSink& sink);
// NotOnTarget for such a file.
Status refuse_edgetpu_code(const std::filesystem::path& path, DiagnosticSink& sink);

}  // namespace ec
