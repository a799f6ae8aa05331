#include "backend/coral/coral_backend.h"

#include <fmt/format.h>

#include "backend/coral/device_session.h"
#include "backend/coral/edgetpu_file.h"
#include "backend/coral/facts.h"
#include "backend/coral/files.h"
#include "backend/coral/integer_rules.h"
#include "backend/coral/options.h"
#include "backend/coral/passes/legalise.h"
#include "backend/tflite/exports.h"
#include "frontend/model_source.h"
#include "support/strings.h"

namespace ec {
namespace {

constexpr FileKind kFiles[] = {{".tflite", "integer TFLite model, or Edge TPU code"}};
constexpr const PassInfo* kPasses[] = {&passes::kLegaliseCoralPass};

constexpr NamedPipeline kPipelines[] = {
    {"to-coral", "From the optimised graph to what the Edge TPU compiler maps.",
     "to-tflite,legalise-coral," EC_AFTER_LEGALISING},
    {"to-coral-keep-io", "The same with inputs and outputs in the source's order of dimensions.",
     "to-tflite-keep-io,legalise-coral," EC_AFTER_LEGALISING},
    {"coral", "What files for the Edge TPU compiler are written from.", "optimize,to-coral"},
    {"coral-keep-io", "The same with inputs and outputs in the source's order of dimensions.",
     "optimize,to-coral-keep-io"},
};

const coral::ModelFiles& files_of(const PlacedModel& placed) {
  return *static_cast<const coral::ModelFiles*>(placed.state.get());
}

class CoralTarget : public Target {
 public:
  explicit CoralTarget(coral::TargetOptions options) : options_(std::move(options)) {}

  const Backend& backend() const override { return coral_backend(); }

  Status check_source(const ModelSource& source, DiagnosticSink& sink) const override {
    EC_TRY(const bool is_code, coral::is_edgetpu_code(source, sink));
    if (!is_code) return {};
    return Error(Code::NotOnTarget, "the file is Edge TPU code already")
        .file(source.name())
        .hint(
            "give the .tflite file that it was compiled from; `edgecompile inspect` shows what "
            "this one holds");
  }
  // The device's code has fixed sizes.
  bool needs_fixed_sizes() const override { return true; }

  TargetPipelines pipelines(const PipelineRequest& request) const override {
    const bool keep = options_.keep_io_layout || request.keeps_interface;
    return {"optimize", keep ? "to-coral-keep-io" : "to-coral"};
  }
  const quantize::TargetSpec* integer_rules() const override { return &quantize::coral_spec(); }

  std::string default_file_name(std::string_view name) const override {
    // Segments are numbered behind the model's own name.
    const std::string_view suffix = options_.run_compiler   ? "_edgetpu"
                                    : options_.segments > 0 ? ""
                                                            : "_coral";
    return fmt::format("{}{}.tflite", name, suffix);
  }

  Status check_output(const std::filesystem::path& output) const override {
    EC_CHECK_OK(Target::check_output(output));
    // "Edge TPU code" is what Google's compiler wrote and nothing else.
    if (options_.run_compiler || !output.stem().string().ends_with("_edgetpu")) return {};
    return Error(Code::Usage, fmt::format("'{}' would name a file that is no Edge TPU code",
                                          printable(output.filename().string())))
        .hint("choose another name with -o, or add --edgetpu-compiler");
  }

  Status check_model_count(size_t count) const override {
    if (count == 1 || options_.segments == 0) return {};
    return Error(Code::Usage, "--segments takes one model at a time")
        .hint("cut each model in a run of its own");
  }

  Result<std::vector<PlacedModel>> place(std::span<const ModelJob> jobs,
                                         DiagnosticSink& sink) const override {
    return coral::place_models(jobs, options_, sink);
  }

  Result<std::vector<EmittedModel>> emit(std::span<const ModelJob> jobs,
                                         std::span<const PlacedModel> placed,
                                         DiagnosticSink&) const override {
    std::vector<EmittedModel> emitted;
    for (size_t m = 0; m < jobs.size(); ++m) {
      const coral::ModelFiles& files = files_of(placed[m]);
      // What is checked is the compiler's input; what is kept is its code.
      const std::vector<Blob>& kept = files.code.empty() ? files.tflite : files.code;
      EmittedModel model;
      for (size_t i = 0; i < kept.size(); ++i)
        model.files.push_back({coral::file_path(jobs[m].output, i, kept.size()), {kept[i]}});
      model.operators = files.whole.summary.operators;
      model.num_operators = files.whole.summary.num_operators;
      emitted.push_back(std::move(model));
    }
    return emitted;
  }

  Result<std::vector<std::unique_ptr<Graph>>> read_back(
      const ModelJob&, const PlacedModel& placed, const EmittedModel& emitted) const override {
    const std::vector<Blob>& files = files_of(placed).tflite;
    std::vector<std::unique_ptr<Graph>> graphs;
    for (size_t i = 0; i < files.size(); ++i) {
      EC_TRY(std::unique_ptr<Graph> graph, read_back_tflite(files[i], emitted.files[i].path));
      graphs.push_back(std::move(graph));
    }
    return graphs;
  }

 private:
  coral::TargetOptions options_;
};

class CoralBackend : public Backend {
 public:
  const BackendInfo& info() const override {
    static const BackendInfo kInfo{.name = "coral",
                                   .summary = "Coral Edge TPU",
                                   .files = kFiles,
                                   .options = coral::option_table(),
                                   .passes = kPasses,
                                   .pipelines = kPipelines};
    return kInfo;
  }
  Result<std::unique_ptr<Target>> configure(std::string_view variant,
                                            const Options& options) const override {
    EC_CHECK_OK(refuse_variant(variant));
    return std::unique_ptr<Target>(std::make_unique<CoralTarget>(coral::target_options(options)));
  }

  bool has_device() const override { return coral::has_device(); }
  Result<bool> owns_code(const ModelSource& source, DiagnosticSink& sink) const override {
    return coral::is_edgetpu_code(source, sink);
  }
  Result<OpenedDevice> open(const ModelSource& source, const Graph& interface,
                            int threads) const override {
    EC_TRY(const Blob bytes, source.bytes());
    return coral::open_on_device(bytes, interface, threads);
  }
  std::vector<Fact> facts() const override { return coral::machine_facts(); }
  Result<std::optional<Inspection>> inspect(const ModelSource& source,
                                            DiagnosticSink& sink) const override {
    return coral::inspect_file(source, sink);
  }
};

}  // namespace

const Backend& coral_backend() {
  static const CoralBackend kBackend;
  return kBackend;
}

}  // namespace ec
