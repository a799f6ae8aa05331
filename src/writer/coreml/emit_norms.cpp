// Normalisations.
#include <limits>

#include "writer/coreml/emitter.h"

namespace ec::mil {
namespace {

bool are_constant(const OpEmitter& e, size_t first, size_t last) {
  for (size_t i = first; i <= last; ++i)
    if (e.has(i) && !e.input(i)->is_constant()) return false;
  return true;
}

Status emit_batch_norm(OpEmitter& e) {
  const auto& attrs = e.attrs<BatchNormAttrs>();
  if (attrs.training) return e.fail("statistics of the batch", "export the model for inference");
  if (attrs.layout != Layout::ChannelsFirst || e.rank() < 3 || e.rank() > 5 ||
      !are_constant(e, 1, 4))
    return e.fail("parameters or dimensions that `batch_norm` does not take",
                  std::string(kPipelineHint));
  e.emit_result(0, "batch_norm",
                {{"x", e.in(0)},
                 {"gamma", e.in(1)},
                 {"beta", e.in(2)},
                 {"mean", e.in(3)},
                 {"variance", e.in(4)},
                 {"epsilon", e.real(double{attrs.epsilon})}});
  // Statistics that the run does not change.
  for (size_t i = 1; i < e.op().outputs().size(); ++i)
    e.block().bind(e.op().output(i), e.in(2 + i));
  return {};
}

Status emit_instance_norm(OpEmitter& e) {
  const auto& attrs = e.attrs<InstanceNormAttrs>();
  if (attrs.layout != Layout::ChannelsFirst || e.rank() < 3 || e.rank() > 4 ||
      !are_constant(e, 1, 2))
    return e.fail("parameters or dimensions that `instance_norm` does not take",
                  std::string(kPipelineHint));
  e.emit("instance_norm", {{"x", e.in(0)},
                           {"gamma", e.in(1)},
                           {"beta", e.in(2)},
                           {"epsilon", e.real(double{attrs.epsilon})}});
  return {};
}

Status emit_layer_norm(OpEmitter& e) {
  const auto& attrs = e.attrs<LayerNormAttrs>();
  const std::vector<int64_t> x = e.sizes(e.input(0));
  std::vector<int64_t> axes, normalised;
  for (auto d = static_cast<size_t>(e.axis(attrs.axis)); d < x.size(); ++d) {
    axes.push_back(static_cast<int64_t>(d));
    normalised.push_back(x[d]);
  }
  for (size_t i = 1; i <= 2; ++i)
    if (e.has(i) && (!e.input(i)->is_constant() || e.sizes(e.input(i)) != normalised))
      return e.fail("parameters that are computed or repeated", std::string(kPipelineHint));
  for (size_t i = 1; i < e.op().outputs().size(); ++i)
    if (!e.block().graph().is_unused(e.op().output(i)))
      return e.fail("means and deviations as results", std::string(kPipelineHint));
  std::vector<Arg> args{
      {"x", e.in(0)}, {"axes", e.ints(axes)}, {"epsilon", e.real(double{attrs.epsilon})}};
  if (e.has(1)) args.emplace_back("gamma", e.in(1));
  if (e.has(2)) args.emplace_back("beta", e.in(2));
  e.emit_result(0, "layer_norm", std::move(args));
  return {};
}

Status emit_lrn(OpEmitter& e) {
  const auto& attrs = e.attrs<LrnAttrs>();
  if (attrs.layout != Layout::ChannelsFirst || e.rank() < 3)
    return e.fail("channels behind the other dimensions", std::string(kPipelineHint));
  if (attrs.size > std::numeric_limits<int32_t>::max()) return e.fail("a size beyond 32 bits");
  e.emit("local_response_norm", {{"x", e.in(0)},
                                 {"size", e.i32(attrs.size)},
                                 {"alpha", e.real(double{attrs.alpha})},
                                 {"beta", e.real(double{attrs.beta})},
                                 {"k", e.real(double{attrs.bias})}});
  return {};
}

constexpr EmitRow kRows[] = {
    {OpKind::BatchNorm, emit_batch_norm},
    {OpKind::InstanceNorm, emit_instance_norm},
    {OpKind::LayerNorm, emit_layer_norm},
    {OpKind::Lrn, emit_lrn},
};

}  // namespace

const std::span<const EmitRow> kEmitNorms = kRows;

}  // namespace ec::mil
