// Packages on Apple's Core ML, which only macOS has. Elsewhere the CPU session runs them.
#pragma once

#include <filesystem>
#include <vector>

#include "backend/backend.h"

namespace ec::metal {

// Whether Core ML can use a Neural Engine here.
bool has_device();
std::vector<Fact> machine_facts();
// Compiles the package for this machine and loads it. `interface` is the imported package.
// DeviceUnavailable tells what Core ML has against it.
Result<OpenedDevice> open_on_device(const std::filesystem::path& package, const Graph& interface);

}  // namespace ec::metal
