#include "backend/coral/compiler_process.h"

#include <iterator>

#include "support/file.h"
#include "support/process.h"

namespace ec::coral {
namespace {

namespace fs = std::filesystem;

// The operators are in the log file; some versions print them on the terminal as well.
std::string read_log_file(const fs::path& path) {
  const Result<Blob> log = map_file(path);
  if (!log.ok()) return {};
  return std::string(reinterpret_cast<const char*>(log->bytes().data()), log->size());
}

std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of("\r\n ");
  if (end == std::string::npos) return "it printed nothing";
  const size_t begin = text.find_last_of('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

}  // namespace

Result<CompiledByGoogle> run_edgetpu_compiler(const fs::path& model, const fs::path& folder,
                                              int min_runtime) {
  const std::optional<fs::path> program = find_program("edgetpu_compiler");
  if (!program)
    return Error(Code::ToolFailed, "edgetpu_compiler is not installed")
        .hint(
            "install Debian package edgetpu-compiler from Google's Coral repository (x86-64), or "
            "leave out --edgetpu-compiler");
  EC_TRY(const ProcessResult ran, run_program(*program, {"-s", "-m", std::to_string(min_runtime),
                                                         "-o", folder.string(), model.string()}));
  const std::string stem = model.stem().string() + "_edgetpu";
  CompiledByGoogle result;
  result.log = parse_log(ran.output);
  result.file = folder / (stem + ".tflite");
  if (!result.log.models.empty() && result.log.models[0].rows.empty()) {
    CompilerLog file = parse_log(read_log_file(folder / (stem + ".log")));
    if (!file.models.empty()) result.log.models[0].rows = std::move(file.models[0].rows);
  }
  std::error_code ignored;
  if (ran.exit_code != 0 || !result.log.succeeded || !fs::is_regular_file(result.file, ignored))
    return Error(Code::ToolFailed,
                 "edgetpu_compiler failed: " +
                     (result.log.failure.empty() ? last_line(ran.output) : result.log.failure))
        .file(model.string())
        .hint("run it by hand for its full output: edgetpu_compiler -s " + model.string());
  return result;
}

}  // namespace ec::coral
