// The files of the `coral` target: integer .tflite files, whole or cut into segments, or the Edge
// TPU code that Google's compiler makes of them.
#pragma once

#include <filesystem>
#include <span>

#include "driver/compile.h"
#include "ir/graph.h"

namespace ec {

// A model on its way to a file: report->output, and segments beside it.
struct CoralJob {
  const Graph* graph = nullptr;
  std::filesystem::path model;
  CompileReport* report = nullptr;
};

// Judges, checks and writes all files or none. Several models share the device's memory in order.
Status write_coral_outputs(std::span<const CoralJob> jobs, const CompileOptions& options,
                           DiagnosticSink& sink);

}  // namespace ec
