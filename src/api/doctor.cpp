#include "api/doctor.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "edgecompiler/version.h"
#include "runtime/kernels/isa.h"
#include "support/strings.h"

namespace ec {
namespace {

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

int64_t memory_of(int name) { return ::sysconf(name) * ::sysconf(_SC_PAGESIZE); }

// The one that is used, then the others that could be.
std::vector<std::string> instruction_sets() {
  using kernels::Isa;
  std::vector<std::string> names = {std::string(kernels::isa_name(kernels::best_isa()))};
  for (const Isa isa : {Isa::Generic, Isa::Avx2, Isa::Avx512})
    if (isa != kernels::best_isa() && kernels::isa_available(isa))
      names.emplace_back(kernels::isa_name(isa));
  return names;
}

std::string or_unknown(std::string text) { return text.empty() ? "unknown" : text; }

}  // namespace

MachineReport machine_report(const Registry& registry) {
  struct utsname system {};
  ::uname(&system);
  MachineReport report;
  report.version = version();
  report.system = fmt::format("{}, {} {}", or_unknown(field_of("/etc/os-release", "PRETTY_NAME")),
                              system.sysname, system.machine);
  report.cpu_model = or_unknown(field_of("/proc/cpuinfo", "model name"));
  report.cpu_threads = std::thread::hardware_concurrency();
  report.kernels = instruction_sets();
  report.l2_bytes = static_cast<int64_t>(kernels::l2_cache_bytes());
  report.memory_bytes = memory_of(_SC_PHYS_PAGES);
  report.memory_free_bytes = memory_of(_SC_AVPHYS_PAGES);
  for (const Frontend* frontend : registry.frontends())
    report.formats_read.emplace_back(frontend->name());
  report.formats_written = {"onnx", "ecir"};
  for (const Backend* backend : registry.backends()) {
    report.targets.emplace_back(backend->info().name);
    for (const FileKind& kind : backend->info().files)
      if (const std::string name(kind.extension.substr(1));
          std::find(report.formats_written.begin(), report.formats_written.end(), name) ==
          report.formats_written.end())
        report.formats_written.push_back(name);
    for (Fact& fact : backend->facts()) report.devices.push_back(std::move(fact));
  }
  for (const AbsentBackend& backend : registry.absent_backends())
    report.targets_absent.emplace_back(backend.name);
  return report;
}

}  // namespace ec
