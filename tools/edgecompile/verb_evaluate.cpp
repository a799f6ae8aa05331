// evaluate: a model on data, beside a reference.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli.h"
#include "evaluate/evaluate.h"
#include "support/strings.h"
#include "terminal.h"

namespace ec::cli {
namespace {

// More columns than this do not fit a screen: the most frequent mistakes are listed instead.
constexpr size_t kMatrixClasses = 16;
constexpr size_t kListedMistakes = 20;

std::string accuracy_table(const EvaluateReport& report) {
  TextTable table({"Model", "Top-1", "Top-5", "Mean run"});
  const auto add = [&](const EvaluatedModel& model) {
    const auto share = [&](double value) {
      return report.labelled() ? fmt::format("{:.4f}", value) : std::string("-");
    };
    table.add({printable(model.path, 60), share(model.score.top1()), share(model.score.top5()),
               format_ms(model.run_ms)});
  };
  add(report.model);
  if (report.reference) add(*report.reference);
  std::string out = table.text();
  if (report.reference && report.labelled())
    out += fmt::format(
        "  top-1 differs by {:+.4f} from the reference: {} answers put right, {} put wrong\n"
        "  as much or more by chance: {:.0f} %\n",
        report.model.score.top1() - report.reference->score.top1(), report.changed.put_right,
        report.changed.put_wrong, 100 * report.changed.chance());
  return out;
}

std::string outputs_table(const EvaluateReport& report) {
  TextTable table({"Output", "Same top-1", "SQNR", "Cosine", "Mean error", "Largest error"});
  for (const ComparedOutput& output : report.outputs)
    table.add({printable(output.name),
               output.top1_agreement ? fmt::format("{:.4f}", *output.top1_agreement) : "-",
               fmt::format("{:.1f} dB", output.error.sqnr_db()),
               fmt::format("{:.5f}", output.error.cosine()),
               fmt::format("{:.4g}", output.error.mean_error()),
               fmt::format("{:.4g}", output.error.largest)});
  return table.text();
}

std::string matrix_text(const EvaluateReport& report, const EvaluatedModel& model,
                        const std::set<size_t>& classes) {
  std::vector<std::string> header{"Class"};
  for (const size_t c : classes) header.push_back(printable(report.class_name(c), 10));
  TextTable table(std::move(header));
  for (const size_t label : classes) {
    std::vector<std::string> row{printable(report.class_name(label), 24)};
    for (const size_t predicted : classes) {
      const auto found = model.score.confusion().find({label, predicted});
      row.push_back(std::to_string(found == model.score.confusion().end() ? 0 : found->second));
    }
    table.add(std::move(row));
  }
  return table.text();
}

std::string mistakes_text(const EvaluateReport& report, const EvaluatedModel& model) {
  std::vector<std::pair<std::pair<size_t, size_t>, int64_t>> mistakes;
  for (const auto& entry : model.score.confusion())
    if (entry.first.first != entry.first.second) mistakes.push_back(entry);
  std::stable_sort(mistakes.begin(), mistakes.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  TextTable table({"Class", "Taken for", "Times"});
  for (size_t i = 0; i < std::min(kListedMistakes, mistakes.size()); ++i)
    table.add({printable(report.class_name(mistakes[i].first.first), 40),
               printable(report.class_name(mistakes[i].first.second), 40),
               format_count(mistakes[i].second)});
  std::string out = table.text();
  if (mistakes.size() > kListedMistakes)
    out += fmt::format("  and {} more; --json lists all\n", mistakes.size() - kListedMistakes);
  return out;
}

std::string confusion_text(const EvaluateReport& report, const EvaluatedModel& model) {
  std::set<size_t> classes;
  for (const auto& [pair, count] : model.score.confusion()) {
    classes.insert(pair.first);
    classes.insert(pair.second);
  }
  const bool matrix = classes.size() <= kMatrixClasses;
  return fmt::format("\n  {}: {}\n\n", printable(model.path, 60),
                     matrix ? "rows are labels, columns what was predicted" : "mistakes") +
         (matrix ? matrix_text(report, model, classes) : mistakes_text(report, model));
}

std::string preprocessing_text(const EvaluatedModel& model) {
  const std::string_view from =
      model.preprocessing_from == PreprocessingFrom::File      ? " (recorded in the file)"
      : model.preprocessing_from == PreprocessingFrom::Nothing ? " (neither given nor recorded)"
                                                               : "";
  return fmt::format("  {}: {}{}\n", printable(model.path, 60), model.preprocessing, from);
}

std::string report_text(const EvaluateReport& report) {
  std::string out =
      fmt::format("{} samples of {}", format_count(static_cast<int64_t>(report.samples)),
                  printable(report.data, 200));
  out += report.labelled()
             ? fmt::format("; labels: {}{}\n", report.label_source,
                           report.label_offset != 0
                               ? fmt::format(", score {} further", report.label_offset)
                               : std::string())
             : std::string("; no labels\n");
  out += preprocessing_text(report.model);
  if (report.reference) out += preprocessing_text(*report.reference);
  out += "\n" + accuracy_table(report);
  if (report.reference) out += "\n" + outputs_table(report);
  if (!report.confusion || !report.labelled()) return out;
  out += confusion_text(report, report.model);
  if (report.reference) out += confusion_text(report, *report.reference);
  return out;
}

}  // namespace

Status run_evaluate(const Settings& settings, Output& output, DiagnosticSink& sink) {
  EC_TRY(const EvaluateReport report,
         evaluate_model(default_registry(), settings.arguments.front(), settings.options, sink));
  if (settings.wants_json()) output.json = evaluate_json(report);
  if (!settings.quiet) output.text = report_text(report);
  return {};
}

}  // namespace ec::cli
