#include "driver/optimize.h"

#include "driver/quantize.h"

namespace ec {

Result<PipelineReport> optimize(Graph& graph, const CompileOptions& options,
                                std::string_view pipeline, DiagnosticSink& sink) {
  PassManagerOptions manager;
  manager.disabled = options.disable_pass;
  manager.print_after = options.print_after;
  manager.dump_directory = options.dump_phases;
  if (options.stop_after == "import") pipeline = "none";
  if (options.stop_after != "optimize" && options.stop_after != "import")
    manager.stop_after = options.stop_after;
  const bool own_list = !options.passes.empty() && options.stop_after != "import";
  PassContext context;
  context.sink = &sink;
  context.integer_weights = rounds_weights(options);
  return PassManager(std::move(manager)).run(graph, own_list ? options.passes : pipeline, context);
}

}  // namespace ec
