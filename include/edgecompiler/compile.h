// Compiling a model from C++.
//
//   ec::CompileResult r = ec::compile("model.onnx", {{"output", "model.ecir"}});
//   for (const ec::PhaseTime& phase : r.report.phases)
//     std::printf("%s %.1f ms\n", phase.phase.c_str(), phase.milliseconds);
//
// Functions throw the exceptions of error.h. Reports are plain structs; ec::to_json of report.h
// gives the text that the command line prints with --json as "result".
#pragma once

#include <string>
#include <vector>

#include "edgecompiler/error.h"
#include "edgecompiler/options.h"
#include "edgecompiler/report.h"

namespace ec {

struct CompileResult {
  std::string output_path;
  std::string target;
  CompileReport report;
  std::vector<Problem> warnings;  // what the caller should know though it worked
};

// Writes the target's file.
CompileResult compile(const std::string& model, const Options& options = {});
// Writes the optimised graph to the option `output`, an .onnx or .ecir file.
CompileResult optimize(const std::string& model, const Options& options);

// What a model holds.
ModelSummary inspect(const std::string& model, const Options& options = {});
// What would run where: on the option `target`, or on every target. A target that refuses the model
// is an entry with its reason; where all do, the reason of the first is thrown.
CheckReport check(const std::string& model, const Options& options = {});

}  // namespace ec
