// Diagnostics: one problem (or remark) as the user sees it, and the sink that collects all problems
// of a phase so that one run reports them together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ec {

enum class Severity : uint8_t { Remark, Warning, Error };

// The stable codes (EC1001 ...) with their explanations live in codes.def.
enum class Code : uint16_t {
#define EC_CODE(number, name, exit_code, title, explanation) name = number,
#include "support/codes.def"
#undef EC_CODE
};

struct CodeInfo {
  Code code;
  std::string_view name;         // "UnsupportedOp"
  int exit_code;                 // process exit code when this is the first error of a run
  std::string_view title;        // one line
  std::string_view explanation;  // what `edgecompile explain` prints
};

std::span<const CodeInfo> all_codes();
const CodeInfo* find_code(Code code);
const CodeInfo* find_code(std::string_view text);  // "EC3001", "ec3001" or "3001"
std::string code_id(Code code);                    // "EC3001"

struct Diagnostic {
  Severity severity = Severity::Error;
  Code code{};
  std::string file;     // model file, as the user named it
  std::string node;     // name in the source model
  std::string op_type;  // op type in the source model's words
  std::string message;
  std::vector<std::string> notes;
  std::string hint;  // what to do

  Diagnostic() = default;
  Diagnostic(Code c, std::string text) : code(c), message(std::move(text)) {}
  bool operator==(const Diagnostic&) const = default;
};

std::string_view severity_name(Severity severity);
// "model.onnx: node 'a' (Conv): error EC3001: text\n  note: ...\n  hint: ..."
std::string format_diagnostic(const Diagnostic& diagnostic);

class Error;

// Collects diagnostics in order. Errors beyond the limit are counted, not kept.
class DiagnosticSink {
 public:
  static constexpr size_t kMaxErrors = 50;

  void report(Diagnostic diagnostic);
  void report(Error&& error);
  void warn(Code code, std::string message, std::string node = {}, std::string hint = {});

  bool has_errors() const { return error_count_ > 0; }
  size_t error_count() const { return error_count_; }
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  // The first error, for callers that can carry only one; notes say how many more there are.
  Error first_error() const;

 private:
  std::vector<Diagnostic> diagnostics_;
  size_t error_count_ = 0;
};

}  // namespace ec
