// Inference through nested graphs: binding operand types to a body's inputs, inferring the body,
// and finding types of carried values that hold in every iteration.
#pragma once

#include <optional>
#include <vector>

#include "ops/infer.h"

namespace ec {

// What is known of a value that enters or leaves a body.
struct BodyValue {
  TensorType type;
  std::vector<Dim> dims;  // elements as dimensions; empty: nothing is known

  bool operator==(const BodyValue&) const = default;
};

// The operation has `count` bodies.
Status require_bodies(const InferContext& ctx, size_t count);
// Operand i as it enters a body.
Result<BodyValue> body_operand(const InferContext& ctx, size_t i);
// What holds for both values; error when their element types differ. `what` names them.
Result<BodyValue> join_values(const InferContext& ctx, const BodyValue& a, const BodyValue& b,
                              std::string_view what);

struct BodyResults {
  std::vector<BodyValue> values;
  // Why the body cannot run on these inputs. That is no fault while it does not have to: a branch
  // that is not taken. The values then hold for other inputs only.
  std::optional<Error> cannot_run;
};
// What a body gives when its inputs are `inputs`. Where the context allows it the body is inferred
// anew and keeps what was learnt; else the types it has are used.
Result<BodyResults> infer_body(InferContext& ctx, size_t body,
                               const std::vector<BodyValue>& inputs);
// As infer_body, for bodies that run many times: inputs [first, first + count) become the results
// [first_result, first_result + count) of the iteration before. Generalises the inputs until they
// hold for all iterations; gives the body's results, with the carried ones joined with the inputs.
struct Carried {
  size_t first_input, first_result, count;
};
Result<std::vector<BodyValue>> infer_repeated_body(InferContext& ctx, size_t body,
                                                   std::vector<BodyValue> inputs,
                                                   const Carried& carried);

}  // namespace ec
