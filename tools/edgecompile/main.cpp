// edgecompile: parses, runs the verb, prints result and diagnostics, exits with the right code.
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "cli.h"
#include "edgecompiler/version.h"
#include "envelope.h"
#include "limits/limits.h"
#include "options/report_files.h"
#include "support/file.h"
#include "terminal.h"

namespace ec::cli {
namespace {

extern "C" void on_signal(int) {
  remove_pending_outputs();
  constexpr char kText[] = "\nedgecompile: interrupted; nothing half-written\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText, sizeof kText - 1);
  ::_exit(130);
}

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &action, nullptr);
  // A file-size limit must show as a failed write, which has a message, not as a dead process.
  std::signal(SIGXFSZ, SIG_IGN);
}

Status dispatch(const Settings& settings, Output& output, DiagnosticSink& sink) {
  if (settings.version) {
    output.text = std::string("edgecompile ") + version() + "\n";
    output.json = std::string("{\"version\": \"") + version() + "\"}";
    return {};
  }
  if (settings.help) {
    output.text = settings.verb == Verb::Help ? help_text() : help_text(verb_def(settings.verb));
    return {};
  }
  if (!settings.generated_config.empty()) {
    output.text = settings.generated_config;
    output.json = json_text_object("text", settings.generated_config);
    return {};
  }
  const std::vector<std::string>& reports = settings.options.texts("report");
  EC_CHECK_OK(check_report_files(reports));
  // One limit for all that the verb does, from here on.
  Budget budget(job_limits(settings.options));
  const BudgetScope scope(budget);
  Status status = verb_def(settings.verb).run(settings, output, sink);
  // A check that ends in an error has a report all the same.
  if (!output.json.empty())
    if (Status written = write_report_files(reports, output.json); status.ok()) return written;
  return status;
}

// The last line of defence: what libraries may throw ends as a diagnostic.
Status dispatch_guarded(const Settings& settings, Output& output, DiagnosticSink& sink) {
  try {
    return dispatch(settings, output, sink);
  } catch (const std::bad_alloc&) {
    return Error(Code::OutOfMemory, "memory exhausted")
        .hint("use a smaller model or input shape, or a machine with more memory");
  } catch (const std::exception& e) {
    return Error(Code::Internal, e.what());
  }
}

int exit_code_of(const DiagnosticSink& sink) {
  if (!sink.has_errors()) return 0;
  const CodeInfo* info = find_code(sink.first_error().code());
  return info ? info->exit_code : 1;
}

void print_diagnostics(const DiagnosticSink& sink, bool quiet) {
  const bool color = color_on_stderr();
  for (const Diagnostic& diagnostic : sink.diagnostics())
    if (!quiet || diagnostic.severity == Severity::Error)
      std::fputs(diagnostic_text(diagnostic, color).c_str(), stderr);
  if (sink.error_count() > DiagnosticSink::kMaxErrors)
    std::fprintf(stderr, "%zu more errors not shown\n",
                 sink.error_count() - DiagnosticSink::kMaxErrors);
}

int run(std::span<const char* const> arguments) {
  Settings settings;
  Output output;
  DiagnosticSink sink;
  Status status = parse_command_line(arguments, settings);
  const bool nothing_asked = arguments.empty();
  if (status.ok() && nothing_asked) {
    std::fputs(help_text().c_str(), stderr);
    return 2;
  }
  if (status.ok() && !settings.quiet && !settings.json) show_progress();
  if (status.ok()) status = dispatch_guarded(settings, output, sink);
  // A verb that failed has reported to the sink, or returns its one error.
  if (!status.ok() && !(sink.has_errors() && status.error().code() == sink.first_error().code()))
    sink.report(std::move(status).error());

  int code = exit_code_of(sink);
  if (settings.json) {
    output.text =
        json_envelope(verb_def(settings.verb).name(), code, sink.diagnostics(), output.json);
  } else {
    print_diagnostics(sink, settings.quiet);
  }
  if (Status written = write_stdout(output.text); !written.ok()) {
    std::fputs(diagnostic_text(written.error().diagnostic(), color_on_stderr()).c_str(), stderr);
    if (code == 0) code = 1;
  }
  return code;
}

}  // namespace
}  // namespace ec::cli

int main(int argc, char** argv) {
  ec::cli::install_signal_handlers();
  return ec::cli::run({argv + 1, static_cast<size_t>(argc > 0 ? argc - 1 : 0)});
}
