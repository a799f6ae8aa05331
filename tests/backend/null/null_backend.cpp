// A made-up back end: one folder and one line of a list, nothing else. It writes a directory with
// the graph as text and counts operations that it would run. A test that the interface suffices.
#include <fmt/format.h>

#include "backend/backend.h"
#include "ir/text.h"
#include "ops/op_def.h"

namespace ec {

const Backend& null_backend();

namespace {

constexpr FileKind kFiles[] = {{".null", "directory that holds the graph as text", true}};
constexpr BackendVariant kVariants[] = {{"small", "runs elementwise operations only"}};
constexpr OptionDef kOptions[] = {
    {.name = "null-cores",
     .type = OptionType::Integer,
     .argument = "N",
     .help = "cores of the device that is not there",
     .default_value = "4",
     .least = 1,
     .most = 64,
     .verbs = kPlacesModel},
    {.name = "null-mode",
     .type = OptionType::Choice,
     .argument = "MODE",
     .help = "how nothing is done",
     .default_value = "lazy",
     .choices = "lazy|eager|greedy",
     .verbs = kPlacesModel},
    {.name = "null-trace",
     .type = OptionType::Flag,
     .help = "write a trace of nothing",
     .verbs = kPlacesModel},
};
constexpr NamedPipeline kPipelines[] = {
    {"to-null", "Nothing that other targets would need.", "none"}};

class NullTarget : public Target {
 public:
  NullTarget(bool small, const Options& options)
      : small_(small),
        cores_(options.integer("null-cores")),
        mode_(options.text("null-mode")),
        trace_(options.flag("null-trace")) {}

  const Backend& backend() const override { return null_backend(); }
  std::string name() const override { return small_ ? "null:small" : "null"; }
  TargetPipelines pipelines(const PipelineRequest&) const override {
    return {"optimize", "to-null"};
  }

  Result<std::vector<PlacedModel>> place(std::span<const ModelJob> jobs,
                                         DiagnosticSink&) const override {
    // What no machine has: the library reports it instead of throwing.
    if (mode_ == "greedy") std::vector<char>(size_t{1} << 62).front() = 1;
    std::vector<PlacedModel> placed(jobs.size());
    for (size_t i = 0; i < jobs.size(); ++i)
      for (const Operation* op : jobs[i].graph->topological()) {
        OpPlacement row;
        row.name = op->location().name();
        row.op = op_name(op->kind());
        if (small_ && !op->def().traits.elementwise) {
          row.placement = Placement::Host;
          row.reason = "the small variant has elementwise operations only";
          row.fix = "compile for --target null";
        }
        placed[i].report.add(std::move(row));
      }
    return placed;
  }

  Result<std::vector<EmittedModel>> emit(std::span<const ModelJob> jobs,
                                         std::span<const PlacedModel>,
                                         DiagnosticSink&) const override {
    std::vector<EmittedModel> emitted;
    for (const ModelJob& job : jobs) {
      EmittedModel model;
      model.directory = job.output;
      model.files.push_back({job.output / "graph.ecir", encode_ecir(*job.graph)});
      const std::string settings =
          fmt::format("cores={}\nmode={}\ntrace={}\n", cores_, mode_, trace_);
      model.files.push_back(
          {job.output / "settings" / "null.txt", {Blob::copy_of(std::span<const char>(settings))}});
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

 private:
  bool small_;
  int64_t cores_;
  std::string mode_;
  bool trace_;
};

class NullBackend : public Backend {
 public:
  const BackendInfo& info() const override {
    static constexpr BackendInfo kInfo{.name = "null",
                                       .summary = "a device that is not there",
                                       .files = kFiles,
                                       .variants = kVariants,
                                       .options = kOptions,
                                       .pipelines = kPipelines};
    return kInfo;
  }
  Result<std::unique_ptr<Target>> configure(std::string_view variant,
                                            const Options& options) const override {
    if (variant != "small") EC_CHECK_OK(refuse_variant(variant));
    return std::unique_ptr<Target>(std::make_unique<NullTarget>(variant == "small", options));
  }
  std::vector<Fact> facts() const override { return {{"null_device", "Null device", "not there"}}; }
};

}  // namespace

const Backend& null_backend() {
  static const NullBackend kBackend;
  return kBackend;
}

}  // namespace ec
