// Options of the target `coral`.
#pragma once

#include <cstdint>
#include <span>

#include "backend/coral/support.h"
#include "edgecompiler/options.h"
#include "options/option_def.h"

namespace ec::coral {

std::span<const OptionDef> option_table();

// The options as typed values.
struct TargetOptions {
  Rules rules;
  bool run_compiler = false;  // Google's, on the written file
  size_t segments = 0;        // files for a pipeline of devices; 0: one file
  bool keep_io_layout = false;
};
TargetOptions target_options(const Options& options);

}  // namespace ec::coral
