// Long tasks report how far they are; a front end may show it. Without a listener it costs one
// load.
#pragma once

#include <cstdint>
#include <string_view>

namespace ec {

// done == total: finished. Called from the thread that runs the task.
using ProgressListener = void (*)(std::string_view what, int64_t done, int64_t total);

// Null: nobody listens.
void set_progress_listener(ProgressListener listener);
void report_progress(std::string_view what, int64_t done, int64_t total);

}  // namespace ec
