#include "backend/backend.h"

#include <fmt/format.h>

#include "support/strings.h"

namespace ec {

std::string Target::name() const { return std::string(backend().info().name); }

Status Target::check_source(const ModelSource&, DiagnosticSink&) const { return {}; }

std::string Target::default_file_name(std::string_view name) const {
  const BackendInfo& info = backend().info();
  return fmt::format("{}_{}{}", name, info.name, info.files.front().extension);
}

Status Target::check_output(const std::filesystem::path& output) const {
  const BackendInfo& info = backend().info();
  const std::string extension = to_lower(output.extension().string());
  std::string known;
  for (const FileKind& kind : info.files) {
    if (kind.extension == extension) return {};
    known += fmt::format("{}{}", known.empty() ? "" : ", ", kind.extension);
  }
  return Error(Code::Usage, fmt::format("target '{}' writes {} files, not '{}'", info.name, known,
                                        printable(output.filename().string())))
      .hint(fmt::format("use -o NAME{}, or `edgecompile optimize` for an .onnx file",
                        info.files.front().extension));
}

Status Target::check_model_count(size_t count) const {
  if (count == 1) return {};
  return Error(Code::Usage,
               fmt::format("target '{}' takes one model at a time", backend().info().name))
      .hint("compile each model in a run of its own");
}

Status Backend::refuse_variant(std::string_view variant) const {
  if (variant.empty()) return {};
  return Error(Code::UnknownTarget,
               fmt::format("target '{}' has no variant '{}'", info().name, printable(variant)))
      .hint(fmt::format("write --target {}", info().name));
}

Result<bool> Backend::owns_code(const ModelSource&, DiagnosticSink&) const { return false; }

Result<OpenedDevice> Backend::open(const ModelSource&, const Graph&, int) const {
  return Error(Code::DeviceUnavailable,
               fmt::format("target '{}' has no device that runs files", info().name));
}

Result<std::optional<Inspection>> Backend::inspect(const ModelSource&, DiagnosticSink&) const {
  return std::optional<Inspection>();
}

}  // namespace ec
