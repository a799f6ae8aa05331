#include "frontend/foreign_formats.h"

#include <algorithm>
#include <array>

#include "frontend/zip_names.h"
#include "support/strings.h"

namespace ec {
namespace {

using namespace std::string_view_literals;

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

constexpr std::string_view kGiveModel = "give the model file";

constexpr std::array kSignatures = {
    Signature{4, "ORTM"sv, "an ONNX Runtime (.ort) model",
              "give the ONNX file that it was made from"},
    Signature{0, "GGUF"sv, "a GGUF file",
              "export the model to ONNX (torch.onnx.export, tf2onnx) and give that file"},
    Signature{0, "\x93NUMPY"sv, "a NumPy array", "give a model file, not its data"},
    Signature{0, "7767517\n"sv, "an ncnn parameter file", "give the ONNX file it was made from"},
    Signature{0, "\xff\xd8\xff"sv, "a JPEG image", kGiveModel},
    Signature{0, "\x89PNG\r\n\x1a\n"sv, "a PNG image", kGiveModel},
    Signature{0, "GIF8"sv, "a GIF image", kGiveModel},
    Signature{0, "II*\0"sv, "a TIFF image", kGiveModel},
    Signature{0, "MM\0*"sv, "a TIFF image", kGiveModel},
    Signature{8, "WEBP"sv, "a WebP image", kGiveModel},
    Signature{8, "WAVE"sv, "a WAV recording", kGiveModel},
    Signature{8, "AVI "sv, "an AVI video", kGiveModel},
    Signature{4, "ftypheic"sv, "a HEIC image", kGiveModel},
    Signature{4, "ftypavif"sv, "an AVIF image", kGiveModel},
    Signature{4, "ftyp"sv, "an MP4 or QuickTime video", kGiveModel},
    Signature{0, "\x1a\x45\xdf\xa3"sv, "a Matroska or WebM video", kGiveModel},
    Signature{0, "ID3"sv, "an MP3 recording", kGiveModel},
    Signature{0, "fLaC"sv, "a FLAC recording", kGiveModel},
    Signature{0, "OggS"sv, "an Ogg recording", kGiveModel},
    Signature{0, "%PDF-"sv, "a PDF document", kGiveModel},
    Signature{0,
              "\x7f"
              "ELF"sv,
              "a program or library (ELF)", kGiveModel},
    Signature{0, "MZ"sv, "a Windows program or library", kGiveModel},
    Signature{0, "SQLite format 3\0"sv, "an SQLite database", kGiveModel},
    Signature{0, "BZh"sv, "a bzip2-compressed file", "unpack it first"},
    Signature{0,
              "\xfd"
              "7zXZ\0"sv,
              "an xz-compressed file", "unpack it first"},
    Signature{0, "\x28\xb5\x2f\xfd"sv, "a zstd-compressed file", "unpack it first"},
    Signature{0, "7z\xbc\xaf\x27\x1c"sv, "a 7-Zip archive", "unpack it first"},
    Signature{0, "Rar!\x1a\x07"sv, "a RAR archive", "unpack it first"},
    Signature{0, "\x1f\x8b"sv, "a gzip-compressed file", "unpack it first"},
    Signature{257, "ustar"sv, "a tar archive", "unpack it first"},
};

DetectedFormat describe_zip(std::string_view content) {
  const ZipNames zip(content);
  if (zip.any("model.weights.h5"))
    return {"a Keras archive that lacks parts", "save it again with model.save(\"model.keras\")"};
  if (zip.any_ends(".npy")) return {"a NumPy archive (.npz)", "give a model file, not its data"};
  return {"a ZIP archive", "unpack it and give the model file inside"};
}

bool looks_like_text(std::string_view content) {
  content = content.substr(0, 256);
  return !content.empty() && std::all_of(content.begin(), content.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 32 || c == '\n' || c == '\r' || c == '\t';
  });
}

DetectedFormat describe_text(std::string_view content) {
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

}  // namespace

std::optional<DetectedFormat> describe_foreign_format(const ModelSource& source) {
  const std::string_view content = text_of_bytes(source.outline());
  if (has_bytes(content, 0, kZipStart)) return describe_zip(content);
  for (const Signature& s : kSignatures)
    if (has_bytes(content, s.offset, s.bytes))
      return DetectedFormat{std::string(s.name), std::string(s.hint)};
  if (looks_like_text(content)) return describe_text(content);
  return std::nullopt;
}

}  // namespace ec
