#include "driver/core_options.h"

#include "frontend/options.h"
#include "limits/options.h"
#include "quantize/calibration/options.h"
#include "quantize/options.h"

namespace ec {
namespace {

constexpr VerbSet kEvaluates(Verb::Evaluate);

constexpr OptionDef kTarget[] = {
    {.name = "target",
     .argument = "TARGET",
     .help = "device to compile for, `auto` for the one that is connected; `edgecompile targets` "
             "lists them (default: the first of the list; `check` judges all)",
     .verbs = VerbSet(Verb::Compile, Verb::Check, Verb::Quantize, Verb::Run, Verb::Bench,
                      Verb::Evaluate),
     .short_name = 't',
     .completion = Completion::Target,
     .statistics = StatisticsRole::MustMatch},
    {.name = "strict",
     .type = OptionType::Flag,
     .help = "fail when an operation does not run on the target's device",
     .verbs = kPlacesModel,
     .changes_output = false},
};

constexpr OptionDef kOptimisation[] = {
    {.name = "passes",
     .argument = "LIST",
     .help = "run these passes instead of the default list, in this order, separated by commas",
     .verbs = kRunsPasses,
     .completion = Completion::Pass},
    {.name = "disable-pass",
     .type = OptionType::Texts,
     .argument = "PASS",
     .help = "leave this pass out; may be repeated",
     .verbs = kRunsPasses,
     .completion = Completion::Pass},
    {.name = "print-after",
     .type = OptionType::Texts,
     .argument = "PASS",
     .help = "print the graph to the error stream after this pass (`all`: after each)",
     .verbs = kRunsPasses,
     .changes_output = false,
     .completion = Completion::Pass},
    {.name = "dump-phases",
     .type = OptionType::Directory,
     .argument = "DIR",
     .help = "write the graph after each phase and pass to DIR as .ecir text",
     .verbs = kRunsPasses,
     .changes_output = false},
    {.name = "stop-after",
     .argument = "PHASE",
     .help = "last phase to run: import, fold-input, prepare, optimise, legalise, quantise, place, "
             "emit, self-check, commit, or the name of a pass",
     .verbs = kRewritesModel,
     .completion = Completion::Phase},
};

constexpr OptionDef kEvaluation[] = {
    {.name = "data",
     .type = OptionType::File,
     .argument = "PATH",
     .help = "samples to evaluate on: a folder of images (a folder for each class gives labels) or "
             "arrays (.npz and .pt files may hold labels), or any other form of calibration data",
     .verbs = kEvaluates},
    {.name = "reference",
     .type = OptionType::File,
     .argument = "MODEL",
     .help = "the float model to compare with, output by output",
     .verbs = kEvaluates},
    {.name = "labels",
     .type = OptionType::File,
     .argument = "FILE",
     .help =
         "labels of the samples: lines of PATH and LABEL (tab, comma or space between; relative "
         "to --data), one label per line for arrays, or a .npy file of integers; for detectors a "
         ".json file of boxes as COCO has them",
     .verbs = kEvaluates},
    {.name = "task",
     .type = OptionType::Choice,
     .argument = "TASK",
     .help = "what the outputs mean: classification, detection, segmentation, keypoints, "
             "regression, sequence, or auto: told by their names, shapes and values",
     .default_value = "auto",
     .choices = "auto|classification|detection|segmentation|keypoints|regression|sequence",
     .verbs = kEvaluates},
    {.name = "head",
     .type = OptionType::Choice,
     .argument = "HEAD",
     .help = "how boxes are read from a detector's outputs: yolov8 (also v9, v11), yolov5 (also "
             "v7), yolox, end-to-end (YOLO v10, v26), ssd, ssd-postprocess, detr, picodet, "
             "centernet, or auto",
     .default_value = "auto",
     .choices = "auto|yolov8|yolov5|yolox|end-to-end|ssd|ssd-postprocess|detr|picodet|centernet",
     .verbs = kEvaluates},
    {.name = "score-threshold",
     .type = OptionType::Number,
     .argument = "P",
     .help = "score from which the reference's detections count, or a pixel belongs to a mask "
             "(default: 0.25 for detection, 0.5 for segmentation)",
     .least = 0.001,
     .most = 0.999,
     .verbs = kEvaluates},
    {.name = "label-offset",
     .type = OptionType::Integer,
     .argument = "N",
     .help = "added to a label to find its score: 1 for networks whose first class is the "
             "background",
     .default_value = "0",
     .least = -1e6,
     .most = 1e6,
     .verbs = kEvaluates},
    {.name = "samples",
     .type = OptionType::Integer,
     .argument = "N",
     .help = "use N of the samples, spread over all of them (default: all)",
     .least = 1,
     .most = 1e9,
     .verbs = kEvaluates,
     .alias = "num-samples"},
    {.name = "confusion",
     .type = OptionType::Flag,
     .help = "list which classes were mistaken for which",
     .verbs = kEvaluates},
};

constexpr OptionDef kRun[] = {
    {.name = "input",
     .type = OptionType::Items,
     .argument = "NAME=FILE",
     .help = "value of an input: a .npy file, one array of a .npz file by the input's name, "
             "a picture (`run` alone), `random`, `zeros` or `ones`; without NAME: the inputs in "
             "order; may be repeated "
             "(default: random)",
     .verbs = kRunsModel,
     .changes_output = false,
     .short_name = 'i'},
    {.name = "seed",
     .type = OptionType::Integer,
     .argument = "N",
     .help = "seed of random inputs",
     .default_value = "0",
     .verbs = kRunsModel,
     .changes_output = false},
    {.name = "threads",
     .type = OptionType::Integer,
     .argument = "N",
     .help = "threads to compute with; 0: one per core (default: 1 to run, one per core to "
             "quantise)",
     .least = 0,
     .most = 1024,
     .verbs = VerbSet(Verb::Run, Verb::Bench, Verb::Compile, Verb::Check, Verb::Quantize,
                      Verb::Evaluate),
     .changes_output = false},
    {.name = "reference",
     .type = OptionType::Flag,
     .help = "use the reference kernels only and no optimisation: slow, what all other results are "
             "compared with",
     .verbs = kRunsModel,
     .changes_output = false},
    {.name = "all-tensors",
     .type = OptionType::Flag,
     .help = "give every tensor of the graph as imported, not only the outputs: one run with the "
             "reference kernels, to compare models tensor by tensor",
     .verbs = VerbSet(Verb::Run),
     .changes_output = false},
};

constexpr OptionDef kBenchmark[] = {
    {.name = "iterations",
     .type = OptionType::Integer,
     .argument = "N",
     .help = "timed runs",
     .default_value = "100",
     .least = 1,
     .most = 1e9,
     .verbs = VerbSet(Verb::Bench),
     .changes_output = false},
    {.name = "warmup",
     .type = OptionType::Integer,
     .argument = "N",
     .help = "runs before the timed ones",
     .default_value = "10",
     .least = 0,
     .most = 1e9,
     .verbs = VerbSet(Verb::Bench),
     .changes_output = false},
    {.name = "per-op",
     .type = OptionType::Flag,
     .help = "time of each operation as well",
     .verbs = VerbSet(Verb::Bench),
     .changes_output = false},
};

constexpr OptionDef kOutput[] = {
    {.name = "output",
     .type = OptionType::File,
     .argument = "PATH",
     .help = "file to write (for `run`: the directory for the outputs)",
     .verbs = VerbSet(Verb::Compile, Verb::Optimize, Verb::Quantize, Verb::Run),
     .changes_output = false,
     .short_name = 'o',
     .alias = "output-dir"},
    {.name = "report",
     .type = OptionType::Items,
     .argument = "json=FILE",
     .help = "write the report to a file as well, as the JSON object that --json prints as result; "
             "may be repeated",
     .verbs = VerbSet(Verb::Compile, Verb::Check, Verb::Optimize, Verb::Quantize, Verb::Evaluate),
     .changes_output = false},
};

}  // namespace

std::span<const OptionGroup> core_option_groups() {
  static const OptionGroup groups[] = {
      {"Target", kTarget},
      model_options(),
      {"Optimisation", kOptimisation},
      quantize::quantize_options(),
      quantize::calibration_options(),
      quantize::image_options(),
      {"Evaluation", kEvaluation},
      {"Run", kRun},
      {"Benchmark", kBenchmark},
      limit_options(),
      {"Output", kOutput},
  };
  return groups;
}

}  // namespace ec
