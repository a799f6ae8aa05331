// place: which operation runs where.
#include "driver/phases.h"
#include "report/kept.h"
#include "report/placement.h"

namespace ec {
namespace {

void name_report(PlacementReport& report, const CompiledModel& model) {
  report.model = model.report.model;
  report.target = model.report.target;
  if (model.strategy != nullptr && model.strategy->predicts) report.predicted_form = "int8";
}

}  // namespace

Status place(Compilation& compilation) {
  std::vector<ModelJob> jobs;
  for (const CompiledModel& model : compilation.models()) jobs.push_back(model.job(compilation));
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
