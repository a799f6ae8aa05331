#include "driver/output_paths.h"

#include "driver/graph_files.h"

namespace ec {
namespace {

namespace fs = std::filesystem;

// --output names a file, or a directory that gets `name`. Empty: the current folder.
fs::path output_path(const std::string& output, const fs::path& name) {
  if (output.empty()) return name;
  std::error_code ignored;
  return fs::is_directory(output, ignored) ? output / name : fs::path(output);
}

// Some targets write directories: one with such an extension is the output itself.
bool is_output_directory(const Target& target, const fs::path& output) {
  for (const FileKind& kind : target.backend().info().files)
    if (kind.is_directory && kind.extension == output.extension().string()) return true;
  return false;
}

// Writing over the model would destroy the only copy of it.
Status refuse_overwrite(const CompiledModel& model) {
  std::error_code error;
  if (!fs::equivalent(model.ref.name, model.report.output, error) || error) return {};
  return Error(Code::Usage, "the output is the model itself")
      .file(model.report.output.string())
      .hint("choose another name with -o");
}

Status choose_compiled(Compilation& c) {
  EC_CHECK_OK(c.target()->check_model_count(c.models().size()));
  for (CompiledModel& model : c.models()) {
    const std::string name =
        c.target()->default_file_name(fs::path(model.ref.name).stem().string());
    const std::string& output = c.options().text("output");
    model.report.output =
        is_output_directory(*c.target(), output) ? fs::path(output) : output_path(output, name);
    EC_CHECK_OK(c.target()->check_output(model.report.output));
    EC_CHECK_OK(refuse_overwrite(model));
  }
  for (size_t i = 0; i < c.models().size(); ++i)
    for (size_t k = i + 1; k < c.models().size(); ++k)
      if (c.models()[i].report.output == c.models()[k].report.output)
        return Error(Code::Usage, "two models would be written to the same file")
            .file(c.models()[i].report.output.string())
            .hint("give a directory with -o and models of different names");
  return {};
}

// The rewritten graph itself: nothing is written unless a file is named.
Status choose_graph_file(Compilation& c, const std::string& suffix) {
  if (c.options().text("output").empty()) return {};
  CompiledModel& model = c.models().front();
  const std::string name = fs::path(model.ref.name).stem().string() + suffix;
  model.report.output = output_path(c.options().text("output"), name);
  EC_CHECK_OK(find_graph_format(model.report.output));
  return refuse_overwrite(model);
}

}  // namespace

Status choose_outputs(Compilation& compilation) {
  switch (compilation.verb()) {
    case Verb::Compile:
      return choose_compiled(compilation);
    case Verb::Optimize:
      return choose_graph_file(compilation, "_optimized.onnx");
    case Verb::Quantize:
      return choose_graph_file(compilation, "_quantized.ecir");
    default:
      return {};
  }
}

fs::path dump_folder(const Compilation& compilation, const CompiledModel& model) {
  const fs::path folder = compilation.options().text("dump-phases");
  return compilation.models().size() == 1 ? folder : folder / fs::path(model.ref.name).stem();
}

}  // namespace ec
