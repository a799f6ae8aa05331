#include "analysis/placement.h"

namespace ec {

std::span<const std::string_view> placement_names() {
  static constexpr std::string_view kNames[] = {"native", "reference", "cpu", "unsupported"};
  return kNames;
}

std::string_view placement_name(Placement placement) {
  return placement_names()[static_cast<size_t>(placement)];
}

}  // namespace ec
