#include "backend/metal/options.h"

#include <fmt/format.h>

#include "support/input_file.h"
#include "support/strings.h"
#include "writer/coreml/coreml.h"

namespace ec::metal {
namespace {

constexpr OptionDef kOptions[] = {
    {.name = "deployment-target",
     .type = OptionType::Choice,
     .argument = "SYSTEM",
     .help = "oldest system that must take the package; auto: the oldest one that has all that the "
             "model needs",
     .default_value = "auto",
     .choices = "auto|ios16|ios17|ios18|ios26|macos13|macos14|macos15|macos26",
     .verbs = kPlacesModel},
    {.name = "precision",
     .type = OptionType::Choice,
     .argument = "TYPE",
     .help = "type of the program's floats; the Neural Engine computes in fp16 alone",
     .default_value = "fp16",
     .choices = "fp16|fp32",
     .verbs = kPlacesModel},
    {.name = "compress-weights",
     .argument = "FORM",
     .help = "store float weights in fewer bits: palettize:BITS (1, 2, 3, 4, 6, 8; tables of the "
             "best values), int4:BLOCK (a scale for each BLOCK inputs; iOS 18), int8 (a scale for "
             "each channel), sparse:SHARE (that share of the weights becomes zero), "
             "threshold:MAGNITUDE (weights up to it become zero); without a number 4 bits, blocks "
             "of 32, a share of 0.5",
     .default_value = "none",
     .verbs = kPlacesModel},
    {.name = "compute-units",
     .type = OptionType::Choice,
     .argument = "UNITS",
     .help = "units that the application will allow, for the prediction of where operations run; "
             "a package cannot ask for units itself",
     .default_value = "all",
     .choices = "all|cpu_and_ne|cpu_and_gpu|cpu_only",
     .verbs = kPlacesModel},
    {.name = "labels",
     .type = OptionType::File,
     .argument = "FILE",
     .help = "names of the classes, one on each line: the package becomes a classifier",
     .verbs = kPlacesModel,
     .alias = "class-labels"},
    {.name = "flexible-shape",
     .type = OptionType::Items,
     .argument = "NAME:SIZES",
     .help = "sizes of an input that applications may choose: ranges as in "
             "NAME:1x3x224..448x224..448, or a list as in NAME:1x3x224x224,1x3x320x320, which the "
             "Neural Engine takes, too; may be repeated; --input-shape gives the default",
     .verbs = kPlacesModel,
     .alias = "flexible-shapes"},
    {.name = "flexible-dim",
     .type = OptionType::Items,
     .argument = "NAME=SIZES",
     .help = "the same for an open dimension by its name in the model, in all inputs: "
             "sequence=1..512 or sequence=128,256,512; may be repeated; --dim gives the default",
     .verbs = kPlacesModel,
     .alias = "flexible-dims"},
    {.name = "emit",
     .type = OptionType::Choice,
     .argument = "WHAT",
     .help = "what to write beside the package: swift, a few lines that load it with the compute "
             "units and run it (never compiled here)",
     .default_value = "none",
     .choices = "none|swift",
     .verbs = VerbSet(Verb::Compile),
     .changes_output = false},
};

struct SystemRow {
  std::string_view name;
  int version;
};
constexpr SystemRow kSystems[] = {{"ios16", kCoremlIos16}, {"macos13", kCoremlIos16},
                                  {"ios17", kCoremlIos17}, {"macos14", kCoremlIos17},
                                  {"ios18", kCoremlIos18}, {"macos15", kCoremlIos18},
                                  {"ios26", kCoremlIos26}, {"macos26", kCoremlIos26}};

Result<std::vector<std::string>> read_labels(const std::string& path) {
  constexpr size_t kMostLabels = 1 << 20;
  EC_TRY(const Blob file, read_file(path));
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.size());
  std::vector<std::string> labels;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) labels.emplace_back(line);
    if (labels.size() > kMostLabels) break;
    at = end + 1;
  }
  if (labels.empty() || labels.size() > kMostLabels)
    return Error(Code::Usage, "'" + printable(path, 100) + "' holds no list of class names")
        .hint("give a text file with one name on each line");
  return labels;
}

}  // namespace

std::span<const OptionDef> option_table() { return kOptions; }

Result<TargetOptions> target_options(const Options& options) {
  TargetOptions values;
  const std::string& system = options.text("deployment-target");
  for (const SystemRow& row : kSystems)
    if (row.name == system) values.lowest_version = values.highest_version = row.version;
  values.half_precision = options.text("precision") != "fp32";
  EC_TRY(values.weights, parse_weight_form(options.text("compress-weights")));
  if (version_of(values.weights) > values.highest_version)
    return Error(Code::Usage, fmt::format("--compress-weights {} needs {}", values.weights.text(),
                                          coreml_system(version_of(values.weights))))
        .hint("give a later --deployment-target, or another form");
  values.max_drop = options.number_if("max-drop");
  values.min_sqnr = options.number_if("min-sqnr");
  const std::string& units = options.text("compute-units");
  if (!units.empty()) values.units_name = units;
  if (units == "cpu_and_ne") values.units = ComputeUnits::CpuAndNeuralEngine;
  if (units == "cpu_and_gpu") values.units = ComputeUnits::CpuAndGpu;
  if (units == "cpu_only") values.units = ComputeUnits::CpuOnly;
  if (!options.text("labels").empty()) {
    EC_TRY(values.labels, read_labels(options.text("labels")));
  }
  values.emit_swift = options.text("emit") == "swift";
  EC_TRY(values.flexible,
         parse_flexible_shapes(options.texts("flexible-shape"), options.texts("flexible-dim")));
  if (!values.flexible.empty() && options.is_given("quantize"))
    return Error(Code::Usage, "--quantize needs fixed sizes, and --flexible-shape leaves some open")
        .hint("--compress-weights int8 stores the weights in 8 bits and leaves sizes open");
  return values;
}

}  // namespace ec::metal
