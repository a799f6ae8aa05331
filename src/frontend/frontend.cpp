#include "frontend/frontend.h"

#include <algorithm>

#include "frontend/load_weights.h"
#include "frontend/output_names.h"
#include "ops/border.h"
#include "support/budget.h"

namespace ec {

std::optional<DetectedFormat> Frontend::explain(const ModelSource&) const { return std::nullopt; }

Status refuse_part(const ImportOptions& options) {
  if (options.part.empty()) return {};
  const std::string option = !options.part.signature.empty() ? "--signature"
                             : !options.part.inputs.empty()  ? "--graph-input"
                                                             : "--graph-output";
  return Error(Code::Usage, option + " does not apply to this model")
      .hint(
          "signatures belong to SavedModels and Core ML packages, chosen nodes to frozen "
          "TensorFlow graphs");
}

namespace {

// Constants that a model of this many bytes may have computed while it is read. Weights of 4 bits
// become floats in three steps, eight times as large each.
BudgetLimits import_limits(int64_t bytes) {
  constexpr size_t kBase = size_t{40} << 20, kPerByte = 32;
  const auto size = static_cast<size_t>(std::max<int64_t>(0, bytes));
  BudgetLimits limits;
  limits.computed = size > (SIZE_MAX - kBase) / kPerByte ? 0 : kBase + kPerByte * size;
  return limits;
}

}  // namespace

Result<std::unique_ptr<Graph>> Frontend::import(const ModelSource& source,
                                                const ImportOptions& options,
                                                DiagnosticSink& sink) const {
  if (!has_parts())
    if (Status refused = refuse_part(options); !refused.ok()) {
      sink.report(std::move(refused).error().file(source.name()));
      return sink.first_error();
    }
  Budget budget(import_limits(source.size_bytes()));
  const BudgetScope scope(budget);
  DiagnosticSink problems;
  Result<std::unique_ptr<Graph>> read = this->read(source, options, problems);
  // To a reader, a part of a file that could not be read looks like a damaged one.
  if (Status fault = source.content().fault(); !fault.ok()) {
    sink.report(std::move(fault).error().file(source.name()));
    return sink.first_error();
  }
  for (const Diagnostic& d : problems.diagnostics()) sink.report(d);
  EC_TRY(std::unique_ptr<Graph> graph, std::move(read));
  const size_t before = sink.error_count();
  bind_input_values(*graph, options.input_values, sink);
  if (sink.error_count() > before) return sink.first_error();
  normalise_attributes(*graph);
  make_output_names_unique(*graph);
  if (!options.leave_weights) EC_CHECK_OK(load_weights(*graph));
  return graph;
}

Result<std::unique_ptr<Graph>> Frontend::import_file(const std::filesystem::path& path,
                                                     const ImportOptions& options,
                                                     DiagnosticSink& sink) const {
  Result<ModelSource> source = ModelSource::open(path);
  if (!source.ok()) {
    sink.report(std::move(source).error());
    return sink.first_error();
  }
  return import(*source, options, sink);
}

}  // namespace ec
