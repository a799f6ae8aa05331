// Files of torch.save: weights, checkpoints and pickled modules hold no computation that can be
// compiled. What exactly a file holds, and the lines of Python that make one that can.
#pragma once

#include <filesystem>

#include "frontend/frontend.h"
#include "support/blob.h"

namespace ec {

// A ZIP archive with data.pkl and without code.
DetectedFormat describe_checkpoint(std::span<const std::byte> content,
                                   const std::filesystem::path& path);
// A file of torch.save before 1.6: a row of pickles.
DetectedFormat describe_legacy_checkpoint(const std::filesystem::path& path);

}  // namespace ec
