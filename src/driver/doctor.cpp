#include "driver/doctor.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "driver/targets.h"
#include "edgecompiler/version.h"
#include "backend/coral/runtime/tflite_library.h"
#include "runtime/kernels/isa.h"
#include "support/process.h"
#include "support/strings.h"

namespace ec {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return std::string(trim(line));
}

// The value of "key : value" lines such as those of /proc.
std::string field_of(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find_first_of(":=");
    if (colon == std::string::npos || trim(std::string_view(line).substr(0, colon)) != key)
      continue;
    std::string value(trim(std::string_view(line).substr(colon + 1)));
    if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
    return value;
  }
  return "";
}

std::string memory_text() {
  const int64_t page = ::sysconf(_SC_PAGESIZE);
  const auto gigabytes = [&](int name) {
    return static_cast<double>(::sysconf(name)) * static_cast<double>(page) / 1e9;
  };
  return fmt::format("{:.1f} GB, {:.1f} GB free", gigabytes(_SC_PHYS_PAGES),
                     gigabytes(_SC_AVPHYS_PAGES));
}

std::string isa_text() {
  using kernels::Isa;
  std::string text(kernels::isa_name(kernels::best_isa()));
  for (const Isa isa : {Isa::Generic, Isa::Avx2, Isa::Avx512})
    if (isa != kernels::best_isa() && kernels::isa_available(isa))
      text += fmt::format(", also {}", kernels::isa_name(isa));
  return text;
}

// The Edge TPU over USB shows one id before its firmware is loaded and another after.
std::string edge_tpu_text() {
  std::error_code error;
  if (fs::exists("/dev/apex_0", error)) return "found at /dev/apex_0";
  for (const fs::directory_entry& device : fs::directory_iterator("/sys/bus/usb/devices", error)) {
    const std::string id =
        first_line(device.path() / "idVendor") + ":" + first_line(device.path() / "idProduct");
    if (id == "1a6e:089a" || id == "18d1:9302")
      return fmt::format("found at usb {}", device.path().filename().string());
  }
  return "not found";
}

// Google's driver, which a run on the device needs.
std::string edgetpu_driver_text() {
  const auto driver = edgetpu::DriverLibrary::open();
  if (!driver.ok()) return driver.error().diagnostic().message;
  return fmt::format("{}, devices: {}", driver->version(), driver->devices().size());
}

// Runs what is left to the CPU around the Edge TPU's part.
std::string tflite_library_text() {
  const auto library = edgetpu::SharedLibrary::open(std::string(edgetpu::kTfliteLibrary));
  return library.ok() ? library->name() : library.error().message();
}

std::string edgetpu_compiler_text() {
  const auto program = find_program("edgetpu_compiler");
  return program ? program->string() : "not installed";
}

std::string or_unknown(std::string text) { return text.empty() ? "unknown" : text; }
std::string or_none(std::string text) { return text.empty() ? "none" : text; }

}  // namespace

std::vector<Fact> doctor_facts() {
  struct utsname system {};
  ::uname(&system);
  return {
      {"version", "edgecompile", version()},
      {"system", "system",
       fmt::format("{}, {} {}", or_unknown(field_of("/etc/os-release", "PRETTY_NAME")),
                   system.sysname, system.machine)},
      {"cpu_model", "processor", or_unknown(field_of("/proc/cpuinfo", "model name"))},
      {"cpu_threads", "hardware threads", std::to_string(std::thread::hardware_concurrency())},
      {"kernels", "kernels for", isa_text()},
      {"l2_bytes", "level-2 cache", fmt::format("{} kB", kernels::l2_cache_bytes() / 1024)},
      {"memory", "memory", memory_text()},
      {"formats_read", "reads", "onnx, tflite, ecir"},
      {"formats_written", "writes", "onnx, tflite, ecir"},
      {"targets", "targets", target_names(true)},
      {"targets_absent", "not in this build", or_none(target_names(false))},
      {"edge_tpu", "Edge TPU", edge_tpu_text()},
      {"edgetpu_driver", "Edge TPU driver", edgetpu_driver_text()},
      {"tflite_library", "TFLite C library", tflite_library_text()},
      {"edgetpu_compiler", "Edge TPU compiler", edgetpu_compiler_text()},
  };
}

}  // namespace ec
