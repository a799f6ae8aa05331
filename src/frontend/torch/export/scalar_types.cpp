#include "frontend/torch/export/program.h"

namespace ec::torch::exported {

std::optional<int64_t> scalar_type_of_export(int64_t number) {
  // From 1 on in c10's order without the quantised types; then the newer ones.
  constexpr int64_t kFirst[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15};
  if (number >= 1 && number <= 13) return kFirst[number - 1];
  switch (number) {
    case 28:
      return 27;  // u16
    case 29:
      return 24;  // f8e4m3fn
    case 30:
      return 23;  // f8e5m2
    case 31:
      return 26;
    case 32:
      return 25;
    case 33:
      return 44;  // f8e8m0
    case 34:
      return 28;  // u32
    case 35:
      return 29;  // u64
    default:
      return std::nullopt;
  }
}

}  // namespace ec::torch::exported
