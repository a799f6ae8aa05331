#include "backend/metal/device.h"

namespace ec::metal {

bool has_device() { return false; }

std::vector<Fact> machine_facts() {
  return {{"core_ml", "Core ML", "only on macOS; packages run on the CPU here"}};
}

Result<OpenedDevice> open_on_device(const std::filesystem::path&, const Graph&) {
  return Error(Code::DeviceUnavailable, "Core ML is a part of macOS and not on this machine")
      .hint("run the package without --target: the CPU session takes it");
}

}  // namespace ec::metal
