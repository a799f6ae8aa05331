#include "frontend/options.h"

#include "options/verb.h"

namespace ec {
namespace {

constexpr OptionDef kModel[] = {
    {.name = "input-shape",
     .type = OptionType::Shapes,
     .argument = "NAME:DIMS",
     .help =
         "sizes of an input, as NAME:1x3x224x224 or NAME:1,3,224,224; may be repeated; NAME may "
         "be left out for the only input, and ? leaves a size open",
     .verbs = kReadsModel,
     .alias = "input-shapes"},
    {.name = "dim",
     .type = OptionType::Sizes,
     .argument = "NAME=N",
     .help = "size of an open dimension by its name in the model; may be repeated",
     .verbs = kReadsModel,
     .alias = "dims"},
    {.name = "input-value",
     .type = OptionType::NamedTexts,
     .argument = "NAME=VALUE",
     .help = "value of a parameter of the model that is no tensor, such as the sampling rate: "
             "sr=16000; may be repeated",
     .verbs = kReadsModel,
     .alias = "input-values"},
    {.name = "signature",
     .argument = "NAME",
     .help =
         "signature of a TensorFlow SavedModel or function of a Core ML package to take (default: "
         "serving_default, the package's own default, else the only one); `inspect` lists them",
     .verbs = kReadsModel},
    {.name = "graph-input",
     .type = OptionType::Texts,
     .argument = "NODE",
     .help = "node of a frozen TensorFlow graph to take as an input; its shape may need "
             "--input-shape; may be repeated (default: the placeholders that the outputs need)",
     .verbs = kReadsModel,
     .alias = "graph-inputs"},
    {.name = "graph-output",
     .type = OptionType::Texts,
     .argument = "NODE",
     .help =
         "node of a frozen TensorFlow graph to take as an output, NODE:1 for its second result; "
         "may be repeated (default: the nodes that nothing reads)",
     .verbs = kReadsModel,
     .alias = "graph-outputs"},
};

}  // namespace

OptionGroup model_options() { return {"Model", kModel}; }

Result<ImportOptions> import_options(const Options& options) {
  ImportOptions result;
  result.input_shapes = options.shapes("input-shape");
  result.dims = options.sizes("dim");
  for (const auto& [name, text] : options.named_texts("input-value")) {
    EC_TRY(result.input_values[name], parse_input_value(text));
  }
  result.part = {options.text("signature"), options.texts("graph-input"),
                 options.texts("graph-output")};
  return result;
}

}  // namespace ec
