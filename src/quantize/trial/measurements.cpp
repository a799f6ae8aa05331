#include "quantize/trial/measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <nlohmann/json.hpp>

#include "ir/base64.h"
#include "ir/text.h"
#include "support/input_file.h"
#include "support/sha256.h"
#include "support/strings.h"
#include "support/text_memory.h"

namespace ec::quantize {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 5;
constexpr std::string_view kFormat = "edgecompiler statistics";

Error corrupt() {
  return Error(Code::CorruptFile, "the file holds no statistics of this program")
      .hint("make it again with --save-statistics FILE");
}

// Structure, names and weights.
std::string fingerprint(const Graph& graph) {
  std::string text;
  for (const Tensor* input : graph.inputs()) text += input->name() + input->type().text() + ";";
  for (const Tensor* tensor : graph.tensors())
    if (tensor->is_constant())
      text += tensor->name() + sha256_hex(tensor->raw_data().bytes()) + ";";
  return sha256_hex(text + print(graph, ConstantText::Elide));
}

// --- answers as JSON -----------------------------------------------------------------------------
Json json_of(const Range& range) { return {range.min, range.max}; }
Range range_from(const Json& json) { return {json.at(0), json.at(1)}; }

Json json_of(const CalibrationRun& run, const Graph& graph) {
  Json tensors = Json::object(), inputs = Json::array();
  for (const Tensor* tensor : graph.tensors()) {
    const uint32_t id = tensor->id();
    if (!run.ranges[id]) continue;
    Json entry{{"range", json_of(*run.ranges[id])}, {"extremes", json_of(*run.extremes[id])}};
    for (const Range& candidate : run.candidates[id])
      entry["candidates"].push_back(json_of(candidate));
    if (run.unbounded[id]) entry["unbounded"] = true;
    if (const auto& channels = run.channels[id])
      entry["channels"] = {{"mean", channels->mean},
                           {"mean_square", channels->mean_square},
                           {"min", channels->min},
                           {"max", channels->max}};
    tensors[tensor->name()] = std::move(entry);
  }
  for (const auto& input : run.inputs)
    inputs.push_back(
        {{"range", json_of(input.range)}, {"mean", input.mean}, {"deviation", input.deviation}});
  return {{"samples", run.samples},
          {"extreme_samples", run.extreme_samples},
          {"inputs", std::move(inputs)},
          {"tensors", std::move(tensors)}};
}

bool is_sound(const Range& range) {
  return std::isfinite(range.min) && std::isfinite(range.max) && range.min <= range.max;
}

// More than anybody calibrates on; lists are made of this many.
constexpr size_t kMostSamples = 10'000'000;

// A number of samples. Throws as the JSON library does where it is none.
size_t count_from(const Json& json) {
  if (json.is_number_unsigned() && json.get<uint64_t>() <= kMostSamples) return json;
  throw Json::out_of_range::create(401, "not a number of samples", &json);
}

// Whether the run is one that calibrate() could have made: a file may hold anything.
bool is_sound(const CalibrationRun& run, const Graph& graph, const Plan& plan) {
  if (run.inputs.size() != graph.inputs().size()) return false;
  for (const Tensor* tensor : graph.tensors()) {
    const bool needed = plan.observed[tensor->id()] && !graph.is_unused(tensor) &&
                        plan.quantized[plan.stored_form(tensor)];
    if (needed && !run.ranges[tensor->id()]) return false;
  }
  size_t candidates = 0;
  for (const Tensor* tensor : graph.tensors()) {
    const uint32_t id = tensor->id();
    if (!run.ranges[id]) continue;
    const auto& tried = run.candidates[id];
    if (candidates == 0) candidates = tried.size();
    if (!is_sound(*run.ranges[id]) || !is_sound(*run.extremes[id]) || tried.empty() ||
        tried.size() != candidates ||
        !std::all_of(tried.begin(), tried.end(), [](const Range& r) { return is_sound(r); }))
      return false;
    if (!run.channels[id]) continue;
    const ChannelStatistics& channels = *run.channels[id];
    const auto count = static_cast<int64_t>(channels.mean.size());
    if (!tensor->type().is_static() || tensor->shape()->rank() == 0 ||
        tensor->shape()->sizes().back() != count || channels.min.size() != channels.mean.size() ||
        channels.mean_square.size() != channels.mean.size() ||
        channels.max.size() != channels.mean.size())
      return false;
  }
  return true;
}

bool is_sound(const AccuracyReport& report, const Graph& graph) {
  return std::all_of(report.layers.begin(), report.layers.end(), [&](const LayerAccuracy& layer) {
    return layer.operation < graph.operation_id_bound() &&
           graph.operation(layer.operation) != nullptr;
  });
}

CalibrationRun run_from(const Json& json, const Graph& graph) {
  CalibrationRun run;
  const size_t bound = graph.tensor_id_bound();
  run.ranges.resize(bound);
  run.extremes.resize(bound);
  run.candidates.resize(bound);
  run.channels.resize(bound);
  run.unbounded.resize(bound, false);
  for (const Tensor* tensor : graph.tensors()) {
    const auto found = json.at("tensors").find(tensor->name());
    if (found == json.at("tensors").end()) continue;
    const uint32_t id = tensor->id();
    run.ranges[id] = range_from(found->at("range"));
    run.extremes[id] = range_from(found->at("extremes"));
    for (const Json& candidate : found->value("candidates", Json::array()))
      run.candidates[id].push_back(range_from(candidate));
    run.unbounded[id] = found->value("unbounded", false);
    if (const auto channels = found->find("channels"); channels != found->end())
      run.channels[id] = ChannelStatistics{channels->at("mean"), channels->at("mean_square"),
                                           channels->at("min"), channels->at("max")};
  }
  for (const Json& input : json.at("inputs"))
    run.inputs.push_back({range_from(input.at("range")), input.at("mean"), input.at("deviation")});
  run.samples = count_from(json.at("samples"));
  run.extreme_samples = json.at("extreme_samples").get<std::vector<size_t>>();
  return run;
}

Json json_of(const ErrorStatistics& e) {
  return {e.signal, e.noise, e.product, e.quantized, e.largest, e.absolute, e.clipped, e.count};
}
ErrorStatistics error_from(const Json& json) {
  return {json.at(0), json.at(1), json.at(2), json.at(3),
          json.at(4), json.at(5), json.at(6), json.at(7)};
}

Json json_of(const std::vector<LayerAccuracy>& layers) {
  Json list = Json::array();
  for (const LayerAccuracy& layer : layers)
    list.push_back({{"name", layer.name},
                    {"op", layer.op},
                    {"tensor", layer.tensor},
                    {"operation", layer.operation},
                    {"scale", layer.scale},
                    {"zero_point", layer.zero_point},
                    {"error", json_of(layer.error)}});
  return list;
}
std::vector<LayerAccuracy> layers_from(const Json& json) {
  std::vector<LayerAccuracy> layers;
  for (const Json& entry : json) {
    LayerAccuracy layer;
    layer.name = entry.at("name");
    layer.op = entry.at("op");
    layer.tensor = entry.at("tensor");
    layer.operation = entry.at("operation");
    layer.scale = entry.at("scale");
    layer.zero_point = entry.at("zero_point");
    layer.error = error_from(entry.at("error"));
    layers.push_back(std::move(layer));
  }
  return layers;
}

Json json_of(const tasks::TaskResult& result) {
  Json figures = Json::array();
  for (const tasks::Figure& figure : result.figures)
    figures.push_back({figure.name, figure.text, figure.value, figure.count});
  Json json{{"task", tasks::task_name(result.task)},
            {"head", result.head},
            {"reason", result.reason},
            {"figures", figures}};
  if (result.agreement) json["agreement"] = *result.agreement;
  if (result.answers) json["answers"] = *result.answers;
  return json;
}
tasks::TaskResult task_from(const Json& json) {
  tasks::TaskResult result;
  result.task = tasks::parse_task(json.at("task").get<std::string>());
  result.head = json.at("head");
  result.reason = json.at("reason");
  for (const Json& figure : json.at("figures"))
    result.figures.push_back({figure.at(0), figure.at(1), figure.at(2), figure.at(3)});
  if (const auto agreement = json.find("agreement"); agreement != json.end())
    result.agreement = agreement->get<double>();
  if (const auto answers = json.find("answers"); answers != json.end())
    result.answers = answers->get<int64_t>();
  return result;
}

Json json_of(const AccuracyReport& report) {
  Json outputs = Json::array();
  for (const OutputAccuracy& output : report.outputs) {
    outputs.push_back({{"name", output.name}, {"error", json_of(output.error)}});
    if (output.top1_agreement) outputs.back()["top1"] = *output.top1_agreement;
    for (const PartAccuracy& part : output.parts)
      outputs.back()["parts"].push_back(
          {{"name", part.name},
           {"scores", part.meaning == PartMeaning::Scores},
           {"error", json_of(part.error)},
           {"decisions", {part.decisions.expected, part.decisions.got, part.decisions.both}}});
  }
  Json json{{"samples", report.samples},
            {"inputs", json_of(report.inputs)},
            {"layers", json_of(report.layers)},
            {"outputs", outputs}};
  if (report.task) json["task"] = json_of(*report.task);
  if (report.task_loss) json["task_loss"] = *report.task_loss;
  return json;
}

AccuracyReport accuracy_from(const Json& json) {
  AccuracyReport report;
  report.inputs = layers_from(json.at("inputs"));
  report.layers = layers_from(json.at("layers"));
  for (const Json& entry : json.at("outputs")) {
    OutputAccuracy output{entry.at("name"), error_from(entry.at("error")), std::nullopt, {}};
    if (const auto top1 = entry.find("top1"); top1 != entry.end())
      output.top1_agreement = top1->get<double>();
    for (const Json& part : entry.value("parts", Json::array())) {
      const Json& decisions = part.at("decisions");
      output.parts.push_back({part.at("name"),
                              part.at("scores") ? PartMeaning::Scores : PartMeaning::Values,
                              error_from(part.at("error")),
                              {decisions.at(0), decisions.at(1), decisions.at(2)}});
    }
    report.outputs.push_back(std::move(output));
  }
  if (const auto task = json.find("task"); task != json.end()) report.task = task_from(*task);
  if (const auto loss = json.find("task_loss"); loss != json.end())
    report.task_loss = loss->get<double>();
  report.samples = count_from(json.at("samples"));
  return report;
}

// Weights that differ from those they were made of, by operation.
Json json_of(const LayerWeights& weights, const LayerWeights& before) {
  Json list = Json::array();
  for (size_t id = 0; id < weights.size(); ++id)
    if (weights[id] && weights[id] != before[id])
      list.push_back({{"operation", id},
                      {"values", base64_encode(std::as_bytes(std::span(weights[id]->values)))}});
  return list;
}
// The weights that a record holds; empty where it does not fit the layers.
LayerWeights weights_from(const Json& json, const LayerWeights& before) {
  LayerWeights weights = before;
  for (const Json& entry : json) {
    const size_t id = entry.at("operation");
    const auto bytes = base64_decode(entry.at("values").get<std::string>());
    if (id >= weights.size() || !weights[id] || !bytes ||
        bytes->size() != weights[id]->values.size())
      return {};
    std::memcpy(weights[id]->values.data(), bytes->data(), bytes->size());
    weights[id]->adjusted = true;
  }
  return weights;
}

}  // namespace

Error statistics_mismatch(std::string what) {
  return Error(Code::BadCalibrationData, std::move(what))
      .hint("make the statistics again with --save-statistics, from this model and these options");
}

struct Measurements::Record {
  std::string file;  // that it was read from
  MeasuredWith with, data;
  std::string graph;
  size_t num_samples = 0;
  Json answers = Json::array();  // {kind, value}
  size_t next = 0;

  // `read` makes the answer of JSON that a file may have got wrong in any way; `sound` judges it.
  template <class T, class Measure, class Write, class Read, class Sound>
  Result<T> answer(bool playing, const char* kind, Measure&& measure, Write&& write, Read&& read,
                   Sound&& sound) {
    if (!playing) {
      EC_TRY(T value, measure());
      answers.push_back({{"kind", kind}, {"value", write(value)}});
      return value;
    }
    try {
      if (next >= answers.size() || answers[next].at("kind") != kind)
        return statistics_mismatch("the statistics do not hold what this quantisation measures")
            .file(file);
      T value = read(answers[next++].at("value"));
      if (sound(value)) return value;
    } catch (const nlohmann::json::exception&) {
      // A value that cannot be read is treated like an unsound one.
    }
    return corrupt().file(file);
  }
};

Measurements::Measurements() : record_(std::make_unique<Record>()) {}
Measurements::~Measurements() = default;
Measurements::Measurements(Measurements&&) noexcept = default;
Measurements& Measurements::operator=(Measurements&&) noexcept = default;

Result<Measurements> Measurements::load(const std::string& path) {
  EC_TRY(const Blob file, read_file(path));
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.size());
  return parse(text, path);
}

Result<Measurements> Measurements::parse(std::string_view text, std::string file) {
  if (Status fits = check_json(text, text.size()); !fits.ok())
    return std::move(fits).error().file(file);
  Json json = Json::parse(text, nullptr, false);
  Measurements result;
  result.playing_ = true;
  result.record_->file = file;
  try {
    if (json.at("format") != kFormat) return corrupt().file(file);
    if (json.at("version") != kVersion)
      return statistics_mismatch("the statistics are those of another version").file(file);
    result.record_->graph = json.at("graph");
    result.record_->num_samples = count_from(json.at("samples"));
    result.record_->with = json.at("options").get<MeasuredWith>();
    result.record_->data = json.at("data").get<MeasuredWith>();
    result.record_->answers = std::move(json.at("answers"));
    if (result.record_->answers.is_array()) return result;
  } catch (const nlohmann::json::exception&) {
    // Answered below.
  }
  return corrupt().file(std::move(file));
}

std::string Measurements::text() const {
  const Json json{{"format", kFormat},          {"version", kVersion},
                  {"graph", record_->graph},    {"samples", record_->num_samples},
                  {"options", record_->with},   {"data", record_->data},
                  {"answers", record_->answers}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

size_t Measurements::num_samples() const { return record_->num_samples; }
void Measurements::set_num_samples(size_t count) { record_->num_samples = count; }

Status Measurements::check(const Graph& graph, const MeasuredWith& with) {
  const std::string own = fingerprint(graph);
  if (!playing_) {
    record_->graph = own;
    record_->with = with;
    return {};
  }
  for (const auto& [name, value] : with) {
    const auto found = record_->with.find(name);
    const std::string had = found == record_->with.end() ? std::string() : found->second;
    if (had != value)
      return statistics_mismatch(fmt::format("the statistics were made with {} '{}', this is '{}'",
                                             name, printable(had), printable(value)))
          .file(record_->file);
  }
  if (own != record_->graph)
    return statistics_mismatch(
               "the statistics are those of another model, or of other sizes or passes")
        .file(record_->file);
  return {};
}

const std::string& Measurements::data_option(const std::string& name) const {
  static const std::string kNothing;
  const auto found = record_->data.find(name);
  return found == record_->data.end() ? kNothing : found->second;
}
void Measurements::set_data_option(const std::string& name, std::string value) {
  record_->data[name] = std::move(value);
}

Result<CalibrationRun> Measurements::calibration(
    const Graph& graph, const Plan& plan, const std::function<Result<CalibrationRun>()>& measure) {
  return record_->answer<CalibrationRun>(
      playing_, "ranges", measure, [&](const CalibrationRun& run) { return json_of(run, graph); },
      [&](const Json& json) { return run_from(json, graph); },
      [&](const CalibrationRun& run) { return is_sound(run, graph, plan); });
}

Result<OutputError> Measurements::output_error(
    const std::function<Result<OutputError>()>& measure) {
  return record_->answer<OutputError>(
      playing_, "trial", measure,
      [](const OutputError& error) {
        return Json{error.noise, error.signal, error.judged, error.parts, error.by_task};
      },
      [](const Json& json) {
        return OutputError{json.at(0), json.at(1), json.at(2), json.at(3), json.at(4)};
      },
      [](const OutputError&) { return true; });
}

Result<AccuracyReport> Measurements::accuracy(
    const Graph& graph, const std::function<Result<AccuracyReport>()>& measure) {
  return record_->answer<AccuracyReport>(
      playing_, "accuracy", measure, [](const AccuracyReport& report) { return json_of(report); },
      accuracy_from, [&](const AccuracyReport& report) { return is_sound(report, graph); });
}

Result<LayerWeights> Measurements::weights(const LayerWeights& before,
                                           const std::function<Result<LayerWeights>()>& measure) {
  return record_->answer<LayerWeights>(
      playing_, "weights", measure,
      [&](const LayerWeights& adapted) { return json_of(adapted, before); },
      [&](const Json& json) { return weights_from(json, before); },
      [&](const LayerWeights& adapted) { return adapted.size() == before.size(); });
}

}  // namespace ec::quantize
