#include "driver/session.h"

#include <chrono>

#include "driver/coral.h"
#include "driver/coral_session.h"
#include "driver/load.h"
#include "driver/open_model.h"
#include "driver/optimize.h"
#include "driver/targets.h"
#include "quantize/class_scores.h"
#include "support/file.h"

namespace ec {
namespace {

// Edge TPU code: no CPU can run it.
Status open_code(const std::filesystem::path& path, const Graph& graph, const TargetInfo& target,
                 const CompileOptions& options, OpenedSession& opened) {
  if (target.name != "coral" && options.target != "auto")
    return Error(Code::DeviceUnavailable, "the file is Edge TPU code, which no CPU runs")
        .file(path.string())
        .hint(
            "run it with --target coral on a machine with the device, or run the .tflite file "
            "that it was compiled from");
  EC_TRY(const Blob file, map_file(path));
  Result<CoralSession> session = open_on_coral(file, graph, options.threads.value_or(1));
  if (!session) return std::move(session).error().file(path.string());
  opened.session = std::move(session->session);
  opened.device = std::move(session->device);
  return {};
}

}  // namespace

Result<OpenedSession> open_session(const std::filesystem::path& path, const CompileOptions& options,
                                   bool profile, DiagnosticSink& sink) {
  const auto start = std::chrono::steady_clock::now();
  EC_TRY(const TargetInfo* target, find_target(options.target));
  EC_TRY(LoadedModel model, load_model(path, options, sink));
  EC_TRY(const bool is_code, is_edgetpu_code(path, sink));
  OpenedSession opened;
  opened.metadata = model.graph->metadata();
  opened.softmax_axes = quantize::softmax_axes(*model.graph);
  if (is_code) {
    EC_CHECK_OK(open_code(path, *model.graph, *target, options, opened));
  } else {
    const std::string pipeline = options.reference ? "none" : "runtime";
    SessionOptions session;
    session.threads = options.threads.value_or(1);
    session.reference = options.reference;
    session.profile = profile;
    const bool is_open = has_open_sizes(*model.graph);
    if (!is_open) {
      EC_TRY(opened.passes, optimize(*model.graph, options, pipeline, sink));
    }
    Result<std::unique_ptr<Session>> created =
        is_open ? Session::create_open(make_open_model(std::move(model.graph), options, pipeline),
                                       session)
                : Session::create(std::move(model.graph), session);
    if (!created) return std::move(created).error().file(path.string());
    opened.session = std::move(*created);
  }
  const auto took = std::chrono::steady_clock::now() - start;
  opened.open_ms = std::chrono::duration<double, std::milli>(took).count();
  return opened;
}

}  // namespace ec
