// Where an operation runs, and why it does not run better.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ec {

enum class Placement : uint8_t {
  Native,       // a fast kernel, or nothing to compute; on the device where the target is one
  Reference,    // the reference kernel: right, not fast
  Host,         // not on the device: the CPU beside it runs it
  Unsupported,  // cannot run
};
std::string_view placement_name(Placement placement);

struct OpPlacement {
  std::string name;       // in the source model
  std::string op;         // of the IR; empty when the importer does not know it
  std::string source_op;  // in the source model's words
  std::string output_type;
  Placement placement = Placement::Native;
  std::string status;  // in the words of the device's own compiler; empty: it has none
  std::string reason;
  std::string fix;
};

}  // namespace ec
