// What the lists of the command line tell: targets, passes, codes, and the machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edgecompiler/report/property.h"

namespace ec {

struct TargetFile {
  std::string extension, summary;
};
struct TargetVariant {
  std::string name, summary;
};
struct TargetOption {
  std::string name, argument, default_value, values, help;
};
struct TargetEntry {
  std::string name;
  bool available = true;  // in this build
  std::string extension;  // of its usual file
  std::string summary;
  std::vector<TargetFile> files;
  std::vector<TargetVariant> variants;
  std::vector<TargetOption> options;
};
struct TargetList {
  std::vector<TargetEntry> targets;
};

struct PassOptionEntry {
  std::string key, default_value, choices, summary;
};
struct PassEntry {
  std::string name, summary, details;
  std::vector<PassOptionEntry> options;
};
struct PipelineEntry {
  std::string name, summary, passes;
  bool until_nothing_changes = false;
};
struct StepEntry {
  std::string name, summary;
};
struct StrategyEntry {
  std::string name, summary;
  std::vector<StepEntry> steps;
};
struct PassList {
  std::vector<PassEntry> passes;
  std::vector<PipelineEntry> pipelines;
  std::vector<StrategyEntry> strategies;
};

struct CodeEntry {
  std::string code, name, title, explanation;
  int64_t exit_code = 0;
};
struct CodeList {
  std::vector<CodeEntry> codes;
};

// What `doctor` finds.
struct MachineReport {
  std::string version, system, cpu_model;
  int64_t cpu_threads = 0;
  std::vector<std::string> kernels;  // the instruction sets with kernels here, the used one first
  int64_t l2_bytes = 0, memory_bytes = 0, memory_free_bytes = 0;
  std::vector<std::string> formats_read, formats_written, targets, targets_absent;
  std::vector<Fact> devices;  // what back ends tell of drivers, devices and compilers
};

}  // namespace ec
