// The fields of diagnostics.
#pragma once

#include "edgecompiler/error.h"
#include "report/field.h"

namespace ec::report {

template <>
struct Description<Problem> {
  static constexpr std::string_view kName = "Diagnostic";
  static constexpr std::string_view kHelp = "One problem, with a way out.";
  static constexpr std::string_view kSeverities[] = {"error", "warning", "remark"};
  template <class Visitor>
  static void fields(Visitor& v, const Problem& p) {
    v(Field("severity", "how bad it is"), Choice{p.severity, kSeverities});
    v(Field("code", "`edgecompile explain CODE` tells more"), p.code);
    v(Field("file", "the file, as the caller named it").if_set(), p.file);
    v(Field("node", "name in the source model").if_set(), p.node);
    v(Field("op_type", "operation in the source model's words").if_set(), p.op_type);
    v(Field("message", "the problem"), p.message);
    v(Field("notes", "more about it"), p.notes);
    v(Field("hint", "what to do"), p.hint);
  }
};

}  // namespace ec::report
