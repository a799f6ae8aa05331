#include "fuzz/mutation_cases.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace ec::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr time_t kSecondsPerFile = 60;

// The message of the last resort. Processor time of all threads counts.
void on_timer(int) {
  static const char kText[] = "a damaged file took more than a minute of processor time\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText, sizeof kText - 1);
  ::_exit(99);
}

void set_timer(time_t seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = seconds;
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

}  // namespace

int mutation_count(int usual) {
  const char* text = std::getenv("EC_MUTATIONS");
  return text != nullptr ? std::atoi(text) : usual;
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.is_open()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

size_t folder_size(const fs::path& folder) {
  size_t size = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) size += entry.file_size();
  return size;
}

LimitedCase::LimitedCase() {
  ::signal(SIGPROF, on_timer);
  set_timer(kSecondsPerFile);
}

LimitedCase::~LimitedCase() { set_timer(0); }

void LimitedCase::expect_memory(size_t file_size, const std::string& label, size_t times,
                                size_t slack) const {
  EXPECT_LE(peak(), times * file_size + slack) << label;
}

std::string outcome_of(const Result<std::unique_ptr<Graph>>& graph, const DiagnosticSink& sink,
                       const std::string& label) {
  if (!graph.ok()) {
    EXPECT_FALSE(graph.error().message().empty()) << label;
    EXPECT_NE(graph.error().code(), Code::Internal) << label << ": " << graph.error().message();
    EXPECT_TRUE(sink.has_errors()) << label;
    return code_id(graph.error().code());
  }
  const auto faults = verify(**graph);
  EXPECT_TRUE(faults.empty()) << label << ": " << faults.front().message;
  return "imported";
}

void expect_shown(const Result<std::unique_ptr<Graph>>& shown, const DiagnosticSink& sink,
                  const Result<std::unique_ptr<Graph>>& graph, const std::string& label) {
  EXPECT_TRUE(shown.ok() || sink.has_errors()) << label;
  EXPECT_TRUE(shown.ok() || !graph.ok()) << label;
  EXPECT_TRUE(!shown.ok() || verify(**shown).empty()) << label;
}

void print(const Outcomes& outcomes) {
  for (const auto& [outcome, count] : outcomes) std::printf("%8d %s\n", count, outcome.c_str());
}

}  // namespace ec::fuzz
