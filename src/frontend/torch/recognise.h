// Telling PyTorch's files apart: TorchScript, torch.export, and what holds no computation.
#pragma once

#include <optional>
#include <span>

#include "frontend/frontend.h"

namespace ec {

// A torch.export archive of either layout.
bool is_torch_export(std::span<const std::byte> content);
// A TorchScript archive: a ZIP file with code and constants.
bool is_torchscript(std::span<const std::byte> content);

// Files of PyTorch that cannot be compiled: checkpoints, incomplete archives, mobile formats.
std::optional<DetectedFormat> explain_torch_file(const ModelSource& source);

}  // namespace ec
