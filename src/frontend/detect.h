// Telling model files apart by content, also those that no front end of this build reads, so that
// the message can say what the file is and how to get a readable one.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "frontend/frontend.h"

namespace ec {

struct DetectedFormat {
  std::string name;  // "a TFLite model"
  std::string hint;  // how to get a file that can be imported
};

// What the content is, if it is anything known. `content` is the whole file or at least its first
// kilobytes; names inside a ZIP are seen only with the whole file.
std::optional<DetectedFormat> detect_format(std::span<const std::byte> content,
                                            const std::filesystem::path& path);

// A torch.export archive of either layout.
bool is_torch_export(std::span<const std::byte> content);
// A TorchScript archive: a ZIP file with code and constants.
bool is_torchscript(std::span<const std::byte> content);

// The front end that is surest about the file. Errors: FileNotFound and the other file codes,
// UnsupportedFormat for a known kind of file, UnknownFormat for anything else.
Result<const Frontend*> choose_frontend(std::span<const Frontend* const> frontends,
                                        const std::filesystem::path& path);

}  // namespace ec
