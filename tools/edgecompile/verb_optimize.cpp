// optimize and compile: rewrite a model and write the result.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "cli.h"
#include "driver/load.h"
#include "driver/optimize.h"
#include "driver/save.h"
#include "driver/summary.h"
#include "driver/targets.h"
#include "support/strings.h"
#include "terminal.h"

namespace ec::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

struct Work {
  ModelSummary before, after;
  PipelineReport passes;
  std::unique_ptr<Graph> graph;
  fs::path output;
  double load_ms = 0, save_ms = 0;
};

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Status load_and_optimize(const Settings& settings, std::string_view pipeline, Work& work,
                         DiagnosticSink& sink) {
  const std::string& file = settings.arguments.front();
  const auto start = Clock::now();
  EC_TRY(LoadedModel model, load_model(file, settings.compile, sink));
  work.load_ms = milliseconds_since(start);
  work.before = summarize(*model.graph);
  EC_TRY(work.passes, optimize(*model.graph, settings.compile, pipeline, sink));
  work.after = summarize(*model.graph);
  work.graph = std::move(model.graph);
  return {};
}

Status save(Work& work) {
  const auto start = Clock::now();
  EC_CHECK_OK(save_model(*work.graph, work.output));
  work.save_ms = milliseconds_since(start);
  return {};
}

// -o: a file, or a directory that gets NAME + suffix; nothing: beside the model.
fs::path output_path(const Settings& settings, const std::string& suffix) {
  const fs::path model = settings.arguments.front();
  const fs::path name = model.stem().string() + suffix;
  if (settings.compile.output.empty()) return model.parent_path() / name;
  std::error_code ignored;
  const fs::path given = settings.compile.output;
  return fs::is_directory(given, ignored) ? given / name : given;
}

// Writing over the model would destroy the only copy of it.
Status refuse_overwrite(const std::string& model, const fs::path& output) {
  std::error_code error;
  if (fs::equivalent(model, output, error) && !error)
    return usage_error("the output is the model itself", "choose another name with -o")
        .file(output.string());
  return {};
}

std::string change_table(const Work& work) {
  TextTable table({"Operation", "Before", "After"});
  std::vector<std::string> names;
  const auto count_of = [](const ModelSummary& summary, const std::string& name) {
    for (const OpSummary& op : summary.ops)
      if (op.name == name) return op.count;
    return int64_t{0};
  };
  for (const ModelSummary* summary : {&work.before, &work.after})
    for (const OpSummary& op : summary->ops)
      if (std::find(names.begin(), names.end(), op.name) == names.end()) names.push_back(op.name);
  for (const std::string& name : names)
    table.add({name, format_count(count_of(work.before, name)),
               format_count(count_of(work.after, name))});
  table.add({"total", format_count(work.before.operations), format_count(work.after.operations)});
  return table.text();
}

std::string pass_table(const PipelineReport& report, int verbosity) {
  TextTable table({"Pass", "Runs", "Changes", "Time", "What"});
  for (const PassRun& run : report.passes) {
    std::string what;
    for (const auto& [name, count] : run.stats.counters)
      what += fmt::format("{}{} {}", what.empty() ? "" : ", ", count, name);
    table.add({run.name, std::to_string(run.runs), format_count(run.stats.changes),
               format_ms(run.milliseconds), what});
  }
  std::string out = table.text();
  if (verbosity > 1)
    for (const PassRun& run : report.passes)
      for (const std::string& note : run.stats.notes)
        out += fmt::format("  {}: {}\n", run.name, note);
  return out;
}

Json work_json(const Settings& settings, const Work& work) {
  Json passes = Json::array();
  for (const PassRun& run : work.passes.passes) {
    Json counters = Json::object();
    for (const auto& [name, count] : run.stats.counters) counters[name] = count;
    passes.push_back({{"name", run.name},
                      {"runs", run.runs},
                      {"changes", run.stats.changes},
                      {"milliseconds", run.milliseconds},
                      {"counters", std::move(counters)},
                      {"notes", run.stats.notes}});
  }
  std::error_code ignored;
  const auto size = work.output.empty() ? 0 : fs::file_size(work.output, ignored);
  return {{"model", settings.arguments.front()},
          {"output", work.output.empty() ? Json(nullptr) : Json(work.output.string())},
          {"output_bytes", size},
          {"operations_before", work.before.operations},
          {"operations_after", work.after.operations},
          {"macs_before", work.before.macs},
          {"macs_after", work.after.macs},
          {"parameter_bytes_before", work.before.parameter_bytes},
          {"parameter_bytes_after", work.after.parameter_bytes},
          {"load_milliseconds", work.load_ms},
          {"pass_milliseconds", work.passes.milliseconds},
          {"save_milliseconds", work.save_ms},
          {"passes", std::move(passes)}};
}

std::string work_text(const Settings& settings, const Work& work) {
  std::string out = change_table(work);
  out += fmt::format("\n  read {}, passes {}", format_ms(work.load_ms),
                     format_ms(work.passes.milliseconds));
  if (!work.output.empty()) {
    std::error_code ignored;
    const auto size = static_cast<int64_t>(fs::file_size(work.output, ignored));
    out += fmt::format(", write {} (measured)\n  wrote {} ({})\n", format_ms(work.save_ms),
                       printable(work.output.string(), 1000), format_bytes(size));
  } else {
    out += " (measured)\n  nothing written: give a file with -o X.onnx or -o X.ecir\n";
  }
  if (settings.verbosity > 0) out += "\n" + pass_table(work.passes, settings.verbosity);
  return out;
}

void report(const Settings& settings, const Work& work, Output& output) {
  if (settings.json)
    output.json = work_json(settings, work).dump(-1, ' ', false, Json::error_handler_t::replace);
  if (!settings.quiet) output.text = work_text(settings, work);
}

}  // namespace

Status run_optimize(const Settings& settings, Output& output, DiagnosticSink& sink) {
  Work work;
  if (!settings.compile.output.empty()) {
    work.output = output_path(settings, "_optimized.onnx");
    EC_CHECK_OK(refuse_overwrite(settings.arguments.front(), work.output));
  }
  EC_CHECK_OK(load_and_optimize(settings, "optimize", work, sink));
  if (!work.output.empty()) EC_CHECK_OK(save(work));
  report(settings, work, output);
  return {};
}

Status run_compile(const Settings& settings, Output& output, DiagnosticSink& sink) {
  EC_TRY(const TargetInfo* target, find_target(settings.compile.target));
  Work work;
  work.output = output_path(settings, fmt::format("_{}{}", target->name, target->extension));
  if (to_lower(work.output.extension().string()) != target->extension)
    return usage_error(fmt::format("target '{}' writes {} files, not '{}'", target->name,
                                   target->extension, printable(work.output.filename().string())),
                       fmt::format("use -o NAME{}, or `edgecompile optimize` for an .onnx file",
                                   target->extension));
  EC_CHECK_OK(refuse_overwrite(settings.arguments.front(), work.output));
  EC_CHECK_OK(load_and_optimize(settings, "runtime", work, sink));
  EC_CHECK_OK(save(work));
  report(settings, work, output);
  return {};
}

}  // namespace ec::cli
