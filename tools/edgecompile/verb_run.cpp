// run: one run of a model on given inputs; outputs as .npy files and a short summary.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <set>

#include "api/arrays.h"
#include "cli.h"
#include "driver/jobs.h"
#include "edgecompiler/report.h"
#include "inputs.h"
#include "report/describe_run.h"
#include "report_table.h"
#include "support/strings.h"
#include "terminal.h"

namespace ec::cli {
namespace {

namespace fs = std::filesystem;

// Output names may hold anything; a file name holds letters, digits, '.', '-' and '_'.
std::string file_name(const std::string& output, std::set<std::string>& taken) {
  std::string base;
  for (const char c : output.substr(0, 200)) {
    const auto u = static_cast<unsigned char>(c);
    base += std::isalnum(u) || c == '.' || c == '-' || c == '_' ? c : '_';
  }
  while (!base.empty() && base.front() == '.') base.erase(base.begin());
  if (base.empty()) base = "output";
  std::string name = base + ".npy";
  for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{}_{}.npy", base, i);
  return name;
}

Status make_directory(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error && fs::is_directory(path)) return {};
  return Error(Code::OutputUnwritable,
               error ? fmt::format("cannot make the directory: {}", error.message())
                     : "is not a directory")
      .file(path.string())
      .hint("`run` writes one .npy per output into a directory: -o DIR");
}

std::string results_text(const std::vector<ResultSummary>& rows) {
  std::string out =
      report_table(rows, {"name", "dtype", "shape", "min", "max", "max_at", "mean", "file"});
  for (const ResultSummary& row : rows)
    if (row.not_finite > 0)
      out += fmt::format("  {}: {} of {} elements are not finite\n", printable(row.name),
                         row.not_finite, row.count);
  return out;
}

// Turns values into rows, and into files where the user wants them.
class RowWriter {
 public:
  explicit RowWriter(const std::string& folder) : folder_(folder) {}

  Status add(const std::string& name, const Value& value) {
    const ValueStatistics statistics = value_statistics(value);
    ResultSummary row;
    row.name = name;
    row.dtype = dtype_name(value.dtype);
    row.shape = value.shape;
    row.min = statistics.min;
    row.max = statistics.max;
    row.mean = statistics.mean;
    row.max_at = statistics.max_at;
    row.not_finite = statistics.not_finite;
    row.count = statistics.count;
    if (!folder_.empty()) {
      const fs::path path = fs::path(folder_) / file_name(name, taken_);
      EC_CHECK_OK(npy::save(path, array_from_value(value)));
      row.file = path.string();
    }
    rows_.push_back(std::move(row));
    return {};
  }
  std::vector<ResultSummary>& rows() { return rows_; }

 private:
  std::string folder_;
  std::set<std::string> taken_;
  std::vector<ResultSummary> rows_;
};

Status run_outputs(Session& session, const std::vector<NamedValue>& inputs, RowWriter& writer,
                   double& ms) {
  const auto start = std::chrono::steady_clock::now();
  EC_TRY(const std::vector<Value> values, session.run(inputs));
  ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  for (size_t i = 0; i < values.size(); ++i)
    EC_CHECK_OK(writer.add(session.outputs()[i].name, values[i]));
  return {};
}

Status run_all(Session& session, const std::vector<NamedValue>& inputs, RowWriter& writer,
               double& ms) {
  const auto start = std::chrono::steady_clock::now();
  Status written;
  EC_CHECK_OK(session.run_all_tensors(inputs, [&](const Tensor& tensor, const ConstView& view) {
    if (!written.ok()) return;
    const std::span<const std::byte> bytes(view.data, view.bytes());
    written = writer.add(tensor.name(), Value(view.dtype, {view.shape.begin(), view.shape.end()},
                                              Blob(nullptr, bytes)));
  }));
  ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return written;
}

}  // namespace

Status run_model(const Settings& settings, Output& output, DiagnosticSink& sink) {
  const std::string& model = settings.arguments.front();
  Options options = settings.options;
  const std::string folder = options.text("output");
  const bool all_tensors = options.flag("all-tensors");
  if (all_tensors) options.set("reference", true);  // fused operations have no tensors inside
  if (!folder.empty()) EC_CHECK_OK(make_directory(folder));
  EC_TRY(const OpenedSession opened,
         open_session(default_registry(), model, Verb::Run, options, sink));
  Session& session = *opened.session;
  EC_TRY(const std::vector<NamedValue> inputs, gather_inputs(options, opened, Verb::Run, sink));
  RowWriter writer(folder);
  double ms = 0;
  if (Status status = all_tensors ? run_all(session, inputs, writer, ms)
                                  : run_outputs(session, inputs, writer, ms);
      !status.ok())
    return std::move(status).error().file(model);

  const RunReport report{model,         std::move(writer.rows()), opened.open_ms, ms,
                         opened.device, session.threads()};
  if (!settings.quiet)
    output.text = results_text(report.outputs) +
                  fmt::format("\n  ready after {}, ran in {} on {}, {} thread{} (measured)\n",
                              format_ms(opened.open_ms), format_ms(ms), opened.device,
                              session.threads(), session.threads() == 1 ? "" : "s");
  if (settings.json) output.json = to_json(report);
  return {};
}

}  // namespace ec::cli
