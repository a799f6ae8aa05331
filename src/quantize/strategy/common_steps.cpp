#include "quantize/strategy/common_steps.h"

#include "quantize/convert/verify.h"
#include "quantize/strategy/context.h"

namespace ec::quantize {

Status convert_to_integers(QuantizeContext& context) {
  EC_TRY(Conversion converted, convert(*context.graph, context.plan, context.params,
                                       context.weights, context.request.io, context.request.form));
  context.result.graph = std::move(converted.graph);
  return {};
}

Status verify_result(QuantizeContext& context) {
  return verify_quantized(*context.result.graph, context.sink);
}

}  // namespace ec::quantize
