// What a While node's functions say before anything is built: which values stay, which count, which
// lists collect results.
#pragma once

#include <optional>
#include <vector>

#include "frontend/tensorflow/op_context.h"

namespace ec::tf {

struct LoopForm {
  const FunctionBody* condition = nullptr;
  const FunctionBody* body = nullptr;
  std::vector<bool> stays;      // by value: the body gives it back as it is
  std::vector<bool> counts;     // grows by one in every iteration, from a known number
  std::vector<int64_t> starts;  // of those that count
  // Bounds of the counted values when the loop runs as long as each of them is below its bound.
  struct Bound {
    size_t counter = 0;
    std::optional<int64_t> number;
    size_t value = 0;  // of the loop, where no number is known
  };
  std::vector<Bound> bounds;  // empty: the loop is not counted
  // Lists that receive one element in every iteration and are not read.
  enum class Collects : uint8_t { No, All, Last };
  std::vector<Collects> collects;

  bool is_counted() const { return !bounds.empty(); }
};

Result<LoopForm> loop_form(OpContext& ctx);

}  // namespace ec::tf
