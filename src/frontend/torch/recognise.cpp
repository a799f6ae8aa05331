#include "frontend/torch/recognise.h"

#include "frontend/torch/checkpoint.h"
#include "frontend/zip_names.h"

namespace ec {
namespace {

using namespace std::string_view_literals;

// torch.save before 1.6: the pickle of a magic number comes first.
constexpr std::string_view kLegacyCheckpoint =
    "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e"sv;

bool has_torch_export_names(const ZipNames& zip) {
  return zip.any("/archive_format") || zip.any("serialized_exported_program.json");
}

std::optional<DetectedFormat> explain_archive(const ModelSource& source) {
  const ZipNames zip(text_of_bytes(source.outline()));
  if (has_torch_export_names(zip))
    return DetectedFormat{
        "a torch.export archive (.pt2)",
        "export to ONNX: torch.onnx.export(program, dynamo=True).save(\"model.onnx\")"};
  if (zip.any("code/__torch__") || zip.any_ends("constants.pkl"))
    return DetectedFormat{"a TorchScript archive that lacks parts",
                          "save it again with torch.jit.save"};
  if (zip.any_ends("/model.json") && zip.any("/tensors/"))
    return DetectedFormat{
        "a TorchScript archive of PyTorch 1.0 to 1.3",
        "load and save it again: torch.jit.save(torch.jit.load(\"old.pt\"), \"new.pt\") in "
        "PyTorch 1.4 or later"};
  if (zip.any_ends("data.pkl"))
    if (const Result<Blob> whole = source.bytes(); whole.ok())
      return describe_checkpoint(whole->bytes(), source.name());
  return std::nullopt;
}

}  // namespace

bool is_torch_export(std::span<const std::byte> content) {
  const std::string_view text = text_of_bytes(content);
  return text.starts_with(kZipStart) && has_torch_export_names(ZipNames(text));
}

bool is_torchscript(std::span<const std::byte> content) {
  const std::string_view text = text_of_bytes(content);
  if (!text.starts_with(kZipStart)) return false;
  const ZipNames zip(text);
  return zip.any("code/__torch__") && zip.any_ends("data.pkl") && zip.any_ends("constants.pkl");
}

std::optional<DetectedFormat> explain_torch_file(const ModelSource& source) {
  const std::string_view text = text_of_bytes(source.outline());
  if (text.starts_with(kZipStart)) return explain_archive(source);
  if (text.starts_with(kLegacyCheckpoint)) return describe_legacy_checkpoint(source.name());
  // Before 0.2 a checkpoint was a tar archive that begins with this file.
  if (text.size() > 262 && text.substr(257, 5) == "ustar" && text.starts_with("sys_info\0"sv))
    return describe_legacy_checkpoint(source.name());
  // ExecuTorch numbers its format: ET12, ET13, ...
  if (text.size() > 8 && text.substr(4, 2) == "ET" && text[6] >= '0' && text[6] <= '9')
    return DetectedFormat{"an ExecuTorch program (.pte)",
                          "export the model to ONNX (torch.onnx.export, tf2onnx) and give that "
                          "file"};
  if (text.size() >= 8 && text.substr(4, 4) == "PTMF")
    return DetectedFormat{"a PyTorch mobile flatbuffer",
                          "give the TorchScript file that it was made from (torch.jit.save)"};
  return std::nullopt;
}

}  // namespace ec
