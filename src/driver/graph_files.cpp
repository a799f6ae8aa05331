#include "driver/graph_files.h"

#include <fmt/format.h>

#include "ir/text.h"
#include "support/file.h"
#include "support/strings.h"
#include "writer/onnx/onnx.h"

namespace ec {
namespace {

namespace fs = std::filesystem;

Result<std::vector<ArtifactFile>> encode_onnx_files(const Graph& graph, const fs::path& path) {
  const fs::path data_path = path.string() + ".data";
  EC_TRY(OnnxFiles encoded, encode_onnx(graph, data_path.filename().string()));
  std::vector<ArtifactFile> files;
  // The model comes first: it stands for both. write_files() puts the data in place before it.
  files.push_back({path, std::move(encoded.model)});
  if (!encoded.data.empty()) files.push_back({data_path, std::move(encoded.data)});
  return files;
}

Result<std::vector<ArtifactFile>> encode_ecir_file(const Graph& graph, const fs::path& path) {
  return std::vector<ArtifactFile>{{path, encode_ecir(graph)}};
}

constexpr GraphFormat kFormats[] = {
    {".onnx", true, true, "onnx-qdq", encode_onnx_files},
    {".ecir", false, false, "", encode_ecir_file},
};

}  // namespace

Result<const GraphFormat*> find_graph_format(const fs::path& path) {
  const std::string extension = to_lower(path.extension().string());
  std::string known;
  for (const GraphFormat& format : kFormats) {
    if (format.extension == extension) return &format;
    known += fmt::format("{}{}", known.empty() ? "" : " or ", format.extension);
  }
  return Error(Code::Usage, fmt::format("no format for '{}'", printable(path.filename().string())))
      .file(path.string())
      .hint(fmt::format("end the name in {}", known));
}

Status write_files(std::span<const ArtifactFile> files) {
  std::vector<AtomicFile> written;
  // The last file gets its name first: the first one stands for the others.
  for (size_t i = files.size(); i-- > 0;) {
    EC_TRY(AtomicFile file, AtomicFile::create(files[i].path));
    EC_CHECK_OK(file.write(files[i].parts));
    written.push_back(std::move(file));
  }
  return commit_all(written);
}

Status save_graph(const Graph& graph, const fs::path& path) {
  EC_TRY(const GraphFormat* format, find_graph_format(path));
  EC_TRY(const std::vector<ArtifactFile> files, format->encode(graph, path));
  return write_files(files);
}

}  // namespace ec
