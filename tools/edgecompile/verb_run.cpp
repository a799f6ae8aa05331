// run: one run of a model on given inputs; outputs as .npy files and a short summary.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>

#include "cli.h"
#include "driver/arrays.h"
#include "driver/jobs.h"
#include "inputs.h"
#include "support/strings.h"
#include "terminal.h"

namespace ec::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

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

std::string shape_text(const std::vector<int64_t>& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

struct Row {
  std::string name, file;
  Value value;
  ValueStatistics statistics;
};

Json rows_json(const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const Row& row : rows)
    list.push_back({{"name", row.name},
                    {"dtype", dtype_name(row.value.dtype)},
                    {"shape", row.value.shape},
                    {"file", row.file.empty() ? Json(nullptr) : Json(row.file)},
                    {"min", row.statistics.min},
                    {"max", row.statistics.max},
                    {"max_at", row.statistics.max_at},
                    {"mean", row.statistics.mean},
                    {"not_finite", row.statistics.not_finite}});
  return list;
}

std::string rows_text(const std::vector<Row>& rows) {
  TextTable table({"Output", "Type", "Shape", "Min", "Max", "At", "Mean", "File"});
  for (const Row& row : rows) {
    const auto number = [](double value) { return fmt::format("{:.6g}", value); };
    table.add({printable(row.name), std::string(dtype_name(row.value.dtype)),
               shape_text(row.value.shape), number(row.statistics.min), number(row.statistics.max),
               std::to_string(row.statistics.max_at), number(row.statistics.mean), row.file});
  }
  std::string out = table.text();
  for (const Row& row : rows)
    if (row.statistics.not_finite > 0)
      out += fmt::format("  {}: {} of {} elements are not finite\n", printable(row.name),
                         row.statistics.not_finite, row.statistics.count);
  return out;
}

// Turns values into rows, and into files where the user wants them.
class RowWriter {
 public:
  explicit RowWriter(const std::string& folder) : folder_(folder) {}

  Status add(const std::string& name, const Value& value) {
    Row row{name, {}, {}, value_statistics(value)};
    row.value.dtype = value.dtype;
    row.value.shape = value.shape;
    if (!folder_.empty()) {
      const fs::path path = fs::path(folder_) / file_name(name, taken_);
      EC_CHECK_OK(npy::save(path, array_from_value(value)));
      row.file = path.string();
    }
    rows_.push_back(std::move(row));
    return {};
  }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  std::string folder_;
  std::set<std::string> taken_;
  std::vector<Row> rows_;
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
  EC_TRY(const std::vector<NamedValue> inputs, gather_inputs(options, session));
  RowWriter writer(folder);
  double ms = 0;
  if (Status status = all_tensors ? run_all(session, inputs, writer, ms)
                                  : run_outputs(session, inputs, writer, ms);
      !status.ok())
    return std::move(status).error().file(model);

  if (!settings.quiet)
    output.text = rows_text(writer.rows()) +
                  fmt::format("\n  ready after {}, ran in {} on {}, {} thread{} (measured)\n",
                              format_ms(opened.open_ms), format_ms(ms), opened.device,
                              session.threads(), session.threads() == 1 ? "" : "s");
  if (settings.json)
    output.json = Json{{"model", model},
                       {"outputs", rows_json(writer.rows())},
                       {"open_milliseconds", opened.open_ms},
                       {"run_milliseconds", ms},
                       {"device", opened.device},
                       {"threads", session.threads()}}
                      .dump(-1, ' ', false, Json::error_handler_t::replace);
  return {};
}

}  // namespace ec::cli
