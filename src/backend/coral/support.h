// Which operators of a TFLite file the Edge TPU runs. Google's compiler is closed: the rules are
// its published table, and what pairs of original and compiled files show beyond it. Each rule says
// which of the two it comes from.
#pragma once

#include <string>
#include <string_view>

#include "backend/coral/operator_view.h"

namespace ec::coral {

// The words of Google's compiler for what becomes of an operator.
enum class Status : uint8_t {
  Mapped,
  LaterGroup,  // runs on the device in principle, but behind an operator that does not
  Limited,
  NotSupported,
  DataType,
  Rank,
  NotConstant,
};
std::string_view status_text(Status status);

enum class Evidence : uint8_t {
  Published,  // the published table and nothing else
  Fitted,     // corrected by the pairs of files that were seen
};

struct Rules {
  int runtime = 14;  // the Edge TPU runtime on the device; older ones know fewer operators
  Evidence evidence = Evidence::Fitted;
};

struct Verdict {
  Status status = Status::Mapped;
  std::string reason;  // what was found and which limit it breaks
  std::string fix;     // what to change in the model
  std::string note;    // a mapped operator at the edge of what is known
};

Verdict judge(const OperatorView& op, const Rules& rules);

}  // namespace ec::coral
