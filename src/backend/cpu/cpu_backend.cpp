#include "backend/cpu/cpu_backend.h"

#include "backend/cpu/place.h"
#include "ir/text.h"

namespace ec {
namespace {

constexpr FileKind kFiles[] = {
    {".ecir", "graph with its weights, which are used where they stand in the file"}};

constexpr NamedPipeline kPipelines[] = {
    {"to-cpu", "From the optimised graph to what the CPU session executes.",
     // Here only: model formats rarely have the operation, and other back ends want its single
     // operations.
     "recover-attention,"
     // After all fusion into weights: an activation closes a weighted sum. Before the layout, so
     // that a convolution and what it takes along move as one.
     "fuse-activations,"
     "layout{to=nhwc},"
     // Transposes that the layout leaves meet those of the model.
     "canonicalise"},
    {"runtime", "What the CPU session executes.", "widen-halves,optimize,to-cpu"},
};

class CpuTarget : public Target {
 public:
  const Backend& backend() const override { return cpu_backend(); }
  TargetPipelines pipelines(const PipelineRequest&) const override {
    // Kernels for vectors are those of single precision.
    return {"widen-halves,optimize", "to-cpu"};
  }

  Result<std::vector<PlacedModel>> place(std::span<const ModelJob> jobs,
                                         DiagnosticSink&) const override {
    std::vector<PlacedModel> placed(jobs.size());
    for (size_t i = 0; i < jobs.size(); ++i) {
      EC_TRY(placed[i].report, place_on_cpu(*jobs[i].graph));
    }
    return placed;
  }

  Result<std::vector<EmittedModel>> emit(std::span<const ModelJob> jobs,
                                         std::span<const PlacedModel>,
                                         DiagnosticSink&) const override {
    std::vector<EmittedModel> emitted;
    for (const ModelJob& job : jobs) {
      EmittedModel model;
      model.files.push_back({job.output, encode_ecir(*job.graph)});
      emitted.push_back(std::move(model));
    }
    return emitted;
  }

  Result<std::vector<std::unique_ptr<Graph>>> read_back(
      const ModelJob&, const PlacedModel&, const EmittedModel& emitted) const override {
    EC_TRY(std::unique_ptr<Graph> graph, read_ecir(Blob::joined(emitted.files.front().parts)));
    std::vector<std::unique_ptr<Graph>> graphs;
    graphs.push_back(std::move(graph));
    return graphs;
  }
};

class CpuBackend : public Backend {
 public:
  const BackendInfo& info() const override {
    static constexpr BackendInfo kInfo{.name = "cpu",
                                       .summary = "this machine, through the CPU session",
                                       .files = kFiles,
                                       .pipelines = kPipelines};
    return kInfo;
  }
  Result<std::unique_ptr<Target>> configure(std::string_view variant,
                                            const Options&) const override {
    EC_CHECK_OK(refuse_variant(variant));
    return std::unique_ptr<Target>(std::make_unique<CpuTarget>());
  }
};

}  // namespace

const Backend& cpu_backend() {
  static const CpuBackend kBackend;
  return kBackend;
}

}  // namespace ec
