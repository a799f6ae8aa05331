// place: which operation runs where.
#include "driver/phases.h"
#include "driver/quantize_request.h"
#include "quantize/calibration/sample_source.h"
#include "report/kept.h"
#include "report/placement.h"

namespace ec {
namespace {

void name_report(PlacementReport& report, const CompiledModel& model) {
  report.model = model.report.model;
  report.target = model.report.target;
  if (model.strategy != nullptr && model.strategy->predicts) report.predicted_form = "int8";
}

using Samples = std::unique_ptr<quantize::SampleSource>;

// The user's samples, for targets that measure what their form costs; null: there are none.
Result<Samples> samples_of(const Compilation& c, const CompiledModel& model) {
  const std::string& path = c.options().text("calibration-data");
  if (path.empty() || !c.target()->measures_samples()) return Samples();
  EC_TRY(quantize::Preprocessing preprocessing, preprocessing_of(c.options()));
  if (model.facts.folded) preprocessing = model.facts.folded->rest;
  EC_TRY(const std::vector<quantize::ModelInput> inputs, model.used_inputs());
  DiagnosticSink told;  // quantisation has told what there is to tell of the data
  return quantize::open_samples(path, inputs, preprocessing,
                                model.strategy != nullptr ? told : c.sink());
}

}  // namespace

Status place(Compilation& compilation) {
  std::vector<ModelJob> jobs;
  std::vector<Samples> samples;
  for (const CompiledModel& model : compilation.models()) {
    EC_TRY(samples.emplace_back(), samples_of(compilation, model));
    jobs.push_back(model.job(compilation));
    jobs.back().samples = samples.back().get();
  }
  EC_TRY(std::vector<PlacedModel> placed, compilation.target()->place(jobs, compilation.sink()));
  for (size_t i = 0; i < placed.size(); ++i) {
    CompiledModel& model = compilation.models()[i];
    name_report(placed[i].report, model);
    refuse_kept(placed[i].report, model.kept);
    for (PlacementReport& segment : placed[i].segments) name_report(segment, model);
    model.report.placement = placed[i].report;
    model.placed = std::move(placed[i]);
    if (compilation.verb() == Verb::Check || !compilation.options().flag("strict")) continue;
    const PlacedModel& result = *model.placed;
    if (result.segments.empty()) EC_CHECK_OK(refuse_host_operations(result.report));
    for (const PlacementReport& segment : result.segments)
      EC_CHECK_OK(refuse_host_operations(segment));
  }
  return {};
}

}  // namespace ec
