// if and loop. Bodies are closed graphs: what they read from outside is among the operands.
#include <cstring>

#include "ops/body_inference.h"
#include "ops/define.h"
#include "ops/dim_math.h"
#include "ops/move.h"
#include "ops/stop.h"

namespace ec::ops {
namespace {

void set_result(InferContext& ctx, size_t i, BodyValue value) {
  ctx.set(i, std::move(value.type));
  if (!value.dims.empty()) ctx.set_dim_values(i, std::move(value.dims));
}

Status require_condition(const InferContext& ctx, size_t i) {
  if (ctx.dtype(i) != DType::Bool)
    return ctx.bad_type("condition must be boolean, got " + operand_text(ctx, i));
  return require_scalar(ctx, i, "condition");
}

// A boolean operand, when it is known.
std::optional<bool> known_condition(const InferContext& ctx, size_t i) {
  const auto values = ctx.int_values(i);
  if (!values || values->size() != 1) return std::nullopt;
  return values->front() != 0;
}

Result<bool> read_condition(const KernelContext& ctx, const ConstView& view) {
  if (view.dtype != DType::Bool || view.count() != 1)
    return ctx.fail("condition must be one boolean, got " +
                    TensorType(view.dtype, Shape::of(view.shape)).text());
  return view.as<uint8_t>()[0] != 0;
}

// A body's result must have the element type that the operation's result has.
Status check_type(const KernelContext& ctx, size_t i, const Value& value) {
  if (value.dtype == ctx.op().output(i)->dtype()) return {};
  return ctx.fail("result " + std::to_string(i) + " of the nested graph is " + value.type().text() +
                  ", its type must be " + std::string(dtype_name(ctx.op().output(i)->dtype())));
}

// --- if
// -------------------------------------------------------------------------------------------

// The values of the branches that may be taken, joined.
Result<std::vector<BodyValue>> infer_branches(InferContext& ctx,
                                              const std::vector<BodyValue>& captures) {
  const std::optional<bool> condition = known_condition(ctx, 0);
  EC_TRY(BodyResults yes, infer_body(ctx, 0, captures));
  EC_TRY(BodyResults no, infer_body(ctx, 1, captures));
  if (yes.values.size() != no.values.size())
    return ctx.fail(Code::BadArity, "the branches give " + std::to_string(yes.values.size()) +
                                        " and " + std::to_string(no.values.size()) + " results");
  std::vector<BodyValue> joined;
  for (size_t i = 0; i < yes.values.size(); ++i) {
    EC_TRY(BodyValue value,
           join_values(ctx, yes.values[i], no.values[i], "a result of the branches"));
    joined.push_back(std::move(value));
  }
  // A branch that cannot run is not taken, or the run fails there.
  const bool may_be_yes = condition.value_or(true) && !yes.cannot_run;
  const bool may_be_no = !condition.value_or(false) && !no.cannot_run;
  if (may_be_yes && may_be_no) return joined;
  if (may_be_yes) return std::move(yes.values);
  if (may_be_no) return std::move(no.values);
  return std::move(condition.value_or(true) ? *yes.cannot_run : *no.cannot_run);
}

Status infer_if(InferContext& ctx) {
  EC_CHECK_OK(require_bodies(ctx, 2));
  EC_CHECK_OK(require_condition(ctx, 0));
  std::vector<BodyValue> captures;
  for (size_t i = 1; i < ctx.num_inputs(); ++i) {
    EC_TRY(BodyValue capture, body_operand(ctx, i));
    captures.push_back(std::move(capture));
  }
  EC_TRY(std::vector<BodyValue> values, infer_branches(ctx, captures));
  if (values.size() != ctx.num_outputs())
    return ctx.fail(Code::BadArity, "the branches give " + std::to_string(values.size()) +
                                        " results, the operation has " +
                                        std::to_string(ctx.num_outputs()));
  for (size_t i = 0; i < values.size(); ++i) set_result(ctx, i, std::move(values[i]));
  return {};
}

Status run_if(KernelContext& ctx) {
  EC_TRY(const bool condition, read_condition(ctx, ctx.input(0)));
  std::vector<Value> captures;
  for (size_t i = 1; i < ctx.num_inputs(); ++i) captures.push_back(ctx.input_value(i));
  EC_TRY(std::vector<Value> results, ctx.run_body(condition ? 0 : 1, std::move(captures)));
  for (size_t i = 0; i < ctx.num_outputs(); ++i) {
    EC_CHECK_OK(check_type(ctx, i, results[i]));
    EC_CHECK_OK(ctx.set_output(i, std::move(results[i])));
  }
  return {};
}

// --- loop
// -----------------------------------------------------------------------------------------

constexpr size_t kTripCount = 0, kCondition = 1, kFirstCarried = 2;

// The body's condition result is always true: then the trip count alone decides.
bool never_stops_early(const InferContext& ctx) {
  const Graph& body = *ctx.op().bodies()[0];
  if (ctx.has(kCondition) && known_condition(ctx, kCondition) != true) return false;
  const Tensor* condition = body.outputs()[0];
  while (condition->producer() != nullptr && condition->producer()->kind() == OpKind::Identity)
    condition = condition->producer()->input(0);
  if (condition->is_constant())
    return condition->raw_data().size() == 1 && condition->values<uint8_t>()[0] != 0;
  return condition == body.inputs()[1];
}

Dim iteration_count(const InferContext& ctx) {
  if (!ctx.has(kTripCount) || !never_stops_early(ctx)) return Dim::unknown();
  const auto trip_count = tracked_elements(ctx, kTripCount);
  if (!trip_count || trip_count->size() != 1) return Dim::unknown();
  return trip_count->front().is_negative() ? Dim(0) : trip_count->front().dim();
}

Result<std::vector<BodyValue>> loop_inputs(const InferContext& ctx) {
  std::vector<BodyValue> inputs;
  inputs.push_back({TensorType(DType::I64, Shape{}), {}});
  inputs.push_back({TensorType(DType::Bool, Shape{}), {}});
  for (size_t i = kFirstCarried; i < ctx.num_inputs(); ++i) {
    EC_TRY(BodyValue value, body_operand(ctx, i));
    inputs.push_back(std::move(value));
  }
  return inputs;
}

Status check_loop(const InferContext& ctx) {
  EC_CHECK_OK(require_bodies(ctx, 1));
  const int64_t carried = ctx.attrs<LoopAttrs>().num_carried;
  if (carried < 0 || ctx.num_inputs() < kFirstCarried ||
      static_cast<size_t>(carried) > ctx.num_inputs() - kFirstCarried)
    return ctx.fail(Code::BadArity, "loop carries " + std::to_string(carried) + " values and has " +
                                        std::to_string(ctx.num_inputs()) + " operands");
  if (ctx.has(kTripCount)) {
    // As the number of the iteration, which bodies and writers compare with it.
    if (ctx.dtype(kTripCount) != DType::I64)
      return ctx.bad_type("trip count must be i64, got " + operand_text(ctx, kTripCount));
    EC_CHECK_OK(require_scalar(ctx, kTripCount, "trip count"));
  }
  return ctx.has(kCondition) ? require_condition(ctx, kCondition) : Status();
}

Status infer_loop(InferContext& ctx) {
  EC_CHECK_OK(check_loop(ctx));
  const auto carried = static_cast<size_t>(ctx.attrs<LoopAttrs>().num_carried);
  EC_TRY(std::vector<BodyValue> inputs, loop_inputs(ctx));
  EC_TRY(std::vector<BodyValue> results,
         infer_repeated_body(ctx, 0, std::move(inputs), {kFirstCarried, 1, carried}));
  if (results.size() != ctx.num_outputs() + 1)
    return ctx.fail(Code::BadArity, "the body gives " + std::to_string(results.size()) +
                                        " results, a condition and " +
                                        std::to_string(ctx.num_outputs()) + " are needed");
  if (results[0].type.dtype != DType::Bool)
    return ctx.bad_type("the body's condition must be boolean, got " + results[0].type.text());
  const Dim count = iteration_count(ctx);
  for (size_t i = 0; i < ctx.num_outputs(); ++i) {
    BodyValue value = std::move(results[i + 1]);
    if (i >= carried) {
      // Results of all iterations, one after the other in a new first dimension.
      value.dims.clear();
      if (value.type.shape) {
        EC_CHECK_OK(require_rank_limit(ctx, value.type.shape->rank() + 1));
        auto& dims = value.type.shape->dims();
        dims.insert(dims.begin(), count);
      }
    }
    set_result(ctx, i, std::move(value));
  }
  return {};
}

Value scalar_value(int64_t number) {
  return Value::of<int64_t>({}, std::span<const int64_t>(&number, 1));
}

Value scalar_value(bool truth) { return Value::of<bool>({}, std::span<const bool>(&truth, 1)); }

// Joins equally shaped values along a new first dimension into result i.
Status stack_results(KernelContext& ctx, size_t i, const std::vector<Value>& parts) {
  const Tensor& result = *ctx.op().output(i);
  std::vector<int64_t> shape;
  if (!parts.empty()) {
    shape = parts[0].shape;
    shape.insert(shape.begin(), static_cast<int64_t>(parts.size()));
  } else {
    shape.push_back(0);
    // Nothing ran, so sizes that only a run would tell are zero.
    for (size_t d = 1; result.shape() && d < result.shape()->rank(); ++d) {
      const Dim& dim = (*result.shape())[d];
      shape.push_back(dim.is_static() ? dim.size() : 0);
    }
  }
  EC_CHECK_OK(prepare_output(ctx, i, result.dtype(), std::move(shape)));
  std::byte* to = ctx.output(i).data;
  for (const Value& part : parts) {
    const std::span<const std::byte> bytes = part.data.bytes();
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    to += bytes.size();
  }
  return {};
}

// What an iteration takes beside the operations of its body, in the operations of analysis/work.h.
constexpr uint64_t kIterationWork = 3000;
constexpr uint64_t kBytesCopied = 2;  // in one of those operations
// Memory of a small value beside its elements: alignment and what keeps it alive.
constexpr size_t kBlobOverhead = 128;

class LoopRun {
 public:
  explicit LoopRun(KernelContext& ctx)
      : ctx_(ctx),
        num_carried_(static_cast<size_t>(ctx.attrs<LoopAttrs>().num_carried)),
        stacked_(ctx.num_outputs() - num_carried_) {
    for (size_t i = kFirstCarried; i < ctx.num_inputs(); ++i)
      (i - kFirstCarried < num_carried_ ? carried_ : captures_).push_back(ctx.input_value(i));
  }

  Status run() {
    int64_t trip_count = INT64_MAX;
    if (ctx_.has(kTripCount)) {
      if (ctx_.input(kTripCount).count() != 1) return ctx_.fail("trip count must be one number");
      trip_count = read_ints(ctx_, kTripCount)[0];
    }
    bool condition = true;
    if (ctx_.has(kCondition)) {
      EC_TRY(condition, read_condition(ctx_, ctx_.input(kCondition)));
    }
    for (int64_t iteration = 0; condition && iteration < trip_count; ++iteration) {
      // A body may be empty: then nothing else counts or asks.
      spend_work(kIterationWork + carried_bytes() / kBytesCopied);
      EC_CHECK_OK(check_budget_at(ctx_.op()));
      EC_TRY(condition, iterate(iteration));
    }
    for (size_t i = 0; i < num_carried_; ++i)
      EC_CHECK_OK(ctx_.set_output(i, std::move(carried_[i])));
    for (size_t i = 0; i < stacked_.size(); ++i)
      EC_CHECK_OK(stack_results(ctx_, num_carried_ + i, stacked_[i]));
    return {};
  }

 private:
  uint64_t carried_bytes() const {
    uint64_t bytes = 0;
    for (const Value& value : carried_) bytes += value.data.size();
    return bytes;
  }

  // One iteration; whether there is to be another.
  Result<bool> iterate(int64_t iteration) {
    std::vector<Value> inputs = {scalar_value(iteration), scalar_value(true)};
    for (Value& value : carried_) inputs.push_back(std::move(value));
    inputs.insert(inputs.end(), captures_.begin(), captures_.end());
    EC_TRY(std::vector<Value> results, ctx_.run_body(0, std::move(inputs)));
    EC_TRY(const bool condition, read_condition(ctx_, results[0].view()));
    for (size_t i = 0; i < ctx_.num_outputs(); ++i) {
      Value& value = results[i + 1];
      EC_CHECK_OK(check_type(ctx_, i, value));
      if (i < num_carried_) {
        carried_[i] = std::move(value);
        continue;
      }
      std::vector<Value>& parts = stacked_[i - num_carried_];
      if (!parts.empty() && parts[0].shape != value.shape)
        return ctx_.fail("result " + std::to_string(i) + " of the body changes its shape from " +
                         parts[0].type().text() + " to " + value.type().text());
      stacked_bytes_.add(value.data.size() + sizeof(Value) + kBlobOverhead);
      parts.push_back(std::move(value));
    }
    return condition;
  }

  KernelContext& ctx_;
  size_t num_carried_;
  std::vector<Value> carried_, captures_;
  std::vector<std::vector<Value>> stacked_;
  MemoryCharge stacked_bytes_;
};

Status run_loop(KernelContext& ctx) { return LoopRun(ctx).run(); }

}  // namespace

constexpr Rule kIfRules[] = {rule::one_element("condition")};
EC_OP_DEF(If, .signature = "(condition, captures...) -> (results...)",
          .summary =
              "The results of the first nested graph when condition is true, else of the "
              "second; both take the captures.",
          .rules = kIfRules, .infer = infer_if, .reference = run_if);
constexpr Rule kLoopRules[] = {rule::integers("trip_count"), rule::one_element("trip_count"),
                               rule::one_element("condition"), rule::at_least("num_carried", 0)};
EC_OP_DEF(Loop, .signature = "(trip_count?, condition?, operands...) -> (results...)",
          .summary =
              "Runs the nested graph while its condition holds, at most trip_count times. "
              "The first num_carried operands are carried from iteration to iteration, the "
              "others stay; further results are stacked.",
          .rules = kLoopRules, .infer = infer_loop, .reference = run_loop);

}  // namespace ec::ops
