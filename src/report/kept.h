// What reports and warnings tell of operations that an import kept without knowing them (ADR 24).
#pragma once

#include <string>
#include <vector>

#include "edgecompiler/report/model.h"
#include "edgecompiler/report/placement.h"
#include "frontend/kept_operations.h"

namespace ec {

// What was kept cannot run anywhere, whatever a target makes of custom operations.
void refuse_kept(PlacementReport& report, const std::vector<KeptOperation>& kept);
// Says why operations were kept. Of some it is not known whether they could run.
void explain_kept(ModelSummary& summary, const std::vector<KeptOperation>& kept);
// One warning for each operator and reason.
void warn_of_kept(const std::vector<KeptOperation>& operations, const std::string& file,
                  DiagnosticSink& sink);

}  // namespace ec
