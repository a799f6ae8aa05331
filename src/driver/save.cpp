#include "driver/save.h"

#include <fmt/format.h>

#include "ir/text.h"
#include "support/strings.h"
#include "writer/onnx/onnx.h"

namespace ec {
namespace {

struct Writer {
  std::string_view extension;
  Status (*write)(const Graph& graph, const std::filesystem::path& path);
};

// The writers of this build.
constexpr Writer kWriters[] = {
    {".onnx",
     [](const Graph& graph, const std::filesystem::path& path) { return write_onnx(graph, path); }},
    {".ecir", save_ecir},
};

const Writer* find_writer(const std::filesystem::path& path) {
  const std::string extension = to_lower(path.extension().string());
  for (const Writer& writer : kWriters)
    if (writer.extension == extension) return &writer;
  return nullptr;
}

}  // namespace

Status check_output_format(const std::filesystem::path& path) {
  if (find_writer(path)) return {};
  std::string known;
  for (const Writer& writer : kWriters)
    known += fmt::format("{}{}", known.empty() ? "" : " or ", writer.extension);
  return Error(Code::Usage, fmt::format("no format for '{}'", printable(path.filename().string())))
      .file(path.string())
      .hint(fmt::format("end the name in {}", known));
}

Status save_model(const Graph& graph, const std::filesystem::path& path) {
  EC_CHECK_OK(check_output_format(path));
  return find_writer(path)->write(graph, path);
}

}  // namespace ec
