#include "driver/targets.h"

#include <fmt/format.h>

#include <vector>

#include "driver/quantize.h"
#include "support/strings.h"

namespace ec {
namespace {

constexpr TargetInfo kTargets[] = {
    {"cpu", "this machine, through the CPU session", ".ecir", true, "runtime"},
    {"tflite", "any TFLite runtime", ".tflite", true, "tflite"},
    {"coral", "Coral Edge TPU", ".tflite", true, "tflite"},
    {"metal", "Apple Core ML: Neural Engine, GPU, CPU", ".mlpackage", false},
    {"arm", "Arm Ethos-U, TOSA, Cortex-M", ".tflite", false},
    {"aipu", "Axelera AIPU", ".aipu", false},
};

}  // namespace

std::span<const TargetInfo> all_targets() { return kTargets; }

std::string_view target_pipeline(const TargetInfo& target, const CompileOptions& options,
                                 std::string_view format) {
  if (target.name != "tflite") return target.pipeline;
  const bool changed =
      wants_quantization(options) || !options.input_shapes.empty() || !options.dims.empty();
  if (format == "tflite" && !changed) return "tflite-as-is";
  return options.keep_io_layout ? "tflite-keep-io" : target.pipeline;
}

Result<const TargetInfo*> find_target(std::string_view name) {
  if (name == "auto") return &kTargets[0];
  const std::string_view family = name.substr(0, name.find(':'));
  std::vector<std::string_view> known = {"auto"};
  for (const TargetInfo& target : kTargets) known.push_back(target.name);
  for (const TargetInfo& target : kTargets) {
    if (target.name != family) continue;
    if (!target.available)
      return Error(Code::UnknownTarget,
                   fmt::format("target '{}' ({}) is not in this build", name, target.summary))
          .hint("available here: cpu, tflite");
    if (name.size() != family.size())
      return Error(Code::UnknownTarget, fmt::format("target '{}' has no variant '{}'", family,
                                                    printable(name.substr(family.size() + 1))))
          .hint(fmt::format("write --target {}", family));
    return &target;
  }
  std::string hint = did_you_mean(family, known);
  if (hint.empty()) hint = "`edgecompile targets` lists the targets";
  return Error(Code::UnknownTarget, fmt::format("unknown target '{}'", printable(name)))
      .hint(std::move(hint));
}

}  // namespace ec
