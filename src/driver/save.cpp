#include "driver/save.h"

#include <fmt/format.h>

#include "ir/text.h"
#include "support/strings.h"

namespace ec {

Status save_model(const Graph& graph, const std::filesystem::path& path) {
  const std::string extension = to_lower(path.extension().string());
  if (extension == ".ecir") return save_ecir(graph, path);
  return Error(Code::Usage,
               fmt::format("cannot tell the format from '{}'", printable(path.filename().string())))
      .file(path.string())
      .hint("end the name in .ecir");
}

}  // namespace ec
