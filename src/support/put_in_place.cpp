#include "support/put_in_place.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

namespace ec {
namespace {

// Linux replaces a name by renaming another one over it; it has no call that does so with a file
// that has no name.
int put_one(const Placing& file) {
  if (!file.content.empty()) {
    const auto link = [&](const std::string& name) {
      return ::linkat(AT_FDCWD, file.content.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW);
    };
    if (link(file.path) == 0) return 0;
    if (errno != EEXIST || link(file.temporary) != 0) return errno;
  }
  if (::rename(file.temporary.c_str(), file.path.c_str()) == 0) return 0;
  const int number = errno;
  ::unlink(file.temporary.c_str());
  return number;
}

struct Job {
  std::span<const Placing> files;
  PlacingResult result;
};

void run(Job& job) {
  for (const Placing& file : job.files) {
    job.result.error = put_one(file);
    if (job.result.error != 0) return;
    ++job.result.placed;
  }
}

// Calls of the system alone: the memory is the parent's.
int run_in_child(void* argument) {
  ::setpgid(0, 0);  // a signal to the parent's group is not for this process
  run(*static_cast<Job*>(argument));
  return 0;
}

}  // namespace

// The calls are made by a process of their own that shares the memory: whoever kills this one kills
// it before the first call or after the last. The child sends no signal when it ends, so that a
// host that waits for its own children never meets it.
PlacingResult put_in_place(std::span<const Placing> files) {
  Job job{files, {}};
  if (files.size() == 1 &&
      (files[0].content.empty() || ::access(files[0].path.c_str(), F_OK) != 0)) {
    run(job);  // one call is enough
    return job.result;
  }
  alignas(16) char stack[size_t{32} << 10];  // this thread waits, so it outlives the child
  sigset_t all, old;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &old);
  const pid_t child = ::clone(run_in_child, stack + sizeof stack, CLONE_VM | CLONE_VFORK, &job);
  if (child > 0) {
    while (::waitpid(child, nullptr, __WALL) < 0 && errno == EINTR) {
    }
  } else {
    run(job);  // processes are forbidden here
  }
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  return job.result;
}

}  // namespace ec
