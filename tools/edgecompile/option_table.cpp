// The table of options: the one place that names them. An entry's function stores the value.
#include <fmt/format.h>

#include <algorithm>

#include "cli.h"
#include "quantize/calibration/preprocess.h"
#include "support/strings.h"

namespace ec::cli {
namespace {

constexpr int64_t kMaxDimension = int64_t{1} << 40;

Result<int> parse_count(std::string_view option, std::string_view text, int64_t least) {
  const std::optional<int64_t> value = parse_int(text);
  if (!value || *value < least || *value > 1'000'000'000)
    return usage_error(fmt::format("--{} needs a number of at least {}, not '{}'", option, least,
                                   printable(text)));
  return static_cast<int>(*value);
}

// "1x3x224x224" or "1,3,224,224"; "?" leaves a dimension open.
Result<std::vector<int64_t>> parse_dims(std::string_view text) {
  std::string unified(text);
  std::replace(unified.begin(), unified.end(), 'X', 'x');
  std::replace(unified.begin(), unified.end(), ',', 'x');
  std::vector<int64_t> dims;
  if (unified.empty()) return dims;  // a scalar
  for (const std::string_view part : split(unified, 'x')) {
    const bool open = trim(part) == "?" || trim(part) == "-1";
    const std::optional<int64_t> size = open ? -1 : parse_int(trim(part));
    if (!size || *size < -1 || *size > kMaxDimension)
      return usage_error(fmt::format("'{}' is no list of sizes", printable(text)),
                         "write --input-shape NAME:1x3x224x224 or NAME:1,3,224,224");
    dims.push_back(*size);
  }
  return dims;
}

// NAME:DIMS, several of them separated by commas as trtexec has it. The last colon of each
// separates, since names such as "input:0" are common.
Status set_input_shape(Settings& s, std::string_view value) {
  std::vector<std::string> items;
  for (const std::string_view piece : split(value, ',')) {
    // A piece without a name is one more size of the item before it.
    if (items.empty() || piece.find(':') != std::string_view::npos)
      items.emplace_back(piece);
    else
      items.back() += fmt::format(",{}", piece);
  }
  for (const std::string_view item : items) {
    const size_t colon = item.rfind(':');
    const bool bare = colon == std::string_view::npos;
    EC_TRY(std::vector<int64_t> dims, parse_dims(bare ? item : item.substr(colon + 1)));
    s.compile.input_shapes[std::string(bare ? "" : item.substr(0, colon))] = std::move(dims);
  }
  return {};
}

Status set_dim(Settings& s, std::string_view value) {
  for (const std::string_view pair : split(value, ',')) {
    const size_t equals = pair.rfind('=');
    const std::optional<int64_t> size =
        equals == std::string_view::npos ? std::nullopt : parse_int(pair.substr(equals + 1));
    if (!size || *size < 0 || *size > kMaxDimension || equals == 0)
      return usage_error(fmt::format("--dim needs NAME=N, not '{}'", printable(pair)),
                         "write --dim batch=1");
    s.compile.dims[std::string(pair.substr(0, equals))] = *size;
  }
  return {};
}

// NAME=FILE, or FILE alone for the inputs in order.
Status add_input(Settings& s, std::string_view value) {
  const size_t equals = value.find('=');
  const bool named = equals != std::string_view::npos;
  InputArgument input{std::string(named ? value.substr(0, equals) : ""),
                      std::string(named ? value.substr(equals + 1) : value)};
  if (input.value.empty() || (named && input.name.empty()))
    return usage_error(fmt::format("--input needs NAME=FILE.npy, not '{}'", printable(value)),
                       "write -i input=x.npy, or -i random");
  s.inputs.push_back(std::move(input));
  return {};
}

void append_list(std::vector<std::string>& list, std::string_view value) {
  for (const std::string_view part : split(value, ','))
    if (!trim(part).empty()) list.emplace_back(trim(part));
}

Status set_threads(Settings& s, std::string_view value) {
  EC_TRY(s.compile.threads, parse_count("threads", value, 0));
  if (s.compile.threads > 1024)
    return usage_error(fmt::format("--threads {} is beyond 1024", value));
  return {};
}
Result<double> parse_number(std::string_view option, std::string_view text, double least,
                            double most) {
  const std::optional<double> value = parse_double(text);
  if (!value || !(*value >= least && *value <= most))
    return usage_error(fmt::format("--{} needs a number from {} to {}, not '{}'", option, least,
                                   most, printable(text)));
  return *value;
}
Status set_percentile(Settings& s, std::string_view v) {
  EC_TRY(s.compile.calibration_percentile, parse_number("calibration-percentile", v, 50, 100));
  return {};
}
Status set_max_drop(Settings& s, std::string_view v) {
  EC_TRY(s.compile.max_drop, parse_number("max-drop", v, 0, 1));
  return {};
}
Status set_min_sqnr(Settings& s, std::string_view v) {
  EC_TRY(s.compile.min_sqnr, parse_number("min-sqnr", v, 0, 120));
  return {};
}
Status set_calibration_samples(Settings& s, std::string_view value) {
  EC_TRY(s.compile.calibration_samples, parse_count("calibration-samples", value, 1));
  return {};
}
Status set_mean(Settings& s, std::string_view value) {
  EC_TRY(s.compile.mean, quantize::parse_channel_values("mean", value));
  return {};
}
Status set_std(Settings& s, std::string_view value) {
  EC_TRY(s.compile.std, quantize::parse_channel_values("std", value));
  return {};
}
Status set_iterations(Settings& s, std::string_view value) {
  EC_TRY(s.iterations, parse_count("iterations", value, 1));
  return {};
}
Status set_warmup(Settings& s, std::string_view value) {
  EC_TRY(s.warmup, parse_count("warmup", value, 0));
  return {};
}
Status set_seed(Settings& s, std::string_view value) {
  const std::optional<int64_t> seed = parse_int(value);
  if (!seed) return usage_error(fmt::format("--seed needs a number, not '{}'", printable(value)));
  s.seed = *seed;
  return {};
}

Status set_label_offset(Settings& s, std::string_view value) {
  const std::optional<int64_t> offset = parse_int(value);
  if (!offset || *offset < -1'000'000 || *offset > 1'000'000)
    return usage_error(fmt::format("--label-offset needs a number, not '{}'", printable(value)));
  s.evaluate.label_offset = *offset;
  return {};
}
Status set_samples(Settings& s, std::string_view value) {
  EC_TRY(s.evaluate.samples, parse_count("samples", value, 1));
  return {};
}
Status set_edgetpu_runtime(Settings& s, std::string_view value) {
  EC_TRY(s.compile.edgetpu_runtime, parse_count("edgetpu-runtime", value, 10));
  return {};
}
Status set_segments(Settings& s, std::string_view value) {
  EC_TRY(s.compile.segments, parse_count("segments", value, 2));
  return {};
}

// Verbs that read a model; those that also rewrite or run it.
constexpr VerbSet kModel(Verb::Compile, Verb::Check, Verb::Inspect, Verb::Run, Verb::Bench,
                         Verb::Optimize, Verb::Quantize, Verb::Evaluate);
constexpr VerbSet kRewrite(Verb::Compile, Verb::Optimize, Verb::Quantize);
constexpr VerbSet kSession(Verb::Run, Verb::Bench);
constexpr VerbSet kPipeline(Verb::Compile, Verb::Optimize, Verb::Quantize, Verb::Run, Verb::Bench,
                            Verb::Check);
constexpr VerbSet kQuantize(Verb::Compile, Verb::Quantize);
constexpr VerbSet kEvaluate(Verb::Evaluate);
// Where pictures become inputs.
constexpr VerbSet kPictures(Verb::Compile, Verb::Quantize, Verb::Evaluate);

// clang-format off
constexpr OptionDef kOptions[] = {
    {"target", 't', "TARGET", "Model", VerbSet(Verb::Compile, Verb::Check, Verb::Quantize, Verb::Run, Verb::Bench, Verb::Evaluate), Complete::Target,
     "device to compile for; `edgecompile targets` lists them (default: cpu)",
     [](Settings& s, std::string_view v) { return s.compile.target = v, Status(); }},
    {"input-shape", 0, "NAME:DIMS", "Model", kModel, Complete::Nothing,
     "sizes of an input, as NAME:1x3x224x224 or NAME:1,3,224,224; may be repeated; NAME may be left out for the only input, and ? leaves a size open", set_input_shape},
    {"dim", 0, "NAME=N", "Model", kModel, Complete::Nothing,
     "size of an open dimension by its name in the model; may be repeated", set_dim},
    {"keep-io-layout", 0, "", "Model", VerbSet(Verb::Compile, Verb::Check), Complete::Nothing,
     "tflite, coral: inputs and outputs keep the model's order of dimensions (NCHW), at the price of transposes",
     [](Settings& s, std::string_view) { return s.compile.keep_io_layout = true, Status(); }},

    {"strict", 0, "", "Target", VerbSet(Verb::Compile, Verb::Check), Complete::Nothing,
     "fail when an operation does not run on the target's device",
     [](Settings& s, std::string_view) { return s.compile.strict = true, Status(); }},
    {"edgetpu-runtime", 0, "N", "Target", VerbSet(Verb::Compile, Verb::Check), Complete::Nothing,
     "coral: version of the Edge TPU runtime on the device, 10 to 14 (default: 14)", set_edgetpu_runtime},
    {"edgetpu-rules", 0, "RULES", "Target", VerbSet(Verb::Compile, Verb::Check), Complete::Nothing,
     "coral: `fitted`, Google's published table corrected by compiled files, or `published`, the table alone (default: fitted)",
     [](Settings& s, std::string_view v) { return s.compile.edgetpu_rules = v, Status(); }},
    {"edgetpu-compiler", 0, "", "Target", VerbSet(Verb::Compile, Verb::Check), Complete::Nothing,
     "coral: run Google's edgetpu_compiler on the result and write its Edge TPU code as NAME_edgetpu.tflite",
     [](Settings& s, std::string_view) { return s.compile.edgetpu_compiler = true, Status(); }},
    {"segments", 0, "N", "Target", VerbSet(Verb::Compile), Complete::Nothing,
     "coral: cut the model into N files for a pipeline of N devices, NAME_segment_I_of_N.tflite", set_segments},

    {"passes", 0, "LIST", "Optimisation", kPipeline, Complete::Pass,
     "run these passes instead of the default list, in this order, separated by commas",
     [](Settings& s, std::string_view v) { return s.compile.passes = v, Status(); }},
    {"disable-pass", 0, "PASS", "Optimisation", kPipeline, Complete::Pass,
     "leave this pass out; may be repeated",
     [](Settings& s, std::string_view v) { return append_list(s.compile.disable_pass, v), Status(); }},
    {"print-after", 0, "PASS", "Optimisation", kPipeline, Complete::Pass,
     "print the graph to the error stream after this pass (`all`: after each)",
     [](Settings& s, std::string_view v) { return append_list(s.compile.print_after, v), Status(); }},
    {"dump-phases", 0, "DIR", "Optimisation", kPipeline, Complete::Directory,
     "write the graph after each phase and pass to DIR as .ecir text",
     [](Settings& s, std::string_view v) { return s.compile.dump_phases = v, Status(); }},
    {"stop-after", 0, "PHASE", "Optimisation", kRewrite, Complete::Phase,
     "last phase to run: import, optimize, or the name of a pass",
     [](Settings& s, std::string_view v) { return s.compile.stop_after = v, Status(); }},

    {"quantize", 'q', "HOW", "Quantisation", kQuantize, Complete::Nothing,
     "none; ptq (int8): integers with ranges measured on calibration data; a16w8: the same with 16-bit activations; qat: the scales that the model carries; dynamic: int8 weights, float activations; float16: weights of 16 bits (default: none, or qat for models that carry them; for the verb: ptq)",
     [](Settings& s, std::string_view v) { return s.compile.quantize = v, Status(); }},
    {"calibration-data", 0, "PATH", "Quantisation", kQuantize, Complete::File,
     "examples of the input: a picture, a folder of pictures or arrays, a .npy, .npz, .pt or raw .bin file, a .txt list of files, or `random`",
     [](Settings& s, std::string_view v) { return s.compile.calibration_data = v, Status(); }},
    {"save-statistics", 0, "FILE", "Quantisation", kQuantize, Complete::File,
     "write what was measured on the calibration data to FILE, for --statistics",
     [](Settings& s, std::string_view v) { return s.compile.save_statistics = v, Status(); }},
    {"statistics", 0, "FILE", "Quantisation", kQuantize, Complete::File,
     "use what --save-statistics wrote in place of calibration data: same model, same options, same bytes",
     [](Settings& s, std::string_view v) { return s.compile.statistics = v, Status(); }},
    {"calibration-samples", 0, "N", "Quantisation", kQuantize, Complete::Nothing,
     "use N of the examples, spread over all of them (default: all, at most 1000)", set_calibration_samples},
    {"calibration-method", 0, "METHOD", "Quantisation", kQuantize, Complete::Nothing,
     "how ranges are chosen: auto (what gives better outputs, tensor by tensor), minmax, average, percentile, mse (histogram) or kl (default: auto)",
     [](Settings& s, std::string_view v) { return s.compile.calibration_method = v, Status(); }},
    {"calibration-percentile", 0, "P", "Quantisation", kQuantize, Complete::Nothing,
     "share of the values that the method percentile holds, in percent (default: 99.999)", set_percentile},
    {"weights", 0, "HOW", "Quantisation", kQuantize, Complete::Nothing,
     "scales of weights: per-channel, where the target has them, or per-tensor (default: per-channel)",
     [](Settings& s, std::string_view v) { return s.compile.weights = v, Status(); }},
    {"equalize", 0, "auto|on|off", "Quantisation", kQuantize, Complete::Nothing,
     "make the weights of neighbouring layers alike, channel by channel (default: auto: with --weights per-tensor, where it helps)",
     [](Settings& s, std::string_view v) { return s.compile.equalize = v, Status(); }},
    {"balance", 0, "auto|on|off", "Quantisation", kQuantize, Complete::Nothing,
     "make the channels of activations alike at the cost of the weights behind them (default: auto: where it helps)",
     [](Settings& s, std::string_view v) { return s.compile.balance = v, Status(); }},
    {"correct-bias", 0, "auto|on|off", "Quantisation", kQuantize, Complete::Nothing,
     "let biases take back the mean error of rounded weights (default: auto: where it helps)",
     [](Settings& s, std::string_view v) { return s.compile.correct_bias = v, Status(); }},
    {"adapt-rounding", 0, "auto|on|off", "Quantisation", kQuantize, Complete::Nothing,
     "round weights for the results of their layer instead of each to the nearest (default: auto: where weights matter and it helps; large networks with --effort high)",
     [](Settings& s, std::string_view v) { return s.compile.adapt_rounding = v, Status(); }},
    {"precise-outputs", 0, "auto|on|off", "Quantisation", kQuantize, Complete::Nothing,
     "do not round float outputs to 8 bits on their way: the last layer gives 16 bits, a softmax behind it computes on floats (default: auto: where that is little work)",
     [](Settings& s, std::string_view v) { return s.compile.precise_outputs = v, Status(); }},
    {"effort", 0, "normal|high", "Quantisation", kQuantize, Complete::Nothing,
     "high: try more ranges, measure every layer by itself; takes longer (default: normal)",
     [](Settings& s, std::string_view v) { return s.compile.effort = v, Status(); }},
    {"max-drop", 0, "X", "Quantisation", kQuantize, Complete::Nothing,
     "share of samples whose top-1 may differ from the float model's, 0.01; layers are raised to 16 bits or float until it holds, exit 5 if it cannot", set_max_drop},
    {"min-sqnr", 0, "DB", "Quantisation", kQuantize, Complete::Nothing,
     "least SQNR of every output against the float model; as --max-drop", set_min_sqnr},
    {"mean", 0, "LIST", "Quantisation", kPictures, Complete::Nothing,
     "subtracted from pixels, one value or one per channel: 0.485,0.456,0.406 (default: 0)", set_mean},
    {"std", 0, "LIST", "Quantisation", kPictures, Complete::Nothing,
     "pixels are divided by it after the mean: 0.229,0.224,0.225 (default: 1)", set_std},
    {"pixel-range", 0, "1|255", "Quantisation", kPictures, Complete::Nothing,
     "largest pixel value before mean and std (default: 255 where a mean or std is above 1, else 1)",
     [](Settings& s, std::string_view v) { return s.compile.pixel_range = v, Status(); }},
    {"input-layout", 0, "LAYOUT", "Quantisation", kPictures, Complete::Nothing,
     "order of dimensions of the model's image input: nchw or nhwc (default: told by its shape)",
     [](Settings& s, std::string_view v) { return s.compile.input_layout = v, Status(); }},
    {"color", 0, "ORDER", "Quantisation", kPictures, Complete::Nothing,
     "order of channels the model was trained on: rgb or bgr (default: rgb)",
     [](Settings& s, std::string_view v) { return s.compile.color = v, Status(); }},
    {"resize", 0, "HOW", "Quantisation", kPictures, Complete::Nothing,
     "how pictures get the input's size: crop, crop:256 (shorter side to 256, then the middle) or stretch (default: crop)",
     [](Settings& s, std::string_view v) { return s.compile.resize = v, Status(); }},
    {"fold-preprocessing", 0, "", "Quantisation", kQuantize, Complete::Nothing,
     "make mean, std, colour order and layout part of the model: it takes uint8 RGB pixels, channels last",
     [](Settings& s, std::string_view) { return s.compile.fold_preprocessing = true, Status(); }},
    {"io-type", 0, "TYPE", "Quantisation", kQuantize, Complete::Nothing,
     "inputs and outputs of the quantised model: float, int8, uint8, or int16 with a16w8 (default: int8 for coral, else float)",
     [](Settings& s, std::string_view v) { return s.compile.io_type = v, Status(); }},
    {"keep-float", 0, "PATTERN", "Quantisation", kQuantize, Complete::Nothing,
     "leave operations whose name matches (* and ?) in floating point; may be repeated",
     [](Settings& s, std::string_view v) { return append_list(s.compile.keep_float, v), Status(); }},

    {"data", 0, "PATH", "Evaluation", kEvaluate, Complete::File,
     "samples to evaluate on: a folder of pictures (a folder for each class gives labels) or arrays (.npz and .pt files may hold labels), or any other form of calibration data",
     [](Settings& s, std::string_view v) { return s.evaluate.data = v, Status(); }},
    {"reference", 0, "MODEL", "Evaluation", kEvaluate, Complete::File,
     "the float model to compare with, output by output",
     [](Settings& s, std::string_view v) { return s.evaluate.reference = v, Status(); }},
    {"labels", 0, "FILE", "Evaluation", kEvaluate, Complete::File,
     "labels of the samples: lines of PATH and LABEL (tab, comma or space between; relative to --data), one label per line for arrays, or a .npy file of integers",
     [](Settings& s, std::string_view v) { return s.evaluate.labels = v, Status(); }},
    {"label-offset", 0, "N", "Evaluation", kEvaluate, Complete::Nothing,
     "added to a label to find its score: 1 for networks whose first class is the background (default: 0)", set_label_offset},
    {"samples", 0, "N", "Evaluation", kEvaluate, Complete::Nothing,
     "use N of the samples, spread over all of them (default: all)", set_samples},
    {"confusion", 0, "", "Evaluation", kEvaluate, Complete::Nothing,
     "which classes were taken for which",
     [](Settings& s, std::string_view) { return s.evaluate.confusion = true, Status(); }},

    {"input", 'i', "NAME=FILE", "Run", VerbSet(Verb::Run, Verb::Bench), Complete::File,
     "value of an input: a .npy file, one array of a .npz file by the input's name, `random`, `zeros` or `ones`; without NAME: the inputs in order; may be repeated (default: random)", add_input},
    {"seed", 0, "N", "Run", kSession, Complete::Nothing,
     "seed of random inputs (default: 0)", set_seed},
    {"threads", 0, "N", "Run", VerbSet(Verb::Run, Verb::Bench, Verb::Compile, Verb::Quantize, Verb::Evaluate), Complete::Nothing,
     "threads to compute with; 0: one per core (default: 1 to run, one per core to quantise)", set_threads},
    {"reference", 0, "", "Run", kSession, Complete::Nothing,
     "use the reference kernels only and no optimisation: slow, the yardstick for everything else",
     [](Settings& s, std::string_view) { return s.compile.reference = true, Status(); }},
    {"all-tensors", 0, "", "Run", VerbSet(Verb::Run), Complete::Nothing,
     "give every tensor of the graph as imported, not only the outputs: one run with the reference kernels, to compare models tensor by tensor",
     [](Settings& s, std::string_view) { return s.all_tensors = s.compile.reference = true, Status(); }},
    {"iterations", 0, "N", "Benchmark", VerbSet(Verb::Bench), Complete::Nothing,
     "timed runs (default: 100)", set_iterations},
    {"warmup", 0, "N", "Benchmark", VerbSet(Verb::Bench), Complete::Nothing,
     "runs before the timed ones (default: 10)", set_warmup},
    {"per-op", 0, "", "Benchmark", VerbSet(Verb::Bench), Complete::Nothing,
     "time of each operation as well",
     [](Settings& s, std::string_view) { return s.per_op = true, Status(); }},

    {"output", 'o', "PATH", "Output", VerbSet(Verb::Compile, Verb::Optimize, Verb::Quantize, Verb::Run), Complete::File,
     "file to write (for `run`: the directory for the outputs)",
     [](Settings& s, std::string_view v) { return s.compile.output = v, Status(); }},
    {"markdown", 0, "", "Output", VerbSet(Verb::Ops, Verb::Passes, Verb::Explain, Verb::Help), Complete::Nothing,
     "print the page for the manual",
     [](Settings& s, std::string_view) { return s.markdown = true, Status(); }},
    {"json", 0, "", "Output", VerbSet::all(), Complete::Nothing,
     "print the result and all diagnostics as one JSON object",
     [](Settings& s, std::string_view) { return s.json = true, Status(); }},
    {"verbose", 'v', "", "Output", VerbSet::all(), Complete::Nothing,
     "say more: per-pass times, per-operation tables; -vv says still more",
     [](Settings& s, std::string_view) { return ++s.verbosity, Status(); }},
    {"quiet", 0, "", "Output", VerbSet::all(), Complete::Nothing,
     "print errors only",
     [](Settings& s, std::string_view) { return s.quiet = true, Status(); }},

    {"config", 0, "FILE.toml", "General", VerbSet::all(), Complete::File,
     "read options from this file; the command line wins over it",
     [](Settings& s, std::string_view v) { return s.config = v, Status(); }},
    {"help", 'h', "", "General", VerbSet::all(), Complete::Nothing,
     "print this help; after a verb: the help of that verb",
     [](Settings& s, std::string_view) { return s.help = true, Status(); }},
    {"version", 'V', "", "General", VerbSet::all(), Complete::Nothing,
     "print the version",
     [](Settings& s, std::string_view) { return s.version = true, Status(); }},
};
// clang-format on

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return x == y || ((x == '-' || x == '_') && (y == '-' || y == '_'));
  });
}

}  // namespace

std::span<const OptionDef> all_options() { return kOptions; }

const OptionDef* find_option(std::string_view name, Verb verb) {
  if (same_name(name, "output-dir")) name = "output";  // the habit of other compilers
  const OptionDef* found = nullptr;
  for (const OptionDef& option : kOptions)
    if (same_name(option.name, name) && (found == nullptr || option.verbs.has(verb)))
      found = &option;
  return found;
}

}  // namespace ec::cli
