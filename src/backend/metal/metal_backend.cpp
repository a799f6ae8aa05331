#include "backend/metal/metal_backend.h"

#include <fmt/format.h>

#include <unordered_map>

#include "backend/metal/device.h"
#include "backend/metal/half_precision.h"
#include "backend/metal/integer_rules.h"
#include "backend/metal/options.h"
#include "backend/metal/package.h"
#include "backend/metal/passes/legalise.h"
#include "backend/metal/place.h"
#include "backend/metal/swift.h"
#include "backend/tflite/exports.h"
#include "frontend/model_source.h"
#include "ops/op_def.h"

namespace ec {
namespace {

constexpr FileKind kFiles[] = {{".mlpackage", "Core ML package with an ML Program", true}};
constexpr const PassInfo* kPasses[] = {&passes::kLegaliseMilPass};

constexpr NamedPipeline kPipelines[] = {
    {"to-metal", "From the optimised graph to the form of Core ML's programs.",
     // Programs have channels first; inputs and outputs keep the order that the model gives them.
     "layout{to=nchw},canonicalise,"
     "legalise-mil," EC_AFTER_LEGALISING},
    {"to-metal-ios18", "The same for packages of iOS 18 and later, which have attention.",
     "recover-attention,layout{to=nchw},canonicalise,"
     "legalise-mil{attention=whole}," EC_AFTER_LEGALISING},
    {"metal", "What Core ML packages are written from.", "optimize,to-metal"},
};

const metal::PlacedPackage& package_of(const PlacedModel& placed) {
  return *static_cast<const metal::PlacedPackage*>(placed.state.get());
}

class MetalTarget : public Target {
 public:
  explicit MetalTarget(metal::TargetOptions options) : options_(std::move(options)) {}

  const Backend& backend() const override { return metal_backend(); }
  // The Neural Engine takes fixed and listed sizes alone: others stay open where users say so.
  bool needs_fixed_sizes() const override { return true; }
  const FlexibleShapes* flexible_shapes() const override {
    return options_.flexible.empty() ? nullptr : &options_.flexible;
  }
  TargetPipelines pipelines(const PipelineRequest&) const override {
    return {"optimize", options_.has_attention() ? "to-metal-ios18" : "to-metal"};
  }

  bool measures_samples() const override {
    return options_.half_precision || options_.weights.compresses();
  }
  const quantize::TargetSpec* integer_rules() const override { return &quantize::metal_spec(); }

  Result<std::vector<PlacedModel>> place(std::span<const ModelJob> jobs,
                                         DiagnosticSink& sink) const override {
    std::vector<PlacedModel> placed;
    for (const ModelJob& job : jobs) {
      EC_TRY(PlacedModel model, metal::place_model(job, options_, sink));
      placed.push_back(std::move(model));
    }
    return placed;
  }

  Result<std::vector<EmittedModel>> emit(std::span<const ModelJob> jobs,
                                         std::span<const PlacedModel> placed,
                                         DiagnosticSink& sink) const override {
    std::vector<EmittedModel> emitted;
    for (size_t i = 0; i < jobs.size(); ++i) {
      const metal::PlacedPackage& package = package_of(placed[i]);
      for (const Diagnostic& problem : package.problems) sink.report(problem);
      if (!package.program) return sink.first_error();
      EmittedModel model;
      model.directory = jobs[i].output;
      model.files = metal::package_files(*package.program, jobs[i].output);
      if (options_.emit_swift) model.beside.push_back(swift_file(*package.program, jobs[i].output));
      model.operators = package.program->summary.operators;
      model.num_operators = package.program->summary.num_operators;
      emitted.push_back(std::move(model));
    }
    return emitted;
  }

  const Graph* written_graph(const PlacedModel& placed) const override {
    return package_of(placed).compared.get();
  }

  std::vector<GivenShapes> checked_shapes(const PlacedModel& placed) const override {
    return package_of(placed).checked;
  }

  Result<std::vector<std::unique_ptr<Graph>>> read_back(
      const ModelJob&, const PlacedModel&, const EmittedModel& emitted) const override {
    return metal::read_package(emitted.files);
  }

 private:
  ArtifactFile swift_file(const CoremlProgram& program, const std::filesystem::path& output) const {
    const std::string text =
        metal::swift_source(program.model.interface, output.filename().string(), options_.units);
    return {std::filesystem::path(output).replace_extension(".swift"),
            {Blob::copy_of(std::as_bytes(std::span(text.data(), text.size())))}};
  }

  metal::TargetOptions options_;
};

class MetalBackend : public Backend {
 public:
  const BackendInfo& info() const override {
    static const BackendInfo kInfo{.name = "metal",
                                   .summary = "Apple Core ML: Neural Engine, GPU, CPU",
                                   .files = kFiles,
                                   .options = metal::option_table(),
                                   .passes = kPasses,
                                   .pipelines = kPipelines};
    return kInfo;
  }

  Result<std::unique_ptr<Target>> configure(std::string_view variant,
                                            const Options& options) const override {
    EC_CHECK_OK(refuse_variant(variant));
    EC_TRY(metal::TargetOptions values, metal::target_options(options));
    return std::unique_ptr<Target>(std::make_unique<MetalTarget>(std::move(values)));
  }

  bool has_device() const override { return metal::has_device(); }
  bool runs_file(const ModelSource& source) const override {
    return source.is_directory() && source.extension() == ".mlpackage";
  }
  Result<OpenedDevice> open(const ModelSource& source, const Graph& interface, int) const override {
    return metal::open_on_device(source.path(), interface);
  }
  std::vector<Fact> facts() const override { return metal::machine_facts(); }
};

}  // namespace

const Backend& metal_backend() {
  static const MetalBackend kBackend;
  return kBackend;
}

}  // namespace ec
