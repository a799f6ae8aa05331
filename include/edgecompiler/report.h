// Reports of all jobs, as plain structs and as JSON.
//
//   ec::CompileResult r = ec::compile("model.onnx", {{"output", "model.ecir"}});
//   std::printf("%lld operations\n", static_cast<long long>(r.report.after.operations));
//   std::puts(ec::to_json(r.report).c_str());
//
// The JSON texts are what the command line prints with --json as "result"; report_schema() is their
// schema, published as docs/report.schema.json.
#pragma once

#include <string>
#include <vector>

#include "edgecompiler/error.h"
#include "edgecompiler/report/compile.h"
#include "edgecompiler/report/lists.h"
#include "edgecompiler/report/model.h"
#include "edgecompiler/report/placement.h"
#include "edgecompiler/report/quantization.h"
#include "edgecompiler/report/run.h"

namespace ec {

// Texts from model files may be no UTF-8: such bytes are replaced.
std::string to_json(const CompileReport& report);
std::string to_json(const std::vector<CompileReport>& reports);  // {"models": [...]}
std::string to_json(const ModelSummary& summary);
std::string to_json(const PlacementReport& report);
std::string to_json(const CheckReport& report);
std::string to_json(const EvaluateReport& report);
std::string to_json(const BenchReport& report);
std::string to_json(const RunReport& report);
std::string to_json(const std::vector<Problem>& diagnostics);
std::string to_json(const TargetList& list);
std::string to_json(const PassList& list);
std::string to_json(const CodeList& list);
std::string to_json(const CodeEntry& code);
std::string to_json(const MachineReport& machine);

// Raised only by changes that break readers; new keys do not count.
inline constexpr int kReportSchemaVersion = 2;
// JSON Schema (draft 2020-12) of what --json prints; reports are under "$defs".
std::string report_schema();

}  // namespace ec
