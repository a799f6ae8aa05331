#include "placement_text.h"

#include <fmt/format.h>

#include <map>

#include "ops/op_def.h"
#include "report/describe_placement.h"
#include "report_table.h"
#include "support/strings.h"
#include "terminal.h"

namespace ec::cli {

namespace {

struct Group {
  int64_t count = 0;
  const OpPlacement* first = nullptr;
};
using Groups = std::map<std::tuple<int, std::string, std::string>, Group>;

// In the IR's words; in the source's where the IR has none.
const std::string& operation_of(const OpPlacement& row) {
  return row.op.empty() || row.op == op_name(OpKind::Custom) ? row.source_op : row.op;
}

// Operations of one kind, placement and reason; or of one status, where a device's compiler has
// one.
Groups grouped(const PlacementReport& report, bool by_status) {
  Groups groups;
  for (const OpPlacement& row : report.operations) {
    Group& group = groups[{-static_cast<int>(row.placement), operation_of(row),
                           by_status && !row.status.empty() ? row.status : row.reason}];
    if (group.count++ == 0) group.first = &row;
  }
  return groups;
}

}  // namespace

std::string placement_table(const PlacementReport& report, bool all) {
  if (all) {
    std::vector<OpPlacement> rows = report.operations;
    for (OpPlacement& row : rows) row.op = operation_of(row);
    return report_table(rows, {"name", "op", "placement", "reason", "fix"});
  }
  // Reasons that name tensors give every operation a line; then the first stands for its status.
  constexpr size_t kMostLines = 20;
  Groups groups = grouped(report, false);
  if (groups.size() > kMostLines) groups = grouped(report, true);
  TextTable table({"Operation", "Count", "Status", "First node", "Reason"});
  for (const auto& [key, group] : groups) {
    const OpPlacement& row = *group.first;
    table.add({printable(std::get<1>(key), 40), format_count(group.count),
               row.status.empty() ? std::string(placement_name(row.placement)) : row.status,
               row.placement == Placement::Native ? "" : printable(row.name, 40), row.reason});
  }
  return table.text();
}

namespace {

// The result of the device's own compiler, and where the prediction was wrong.
std::string compiler_text(const DeviceCompilerReport& report) {
  int64_t mapped = 0;
  for (const DeviceCompilerReport::Row& row : report.rows)
    if (row.on_device) mapped += row.count;
  std::string out = fmt::format(
      "  {} {}: {} of {} operations on the device; parameters {} on chip, {} streamed (compiled)\n",
      report.program, printable(report.version), mapped, report.operations,
      format_bytes(report.on_chip_bytes), format_bytes(report.streamed_bytes));
  if (report.differences.empty()) return out + "  the prediction agrees with it\n";
  return out + "  the prediction differs from it:\n" +
         report_table(report.differences, {"op", "status", "predicted", "compiled"});
}

// "MatMul '/qkv/MatMul' as a 1x1 convolution", and how many more there are of the same kind.
std::string rewrites_text(const std::vector<std::string>& rewrites) {
  std::vector<std::pair<const std::string*, size_t>> groups;
  std::map<std::string, size_t> by_kind;
  for (const std::string& rewrite : rewrites) {
    const size_t open = rewrite.find('\''), close = rewrite.rfind('\'');
    const std::string kind =
        open < close ? rewrite.substr(0, open) + rewrite.substr(close) : rewrite;
    const auto [at, is_new] = by_kind.emplace(kind, groups.size());
    if (is_new)
      groups.emplace_back(&rewrite, 0);
    else
      ++groups[at->second].second;
  }
  std::string out;
  for (const auto& [first, more] : groups)
    out += fmt::format("  rewritten: {}{}\n", *first,
                       more > 0 ? fmt::format(", and {} more", more) : std::string());
  return out;
}

std::string placed_text(const PlacementReport& report) {
  const size_t all = report.operations.size();
  if (report.unsupported > 0)
    return fmt::format(
        "  {} of {} operations cannot run; of the others {} on the device, {} on the CPU beside it "
        "(predicted)\n",
        report.unsupported, all, report.native, report.host);
  if (report.native == 0)
    return fmt::format("  all {} operations on the CPU alone (predicted)\n", all);
  return fmt::format("  {} of {} operations on the device, {} on the CPU beside it (predicted)\n",
                     report.native, all, report.host);
}

}  // namespace

std::string device_text(const PlacementReport& report) {
  if (!report.estimate) return {};
  const DeviceEstimate& e = *report.estimate;
  std::string out = "\n";
  if (!report.predicted_form.empty())
    out += fmt::format(
        "  the model is in floating point: this is its {} form, which needs --quantize ptq "
        "--calibration-data PATH\n",
        report.predicted_form);
  out += placed_text(report);
  if (report.cut_by) {
    const OpPlacement& cut = report.operations[*report.cut_by];
    out +=
        fmt::format("  cut by {} '{}': {}\n", cut.source_op, printable(cut.name, 60), cut.reason);
  }
  out += rewrites_text(report.rewrites);
  out += fmt::format(
      "  parameters {}: {} on chip, {} streamed at every run (estimated)\n"
      "  latency {}{}{}, between {} and {} (estimated, never measured)\n",
      format_bytes(e.parameter_bytes), format_bytes(e.on_chip_bytes),
      format_bytes(e.streamed_bytes), format_ms(e.latency_ms), e.conditions.empty() ? "" : " ",
      e.conditions, format_ms(e.latency_low_ms), format_ms(e.latency_high_ms));
  if (report.compiler) out += compiler_text(*report.compiler);
  return out;
}

std::string costs_text(const PlacementReport& report) {
  int64_t before = 0, after = 0;
  size_t compressed = 0;
  const CompressedWeight* worst = nullptr;
  for (const CompressedWeight& weight : report.compressed_weights) {
    if (weight.bytes_after == weight.bytes_before) continue;
    ++compressed;
    before += weight.bytes_before;
    after += weight.bytes_after;
    if (worst == nullptr || weight.sqnr_db < worst->sqnr_db) worst = &weight;
  }
  std::string out;
  if (worst != nullptr)
    out += fmt::format(
        "  {} {} as {}: {} instead of {}; the coarsest is '{}' with {:.1f} dB (measured)\n",
        compressed, compressed == 1 ? "weight" : "weights", worst->form, format_bytes(after),
        format_bytes(before), printable(worst->name, 60), worst->sqnr_db);
  if (const size_t left = report.compressed_weights.size() - compressed; left > 0)
    out += fmt::format("  {} {} as before, for the limit of accuracy\n", left,
                       left == 1 ? "weight stays" : "weights stay");
  for (const FormCost& cost : report.costs) {
    if (cost.inputs.empty()) {
      out += fmt::format("  what {} costs was not measured: {}\n", cost.form, cost.reason);
      continue;
    }
    for (const OutputCost& output : cost.outputs)
      out += fmt::format(
          "  {} costs {:.1e} of the largest value of '{}', {:.1f} dB (measured on {} {})\n",
          cost.form, output.largest_error, printable(output.name, 60), output.sqnr_db, cost.samples,
          cost.inputs);
  }
  return out;
}

std::string fixes_text(const PlacementReport& report) {
  std::map<std::string, int64_t> fixes;
  for (const OpPlacement& row : report.operations)
    if (!row.fix.empty()) ++fixes[row.fix];
  std::string out;
  for (const auto& [fix, count] : fixes) out += fmt::format("  fix for {}: {}\n", count, fix);
  return out;
}

}  // namespace ec::cli
