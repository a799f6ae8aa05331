// One walk through the phases: what they read and write. `Compilation` holds what all models of a
// run share, `CompiledModel` what belongs to one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/imported_model.h"
#include "driver/model_ref.h"
#include "driver/registry.h"
#include "edgecompiler/options.h"
#include "edgecompiler/report/compile.h"
#include "frontend/kept_operations.h"
#include "frontend/model_source.h"
#include "ir/graph.h"
#include "options/verb.h"
#include "quantize/fold_input/fold_preprocessing.h"
#include "quantize/strategy/strategy.h"
#include "support/budget.h"

namespace ec {

struct Phase;

// What quantisation needs to know of the model before passes change it.
struct ModelFacts {
  std::vector<quantize::ModelInput> inputs;  // samples are in their order of dimensions
  quantize::RecordedWeights recorded;
  std::optional<quantize::FoldedInput> folded;
};

struct CompiledModel {
  explicit CompiledModel(ModelRef model) : ref(std::move(model)) {}

  ModelRef ref;
  // import: set where several targets judge one model, which is read once for all of them
  std::shared_ptr<ImportedModel> shared;
  std::optional<ModelSource> source;  // import; absent for a model that is a graph
  std::string format;                 // import: "onnx"
  std::unique_ptr<Graph> graph;       // import; every phase until quantise rewrites it
  // import: operations without a meaning here that the graph holds as custom operations, where
  // `inspect` or `check` ask
  std::vector<KeptOperation> kept;
  ModelFacts facts;                               // fold-input, prepare
  const quantize::Strategy* strategy = nullptr;   // prepare; null: the model stays as it is
  std::optional<TargetPipelines> pipelines;       // optimise: chosen once, for legalise too
  PassContext passes;                             // optimise, legalise
  PipelineReport pass_runs;                       //
  std::optional<PlacedModel> placed;              // place
  std::optional<EmittedModel> emitted;            // emit
  std::vector<std::unique_ptr<Graph>> read_back;  // self-check
  CompileReport report;

  ModelJob job(const class Compilation& compilation) const;
  // Passes may drop inputs that nothing reads; samples are those of the graph's own inputs.
  Result<std::vector<quantize::ModelInput>> used_inputs() const;
  // The report of a job that is done.
  CompileReport take_report();
};

class Compilation {
 public:
  // Checks the options, fills in defaults and sets up the target. Nothing is read yet.
  static Result<Compilation> create(const Registry& registry, Verb verb,
                                    std::span<const ModelRef> models, const Options& given,
                                    DiagnosticSink& sink);

  const Registry& registry() const { return *registry_; }
  Verb verb() const { return verb_; }
  const Options& options() const { return options_; }
  // Null for `optimize` and `inspect`, which have none.
  const Target* target() const { return target_.get(); }
  DiagnosticSink& sink() const { return *sink_; }
  std::vector<CompiledModel>& models() { return models_; }
  const std::vector<CompiledModel>& models() const { return models_; }

  // Time and memory that the options allow, from create() on. Phases run under it.
  Budget& budget() const { return *budget_; }

  // Runs the phases of the verb, from where the last call ended, up to `last` (empty: all of them)
  // or to what --stop-after names.
  Status run(std::string_view last = {});

  // The hash of the options that decide the content of written files.
  std::string options_sha256() const;

 private:
  Compilation() = default;
  Status run_phase(const Phase& phase);
  Status dump(std::string_view phase, size_t number) const;

  const Registry* registry_ = nullptr;
  Verb verb_ = Verb::Compile;
  Options options_;
  std::unique_ptr<Target> target_;
  DiagnosticSink* sink_ = nullptr;
  std::vector<CompiledModel> models_;
  std::unique_ptr<Budget> budget_;
  size_t next_phase_ = 0;
  bool stopped_ = false;
};

}  // namespace ec
