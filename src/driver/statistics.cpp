#include "driver/statistics.h"

#include <fmt/format.h>

#include <filesystem>

#include "quantize/calibration/preprocess.h"
#include "support/file.h"
#include "support/strings.h"

namespace ec {
namespace {

// Options that say what the data is: kept with what was measured on it, and taken from there.
struct DataOption {
  std::string_view name;
  std::string (*get)(const CompileOptions& options);
  Status (*set)(CompileOptions& options, const std::string& value);
};

std::string numbers_text(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : ",") + format_double(value);
  return text;
}
Status set_numbers(std::string_view name, const std::string& text, std::vector<double>& values) {
  values.clear();
  if (text.empty()) return {};
  EC_TRY(values, quantize::parse_channel_values(name, text));
  return {};
}

constexpr DataOption kDataOptions[] = {
    {"calibration-data",
     [](const CompileOptions& o) {
       return std::filesystem::path(o.calibration_data).filename().string();
     },
     [](CompileOptions& o, const std::string& v) { return o.calibration_data = v, Status(); }},
    {"mean", [](const CompileOptions& o) { return numbers_text(o.mean); },
     [](CompileOptions& o, const std::string& v) { return set_numbers("mean", v, o.mean); }},
    {"std", [](const CompileOptions& o) { return numbers_text(o.std); },
     [](CompileOptions& o, const std::string& v) { return set_numbers("std", v, o.std); }},
    {"pixel-range", [](const CompileOptions& o) { return o.pixel_range; },
     [](CompileOptions& o, const std::string& v) { return o.pixel_range = v, Status(); }},
    {"input-layout", [](const CompileOptions& o) { return o.input_layout; },
     [](CompileOptions& o, const std::string& v) { return o.input_layout = v, Status(); }},
    {"color", [](const CompileOptions& o) { return o.color; },
     [](CompileOptions& o, const std::string& v) { return o.color = v, Status(); }},
    {"resize", [](const CompileOptions& o) { return o.resize; },
     [](CompileOptions& o, const std::string& v) { return o.resize = v, Status(); }},
};

}  // namespace

quantize::MeasuredWith measured_with(const CompileOptions& o) {
  return {{"quantize", o.quantize == "int8" ? "ptq" : o.quantize},
          {"target", o.target},
          {"calibration-samples", std::to_string(o.calibration_samples)},
          {"calibration-method", o.calibration_method},
          {"calibration-percentile", format_double(o.calibration_percentile)},
          {"weights", o.weights},
          {"equalize", o.equalize},
          {"balance", o.balance},
          {"correct-bias", o.correct_bias},
          {"adapt-rounding", o.adapt_rounding},
          {"precise-outputs", o.precise_outputs},
          {"effort", o.effort},
          {"max-drop", format_double(o.max_drop)},
          {"min-sqnr", format_double(o.min_sqnr)},
          {"io-type", o.io_type},
          {"keep-float", fmt::format("{}", fmt::join(o.keep_float, ","))}};
}

Result<quantize::Measurements> load_statistics(const std::string& path) {
  EC_TRY(const Blob file, map_file(path));
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.size());
  return quantize::Measurements::parse(text, path);
}

Status save_statistics(quantize::Measurements& measurements, const CompileOptions& options) {
  for (const DataOption& option : kDataOptions)
    measurements.say(std::string(option.name), option.get(options));
  EC_TRY(AtomicFile file, AtomicFile::create(options.save_statistics));
  EC_CHECK_OK(file.write(measurements.text()));
  return file.commit();
}

Result<CompileOptions> with_options_of_statistics(const CompileOptions& given) {
  CompileOptions options = given;
  if (options.statistics.empty()) return options;
  if (!given.calibration_data.empty())
    return Error(Code::Usage, "--statistics takes the place of --calibration-data")
        .hint("leave one of them out");
  EC_TRY(const quantize::Measurements measurements, load_statistics(given.statistics));
  for (const DataOption& option : kDataOptions) {
    const std::string own = option.get(given);
    const std::string& value = measurements.said(std::string(option.name));
    if (!own.empty() && own != value)
      return Error(Code::BadCalibrationData,
                   fmt::format("the statistics were made with --{} '{}', this is '{}'", option.name,
                               printable(value), printable(own)))
          .file(given.statistics)
          .hint("leave the option out, or make the statistics again with --save-statistics");
    EC_CHECK_OK(option.set(options, value));
  }
  return options;
}

}  // namespace ec
