#include "support/diagnostic.h"

#include <array>
#include <charconv>

#include "support/result.h"
#include "support/utf8.h"

namespace ec {
namespace {

constexpr std::array kCodes = {
#define EC_CODE(number, name, exit_code, title, explanation) \
  CodeInfo{Code::name, #name, exit_code, title, explanation},
#include "support/codes.def"
#undef EC_CODE
};

}  // namespace

std::span<const CodeInfo> all_codes() { return kCodes; }

const CodeInfo* find_code(Code code) {
  for (const CodeInfo& info : kCodes)
    if (info.code == code) return &info;
  return nullptr;
}

const CodeInfo* find_code(std::string_view text) {
  if (text.size() > 2 && (text[0] == 'E' || text[0] == 'e') && (text[1] == 'C' || text[1] == 'c'))
    text.remove_prefix(2);
  unsigned number = 0;
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc{} || end != text.data() + text.size() || number > 9999) return nullptr;
  return find_code(static_cast<Code>(number));
}

std::string code_id(Code code) { return "EC" + std::to_string(static_cast<unsigned>(code)); }

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::Remark:
      return "remark";
    case Severity::Warning:
      return "warning";
    case Severity::Error:
      return "error";
  }
  return "error";
}

std::string format_diagnostic(const Diagnostic& d) {
  std::string text;
  if (!d.file.empty()) text += d.file + ": ";
  if (!d.node.empty() || !d.op_type.empty()) {
    text += "node";
    if (!d.node.empty()) text += " '" + d.node + "'";
    if (!d.op_type.empty()) text += " (" + d.op_type + ")";
    text += ": ";
  }
  text += std::string(severity_name(d.severity)) + " " + code_id(d.code) + ": " + d.message;
  for (const std::string& note : d.notes) text += "\n  note: " + note;
  if (!d.hint.empty()) text += "\n  hint: " + d.hint;
  // Names and values of a model may hold any bytes.
  return valid_utf8(std::move(text));
}

void DiagnosticSink::report(Diagnostic diagnostic) {
  if (diagnostic.severity == Severity::Error && ++error_count_ > kMaxErrors) return;
  diagnostics_.push_back(std::move(diagnostic));
}

void DiagnosticSink::report(Error&& error) { report(std::move(error.diagnostic())); }

void DiagnosticSink::warn(Code code, std::string message, std::string node, std::string hint) {
  Diagnostic d(code, std::move(message));
  d.severity = Severity::Warning;
  d.node = std::move(node);
  d.hint = std::move(hint);
  report(std::move(d));
}

Error DiagnosticSink::first_error() const {
  for (const Diagnostic& d : diagnostics_) {
    if (d.severity != Severity::Error) continue;
    Diagnostic copy = d;
    if (error_count_ > 1) copy.notes.push_back(std::to_string(error_count_ - 1) + " more errors");
    return Error(std::move(copy));
  }
  return Error(Code::Internal, "no error was reported");
}

}  // namespace ec
