// A back end is one folder below src/backend: everything that the compiler knows of one target. The
// driver sees this interface and the list backends.def, nothing else of it.
//
// `Backend` tells what exists without a model: names, file kinds, options, passes. `Target` is a
// back end set up for one compilation by its variant and its options; it answers what the phases
// ask, in their order: pipelines (optimise, legalise), integer_rules (quantise), place, emit,
// read_back (self-check). Back ends never write to disk.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgecompiler/options.h"
#include "edgecompiler/report/property.h"
#include "frontend/default_sizes.h"
#include "ir/graph.h"
#include "options/option_def.h"
#include "passes/manager.h"
#include "report/placement.h"
#include "runtime/session.h"
#include "support/blob.h"
#include "support/budget.h"
#include "support/result.h"

namespace ec {

namespace quantize {
class SampleSource;
struct TargetSpec;
}  // namespace quantize
class Backend;
class ModelSource;
struct FlexibleShapes;

// A file, or a directory that counts as one, that a back end writes.
struct FileKind {
  std::string_view extension;  // ".tflite"
  std::string_view summary;
  bool is_directory = false;
};

struct BackendVariant {
  std::string_view name;  // "ethos-u55-128"
  std::string_view summary;
};

struct BackendInfo {
  std::string_view name;
  std::string_view summary;
  std::span<const FileKind> files;  // the first is the default
  std::span<const BackendVariant> variants = {};
  std::span<const OptionDef> options = {};
  std::span<const PassInfo* const> passes = {};
  std::span<const NamedPipeline> pipelines = {};
};

// What decides between the pipelines of a target.
struct PipelineRequest {
  std::string_view source_format;  // "onnx"
  const Graph* graph = nullptr;    // as it was imported
  // Quantisation or other sizes are asked for: a file in the target's own format cannot stay as is.
  bool changes_model = false;
  // Inputs and outputs keep the order of dimensions that the model gives them.
  bool keeps_interface = false;
};

// Names of pipelines or lists of passes.
struct TargetPipelines {
  std::string optimise = "optimize";
  std::string legalise;
};

// One model on its way to files.
struct ModelJob {
  const Graph* graph = nullptr;
  std::string name;              // of the model, without folder and extension
  std::filesystem::path output;  // where its file goes; empty while nothing is written
  std::map<std::string, std::string> provenance;  // compiler, hashes of options and source
  const PipelineReport* passes = nullptr;         // what the passes did
  // Examples of the graph's inputs, where the user gave some and the target measures.
  quantize::SampleSource* samples = nullptr;
  // What a form costs is measured by running the model; not where nothing is written.
  bool measures = false;
  BudgetLimits trial_limits;  // of each run that measures
};

// Where the operations of a model run, and what the back end keeps for emit().
struct PlacedModel {
  PlacementReport report;
  std::vector<PlacementReport> segments;  // one per file, where the model is cut into several
  std::shared_ptr<const void> state;
};

// A file as bytes: `parts` one after the other, so that large constants need no copy.
struct ArtifactFile {
  std::filesystem::path path;
  std::vector<Blob> parts;
};

struct EmittedModel {
  std::vector<ArtifactFile> files;  // the first stands for the model
  // Set: all files lie in this directory, which appears whole or not at all and stands for the
  // model.
  std::filesystem::path directory = {};
  std::vector<ArtifactFile> beside = {};  // files that belong to the model and lie elsewhere
  // Operators of the file's format by name, most frequent first. Empty where the format has none.
  std::vector<std::pair<std::string, int64_t>> operators;
  int64_t num_operators = 0;
};

// A session on a device.
struct OpenedDevice {
  std::unique_ptr<Session> session;
  std::string device;  // its name and where it is connected
};

class Target {
 public:
  virtual ~Target() = default;
  virtual const Backend& backend() const = 0;
  virtual std::string name() const;  // with the variant: "arm:ethos-u55-128"

  // Refuses a model that the target cannot take at all, such as one that is compiled already.
  virtual Status check_source(const ModelSource& source, DiagnosticSink& sink) const;
  // Every size must be known before passes run.
  virtual bool needs_fixed_sizes() const { return false; }
  // Sizes that stay open all the same, where the target's options say so; null: none.
  virtual const FlexibleShapes* flexible_shapes() const { return nullptr; }
  virtual TargetPipelines pipelines(const PipelineRequest& request) const = 0;
  // Null: the target has no integer form.
  virtual const quantize::TargetSpec* integer_rules() const { return nullptr; }

  // Samples tell what the target's form of the model costs, without quantisation, too.
  virtual bool measures_samples() const { return false; }

  // NAME with suffix and extension, for a model called `name`.
  virtual std::string default_file_name(std::string_view name) const;
  // Usage: a name that this target does not write.
  virtual Status check_output(const std::filesystem::path& output) const;
  // Usage: the options ask for one model and there are several.
  virtual Status check_model_count(size_t count) const;

  virtual Result<std::vector<PlacedModel>> place(std::span<const ModelJob> jobs,
                                                 DiagnosticSink& sink) const = 0;
  // `placed` is what place() returned for the same jobs. All problems go to the sink.
  virtual Result<std::vector<EmittedModel>> emit(std::span<const ModelJob> jobs,
                                                 std::span<const PlacedModel> placed,
                                                 DiagnosticSink& sink) const = 0;
  // The graph that the files hold, where the back end changed the job's graph behind the phases
  // (its precision); null: the job's own.
  virtual const Graph* written_graph(const PlacedModel&) const { return nullptr; }
  // The files as graphs, which run one after the other compute what that graph computes.
  virtual Result<std::vector<std::unique_ptr<Graph>>> read_back(
      const ModelJob& job, const PlacedModel& placed, const EmittedModel& emitted) const = 0;
  // Shapes of the inputs with open sizes at which the self-check runs both, by name.
  virtual std::vector<GivenShapes> checked_shapes(const PlacedModel&) const { return {}; }
};

class Backend {
 public:
  Backend() = default;
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  virtual const BackendInfo& info() const = 0;
  // `variant` is what follows the colon of "arm:ethos-u55-128"; the options are checked against
  // info().options. UnknownTarget: no such variant.
  virtual Result<std::unique_ptr<Target>> configure(std::string_view variant,
                                                    const Options& options) const = 0;

  // Whether a device of this kind is connected: the target `auto` takes it.
  virtual bool has_device() const { return false; }
  // Whether the file holds code that only this back end's device runs.
  virtual Result<bool> owns_code(const ModelSource& source, DiagnosticSink& sink) const;
  // Whether the device runs the file as the CPU session does, which is chosen where there is no
  // device.
  virtual bool runs_file(const ModelSource&) const { return false; }
  // Opens such a file on the device. DeviceUnavailable tells what is missing.
  virtual Result<OpenedDevice> open(const ModelSource& source, const Graph& interface,
                                    int threads) const;
  // What `doctor` tells of drivers, devices and compilers.
  virtual std::vector<Fact> facts() const { return {}; }
  // What `inspect` tells beyond the graph. Nothing where the file holds nothing of this back end.
  virtual Result<std::optional<Inspection>> inspect(const ModelSource& source,
                                                    DiagnosticSink& sink) const;

 protected:
  // UnknownTarget where a back end without variants is given one.
  Status refuse_variant(std::string_view variant) const;
};

}  // namespace ec
