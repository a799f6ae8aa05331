#include <nlohmann/json.hpp>

#include "report/quantize_json.h"

namespace ec {
namespace {

using Json = nlohmann::ordered_json;

// What the terminal shows of them.
constexpr size_t kWorstLayers = 10;

Json error_json(const quantize::ErrorStatistics& error) {
  return {{"sqnr_db", error.sqnr_db()},
          {"cosine", error.cosine()},
          {"rmse", error.rmse()},
          {"max_error", error.largest}};
}

Json layer_json(const quantize::LayerAccuracy& layer) {
  Json json{{"name", layer.name}, {"op", layer.op}, {"tensor", layer.tensor}};
  json.update(error_json(layer.error));
  json["rmse_in_steps"] =
      layer.scale > 0 ? layer.error.rmse() / static_cast<double>(layer.scale) : 0.0;
  json["clip_rate"] = layer.error.clip_rate();
  if (layer.own_share) json["own_share"] = *layer.own_share;
  if (!layer.cause.empty()) {
    json["cause"] = layer.cause;
    json["advice"] = layer.advice;
  }
  json["scale"] = layer.scale;
  json["zero_point"] = layer.zero_point;
  return json;
}

Json accuracy_json(const quantize::AccuracyReport& accuracy) {
  Json inputs = Json::array(), outputs = Json::array(), layers = Json::array();
  Json worst = Json::array();
  for (const quantize::LayerAccuracy& input : accuracy.inputs) inputs.push_back(layer_json(input));
  for (const quantize::LayerAccuracy* layer : accuracy.ranked())
    if (worst.size() < kWorstLayers) worst.push_back(layer->name);
  for (const quantize::OutputAccuracy& output : accuracy.outputs) {
    Json json{{"name", output.name}};
    json.update(error_json(output.error));
    if (output.top1_agreement) json["top1_agreement"] = *output.top1_agreement;
    outputs.push_back(std::move(json));
  }
  for (const quantize::LayerAccuracy& layer : accuracy.layers) layers.push_back(layer_json(layer));
  return {{"samples", accuracy.samples},      {"held_out", accuracy.held_out},
          {"inputs", std::move(inputs)},      {"outputs", std::move(outputs)},
          {"worst_layers", std::move(worst)}, {"layers", std::move(layers)}};
}

}  // namespace

std::string quantize_json(const quantize::QuantizeReport& report) {
  Json stored = Json::array();
  for (const quantize::StoredWeight& weight : report.stored_weights)
    stored.push_back({{"name", weight.name},
                      {"type", weight.type},
                      {"bytes_before", weight.bytes_before},
                      {"bytes_after", weight.bytes_after},
                      {"sqnr_db", weight.error.sqnr_db()}});
  Json kept = Json::array(), steps = Json::array(), methods = Json::array(), raised = Json::array();
  for (const quantize::MethodGain& gain : report.methods)
    methods.push_back({{"method", gain.method},
                       {"applied", gain.applied},
                       {"before_db", gain.before_db},
                       {"after_db", gain.after_db},
                       {"note", gain.note}});
  for (const quantize::RaisedLayer& layer : report.raised)
    raised.push_back({{"name", layer.name},
                      {"op", layer.op},
                      {"to", layer.to},
                      {"work_share", layer.work_share},
                      {"on_cpu", layer.leaves_device}});
  for (const quantize::KeptInFloat& op : report.kept_in_float)
    kept.push_back({{"name", op.name}, {"op", op.op}, {"reason", op.reason}});
  for (const quantize::StepTime& step : report.steps)
    steps.push_back({{"step", step.step}, {"ms", step.milliseconds}});
  const Json json{{"strategy", report.strategy},
                  {"target", report.target},
                  {"method", report.method},
                  {"io_type", report.io_type},
                  {"preprocessing", report.preprocessing},
                  {"calibration_samples", report.calibration_samples},
                  {"integer_operations", report.integer_ops},
                  {"float_operations", report.float_ops},
                  {"kept_in_float", std::move(kept)},
                  {"widened_weights", report.widened_weights},
                  {"stored_weights", std::move(stored)},
                  {"methods", std::move(methods)},
                  {"raised", std::move(raised)},
                  {"accuracy", accuracy_json(report.accuracy)},
                  {"steps", std::move(steps)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ec
