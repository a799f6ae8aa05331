// Exceptions of the public API. The library itself works with return values; the functions declared
// in include/edgecompiler turn a failure into one of these.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace ec {

// One problem as the user sees it.
struct Problem {
  std::string severity;  // "error", "warning", "remark"
  std::string code;      // "EC3001"; `edgecompile explain EC3001` tells more
  std::string file;      // the model, as the caller named it
  std::string node;      // name in the source model
  std::string op_type;   // in the source model's words
  std::string message;
  std::vector<std::string> notes;
  std::string hint;  // what to do
};

class Exception : public std::runtime_error {
 public:
  Exception(const std::string& text, std::vector<Problem> problems)
      : std::runtime_error(text), problems_(std::move(problems)) {}

  // All problems of the phase that failed; the first error gave the exception its kind.
  const std::vector<Problem>& diagnostics() const { return problems_; }
  const Problem& first() const { return problems_.front(); }
  const std::string& code() const { return first().code; }
  const std::string& node() const { return first().node; }
  const std::string& hint() const { return first().hint; }

 private:
  std::vector<Problem> problems_;  // at least one
};

class ModelError : public Exception {  // EC1xxx, EC2xxx: the file or the graph in it
  using Exception::Exception;
};
class UnsupportedError : public Exception {  // EC3xxx
  using Exception::Exception;
};
class QuantizationError : public Exception {  // EC4xxx
  using Exception::Exception;
};
class BackendError : public Exception {  // EC5xxx, EC6xxx, EC8xxx: limits, targets, options
  using Exception::Exception;
};
class RuntimeError : public Exception {  // EC7xxx
  using Exception::Exception;
};
class InternalError : public Exception {  // EC9xxx: a bug of edgecompiler
  using Exception::Exception;
};

}  // namespace ec
