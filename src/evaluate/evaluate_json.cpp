#include <nlohmann/json.hpp>

#include "evaluate/evaluate.h"

namespace ec {
namespace {

using Json = nlohmann::ordered_json;

Json model_json(const EvaluatedModel& model, bool labelled) {
  Json json{{"path", model.path}};
  if (labelled) {
    json["top1"] = model.score.top1();
    json["top5"] = model.score.top5();
  }
  json["preprocessing"] = model.preprocessing;
  json["preprocessing_from"] = preprocessing_from_name(model.preprocessing_from);
  json["device"] = model.device;
  json["run_milliseconds"] = model.run_ms;
  return json;
}

Json output_json(const ComparedOutput& output) {
  Json json{{"name", output.name},
            {"sqnr_db", output.error.sqnr_db()},
            {"cosine", output.error.cosine()},
            {"rmse", output.error.rmse()},
            {"mean_error", output.error.mean_error()},
            {"max_error", output.error.largest}};
  if (output.top1_agreement) json["top1_agreement"] = *output.top1_agreement;
  return json;
}

// Pairs that occurred; a full matrix of a thousand classes is mostly zeros.
Json confusion_json(const EvaluateReport& report, const EvaluatedModel& model) {
  Json entries = Json::array();
  for (const auto& [pair, count] : model.score.confusion())
    entries.push_back({{"label", report.class_name(pair.first)},
                       {"predicted", report.class_name(pair.second)},
                       {"count", count}});
  return entries;
}

}  // namespace

std::string evaluate_json(const EvaluateReport& report) {
  Json json{{"data", report.data}, {"samples", report.samples}};
  if (report.labelled()) {
    json["labels"] = report.label_source;
    json["label_offset"] = report.label_offset;
    json["score_output"] = report.score_output;
    if (!report.class_names.empty()) json["classes"] = report.class_names;
  }
  json["model"] = model_json(report.model, report.labelled());
  if (report.reference) {
    json["reference"] = model_json(*report.reference, report.labelled());
    json["outputs"] = Json::array();
    for (const ComparedOutput& output : report.outputs)
      json["outputs"].push_back(output_json(output));
    if (report.labelled())
      json["changed_answers"] = {{"put_right", report.changed.put_right},
                                 {"put_wrong", report.changed.put_wrong},
                                 {"chance", report.changed.chance()}};
  }
  if (report.confusion && report.labelled()) {
    json["model"]["confusion"] = confusion_json(report, report.model);
    if (report.reference)
      json["reference"]["confusion"] = confusion_json(report, *report.reference);
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ec
