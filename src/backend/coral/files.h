// The files of a model for the Edge TPU: integer .tflite files, whole or cut into segments, or the
// Edge TPU code that Google's compiler makes of them.
#pragma once

#include <filesystem>
#include <vector>

#include "backend/backend.h"
#include "backend/coral/options.h"
#include "backend/tflite/encode.h"

namespace ec::coral {

struct ModelFiles {
  EncodedTflite whole;
  std::vector<Blob> tflite;  // the files that are judged and checked: the whole, or its segments
  std::vector<std::vector<std::string>> sources;  // of each: its operators' names in the source
  std::vector<Blob> code;  // what Google's compiler made of each; empty where it was not run
};

// "NAME.tflite", or "NAME_segment_0_of_2.tflite"; Edge TPU code says so at the end of its name.
std::filesystem::path file_path(const std::filesystem::path& output, size_t index, size_t count);

// Judges the files of all models together: they share the device's memory in their order, segments
// have a device each.
Result<std::vector<PlacedModel>> place_models(std::span<const ModelJob> jobs,
                                              const TargetOptions& options, DiagnosticSink& sink);

}  // namespace ec::coral
