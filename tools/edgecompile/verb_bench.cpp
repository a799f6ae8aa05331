// bench: latency, throughput and, with --per-op, where the time goes.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "analysis/costs.h"
#include "cli.h"
#include "driver/jobs.h"
#include "edgecompiler/report.h"
#include "inputs.h"
#include "limits/limits.h"
#include "ops/op_def.h"
#include "report/describe_run.h"
#include "report_table.h"
#include "support/budget.h"
#include "terminal.h"

namespace ec::cli {
namespace {

std::vector<OpTime> op_times(const Session& session) {
  std::vector<OpTime> rows;
  double total = 0;
  for (const OpTiming& timing : session.timings()) {
    if (timing.runs == 0) continue;
    OpTime row;
    row.name = timing.op->location().name();
    row.op = op_name(timing.op->kind());
    row.output_type = timing.op->outputs().empty() ? "" : timing.op->output()->type().text();
    row.fast = timing.fast;
    row.milliseconds = timing.seconds * 1e3 / static_cast<double>(timing.runs);
    row.macs = count_macs(*timing.op);
    if (row.macs && *row.macs > 0 && row.milliseconds > 0)
      row.gmac_per_second = static_cast<double>(*row.macs) / row.milliseconds / 1e6;
    total += row.milliseconds;
    rows.push_back(std::move(row));
  }
  for (OpTime& row : rows) row.share_percent = total > 0 ? 100.0 * row.milliseconds / total : 0;
  std::stable_sort(rows.begin(), rows.end(), [](const OpTime& a, const OpTime& b) {
    return a.milliseconds > b.milliseconds;
  });
  return rows;
}

BenchReport report_of(const std::string& model, const OpenedSession& opened,
                      const BenchmarkStats& stats) {
  const MemoryReport memory = opened.session->memory();
  BenchReport report;
  report.model = model;
  report.device = opened.device;
  report.iterations = stats.iterations;
  report.threads = opened.session->threads();
  report.mean_ms = stats.mean_ms;
  report.p50_ms = stats.p50_ms;
  report.p95_ms = stats.p95_ms;
  report.p99_ms = stats.p99_ms;
  report.min_ms = stats.min_ms;
  report.max_ms = stats.max_ms;
  report.throughput_fps = stats.throughput_fps;
  report.open_ms = opened.open_ms;
  report.memory = {static_cast<int64_t>(memory.arena_bytes),
                   static_cast<int64_t>(memory.lower_bound),
                   static_cast<int64_t>(memory.constant_bytes)};
  return report;
}

std::string report_text(const BenchReport& report) {
  return report_table(std::vector<BenchReport>{report}, {"mean_ms", "p50_ms", "p95_ms", "p99_ms",
                                                         "min_ms", "max_ms", "throughput_fps"}) +
         fmt::format(
             "\n  {} runs on {}, {} thread{} (measured here)\n  arena {} (lower bound {}), packed "
             "weights {} (exact)\n",
             report.iterations, report.device, report.threads, report.threads == 1 ? "" : "s",
             format_bytes(report.memory.arena_bytes), format_bytes(report.memory.arena_lower_bound),
             format_bytes(report.memory.packed_bytes));
}

}  // namespace

Status run_bench(const Settings& settings, Output& output, DiagnosticSink& sink) {
  const std::string& model = settings.arguments.front();
  const Options& options = settings.options;
  // One run under limits tells whether the model ends at all, and fits.
  std::error_code unknown;
  const auto size = std::filesystem::file_size(model, unknown);
  Budget budget(run_limits(options, unknown ? 0 : static_cast<size_t>(size)));
  std::optional<BudgetScope> scope(std::in_place, budget);
  EC_TRY(const OpenedSession opened,
         open_session(default_registry(), model, Verb::Bench, options, sink));
  EC_TRY(const std::vector<NamedValue> inputs, gather_inputs(options, opened, Verb::Bench, sink));
  if (auto ran = opened.session->run(inputs); !ran) return std::move(ran).error().file(model);
  EC_CHECK_OK(opened.session->reset());
  scope.reset();
  Result<BenchmarkStats> stats =
      opened.session->benchmark(inputs, {options.integer("warmup"), options.integer("iterations")});
  if (!stats) return std::move(stats).error().file(model);
  BenchReport report = report_of(model, opened, *stats);
  if (options.flag("per-op")) report.per_op = op_times(*opened.session);
  if (!settings.quiet) {
    output.text = report_text(report);
    if (options.flag("per-op"))
      output.text +=
          "\n" + report_table(report.per_op, {"milliseconds", "share_percent", "op", "kernel",
                                              "name", "output", "gmac_per_second"});
  }
  if (settings.json) output.json = to_json(report);
  return {};
}

}  // namespace ec::cli
