// The progress line on the error stream: rate and time left of anything over a second, on a
// terminal only.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

#include "support/progress.h"
#include "terminal.h"

namespace ec::cli {
namespace {

using Clock = std::chrono::steady_clock;

// One task at a time: another name starts anew.
struct Line {
  std::string what;
  Clock::time_point started, drawn;
  int64_t first = 0;  // how far the task was at its first report
  bool visible = false;
};
Line g_line;

void write_stderr(std::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

void erase() {
  if (g_line.visible) write_stderr("\r\033[K");
  g_line.visible = false;
}

void listen(std::string_view what, int64_t done, int64_t total) {
  const auto now = Clock::now();
  if (g_line.what != what) {
    erase();
    g_line = {std::string(what), now, now, done, false};
  }
  if (done >= total) {
    erase();
    g_line.what.clear();
    return;
  }
  if (now - g_line.started < std::chrono::seconds(1) ||
      now - g_line.drawn < std::chrono::milliseconds(100))
    return;
  g_line.drawn = now;
  g_line.visible = true;
  write_stderr(progress_text(what, done, total, done - g_line.first,
                             std::chrono::duration<double>(now - g_line.started).count()));
}

}  // namespace

std::string progress_text(std::string_view what, int64_t done, int64_t total, int64_t since_start,
                          double seconds) {
  constexpr int kWidth = 24;
  const int filled =
      total > 0 ? static_cast<int>(static_cast<double>(done) * kWidth / static_cast<double>(total))
                : 0;
  const double rate = seconds > 0 ? static_cast<double>(since_start) / seconds : 0;
  std::string text = fmt::format("\r\033[K  {} [{:=<{}}{: <{}}] {}/{}", what, "", filled, "",
                                 kWidth - filled, format_count(done), format_count(total));
  if (rate > 0)
    text +=
        fmt::format("  {:.3g}/s  {:.0f} s left", rate, static_cast<double>(total - done) / rate);
  return text;
}

void show_progress() {
  if (color_on_stderr()) set_progress_listener(listen);
}

}  // namespace ec::cli
