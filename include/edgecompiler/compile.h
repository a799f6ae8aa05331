// Compiling a model from C++.
//
//   ec::CompileResult r = ec::compile("model.onnx", {{"output", "model.ecir"}});
//
// Functions throw the exceptions of error.h. Reports are JSON texts with the schema of the command
// line's --json ("result").
#pragma once

#include <string>
#include <vector>

#include "edgecompiler/error.h"
#include "edgecompiler/options.h"

namespace ec {

struct CompileResult {
  std::string output_path;
  std::string target;
  std::string report;             // JSON
  std::vector<Problem> warnings;  // what the caller should know though it worked
};

// Writes the target's file.
CompileResult compile(const std::string& model, const Options& options = {});
// Writes the optimised graph to the option `output`, an .onnx or .ecir file.
CompileResult optimize(const std::string& model, const Options& options);

// What a model holds, and what would run where: JSON.
std::string inspect(const std::string& model, const Options& options = {});
std::string check(const std::string& model, const Options& options = {});

}  // namespace ec
