#include "placement_text.h"

#include <fmt/format.h>

#include <map>

#include "support/strings.h"
#include "terminal.h"

namespace ec::cli {

std::string placement_table(const CheckReport& report, bool all) {
  if (all) {
    TextTable table({"Node", "Operation", "Placement", "Reason", "Fix"});
    for (const OpPlacement& row : report.operations)
      table.add({printable(row.name, 50), printable(row.op.empty() ? row.source_op : row.op, 40),
                 std::string(placement_name(row.placement)), row.reason, row.fix});
    return table.text();
  }
  struct Group {
    int64_t count = 0;
    std::string first;
    const OpPlacement* row = nullptr;
  };
  std::map<std::tuple<int, std::string, std::string>, Group> groups;
  for (const OpPlacement& row : report.operations) {
    Group& group = groups[{-static_cast<int>(row.placement),
                           row.op.empty() ? row.source_op : row.op, row.reason}];
    if (group.count++ == 0) group.first = row.name;
    group.row = &row;
  }
  TextTable table({"Operation", "Count", "Status", "First node", "Reason"});
  for (const auto& [key, group] : groups)
    table.add({printable(std::get<1>(key), 40), format_count(group.count),
               group.row->status.empty() ? std::string(placement_name(group.row->placement))
                                         : group.row->status,
               group.row->placement == Placement::Native ? "" : printable(group.first, 40),
               group.row->reason});
  return table.text();
}

std::string device_text(const CheckReport& report) {
  if (!report.estimate) return {};
  const DeviceEstimate& e = *report.estimate;
  std::string out =
      fmt::format("\n  {} of {} operations on the device, {} on the CPU beside it (predicted)\n",
                  report.native, report.operations.size(), report.host);
  if (report.cut_by) {
    const OpPlacement& cut = report.operations[*report.cut_by];
    out +=
        fmt::format("  cut by {} '{}': {}\n", cut.source_op, printable(cut.name, 60), cut.reason);
  }
  out += fmt::format(
      "  parameters {}: {} on chip, {} streamed at every run (estimated)\n"
      "  latency {} over USB 3, between {} and {} (estimated, never measured)\n",
      format_bytes(e.parameter_bytes), format_bytes(e.on_chip_bytes),
      format_bytes(e.streamed_bytes), format_ms(e.latency_ms), format_ms(e.latency_low_ms),
      format_ms(e.latency_high_ms));
  return out;
}

std::string fixes_text(const CheckReport& report) {
  std::map<std::string, int64_t> fixes;
  for (const OpPlacement& row : report.operations)
    if (!row.fix.empty()) ++fixes[row.fix];
  std::string out;
  for (const auto& [fix, count] : fixes) out += fmt::format("  fix for {}: {}\n", count, fix);
  return out;
}

}  // namespace ec::cli
