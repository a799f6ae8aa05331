#include "quantize/options.h"

namespace ec::quantize {
namespace {

constexpr std::string_view kSwitch = "auto|on|off";
constexpr StatisticsRole kMustMatch = StatisticsRole::MustMatch;

// Values are names of strategies and patterns of the model, or stand in `choices`.
constexpr OptionDef kOptions[] = {
    {.name = "quantize",
     .argument = "HOW",
     .help = "none; ptq (int8): integers with ranges measured on calibration data; a16w8: the same "
             "with 16-bit activations; qat: the scales that the model carries; dynamic: int8 "
             "weights, float activations; float16: weights of 16 bits (default: none, or qat for "
             "models that carry scales; for the verb: ptq)",
     .verbs = kQuantizesModel,
     .short_name = 'q',
     .statistics = kMustMatch},
    {.name = "weights",
     .type = OptionType::Choice,
     .argument = "HOW",
     .help = "scales of weights: per-channel, where the target has them, or per-tensor",
     .default_value = "per-channel",
     .choices = "per-channel|per-tensor",
     .verbs = kQuantizesModel,
     .statistics = kMustMatch},
    {.name = "equalize",
     .type = OptionType::Choice,
     .argument = kSwitch,
     .help = "make the weights of neighbouring layers alike, channel by channel; auto: with "
             "--weights per-tensor, where it helps",
     .default_value = "auto",
     .choices = kSwitch,
     .verbs = kQuantizesModel,
     .statistics = kMustMatch},
    {.name = "balance",
     .type = OptionType::Choice,
     .argument = kSwitch,
     .help = "make the channels of activations alike at the cost of the weights that read them, or "
             "compute uneven ones in parts; auto: where it helps",
     .default_value = "auto",
     .choices = kSwitch,
     .verbs = kQuantizesModel,
     .statistics = kMustMatch},
    {.name = "correct-bias",
     .type = OptionType::Choice,
     .argument = kSwitch,
     .help = "let biases compensate the mean error of rounded weights; auto: where it helps",
     .default_value = "auto",
     .choices = kSwitch,
     .verbs = kQuantizesModel,
     .statistics = kMustMatch},
    {.name = "adapt-rounding",
     .type = OptionType::Choice,
     .argument = kSwitch,
     .help = "round weights for the results of their layer instead of each to the nearest; auto: "
             "where weights matter and it helps, in large networks with --effort high",
     .default_value = "auto",
     .choices = kSwitch,
     .verbs = kQuantizesModel,
     .statistics = kMustMatch},
    {.name = "precise-outputs",
     .type = OptionType::Choice,
     .argument = kSwitch,
     .help = "do not round float outputs to 8 bits: the last layer gives 16 bits, and a softmax "
             "behind it computes on floats; auto: where that costs little",
     .default_value = "auto",
     .choices = kSwitch,
     .verbs = kQuantizesModel,
     .statistics = kMustMatch},
    {.name = "effort",
     .type = OptionType::Choice,
     .argument = "normal|high",
     .help = "high: try more ranges and measure every layer by itself; takes longer",
     .default_value = "normal",
     .choices = "normal|high",
     .verbs = kQuantizesModel,
     .statistics = kMustMatch},
    {.name = "max-drop",
     .type = OptionType::Number,
     .argument = "X",
     .help = "what the agreement with the float model's answers may lose, such as 0.01: average "
             "precision, mean IoU, share of equal top-1, whichever task the model has; layers are "
             "raised to 16 bits or float until it holds, exit 5 if it cannot",
     .least = 0,
     .most = 1,
     .verbs = kQuantizesModel,
     .statistics = kMustMatch},
    {.name = "min-sqnr",
     .type = OptionType::Number,
     .argument = "DB",
     .help = "least signal-to-noise ratio of every part of every output against the float model; "
             "works as --max-drop does",
     .least = 0,
     .most = 120,
     .unit = "dB",
     .verbs = kQuantizesModel,
     .statistics = kMustMatch},
    {.name = "fold-preprocessing",
     .type = OptionType::Flag,
     .help = "make mean, std, colour order and layout part of the model: it takes uint8 RGB "
             "pixels, channels last",
     .verbs = kQuantizesModel},
    {.name = "io-type",
     .type = OptionType::Choice,
     .argument = "TYPE",
     .help = "inputs and outputs of the quantised model: float, int8, uint8, or int16 with a16w8 "
             "(default: int8 where the target computes on integers only, else float)",
     .choices = "float|int8|uint8|int16",
     .verbs = kQuantizesModel,
     .statistics = kMustMatch},
    {.name = "split-outputs",
     .type = OptionType::Flag,
     .help = "give boxes and scores that one output holds as outputs of their own, each with its "
             "own scale",
     .verbs = kQuantizesModel,
     .statistics = kMustMatch},
    {.name = "keep-float",
     .type = OptionType::Texts,
     .argument = "PATTERN",
     .help = "leave operations whose name matches (* and ?) in floating point; may be repeated",
     .verbs = kQuantizesModel,
     .statistics = kMustMatch},
};

}  // namespace

OptionGroup quantize_options() { return {"Quantisation", kOptions}; }

}  // namespace ec::quantize
