// Long calls without the interpreter's lock that Ctrl-C stops all the same.
//
// Python notes a signal and handles it when the main thread runs Python again, which a long call
// never does. So the call asks the interpreter now and then, and ends as a cancelled job when a
// handler raised: KeyboardInterrupt, or whatever the program's own handler raises.
#pragma once

#include <new>
#include <optional>
#include <stdexcept>
#include <type_traits>

#include "bindings.h"
#include "support/budget.h"

namespace ec::python {

class Interruptible {
 public:
  Interruptible() : scope_(budget_) { budget_.watch(&ask, this); }

  // What a signal handler raised, if one did. Needs the interpreter's lock.
  void raise_if_interrupted() {
    if (error_) throw *error_;
  }

 private:
  static bool ask(void* self) {
    const py::gil_scoped_acquire acquired;
    if (PyErr_CheckSignals() == 0) return false;
    static_cast<Interruptible*>(self)->error_.emplace();
    return true;
  }

  std::optional<py::error_already_set> error_;
  Budget budget_;
  BudgetScope scope_;
};

// Calls `job` without the interpreter's lock. What it throws passes through; a job that a signal
// ended raises what the signal's handler raised, and memory that cannot be had is a coded error.
template <class Job>
auto run_interruptible(const Job& job) {
  Interruptible interruptible;
  const auto run = [&] {
    try {
      const py::gil_scoped_release released;
      return job();
    } catch (const std::bad_alloc&) {
      throw Failure(Error(Code::OutOfMemory, "memory exhausted"));
    } catch (const std::length_error&) {
      throw Failure(Error(Code::OutOfMemory, "a size does not fit the address space"));
    } catch (const Failure&) {
      interruptible.raise_if_interrupted();
      throw;
    }
  };
  // A signal that came in the last moment counts, too: Python has forgotten it.
  if constexpr (std::is_void_v<decltype(job())>) {
    run();
    interruptible.raise_if_interrupted();
  } else {
    auto result = run();
    interruptible.raise_if_interrupted();
    return result;
  }
}

}  // namespace ec::python
