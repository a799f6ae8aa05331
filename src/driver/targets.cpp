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
    {"coral", "Coral Edge TPU", ".tflite", true, "coral"},
    {"metal", "Apple Core ML: Neural Engine, GPU, CPU", ".mlpackage", false},
    {"arm", "Arm Ethos-U, TOSA, Cortex-M", ".tflite", false},
    {"aipu", "Axelera AIPU", ".aipu", false},
};

}  // namespace

std::span<const TargetInfo> all_targets() { return kTargets; }

std::string target_names(bool available) {
  std::string text;
  for (const TargetInfo& target : kTargets)
    if (target.available == available)
      text += fmt::format("{}{}", text.empty() ? "" : ", ", target.name);
  return text;
}

std::string target_pipeline(const TargetInfo& target, const CompileOptions& options,
                            std::string_view format) {
  const bool changed =
      wants_quantization(options) || !options.input_shapes.empty() || !options.dims.empty();
  if (target.name == "tflite" && format == "tflite" && !changed) return "tflite-as-is";
  return fmt::format("{}{}{}", target.pipeline, options.keep_io_layout ? "-keep-io" : "",
                     rounds_activations(options) ? ",depthwise-scales" : "");
}

Status check_target_options(const TargetInfo& target, const CompileOptions& options) {
  const struct {
    std::string_view option;
    bool given;
    std::string_view targets;  // it belongs to
  } kOwned[] = {
      {"keep-io-layout", options.keep_io_layout, "tflite, coral"},
      {"edgetpu-runtime", options.edgetpu_runtime != 0, "coral"},
      {"edgetpu-rules", !options.edgetpu_rules.empty(), "coral"},
      {"edgetpu-compiler", options.edgetpu_compiler, "coral"},
      {"segments", options.segments != 0, "coral"},
  };
  for (const auto& [option, given, targets] : kOwned)
    if (given && targets.find(target.name) == std::string_view::npos)
      return Error(Code::Usage,
                   fmt::format("--{} does not apply to target '{}'", option, target.name))
          .hint(fmt::format("it belongs to: {}", targets));
  if (options.edgetpu_runtime != 0 &&
      (options.edgetpu_runtime < 10 || options.edgetpu_runtime > 14))
    return Error(Code::Usage,
                 fmt::format("there is no Edge TPU runtime {}", options.edgetpu_runtime))
        .hint("known: 10 to 14");
  if (!options.edgetpu_rules.empty() && options.edgetpu_rules != "fitted" &&
      options.edgetpu_rules != "published")
    return Error(Code::Usage,
                 fmt::format("unknown Edge TPU rules '{}'", printable(options.edgetpu_rules)))
        .hint("known: fitted, published");
  return {};
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
          .hint("available here: " + target_names(true));
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
