// evaluate: a model on data, beside a reference.
#include <fmt/format.h>

#include <algorithm>

#include "cli.h"
#include "edgecompiler/report.h"
#include "evaluate/evaluate.h"
#include "report/describe_run.h"
#include "report_table.h"
#include "support/strings.h"
#include "terminal.h"

namespace ec::cli {
namespace {

// More columns than this do not fit a screen: the most frequent mistakes are listed instead.
constexpr size_t kMatrixClasses = 16;
constexpr size_t kListedMistakes = 20;

std::string accuracy_table(const EvaluateReport& report) {
  std::vector<EvaluatedModel> models = {report.model};
  if (report.reference) models.push_back(*report.reference);
  std::string out = report.box_labels.empty()
                        ? report_table(models, {"path", "top1", "top5", "run_milliseconds"})
                        : report_table(models, {"path", "map50", "map50_95", "run_milliseconds"});
  if (report.changed)
    out += fmt::format(
        "  top-1 differs by {:+.4f} from the reference: {} answers put right, {} put wrong\n"
        "  as much or more by chance: {:.0f} %\n",
        report.model.top1.value_or(0) - report.reference->top1.value_or(0),
        report.changed->put_right, report.changed->put_wrong, 100 * report.changed->chance);
  return out;
}

// What the outputs mean, and how far the answers agree.
std::string task_text(const EvaluateReport& report) {
  const TaskSummary& task = report.task;
  if (task.name == "unknown")
    return fmt::format("  {}\n  choose one with --task\n", printable(task.reason, 400));
  std::string out = fmt::format("  {}{}{}\n    {}\n", task.name, task.head.empty() ? "" : ": ",
                                task.head, printable(task.reason, 400));
  if (task.figures.empty()) return out;
  TextTable table({"Beside the reference's own answers", ""});
  for (const TaskFigure& figure : task.figures)
    table.add({figure.text, figure.count ? format_count(static_cast<int64_t>(figure.value))
                                         : fmt::format("{:.4f}", figure.value)});
  return out + "\n" + table.text();
}

std::string labels_text(const EvaluateReport& report) {
  if (report.labelled())
    return fmt::format("; labels: {}{}\n", report.labels,
                       report.label_offset != 0
                           ? fmt::format(", score {} further", report.label_offset)
                           : std::string());
  if (report.box_labels.empty()) return "; no labels\n";
  return fmt::format(
      "; boxes: {}{}\n", printable(report.box_labels, 200),
      report.unlabelled_pictures > 0
          ? fmt::format(", which do not name {} of the pictures", report.unlabelled_pictures)
          : std::string());
}

// Classes that occur, in the order of the list.
std::vector<std::string> classes_of(const std::vector<ConfusionCount>& confusion,
                                    const std::vector<std::string>& names) {
  std::vector<std::string> classes;
  const auto position = [&](const std::string& name) {
    const auto found = std::find(names.begin(), names.end(), name);
    // Classes without a name are numbers.
    return found != names.end() ? found - names.begin()
                                : static_cast<ptrdiff_t>(parse_int(name).value_or(0));
  };
  for (const ConfusionCount& entry : confusion)
    for (const std::string& name : {entry.label, entry.predicted})
      if (std::find(classes.begin(), classes.end(), name) == classes.end()) classes.push_back(name);
  std::stable_sort(classes.begin(), classes.end(),
                   [&](const auto& a, const auto& b) { return position(a) < position(b); });
  return classes;
}

std::string matrix_text(const std::vector<ConfusionCount>& confusion,
                        const std::vector<std::string>& classes) {
  std::vector<std::string> header{"Class"};
  for (const std::string& name : classes) header.push_back(printable(name, 10));
  TextTable table(std::move(header));
  for (const std::string& label : classes) {
    std::vector<std::string> row{printable(label, 24)};
    for (const std::string& predicted : classes) {
      int64_t count = 0;
      for (const ConfusionCount& entry : confusion)
        if (entry.label == label && entry.predicted == predicted) count += entry.count;
      row.push_back(std::to_string(count));
    }
    table.add(std::move(row));
  }
  return table.text();
}

std::string mistakes_text(std::vector<ConfusionCount> mistakes) {
  std::erase_if(mistakes, [](const ConfusionCount& c) { return c.label == c.predicted; });
  std::stable_sort(mistakes.begin(), mistakes.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  const size_t more = mistakes.size() - std::min(kListedMistakes, mistakes.size());
  mistakes.resize(mistakes.size() - more);
  std::string out = report_table(mistakes, {"label", "predicted", "count"});
  if (more > 0) out += fmt::format("  and {} more; --json lists all\n", more);
  return out;
}

std::string confusion_text(const EvaluateReport& report, const EvaluatedModel& model) {
  if (!model.confusion) return {};
  const std::vector<std::string> classes = classes_of(*model.confusion, report.classes);
  const bool matrix = classes.size() <= kMatrixClasses;
  return fmt::format("\n  {}: {}\n\n", printable(model.path, 60),
                     matrix ? "rows are labels, columns what was predicted" : "mistakes") +
         (matrix ? matrix_text(*model.confusion, classes) : mistakes_text(*model.confusion));
}

std::string preprocessing_text(const EvaluatedModel& model) {
  const std::string_view from =
      model.preprocessing_from == "file"         ? " (recorded in the file)"
      : model.preprocessing_from == "other file" ? " (recorded in the other model's file)"
      : model.preprocessing_from == "nothing"    ? " (neither given nor recorded)"
                                                 : "";
  return fmt::format("  {}: {}{}\n", printable(model.path, 60), model.preprocessing, from);
}

std::string report_text(const EvaluateReport& report) {
  std::string out =
      fmt::format("{} samples of {}", format_count(report.samples), printable(report.data, 200));
  out += labels_text(report);
  out += preprocessing_text(report.model);
  if (report.reference) out += preprocessing_text(*report.reference);
  out += "\n" + task_text(report);
  out += "\n" + accuracy_table(report);
  if (report.reference)
    out += "\n" + report_table(report.outputs, {"name", "top1_agreement", "sqnr_db", "cosine",
                                                "mean_error", "max_error"});
  out += confusion_text(report, report.model);
  if (report.reference) out += confusion_text(report, *report.reference);
  return out;
}

}  // namespace

Status run_evaluate(const Settings& settings, Output& output, DiagnosticSink& sink) {
  EC_TRY(const EvaluateReport report,
         evaluate_model(default_registry(), settings.arguments.front(), settings.options, sink));
  if (settings.wants_json()) output.json = to_json(report);
  if (!settings.quiet) output.text = report_text(report);
  return {};
}

}  // namespace ec::cli
