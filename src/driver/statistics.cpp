#include "driver/statistics.h"

#include <fmt/format.h>

#include "driver/quantize_request.h"
#include "support/file.h"
#include "support/strings.h"

namespace ec {

Status take_options_of_statistics(const OptionCatalog& catalog, Verb verb, Options& options) {
  if (!kQuantizesModel.has(verb) || options.text("statistics").empty()) return {};
  const std::string file = options.text("statistics");
  if (!options.text("calibration-data").empty())
    return Error(Code::Usage, "--statistics takes the place of --calibration-data")
        .hint("leave one of them out");
  EC_TRY(const quantize::Measurements measurements, quantize::Measurements::load(file));
  for (const auto& [name, own] :
       statistics_key(catalog, options, verb, StatisticsRole::DescribesData)) {
    const std::string& kept = measurements.data_option(name);
    if (options.is_given(name) && own != kept)
      return Error(Code::BadCalibrationData,
                   fmt::format("the statistics were made with --{} '{}', this is '{}'", name,
                               printable(kept), printable(own)))
          .file(file)
          .hint("leave the option out, or make the statistics again with --save-statistics");
    if (!kept.empty())
      EC_CHECK_OK(catalog.set_from_text(options, *catalog.find(name, verb)->def, kept,
                                        OptionSource::ConfigFile));
  }
  return {};
}

quantize::MeasuredWith statistics_of_options(const Compilation& c) {
  auto key =
      statistics_key(c.registry().options(), c.options(), c.verb(), StatisticsRole::MustMatch);
  // Names and their aliases mean the same.
  key["target"] = c.target()->name();
  if (const auto strategy = asked_strategy(c); strategy.ok() && *strategy != nullptr)
    key["quantize"] = (*strategy)->name;
  return {key.begin(), key.end()};
}

Status save_statistics(const Compilation& c, quantize::Measurements& measurements) {
  for (const auto& [name, value] :
       statistics_key(c.registry().options(), c.options(), c.verb(), StatisticsRole::DescribesData))
    measurements.set_data_option(name, value);
  EC_TRY(AtomicFile file, AtomicFile::create(c.options().text("save-statistics")));
  EC_CHECK_OK(file.write(measurements.text()));
  return file.commit();
}

}  // namespace ec
