#include "frontend/detect.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "frontend/detect_torch.h"
#include "support/file.h"
#include "support/strings.h"

namespace ec {
namespace {

namespace fs = std::filesystem;

bool has_bytes(std::string_view content, size_t offset, std::string_view wanted) {
  return content.size() >= offset + wanted.size() &&
         content.substr(offset, wanted.size()) == wanted;
}

// Formats told by fixed bytes.
struct Signature {
  size_t offset;
  std::string_view bytes;
  std::string_view name, hint;
};

using namespace std::string_view_literals;

constexpr std::string_view kExportOnnx =
    "export the model to ONNX (torch.onnx.export, tf2onnx) and give that file";

constexpr std::array kSignatures = {
    Signature{4, "TFL3"sv, "a TFLite model", "copy or convert the file again: it is cut off"},
    Signature{4, "PTMF"sv, "a PyTorch mobile flatbuffer",
              "give the TorchScript file that it was made from (torch.jit.save)"},
    Signature{4, "ORTM"sv, "an ONNX Runtime (.ort) model",
              "give the ONNX file that it was made from"},
    Signature{0, "\x89HDF\r\n\x1a\n"sv, "an HDF5 file (Keras .h5)",
              "convert it to ONNX, for example with tf2onnx.convert.from_keras"},
    Signature{0, "GGUF"sv, "a GGUF file", kExportOnnx},
    Signature{0, "\x93NUMPY"sv, "a NumPy array", "give a model file, not its data"},
    Signature{0, "7767517\n"sv, "an ncnn parameter file", "give the ONNX file it was made from"},
    Signature{0, "\x1f\x8b"sv, "a gzip-compressed file", "unpack it first"},
    Signature{257, "ustar"sv, "a tar archive", "unpack it first"},
};

// torch.save before 1.6: the pickle of a magic number comes first.
constexpr std::string_view kLegacyTorch =
    "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e"sv;

// Names in a ZIP archive, read from the local headers and the directory without unpacking.
class ZipNames {
 public:
  explicit ZipNames(std::string_view content) {
    constexpr std::string_view kEntry = "PK\x01\x02";  // central directory
    constexpr size_t kFixed = 46, kMaxNames = 20000;
    // The directory is at the end; scanning from the last megabyte finds it in real archives.
    size_t at = content.size() > (1u << 20) ? content.size() - (1u << 20) : 0;
    while ((at = content.find(kEntry, at)) != std::string_view::npos &&
           content.size() - at >= kFixed && names_.size() < kMaxNames) {
      const size_t length = static_cast<unsigned char>(content[at + 28]) |
                            static_cast<size_t>(static_cast<unsigned char>(content[at + 29])) << 8;
      names_.push_back(content.substr(at + kFixed, length));
      at += kFixed;
    }
  }
  bool any(std::string_view part) const {
    return std::any_of(names_.begin(), names_.end(), [&](std::string_view name) {
      return name.find(part) != std::string_view::npos;
    });
  }
  bool any_ends(std::string_view end) const {
    return std::any_of(names_.begin(), names_.end(),
                       [&](std::string_view name) { return name.ends_with(end); });
  }

 private:
  std::vector<std::string_view> names_;
};

bool has_torchscript_names(const ZipNames& zip) {
  return zip.any("code/__torch__") && zip.any_ends("data.pkl") && zip.any_ends("constants.pkl");
}

DetectedFormat detect_zip(std::string_view content, const fs::path& path) {
  const ZipNames zip(content);
  if (zip.any("/archive_format") || zip.any("serialized_exported_program.json"))
    return {"a torch.export archive (.pt2)",
            "export to ONNX: torch.onnx.export(program, dynamo=True).save(\"model.onnx\")"};
  if (zip.any("code/__torch__") || zip.any_ends("constants.pkl"))
    return {"a TorchScript archive that lacks parts", "save it again with torch.jit.save"};
  if (zip.any_ends("/model.json") && zip.any("/tensors/"))
    return {"a TorchScript archive of PyTorch 1.0 to 1.3",
            "load and save it again: torch.jit.save(torch.jit.load(\"old.pt\"), \"new.pt\") in "
            "PyTorch 1.4 or later"};
  if (zip.any_ends("data.pkl"))
    return describe_checkpoint(std::as_bytes(std::span(content.data(), content.size())), path);
  if (zip.any("model.weights.h5"))
    return {"a Keras v3 model (.keras)",
            "convert it to ONNX: keras.Model.export(path, format=\"onnx\")"};
  if (zip.any_ends(".npy")) return {"a NumPy archive (.npz)", "give a model file, not its data"};
  return {"a ZIP archive", "unpack it and give the model file inside"};
}

// A frozen GraphDef is a list of NodeDefs in field 1, each with its name in field 1 and its
// operator in field 2.
bool looks_like_graph_def(std::string_view content) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(content[i]); };
  if (content.size() < 8 || byte(0) != 0x0a) return false;
  size_t at = 1;
  while (at < content.size() && (byte(at) & 0x80) != 0) ++at;  // length of the node
  ++at;
  if (at + 2 >= content.size() || byte(at) != 0x0a) return false;
  const size_t name = byte(at + 1);
  at += 2 + name;
  if (name == 0 || name > 127 || at + 2 >= content.size() || byte(at) != 0x12) return false;
  const size_t op = byte(at + 1);
  if (op == 0 || op > 64 || at + 2 + op > content.size()) return false;
  const std::string_view text = content.substr(at + 2, op);
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool looks_like_text(std::string_view content) {
  content = content.substr(0, 256);
  return !content.empty() && std::all_of(content.begin(), content.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 32 || c == '\n' || c == '\r' || c == '\t';
  });
}

DetectedFormat detect_text(std::string_view content) {
  const std::string_view start = trim(content.substr(0, 256));
  if (start.starts_with("version https://git-lfs"))
    return {"a Git LFS pointer, not the file itself", "run 'git lfs pull' to fetch the file"};
  if (start.starts_with("<!DOCTYPE") || start.starts_with("<html") || start.starts_with("<HTML"))
    return {"an HTML page", "the download gave a web page: fetch the file itself"};
  if (start.starts_with("<?xml") || start.starts_with("<net"))
    return {"an XML file (OpenVINO IR?)", "give the ONNX file that it was made from"};
  if (start.starts_with("{") || start.starts_with("["))
    return {"a JSON file", "give the model file itself"};
  return {"a text file", "give a model file"};
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::optional<DetectedFormat> detect_format(std::span<const std::byte> content,
                                            const fs::path& path) {
  const std::string_view text = as_text(content);
  if (has_bytes(text, 0, "PK\x03\x04")) return detect_zip(text, path);
  if (has_bytes(text, 0, kLegacyTorch)) return describe_legacy_checkpoint(path);
  // Before 0.2 a checkpoint was a tar archive of these three.
  if (has_bytes(text, 257, "ustar") && has_bytes(text, 0, "sys_info\0"sv))
    return describe_legacy_checkpoint(path);
  // ExecuTorch numbers its format: ET12, ET13, ...
  if (has_bytes(text, 4, "ET") && text.size() > 8 && text[6] >= '0' && text[6] <= '9')
    return DetectedFormat{"an ExecuTorch program (.pte)", std::string(kExportOnnx)};
  for (const Signature& s : kSignatures)
    if (has_bytes(text, s.offset, s.bytes))
      return DetectedFormat{std::string(s.name), std::string(s.hint)};
  if (looks_like_graph_def(text))
    return DetectedFormat{"a TensorFlow GraphDef", "convert it to ONNX with tf2onnx"};
  if (path.filename() == "saved_model.pb")
    return DetectedFormat{"a TensorFlow SavedModel",
                          "convert it to ONNX with tf2onnx --saved-model"};
  if (looks_like_text(text)) return detect_text(text);
  return std::nullopt;
}

bool is_torch_export(std::span<const std::byte> content) {
  const std::string_view text = as_text(content);
  if (!has_bytes(text, 0, "PK\x03\x04")) return false;
  const ZipNames zip(text);
  return zip.any("/archive_format") || zip.any("serialized_exported_program.json");
}

bool is_torchscript(std::span<const std::byte> content) {
  const std::string_view text = as_text(content);
  return has_bytes(text, 0, "PK\x03\x04") && has_torchscript_names(ZipNames(text));
}

Result<const Frontend*> choose_frontend(std::span<const Frontend* const> frontends,
                                        const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored) && fs::exists(path / "saved_model.pb", ignored))
    return Error(Code::UnsupportedFormat, "this is a TensorFlow SavedModel")
        .file(path.string())
        .hint("convert it to ONNX with tf2onnx --saved-model");
  EC_TRY(const Blob content, map_file(path));
  const Frontend* best = nullptr;
  int best_score = 0;
  for (const Frontend* frontend : frontends) {
    const int score = frontend->probe(content.bytes(), path);
    if (score > best_score) best = frontend, best_score = score;
  }
  constexpr int kSure = 50;
  if (best_score >= kSure) return best;
  if (const auto format = detect_format(content.bytes(), path))
    return Error(Code::UnsupportedFormat, "this is " + format->name)
        .file(path.string())
        .hint(format->hint);
  // A file with the right extension and odd content gets the front end's own account of it.
  if (best != nullptr) return best;
  return Error(Code::UnknownFormat, "the content matches no known model format")
      .file(path.string())
      .hint("give an ONNX, TFLite or PyTorch file; formats are told by content, not by extension");
}

}  // namespace ec
