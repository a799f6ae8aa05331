#include "quantize/calibration/options.h"

namespace ec::quantize {
namespace {

constexpr StatisticsRole kMustMatch = StatisticsRole::MustMatch;
constexpr StatisticsRole kDescribesData = StatisticsRole::DescribesData;

constexpr OptionDef kCalibration[] = {
    {.name = "calibration-data",
     .type = OptionType::File,
     .argument = "PATH",
     .help = "examples of the input: an image, a folder of images or arrays, a .npy, .npz, .pt or "
             "raw .bin file, a .txt list of files, or `random`",
     .verbs = kQuantizesModel,
     .statistics = kDescribesData},
    {.name = "save-statistics",
     .type = OptionType::File,
     .argument = "FILE",
     .help = "write what was measured on the calibration data to FILE, for --statistics",
     .verbs = kQuantizesModel,
     .changes_output = false},
    {.name = "statistics",
     .type = OptionType::File,
     .argument = "FILE",
     .help = "use what --save-statistics wrote in place of calibration data: same model, same "
             "options, same bytes",
     .verbs = kQuantizesModel,
     .changes_output = false},
    {.name = "calibration-samples",
     .type = OptionType::Integer,
     .argument = "N",
     .help = "use N of the examples, spread over all of them (default: all, at most 1000)",
     .least = 1,
     .most = 1e9,
     .verbs = kQuantizesModel,
     .alias = "num-calibration-samples",
     .statistics = kMustMatch},
    {.name = "calibration-method",
     .type = OptionType::Choice,
     .argument = "METHOD",
     .help = "how ranges are chosen: auto (what gives better outputs, tensor by tensor), minmax, "
             "average, percentile, mse (also called histogram) or kl",
     .default_value = "auto",
     .choices = "auto|minmax|average|percentile|mse|histogram|kl",
     .verbs = kQuantizesModel,
     .statistics = kMustMatch},
    {.name = "calibration-percentile",
     .type = OptionType::Number,
     .argument = "P",
     .help = "share of the values that the range of the method percentile covers, in percent",
     .default_value = "99.999",
     .least = 50,
     .most = 100,
     .unit = "percent",
     .verbs = kQuantizesModel,
     .statistics = kMustMatch},
};

constexpr OptionDef kImages[] = {
    {.name = "mean",
     .type = OptionType::Numbers,
     .argument = "LIST",
     .help = "subtracted from pixels, one value or one per channel: 0.485,0.456,0.406 (default: 0)",
     .least = -1e6,
     .most = 1e6,
     .verbs = kReadsImages,
     .statistics = kDescribesData},
    {.name = "std",
     .type = OptionType::Numbers,
     .argument = "LIST",
     .help = "pixels are divided by it after the mean: 0.229,0.224,0.225 (default: 1)",
     .least = 1e-9,
     .most = 1e6,
     .verbs = kReadsImages,
     .statistics = kDescribesData},
    {.name = "pixel-range",
     .type = OptionType::Choice,
     .argument = "auto|1|255",
     .help = "largest pixel value before mean and std; auto: 255 where a mean or std is above 1, "
             "else 1",
     .default_value = "auto",
     .choices = "auto|1|255",
     .verbs = kReadsImages,
     .statistics = kDescribesData},
    {.name = "input-layout",
     .type = OptionType::Choice,
     .argument = "LAYOUT",
     .help = "order of dimensions of the model's image input: nchw, nhwc, or auto: told by its "
             "shape",
     .default_value = "auto",
     .choices = "auto|nchw|nhwc",
     .verbs = kReadsImages,
     .statistics = kDescribesData},
    {.name = "color",
     .type = OptionType::Choice,
     .argument = "rgb|bgr",
     .help = "order of channels that the model was trained on",
     .default_value = "rgb",
     .choices = "rgb|bgr",
     .verbs = kReadsImages,
     .statistics = kDescribesData},
    {.name = "resize",
     .argument = "HOW",
     .help = "how images get the input's size: crop, crop:256 (shorter side to 256, then the "
             "middle), stretch, or letterbox[:COLOUR] (the whole image in the middle, the rest in "
             "a colour from 0 to 255 or R,G,B; default 114)",
     .default_value = "crop",
     .verbs = kReadsImages,
     .statistics = kDescribesData},
};

}  // namespace

OptionGroup calibration_options() { return {"Calibration", kCalibration}; }
OptionGroup image_options() { return {"Images", kImages}; }

}  // namespace ec::quantize
