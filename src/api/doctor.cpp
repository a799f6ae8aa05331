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

std::string or_unknown(std::string text) { return text.empty() ? "unknown" : text; }
std::string or_none(std::string text) { return text.empty() ? "none" : text; }

}  // namespace

std::vector<Fact> doctor_facts(const Registry& registry) {
  struct utsname system {};
  ::uname(&system);
  std::vector<std::string> formats, absent, written = {"onnx", "ecir"};
  for (const Frontend* frontend : registry.frontends()) formats.emplace_back(frontend->name());
  for (const AbsentBackend& backend : registry.absent_backends()) absent.emplace_back(backend.name);
  for (const Backend* backend : registry.backends())
    for (const FileKind& kind : backend->info().files)
      if (const std::string name(kind.extension.substr(1));
          std::find(written.begin(), written.end(), name) == written.end())
        written.push_back(name);
  std::vector<Fact> facts = {
      {"version", "edgecompile", version()},
      {"system", "system",
       fmt::format("{}, {} {}", or_unknown(field_of("/etc/os-release", "PRETTY_NAME")),
                   system.sysname, system.machine)},
      {"cpu_model", "processor", or_unknown(field_of("/proc/cpuinfo", "model name"))},
      {"cpu_threads", "hardware threads", std::to_string(std::thread::hardware_concurrency())},
      {"kernels", "kernels for", isa_text()},
      {"l2_bytes", "level-2 cache", fmt::format("{} kB", kernels::l2_cache_bytes() / 1024)},
      {"memory", "memory", memory_text()},
      {"formats_read", "reads", join(formats, ", ")},
      {"formats_written", "writes", join(written, ", ")},
      {"targets", "targets", registry.backend_names()},
      {"targets_absent", "not in this build", or_none(join(absent, ", "))},
  };
  for (const Backend* backend : registry.backends())
    for (Fact& fact : backend->facts()) facts.push_back(std::move(fact));
  return facts;
}

}  // namespace ec
