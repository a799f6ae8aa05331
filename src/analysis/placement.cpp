#include "analysis/placement.h"

namespace ec {

std::string_view placement_name(Placement placement) {
  switch (placement) {
    case Placement::Native:
      return "native";
    case Placement::Reference:
      return "reference";
    case Placement::Host:
      return "cpu";
    case Placement::Unsupported:
      return "unsupported";
  }
  return "native";
}

}  // namespace ec
