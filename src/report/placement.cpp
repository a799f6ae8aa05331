#include "report/placement.h"

#include <fmt/format.h>

#include "report/short_text.h"
#include "support/strings.h"

namespace ec {

void PlacementReport::add(OpPlacement row) {
  row.output_type = short_text(std::move(row.output_type));
  switch (row.placement) {
    case Placement::Native:
      ++native;
      break;
    case Placement::Reference:
      ++reference;
      break;
    case Placement::Host:
      ++host;
      break;
    case Placement::Unsupported:
      ++unsupported;
      break;
  }
  operations.push_back(std::move(row));
}

void PlacementReport::clear() {
  operations.clear();
  native = reference = host = unsupported = 0;
}

Status refuse_host_operations(const PlacementReport& report) {
  if (report.host == 0) return {};
  constexpr size_t kNamed = 8;
  Error error(Code::NotOnTarget, fmt::format("{} of {} operations stay on the CPU", report.host,
                                             report.operations.size()));
  error.diagnostic().file = report.model;
  for (const OpPlacement& row : report.operations)
    if (row.placement == Placement::Host && error.diagnostic().notes.size() < kNamed)
      error.diagnostic().notes.push_back(fmt::format("{} '{}': {}; {}", row.source_op,
                                                     printable(row.name, 60), row.reason, row.fix));
  return std::move(error).hint("mend what the notes name, or leave out --strict to accept it");
}

}  // namespace ec
