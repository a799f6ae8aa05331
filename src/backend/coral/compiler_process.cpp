#include "backend/coral/compiler_process.h"

#include <cstdlib>
#include <filesystem>

#include "support/file.h"
#include "support/input_file.h"
#include "support/process.h"

namespace ec::coral {
namespace {

namespace fs = std::filesystem;

// The newest runtime, which the compiler makes code for by default.
constexpr int kNewestRuntime = 14;

class ScratchFolder {
 public:
  static Result<ScratchFolder> create() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "edgecompiler.XXXXXX").string();
    if (error || ::mkdtemp(name.data()) == nullptr)
      return Error(Code::OutputUnwritable, "cannot make a folder for temporary files")
          .file(name)
          .hint("set TMPDIR to a folder that can be written");
    return ScratchFolder(name);
  }
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  fs::path operator/(const std::string& name) const { return path_ / name; }
  std::string text() const { return path_.string(); }

 private:
  explicit ScratchFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

// The operators are in the log file; some versions print them on the terminal as well.
std::string read_log_file(const fs::path& path) {
  const Result<Blob> log = read_file(path);
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

Error failed(const CompilerLog& log, const std::string& output) {
  return Error(Code::ToolFailed, "edgetpu_compiler failed: " +
                                     (log.failure.empty() ? last_line(output) : log.failure))
      .hint(
          "compile without --edgetpu-compiler and run `edgetpu_compiler -s` on the file by hand "
          "for its full output");
}

}  // namespace

Result<CompiledByGoogle> run_edgetpu_compiler(std::span<const CompilerInput> models, int runtime) {
  const std::optional<fs::path> program = find_program("edgetpu_compiler");
  if (!program)
    return Error(Code::ToolFailed, "edgetpu_compiler is not installed")
        .hint(
            "install Debian package edgetpu-compiler from Google's Coral repository (x86-64), or "
            "leave out --edgetpu-compiler");
  EC_TRY(const ScratchFolder folder, ScratchFolder::create());
  std::vector<std::string> arguments = {"-s", "-o", folder.text()};
  if (runtime < kNewestRuntime) {
    arguments.push_back("-m");
    arguments.push_back(std::to_string(runtime));
  }
  for (const CompilerInput& model : models) {
    const fs::path file = folder / (model.name + ".tflite");
    EC_CHECK_OK(write_file(file, model.file.bytes()));
    arguments.push_back(file.string());
  }
  EC_TRY(const ProcessResult ran, run_program(*program, arguments));
  CompiledByGoogle result;
  result.log = parse_log(ran.output);
  if (ran.exit_code != 0 || !result.log.succeeded) return failed(result.log, ran.output);
  result.log.models.resize(models.size());
  for (size_t i = 0; i < models.size(); ++i) {
    const std::string stem = models[i].name + "_edgetpu";
    if (result.log.models[i].rows.empty()) {
      CompilerLog file = parse_log(read_log_file(folder / (stem + ".log")));
      if (!file.models.empty()) result.log.models[i].rows = std::move(file.models[0].rows);
    }
    const Result<Blob> compiled = read_file(folder / (stem + ".tflite"));
    if (!compiled.ok()) return failed(result.log, ran.output);
    result.files.push_back(Blob::copy_of(compiled->bytes()));
  }
  return result;
}

}  // namespace ec::coral
