// What would run where: one row per operation with the reason and the fix where it is not the best.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "edgecompiler/options.h"
#include "support/result.h"

namespace ec {

enum class Placement : uint8_t {
  Native,       // a fast kernel, or no work at all
  Reference,    // the reference kernel: right, not fast
  Unsupported,  // cannot run
};
std::string_view placement_name(Placement placement);

struct OpPlacement {
  std::string name;       // in the source model
  std::string op;         // of the IR; empty when the importer does not know it
  std::string source_op;  // in the source model's words
  std::string output_type;
  Placement placement = Placement::Native;
  std::string reason;
  std::string fix;
};

struct CheckReport {
  std::string model, target;
  std::vector<OpPlacement>
      operations;  // in order of execution, nested graphs after their operation
  int64_t native = 0, reference = 0, unsupported = 0;
  bool shapes_open = false;  // some sizes are not known: forms were judged by kind only
};

// Unsupported operations are rows of the report, not errors; other faults of the model are errors.
Result<CheckReport> check_model(const std::filesystem::path& path, const CompileOptions& options,
                                DiagnosticSink& sink);
std::string check_json(const CheckReport& report);

}  // namespace ec
