// bench: latency, throughput and, with --per-op, where the time goes.
#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "analysis/costs.h"
#include "cli.h"
#include "driver/jobs.h"
#include "inputs.h"
#include "ops/op_def.h"
#include "support/strings.h"
#include "terminal.h"

namespace ec::cli {
namespace {

using Json = nlohmann::ordered_json;

struct OpRow {
  std::string name, op, output;
  bool fast = false;
  double ms = 0, share = 0;
  std::optional<int64_t> macs;
};

std::vector<OpRow> op_rows(const Session& session) {
  std::vector<OpRow> rows;
  double total = 0;
  for (const OpTiming& timing : session.timings()) {
    if (timing.runs == 0) continue;
    OpRow row;
    row.name = timing.op->location().name();
    row.op = op_name(timing.op->kind());
    row.output = timing.op->outputs().empty() ? "" : timing.op->output()->type().text();
    row.fast = timing.fast;
    row.ms = timing.seconds * 1e3 / static_cast<double>(timing.runs);
    row.macs = count_macs(*timing.op);
    total += row.ms;
    rows.push_back(std::move(row));
  }
  for (OpRow& row : rows) row.share = total > 0 ? 100.0 * row.ms / total : 0;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const OpRow& a, const OpRow& b) { return a.ms > b.ms; });
  return rows;
}

std::string stats_text(const BenchmarkStats& stats, const OpenedSession& opened) {
  const Session& session = *opened.session;
  TextTable table({"Mean", "Median", "p95", "p99", "Min", "Max", "Throughput"});
  table.add({format_ms(stats.mean_ms), format_ms(stats.p50_ms), format_ms(stats.p95_ms),
             format_ms(stats.p99_ms), format_ms(stats.min_ms), format_ms(stats.max_ms),
             fmt::format("{:.1f}/s", stats.throughput_fps)});
  const MemoryReport memory = session.memory();
  return table.text() +
         fmt::format(
             "\n  {} runs on {}, {} thread{} (measured here)\n  arena {} (lower bound {}), packed "
             "weights {} (exact)\n",
             stats.iterations, opened.device, session.threads(), session.threads() == 1 ? "" : "s",
             format_bytes(static_cast<int64_t>(memory.arena_bytes)),
             format_bytes(static_cast<int64_t>(memory.lower_bound)),
             format_bytes(static_cast<int64_t>(memory.constant_bytes)));
}

std::string rows_text(const std::vector<OpRow>& rows) {
  TextTable table({"Time", "Share", "Operation", "Kernel", "Node", "Output", "GMAC/s"});
  for (const OpRow& row : rows) {
    const bool rated = row.macs && *row.macs > 0 && row.ms > 0;
    table.add({format_ms(row.ms), fmt::format("{:.1f} %", row.share), row.op,
               row.fast ? "fast" : "reference", printable(row.name, 50), row.output,
               rated ? fmt::format("{:.1f}", static_cast<double>(*row.macs) / row.ms / 1e6) : ""});
  }
  return table.text();
}

Json bench_json(const std::string& model, const OpenedSession& opened, const BenchmarkStats& stats,
                const std::vector<OpRow>& rows) {
  const MemoryReport memory = opened.session->memory();
  Json json = {{"model", model},
               {"iterations", stats.iterations},
               {"device", opened.device},
               {"threads", opened.session->threads()},
               {"mean_ms", stats.mean_ms},
               {"p50_ms", stats.p50_ms},
               {"p95_ms", stats.p95_ms},
               {"p99_ms", stats.p99_ms},
               {"min_ms", stats.min_ms},
               {"max_ms", stats.max_ms},
               {"throughput_fps", stats.throughput_fps},
               {"open_ms", opened.open_ms},
               {"arena_bytes", memory.arena_bytes},
               {"arena_lower_bound", memory.lower_bound},
               {"packed_bytes", memory.constant_bytes}};
  if (rows.empty()) return json;
  Json list = Json::array();
  for (const OpRow& row : rows)
    list.push_back({{"name", row.name},
                    {"op", row.op},
                    {"kernel", row.fast ? "fast" : "reference"},
                    {"output", row.output},
                    {"milliseconds", row.ms},
                    {"share_percent", row.share},
                    {"macs", row.macs ? Json(*row.macs) : Json(nullptr)}});
  json["per_op"] = std::move(list);
  return json;
}

}  // namespace

Status run_bench(const Settings& settings, Output& output, DiagnosticSink& sink) {
  const std::string& model = settings.arguments.front();
  const Options& options = settings.options;
  EC_TRY(const OpenedSession opened,
         open_session(default_registry(), model, Verb::Bench, options, sink));
  EC_TRY(const std::vector<NamedValue> inputs, gather_inputs(options, *opened.session));
  Result<BenchmarkStats> stats =
      opened.session->benchmark(inputs, {options.integer("warmup"), options.integer("iterations")});
  if (!stats) return std::move(stats).error().file(model);
  std::vector<OpRow> rows;
  if (options.flag("per-op")) rows = op_rows(*opened.session);
  if (!settings.quiet) {
    output.text = stats_text(*stats, opened);
    if (options.flag("per-op")) output.text += "\n" + rows_text(rows);
  }
  if (settings.json)
    output.json = bench_json(model, opened, *stats, rows)
                      .dump(-1, ' ', false, Json::error_handler_t::replace);
  return {};
}

}  // namespace ec::cli
