#include "backend/coral/facts.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "backend/coral/runtime/tflite_library.h"
#include "support/process.h"
#include "support/strings.h"

namespace ec::coral {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return std::string(trim(line));
}

// The Edge TPU over USB shows one id before its firmware is loaded and another after.
std::optional<std::string> find_device() {
  std::error_code error;
  if (fs::exists("/dev/apex_0", error)) return "/dev/apex_0";
  for (const fs::directory_entry& device : fs::directory_iterator("/sys/bus/usb/devices", error)) {
    const std::string id =
        first_line(device.path() / "idVendor") + ":" + first_line(device.path() / "idProduct");
    if (id == "1a6e:089a" || id == "18d1:9302")
      return fmt::format("usb {}", device.path().filename().string());
  }
  return std::nullopt;
}

// Google's driver, which a run on the device needs.
std::string driver_text() {
  const auto driver = edgetpu::DriverLibrary::open();
  if (!driver.ok()) return driver.error().diagnostic().message;
  return fmt::format("{}, devices: {}", driver->version(), driver->devices().size());
}

// Runs the operators before and behind the Edge TPU's.
std::string tflite_library_text() {
  const auto library = edgetpu::SharedLibrary::open(std::string(edgetpu::kTfliteLibrary));
  return library.ok() ? library->name() : library.error().message();
}

std::string compiler_text() {
  const auto program = find_program("edgetpu_compiler");
  return program ? program->string() : "not installed";
}

}  // namespace

bool has_device() { return find_device().has_value(); }

std::vector<Fact> machine_facts() {
  const std::optional<std::string> device = find_device();
  return {{"edge_tpu", "Edge TPU", device ? "found at " + *device : "not found"},
          {"edgetpu_driver", "Edge TPU driver", driver_text()},
          {"tflite_library", "TFLite C library", tflite_library_text()},
          {"edgetpu_compiler", "Edge TPU compiler", compiler_text()}};
}

}  // namespace ec::coral
