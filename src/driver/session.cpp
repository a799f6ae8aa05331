#include "driver/session.h"

#include <chrono>

#include "driver/load.h"
#include "driver/optimize.h"
#include "driver/targets.h"

namespace ec {

Result<OpenedSession> open_session(const std::filesystem::path& path, const CompileOptions& options,
                                   bool profile, DiagnosticSink& sink) {
  const auto start = std::chrono::steady_clock::now();
  EC_TRY([[maybe_unused]] const TargetInfo* target, find_target(options.target));
  EC_TRY(LoadedModel model, load_model(path, options, sink));
  OpenedSession opened;
  EC_TRY(opened.passes,
         optimize(*model.graph, options, options.reference ? "none" : "runtime", sink));
  SessionOptions session;
  session.threads = options.threads;
  session.reference = options.reference;
  session.profile = profile;
  Result<std::unique_ptr<Session>> created = Session::create(std::move(model.graph), session);
  if (!created) return std::move(created).error().file(path.string());
  opened.session = std::move(*created);
  const auto took = std::chrono::steady_clock::now() - start;
  opened.open_ms = std::chrono::duration<double, std::milli>(took).count();
  return opened;
}

}  // namespace ec
