#include "backend/tflite/tflite_backend.h"

#include <fmt/format.h>

#include <unordered_map>

#include "backend/tflite/encode.h"
#include "backend/tflite/exports.h"
#include "backend/tflite/integer_rules.h"
#include "backend/tflite/passes/legalise.h"
#include "ops/op_def.h"

namespace ec {
namespace {

constexpr FileKind kFiles[] = {{".tflite", "TFLite model"}};
constexpr OptionDef kOptions[] = {
    kKeepIoLayoutOption,
    {.name = "description",
     .argument = "TEXT",
     .help =
         "text for the description field of the file (default: the model's own, where it has one)",
     .verbs = VerbSet(Verb::Compile, Verb::Check)},
};
constexpr const PassInfo* kPasses[] = {&passes::kLegaliseTflitePass, &passes::kKeepHeightOnePass,
                                       &passes::kRealWeightsPass};

constexpr NamedPipeline kPipelines[] = {
    {kToTflite, "From the optimised graph to TFLite's form; images come and go channels last.",
     // Files choose their own order of dimensions.
     // First of all: weights have to be constants for the layout.
     "real-weights,layout{to=nhwc,io=free},canonicalise,"
     // After the layout: most forms are those of images with channels last.
     "legalise-tflite,keep-height-one," EC_AFTER_LEGALISING},
    {kToTfliteKeepIo, "The same with inputs and outputs in the source's order of dimensions.",
     "real-weights,layout{to=nhwc},canonicalise,"
     "legalise-tflite,keep-height-one," EC_AFTER_LEGALISING},
    {"tflite", "What TFLite files are written from; image inputs and outputs channels last.",
     "optimize,to-tflite"},
    {"tflite-keep-io", "The same with inputs and outputs in the source's order of dimensions.",
     "optimize,to-tflite-keep-io"},
    // A file that is written again was quantised by its maker, and any change would change it.
    {"tflite-as-is", "Nothing but dead code: what comes from a TFLite file goes into one as it is.",
     "eliminate-dead-code"},
};

// What place() found, for emit(): the file, or why there is none.
struct PlacedFile {
  std::optional<EncodedTflite> encoded;
  std::vector<Diagnostic> problems;
};

OpPlacement row_of(const Operation& op,
                   const std::unordered_map<std::string, const Diagnostic*>& problems) {
  OpPlacement row;
  row.name = op.location().name();
  row.op = op_name(op.kind());
  row.source_op = op.location().op_type;
  if (!op.outputs().empty()) row.output_type = op.output()->type().text();
  if (op.kind() == OpKind::Custom) row.reason = "the runtime must have this custom operator";
  const auto problem = problems.find(row.name.empty() ? op.output()->name() : row.name);
  if (problem != problems.end() && problem->second->message.starts_with(row.op + ":")) {
    row.placement = Placement::Unsupported;
    row.reason = problem->second->message;
    row.fix = problem->second->hint;
  }
  return row;
}

PlacedModel place_one(const ModelJob& job, const std::string& description) {
  auto file = std::make_shared<PlacedFile>();
  DiagnosticSink refused;
  Result<EncodedTflite> encoded =
      encode_model(*job.graph, job, PoolActivations::Fused, refused, description);
  file->problems = refused.diagnostics();
  std::unordered_map<std::string, const Diagnostic*> problems;  // looked up, never iterated
  for (const Diagnostic& d : file->problems) problems.emplace(d.node, &d);
  PlacedModel placed;
  for (const Operation* op : job.graph->topological()) placed.report.add(row_of(*op, problems));
  if (!encoded.ok() && placed.report.unsupported == 0) {
    OpPlacement row;
    row.name = "file";
    row.placement = Placement::Unsupported;
    row.reason = encoded.error().message();
    row.fix = encoded.error().diagnostic().hint;
    placed.report.add(std::move(row));
  }
  if (encoded.ok())
    file->encoded = std::move(*encoded);
  else if (refused.error_count() == 0)
    file->problems.push_back(encoded.error().diagnostic());
  placed.state = std::move(file);
  return placed;
}

class TfliteTarget : public Target {
 public:
  explicit TfliteTarget(const Options& options)
      : keep_io_layout_(options.flag(kKeepIoLayoutOption.name)),
        description_(options.text("description")) {}

  const Backend& backend() const override { return tflite_backend(); }

  TargetPipelines pipelines(const PipelineRequest& request) const override {
    const bool foreign = request.graph != nullptr && passes::has_foreign_operation(*request.graph);
    if (request.source_format == "tflite" && !request.changes_model && !foreign)
      return {"none", "tflite-as-is"};
    return {"optimize",
            std::string(keep_io_layout_ || request.keeps_interface ? kToTfliteKeepIo : kToTflite)};
  }

  const quantize::TargetSpec* integer_rules() const override { return &quantize::tflite_spec(); }

  Result<std::vector<PlacedModel>> place(std::span<const ModelJob> jobs,
                                         DiagnosticSink&) const override {
    std::vector<PlacedModel> placed;
    for (const ModelJob& job : jobs) placed.push_back(place_one(job, description_));
    return placed;
  }

  Result<std::vector<EmittedModel>> emit(std::span<const ModelJob> jobs,
                                         std::span<const PlacedModel> placed,
                                         DiagnosticSink& sink) const override {
    std::vector<EmittedModel> emitted;
    for (size_t i = 0; i < jobs.size(); ++i) {
      const auto& file = *static_cast<const PlacedFile*>(placed[i].state.get());
      for (const Diagnostic& problem : file.problems) sink.report(problem);
      if (!file.encoded) return sink.first_error();
      EmittedModel model;
      model.files.push_back({jobs[i].output, {file.encoded->bytes}});
      model.operators = file.encoded->summary.operators;
      model.num_operators = file.encoded->summary.num_operators;
      emitted.push_back(std::move(model));
    }
    return emitted;
  }

  Result<std::vector<std::unique_ptr<Graph>>> read_back(
      const ModelJob&, const PlacedModel&, const EmittedModel& emitted) const override {
    const ArtifactFile& file = emitted.files.front();
    EC_TRY(std::unique_ptr<Graph> graph, read_back_tflite(file.parts.front(), file.path));
    std::vector<std::unique_ptr<Graph>> graphs;
    graphs.push_back(std::move(graph));
    return graphs;
  }

 private:
  bool keep_io_layout_;
  std::string description_;
};

class TfliteBackend : public Backend {
 public:
  const BackendInfo& info() const override {
    static constexpr BackendInfo kInfo{.name = "tflite",
                                       .summary = "any TFLite runtime",
                                       .files = kFiles,
                                       .options = kOptions,
                                       .passes = kPasses,
                                       .pipelines = kPipelines};
    return kInfo;
  }

  Result<std::unique_ptr<Target>> configure(std::string_view variant,
                                            const Options& options) const override {
    EC_CHECK_OK(refuse_variant(variant));
    return std::unique_ptr<Target>(std::make_unique<TfliteTarget>(options));
  }
};

}  // namespace

const Backend& tflite_backend() {
  static const TfliteBackend kBackend;
  return kBackend;
}

}  // namespace ec
