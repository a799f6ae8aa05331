#include "fuzz/op/workers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <thread>

#include "fuzz/allocation_meter.h"
#include "fuzz/op/tally.h"
#include "ops/op_def.h"
#include "temporary_directory.h"

namespace ec::fuzz {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostOps = 256;
constexpr int kMostJobs = 64;
constexpr int kExitMemory = 77;
constexpr double kWallSeconds = 120;  // for what waits instead of computing
constexpr size_t kTextLimit = 600;
constexpr std::string_view kFileWasRead = "verify file";  // the stage behind the import

// Set by a signal: the run ends with its report.
volatile std::sig_atomic_t stop_signal = 0;

// What parent and workers share.
struct Slot {
  std::atomic<uint64_t> seed{0};
  std::atomic<double> cpu_start{0};
  std::atomic<int64_t> wall_start_ms{0};
  char stage[64] = {};
  char subject[64] = {};
};
struct Shared {
  Slot slots[kMostJobs];
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> next{0};  // the first model that nobody took
  std::atomic<uint64_t> models{0};
  std::atomic<uint64_t> by_level[kLevels] = {};
  Tally stages, files, files_read;
  std::atomic<uint64_t> about[kMostOps] = {}, tried[kMostOps] = {}, taken[kMostOps] = {};
};

double cpu_seconds(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}
int64_t wall_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch())
      .count();
}

// One line of the pipe; the pieces hold no tabs and no line ends.
std::string plain(std::string text) {
  if (text.size() > kTextLimit) text.resize(kTextLimit);
  for (char& c : text)
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  return text;
}

std::string subject_of(const Model& model) {
  return model.graph == nullptr ? "file " + model.file_subject
                                : std::string(op_name(model.subject));
}

class Worker {
 public:
  Worker(const RunOptions& options, Shared& shared, const std::filesystem::path& scratch, int job,
         int pipe)
      : options_(options), shared_(shared), slot_(shared.slots[job]), pipe_(pipe) {
    hooks_.scratch = scratch / std::to_string(job);
    hooks_.begin = [this](std::string_view stage) { begin(stage); };
    hooks_.found = [this](const Find& find) { report(find); };
  }

  // Takes models until none is left.
  [[noreturn]] void run() {
    const Registry& registry = default_registry();
    while (!shared_.stop) {
      const uint64_t i = shared_.next++;
      if (i >= options_.count) break;
      run_model(registry, options_.seed + i);
    }
    std::_Exit(0);
  }

 private:
  static void note(char (&where)[64], std::string_view text) {
    const size_t length = std::min(text.size(), sizeof where - 1);
    std::memcpy(where, text.data(), length);
    where[length] = 0;
  }

  void begin(std::string_view stage) {
    note(slot_.stage, stage);
    shared_.stages.add(stage);
    if (stage == kFileWasRead) shared_.files_read.add(file_subject_);
  }

  void report(const Find& find) {
    const std::string line = fmt::format("{}\t{}\t{}\t{}\t{}\n", slot_.seed.load(), slot_.subject,
                                         plain(find.stage), plain(find.kind), plain(find.text));
    // Below PIPE_BUF: lines of several workers do not mix.
    if (write(pipe_, line.data(), line.size()) < 0) std::_Exit(1);
  }

  void run_model(const Registry& registry, uint64_t seed) {
    slot_.seed = seed;
    slot_.wall_start_ms = wall_ms();
    slot_.cpu_start = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
    note(slot_.stage, "generate");
    note(slot_.subject, "");
    AllocationMeter meter;
    Level level{};
    {
      const Model model = generate(seed, options_.generate);
      level = model.level;
      note(slot_.subject, subject_of(model));
      count(model);
      run_stages(registry, model, seed, hooks_);
    }
    const size_t used = meter.peak() >> 20;
    ++shared_.models;
    // Reference kernels copy operands, which nearly fill the limit of a run here, as wider numbers.
    if (used <= options_.megabytes * (level == Level::Immense ? 3 : 1)) return;
    report({slot_.stage, "memory", fmt::format("{} MB", used)});
    std::_Exit(kExitMemory);
  }

  void count(const Model& model) {
    ++shared_.by_level[static_cast<size_t>(model.level)];
    if (model.graph == nullptr) {
      file_subject_ = model.file_subject;
      shared_.files.add(file_subject_);
      return;
    }
    ++shared_.about[static_cast<size_t>(model.subject)];
    for (const OpKind kind : model.tried) ++shared_.tried[static_cast<size_t>(kind)];
    for (const OpKind kind : model.taken) ++shared_.taken[static_cast<size_t>(kind)];
  }

  const RunOptions& options_;
  Shared& shared_;
  Slot& slot_;
  int pipe_;
  std::string file_subject_;
  StageHooks hooks_;
};

// The part of a sanitizer's or library's last words that tells where.
std::string last_words(int file) {
  const off_t size = lseek(file, 0, SEEK_END);
  std::string text(static_cast<size_t>(std::min<off_t>(size, 1 << 16)), '\0');
  const ssize_t got = pread(file, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  std::string words;
  size_t begin = 0;
  int frames = 0;
  while (begin < text.size() && frames < 8) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (const size_t in = line.find(" in "); line.find("    #") == 0 && in != std::string::npos) {
      if (line.find("__asan") != std::string::npos ||
          line.find("__interceptor") != std::string::npos)
        continue;
      words += " | " + line.substr(in + 4, 90);
      ++frames;
    } else if (line.find("runtime error") != std::string::npos ||
               line.find("ERROR:") != std::string::npos ||
               line.find("Assert") != std::string::npos ||
               line.find("terminate") != std::string::npos ||
               line.find("what()") != std::string::npos) {
      words += line.substr(0, 200);
    }
  }
  return words;
}

class Pool {
 public:
  explicit Pool(const RunOptions& options) : options_(options) {
    void* memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared_ = new (memory) Shared;
    if (pipe2(pipe_, O_CLOEXEC) != 0) std::abort();
    fcntl(pipe_[0], F_SETFL, O_NONBLOCK);
  }
  ~Pool() { munmap(shared_, sizeof(Shared)); }

  RunFigures run() {
    const auto start = Clock::now();
    default_registry();  // once, before the forks
    running_.resize(static_cast<size_t>(options_.jobs));
    for (int job = 0; job < options_.jobs; ++job) begin(job);
    auto told = start;
    while (
        std::any_of(running_.begin(), running_.end(), [](const Running& r) { return r.pid > 0; })) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      read_finds();
      const double elapsed = std::chrono::duration<double>(Clock::now() - start).count();
      if ((options_.seconds > 0 && elapsed > options_.seconds) || stop_signal != 0)
        shared_->stop = true;
      for (int job = 0; job < options_.jobs; ++job) watch(job);
      if (options_.verbose && Clock::now() - told > std::chrono::seconds(30)) {
        told = Clock::now();
        std::fprintf(stderr, "%llu models, %zu finds, %.0f s\n",
                     static_cast<unsigned long long>(shared_->models.load()), figures_.finds.size(),
                     std::chrono::duration<double>(told - start).count());
      }
    }
    read_finds();
    figures_.models = shared_->models;
    figures_.next_seed = options_.seed + std::min(shared_->next.load(), options_.count);
    figures_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    for (size_t i = 0; i < kLevels; ++i) figures_.by_level[i] = shared_->by_level[i];
    for (const OpDef* def : all_ops()) {
      const auto i = static_cast<size_t>(def->kind);
      figures_.by_op[std::string(def->name)] = {shared_->about[i], shared_->tried[i],
                                                shared_->taken[i]};
    }
    figures_.by_stage = shared_->stages.figures();
    const std::map<std::string, uint64_t> read = shared_->files_read.figures();
    for (const auto& [name, files] : shared_->files.figures())
      figures_.by_operator[name] = {files, read.contains(name) ? read.at(name) : 0};
    return std::move(figures_);
  }

 private:
  struct Running {
    pid_t pid = 0;
    int words = -1;  // its standard error
  };

  void begin(int job) {
    Running& running = running_[static_cast<size_t>(job)];
    running = {};
    if (shared_->next >= options_.count || shared_->stop) return;
    running.words = memfd_create("words", MFD_CLOEXEC);
    shared_->slots[job].wall_start_ms = wall_ms();
    shared_->slots[job].cpu_start = 0;
    std::fflush(nullptr);
    running.pid = fork();
    if (running.pid == 0) {
      dup2(running.words, STDERR_FILENO);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      // Ctrl-C asks the whole group to end; a model that runs is finished.
      std::signal(SIGINT, SIG_IGN);
      Worker(options_, *shared_, scratch_.path(), job, pipe_[1]).run();
    }
  }

  void watch(int job) {
    Running& running = running_[static_cast<size_t>(job)];
    if (running.pid <= 0) return;
    int status = 0;
    if (waitpid(running.pid, &status, WNOHANG) == running.pid) {
      ended(job, status, "");
      return;
    }
    const Slot& slot = shared_->slots[job];
    clockid_t clock{};
    if (clock_getcpuclockid(running.pid, &clock) != 0) return;
    const double cpu = cpu_seconds(clock) - slot.cpu_start;
    const double wall = static_cast<double>(wall_ms() - slot.wall_start_ms) / 1000;
    std::string why;
    if (cpu > options_.cpu_seconds || wall > kWallSeconds)
      why = fmt::format("time\tover {:.0f} s", options_.cpu_seconds);
    else if (resident_megabytes(running.pid) > 4096)
      why = "memory\tover 4096 MB";
    if (why.empty()) return;
    kill(running.pid, SIGKILL);
    waitpid(running.pid, &status, 0);
    ended(job, status, why);
  }

  static size_t resident_megabytes(pid_t pid) {
    std::ifstream file(fmt::format("/proc/{}/statm", pid));
    size_t total = 0, resident = 0;
    file >> total >> resident;
    return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE)) >> 20;
  }

  void ended(int job, int status, const std::string& why) {
    Running& running = running_[static_cast<size_t>(job)];
    const Slot& slot = shared_->slots[job];
    const bool finished = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    const bool told = WIFEXITED(status) && WEXITSTATUS(status) == kExitMemory;
    if (!finished && !told) {
      SeedFind find{slot.seed, slot.subject, {slot.stage, "crash", ""}};
      if (!why.empty()) {
        const size_t tab = why.find('\t');
        find.find.kind = why.substr(0, tab);
        find.find.text = why.substr(tab + 1);
      } else {
        const std::string how = WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                                    : fmt::format("exit {}", WEXITSTATUS(status));
        find.find.text = how + " " + last_words(running.words);
      }
      add(std::move(find));
    }
    close(running.words);
    running.pid = 0;
    if (finished) return;
    ++figures_.restarts;
    begin(job);
  }

  void add(SeedFind find) {
    if (options_.verbose)
      std::fprintf(stderr, "seed %llu %s: %s: %s: %s\n", static_cast<unsigned long long>(find.seed),
                   find.subject.c_str(), find.find.stage.c_str(), find.find.kind.c_str(),
                   find.find.text.c_str());
    figures_.finds.push_back(std::move(find));
  }

  void read_finds() {
    char bytes[4096];
    for (ssize_t got; (got = read(pipe_[0], bytes, sizeof bytes)) > 0;)
      pending_.append(bytes, static_cast<size_t>(got));
    for (size_t end; (end = pending_.find('\n')) != std::string::npos; pending_.erase(0, end + 1)) {
      std::vector<std::string> parts(1);
      for (size_t i = 0; i < end; ++i) {
        if (pending_[i] == '\t')
          parts.emplace_back();
        else
          parts.back() += pending_[i];
      }
      if (parts.size() == 5) add({std::stoull(parts[0]), parts[1], {parts[2], parts[3], parts[4]}});
    }
  }

  const RunOptions& options_;
  Shared* shared_;
  const TemporaryDirectory scratch_;  // for models that are folders
  int pipe_[2] = {};
  std::vector<Running> running_;
  std::string pending_;
  RunFigures figures_;
};

}  // namespace

RunFigures run_models(const RunOptions& options) {
  for (const int number : {SIGINT, SIGTERM})
    std::signal(number, [](int given) { stop_signal = given; });
  return Pool(options).run();
}

}  // namespace ec::fuzz
