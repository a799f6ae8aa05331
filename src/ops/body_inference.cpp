#include "ops/body_inference.h"

#include <algorithm>

#include "ops/dim_math.h"

namespace ec {
namespace {

// Bodies within bodies. Deeper than kExactDepth carried types are not searched for but taken as
// general at once: every level that searches multiplies the time of the levels inside it.
constexpr int kMaxDepth = 64;
constexpr int kExactDepth = 3;
// After so many rounds of a search, types that still change give up their sizes, then their rank.
constexpr int kExactRounds = 3;
constexpr int kRankedRounds = 5;
// Then all carried types become general at once, which no further round can change.
constexpr int kMaxRounds = 8;

thread_local int depth = 0;

class DepthGuard {
 public:
  DepthGuard() { ++depth; }
  ~DepthGuard() { --depth; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;
};

BodyValue without_shape(const BodyValue& value) { return {TensorType(value.type.dtype), {}}; }

BodyValue without_sizes(const BodyValue& value) {
  BodyValue general = without_shape(value);
  if (value.type.shape)
    general.type.shape = Shape(std::vector<Dim>(value.type.shape->rank(), Dim::unknown()));
  return general;
}

void forget_unknown(BodyValue& value) {
  if (std::all_of(value.dims.begin(), value.dims.end(),
                  [](const Dim& dim) { return dim.is_unknown(); }))
    value.dims.clear();
}

std::vector<BodyValue> results_of(const Graph& body) {
  std::vector<BodyValue> results;
  for (const Tensor* output : body.outputs()) {
    // Quantisation belongs to the tensor inside.
    TensorType type(output->dtype());
    type.shape = output->shape();
    results.push_back({std::move(type), output->dim_values().value_or(std::vector<Dim>{})});
  }
  return results;
}

void bind_inputs(Graph& body, const std::vector<BodyValue>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensor* input = body.inputs()[i];
    TensorType type = inputs[i].type;
    type.quant = input->type().quant;
    body.set_type(input, std::move(type));
    if (inputs[i].dims.empty())
      body.set_dim_values(input, std::nullopt);
    else
      body.set_dim_values(input, inputs[i].dims);
  }
}

Status infer_with(Graph& body, const std::vector<BodyValue>& inputs) {
  bind_inputs(body, inputs);
  DiagnosticSink sink;
  infer_graph(body, sink);
  return sink.has_errors() ? Status(sink.first_error()) : Status();
}

Status check_inputs(const InferContext& ctx, const Graph& body,
                    const std::vector<BodyValue>& inputs) {
  if (body.inputs().size() != inputs.size())
    return ctx.fail(Code::BadArity, "nested graph '" + body.name() + "' takes " +
                                        std::to_string(body.inputs().size()) + " inputs, " +
                                        std::to_string(inputs.size()) + " are given");
  for (const Tensor* output : body.outputs())
    if (output == nullptr)
      return ctx.fail(Code::InvalidGraph, "nested graph '" + body.name() + "' lacks an output");
  if (ctx.may_refine_bodies()) return {};
  for (size_t i = 0; i < inputs.size(); ++i)
    if (body.inputs()[i]->dtype() != inputs[i].type.dtype)
      return ctx.bad_type("input '" + body.inputs()[i]->name() + "' of nested graph '" +
                          body.name() + "' is " + body.inputs()[i]->type().text() + ", given " +
                          inputs[i].type.text());
  return {};
}

}  // namespace

Status require_bodies(const InferContext& ctx, size_t count) {
  if (ctx.op().bodies().size() == count) return {};
  return ctx.fail(Code::InvalidGraph, "operation has " + std::to_string(ctx.op().bodies().size()) +
                                          " nested graphs, needs " + std::to_string(count));
}

Result<BodyValue> body_operand(const InferContext& ctx, size_t i) {
  if (!ctx.has(i)) return ctx.fail(Code::BadArity, "operand " + std::to_string(i) + " is absent");
  BodyValue value{TensorType(ctx.dtype(i)), {}};
  value.type.shape = ctx.shape(i);
  if (const auto tracked = tracked_elements(ctx, i))
    for (const ShapeElement& element : *tracked) value.dims.push_back(element.dim());
  forget_unknown(value);
  return value;
}

Result<BodyValue> join_values(const InferContext& ctx, const BodyValue& a, const BodyValue& b,
                              std::string_view what) {
  if (a.type.dtype != b.type.dtype)
    return ctx.bad_type(std::string(what) + " has different element types: " + a.type.text() +
                        " and " + b.type.text());
  BodyValue joined{TensorType(a.type.dtype), {}};
  joined.type.shape = join_shapes(a.type.shape, b.type.shape);
  if (a.dims.size() == b.dims.size())
    for (size_t i = 0; i < a.dims.size(); ++i)
      joined.dims.push_back(join_dims(a.dims[i], b.dims[i]));
  forget_unknown(joined);
  return joined;
}

Result<BodyResults> infer_body(InferContext& ctx, size_t body_index,
                               const std::vector<BodyValue>& inputs) {
  Graph& body = *ctx.op().bodies()[body_index];
  EC_CHECK_OK(check_inputs(ctx, body, inputs));
  if (!ctx.may_refine_bodies()) return BodyResults{results_of(body), std::nullopt};
  const DepthGuard guard;
  if (depth > kMaxDepth) return ctx.fail(Code::TooDeep, "nested graphs are nested too deep");
  Status status = infer_with(body, inputs);
  if (status.ok()) return BodyResults{results_of(body), std::nullopt};
  std::vector<BodyValue> general;
  for (const BodyValue& input : inputs) general.push_back(without_shape(input));
  EC_CHECK_OK(infer_with(body, general));
  return BodyResults{results_of(body), std::move(status).error()};
}

Result<std::vector<BodyValue>> infer_repeated_body(InferContext& ctx, size_t body,
                                                   std::vector<BodyValue> inputs,
                                                   const Carried& carried) {
  const auto end = carried.first_input + carried.count;
  for (size_t i = carried.first_input; i < end; ++i) {
    inputs[i].dims.clear();
    if (depth >= kExactDepth) inputs[i] = without_shape(inputs[i]);
  }
  for (int round = 0;; ++round) {
    EC_TRY(BodyResults inferred, infer_body(ctx, body, inputs));
    if (inferred.cannot_run) return std::move(*inferred.cannot_run);
    std::vector<BodyValue> results = std::move(inferred.values);
    if (results.size() < carried.first_result + carried.count)
      return ctx.fail(Code::BadArity, "nested graph gives " + std::to_string(results.size()) +
                                          " results, at least " +
                                          std::to_string(carried.first_result + carried.count) +
                                          " are needed");
    bool changed = false;
    for (size_t i = 0; i < carried.count; ++i) {
      BodyValue& input = inputs[carried.first_input + i];
      BodyValue& result = results[carried.first_result + i];
      EC_TRY(BodyValue joined,
             join_values(ctx, input, result, "a value carried between iterations"));
      joined.dims.clear();
      result = joined;
      if (joined == input) continue;
      changed = true;
      input = round < kExactRounds    ? joined
              : round < kRankedRounds ? without_sizes(joined)
                                      : without_shape(joined);
    }
    // Without refining, the body's types are what they are.
    if (!changed || !ctx.may_refine_bodies()) return results;
    if (round >= kMaxRounds)
      for (size_t i = carried.first_input; i < end; ++i) inputs[i] = without_shape(inputs[i]);
  }
}

}  // namespace ec
