// The options of the back end, as its parts read them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/metal/compress/weight_form.h"
#include "edgecompiler/options.h"
#include "frontend/flexible_shapes.h"
#include "options/option_def.h"
#include "support/result.h"

namespace ec::metal {

enum class ComputeUnits : uint8_t { All, CpuAndNeuralEngine, CpuAndGpu, CpuOnly };

struct TargetOptions {
  // Versions of the specification; the lowest one that serves is written.
  int lowest_version = 7, highest_version = 10;
  // Every system that takes the package has attention as one operation.
  bool has_attention() const { return lowest_version >= 9; }
  bool half_precision = true;
  WeightForm weights;
  std::optional<double> max_drop, min_sqnr;  // limits of what these two cost
  ComputeUnits units = ComputeUnits::All;
  std::vector<std::string> labels;
  std::string units_name = "all";
  bool emit_swift = false;
  FlexibleShapes flexible;
};

std::span<const OptionDef> option_table();
// NotFound and others: the file of labels cannot be read.
Result<TargetOptions> target_options(const Options& options);

}  // namespace ec::metal
