// scan: a body run over the entries of sequences, with states carried along and results stacked.
#include <algorithm>

#include "ops/body_inference.h"
#include "ops/define.h"
#include "ops/dim_math.h"
#include "ops/indexing.h"
#include "ops/stop.h"

namespace ec::ops {
namespace {

// The operands in order: states, sequences, captures.
struct ScanCounts {
  size_t states = 0, sequences = 0, stacked = 0;
};

Result<ScanCounts> scan_counts(const InferContext& ctx) {
  const auto& attrs = ctx.attrs<ScanAttrs>();
  const auto operands = static_cast<int64_t>(ctx.num_inputs());
  const auto results = static_cast<int64_t>(ctx.num_outputs());
  if (attrs.num_states < 0 || attrs.num_scan_inputs < 1 || attrs.num_states > operands ||
      attrs.num_scan_inputs > operands - attrs.num_states || attrs.num_states > results)
    return ctx.fail(Code::BadArity, "scan has " + std::to_string(attrs.num_states) + " states, " +
                                        std::to_string(attrs.num_scan_inputs) + " sequences, " +
                                        std::to_string(operands) + " operands and " +
                                        std::to_string(results) + " results");
  const ScanCounts counts{static_cast<size_t>(attrs.num_states),
                          static_cast<size_t>(attrs.num_scan_inputs),
                          static_cast<size_t>(results - attrs.num_states)};
  const auto fits = [](const std::vector<int64_t>& list, size_t n) {
    return list.empty() || list.size() == n;
  };
  if (!fits(attrs.input_axes, counts.sequences) ||
      !fits(attrs.input_directions, counts.sequences) || !fits(attrs.output_axes, counts.stacked) ||
      !fits(attrs.output_directions, counts.stacked))
    return ctx.bad_value("a list of axes or directions differs in length from what it describes");
  return counts;
}

int64_t entry(const std::vector<int64_t>& list, size_t i) { return list.empty() ? 0 : list[i]; }

// --- inference
// ------------------------------------------------------------------------------------

// The body's inputs; `length` becomes the number of iterations.
Result<std::vector<BodyValue>> scan_inputs(const InferContext& ctx, const ScanCounts& counts,
                                           Dim& length) {
  std::vector<BodyValue> inputs;
  for (size_t i = 0; i < ctx.num_inputs(); ++i) {
    EC_TRY(BodyValue value, body_operand(ctx, i));
    const bool is_sequence = i >= counts.states && i < counts.states + counts.sequences;
    if (is_sequence) value.dims.clear();
    if (is_sequence && value.type.shape) {
      Shape& shape = *value.type.shape;
      EC_TRY(const int64_t axis,
             normalize_axis(ctx, entry(ctx.attrs<ScanAttrs>().input_axes, i - counts.states),
                            shape.rank()));
      EC_TRY(length, merge_dims(ctx, length, shape[static_cast<size_t>(axis)], "sequences"));
      shape.dims().erase(shape.dims().begin() + axis);
    }
    inputs.push_back(std::move(value));
  }
  return inputs;
}

Status infer_scan(InferContext& ctx) {
  EC_CHECK_OK(require_bodies(ctx, 1));
  EC_TRY(const ScanCounts counts, scan_counts(ctx));
  Dim length = Dim::unknown();
  EC_TRY(std::vector<BodyValue> inputs, scan_inputs(ctx, counts, length));
  EC_TRY(std::vector<BodyValue> results,
         infer_repeated_body(ctx, 0, std::move(inputs), {0, 0, counts.states}));
  if (results.size() != ctx.num_outputs())
    return ctx.fail(Code::BadArity, "the body gives " + std::to_string(results.size()) +
                                        " results, the operation has " +
                                        std::to_string(ctx.num_outputs()));
  for (size_t i = 0; i < results.size(); ++i) {
    TensorType type = std::move(results[i].type);
    if (i >= counts.states && type.shape) {
      EC_CHECK_OK(require_rank_limit(ctx, type.shape->rank() + 1));
      EC_TRY(const int64_t axis,
             normalize_axis(ctx, entry(ctx.attrs<ScanAttrs>().output_axes, i - counts.states),
                            type.shape->rank() + 1));
      type.shape->dims().insert(type.shape->dims().begin() + axis, length);
    }
    ctx.set(i, std::move(type));
  }
  return {};
}

// --- kernel
// ---------------------------------------------------------------------------------------

// One operand that is read entry by entry.
class Sequence {
 public:
  Sequence(Value value, size_t axis, bool reverse)
      : value_(std::move(value)), split_(split_at(value_.shape, axis)), reverse_(reverse) {
    entry_shape_ = value_.shape;
    entry_shape_.erase(entry_shape_.begin() + static_cast<std::ptrdiff_t>(axis));
  }

  int64_t length() const { return split_.size; }

  Result<Value> at(const KernelContext& ctx, int64_t step) const {
    const int64_t row = reverse_ ? split_.size - 1 - step : step;
    const size_t bytes = element_size(value_.dtype);
    const size_t block = static_cast<size_t>(split_.inner) * bytes;
    // Entries along the first dimension lie in one piece.
    if (split_.outer == 1)
      return Value(value_.dtype, entry_shape_,
                   value_.data.slice(static_cast<size_t>(row) * block, block));
    Buffer buffer = Buffer::allocate(static_cast<size_t>(split_.outer) * block);
    if (!buffer.ok()) return ctx.fail("no memory for an entry of a sequence");
    const int64_t shape[] = {split_.outer, split_.inner}, to[] = {split_.inner, 1};
    const int64_t from[] = {split_.size * split_.inner, 1};
    if (buffer.size() > 0)
      strided_copy(buffer.data(), to, value_.data.bytes().data() + static_cast<size_t>(row) * block,
                   from, shape, bytes);
    return Value(value_.dtype, entry_shape_, std::move(buffer).to_blob());
  }

 private:
  Value value_;
  AxisSplit split_;
  bool reverse_;
  std::vector<int64_t> entry_shape_;
};

// What an iteration takes beside the operations of its body, in the operations of analysis/work.h.
constexpr int64_t kIterationWork = 3000;

class ScanRun {
 public:
  explicit ScanRun(KernelContext& ctx) : ctx_(ctx), attrs_(ctx.attrs<ScanAttrs>()) {
    const auto states = static_cast<size_t>(attrs_.num_states);
    const auto sequences = static_cast<size_t>(attrs_.num_scan_inputs);
    for (size_t i = 0; i < ctx.num_inputs(); ++i) {
      Value value = ctx.input_value(i);
      if (i < states) {
        states_.push_back(std::move(value));
      } else if (i < states + sequences) {
        const size_t axis = plain_axis(entry(attrs_.input_axes, i - states), value.shape.size());
        sequences_.emplace_back(std::move(value), axis,
                                entry(attrs_.input_directions, i - states) != 0);
      } else {
        captures_.push_back(std::move(value));
      }
    }
  }

  Status run() {
    length_ = sequences_[0].length();
    for (const Sequence& sequence : sequences_)
      if (sequence.length() != length_)
        return ctx_.fail("sequences have " + std::to_string(length_) + " and " +
                         std::to_string(sequence.length()) + " entries");
    Ticker ticker;
    for (int64_t step = 0; step < length_; ++step) {
      if (ticker.tick(kIterationWork)) return check_budget_at(ctx_.op());
      EC_CHECK_OK(iterate(step));
    }
    for (size_t i = 0; i < states_.size(); ++i)
      EC_CHECK_OK(ctx_.set_output(i, std::move(states_[i])));
    if (length_ == 0)
      for (size_t i = states_.size(); i < ctx_.num_outputs(); ++i) EC_CHECK_OK(give_empty(i));
    return {};
  }

 private:
  Status iterate(int64_t step) {
    std::vector<Value> inputs;
    for (Value& state : states_) inputs.push_back(std::move(state));
    for (const Sequence& sequence : sequences_) {
      EC_TRY(Value value, sequence.at(ctx_, step));
      inputs.push_back(std::move(value));
    }
    inputs.insert(inputs.end(), captures_.begin(), captures_.end());
    EC_TRY(std::vector<Value> results, ctx_.run_body(0, std::move(inputs)));
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].dtype != ctx_.op().output(i)->dtype())
        return ctx_.fail("result " + std::to_string(i) + " of the body is " +
                         results[i].type().text() + ", its type must be " +
                         std::string(dtype_name(ctx_.op().output(i)->dtype())));
      if (i < states_.size())
        states_[i] = std::move(results[i]);
      else
        EC_CHECK_OK(store(i, step, results[i]));
    }
    return {};
  }

  size_t output_axis(size_t i, size_t rank) const {
    return plain_axis(entry(attrs_.output_axes, i - states_.size()), rank);
  }

  // Writes one iteration's part of result i; the first one tells the shape of the whole.
  Status store(size_t i, int64_t step, const Value& part) {
    const size_t axis = output_axis(i, part.shape.size() + 1);
    std::vector<int64_t> shape = part.shape;
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), length_);
    EC_CHECK_OK(prepare_output(ctx_, i, part.dtype, std::move(shape)));
    const MutableView& y = ctx_.output(i);
    if (part.data.empty()) return {};
    const AxisSplit split = split_at(y.shape, axis);
    const bool reverse = entry(attrs_.output_directions, i - states_.size()) != 0;
    const int64_t row = reverse ? length_ - 1 - step : step;
    const int64_t box[] = {split.outer, split.inner}, from[] = {split.inner, 1};
    const int64_t to[] = {split.size * split.inner, 1};
    const size_t bytes = element_size(part.dtype);
    strided_copy(y.data + static_cast<size_t>(row * split.inner) * bytes, to,
                 part.data.bytes().data(), from, box, bytes);
    return {};
  }

  Status give_empty(size_t i) {
    const Tensor& result = *ctx_.op().output(i);
    // Nothing ran, so sizes that only a run would tell are zero.
    std::vector<int64_t> shape;
    for (const Dim& dim : result.shape().value_or(Shape{0}))
      shape.push_back(dim.is_static() ? dim.size() : 0);
    if (result.shape()) shape[output_axis(i, shape.size())] = 0;
    return prepare_output(ctx_, i, result.dtype(), std::move(shape));
  }

  KernelContext& ctx_;
  const ScanAttrs& attrs_;
  std::vector<Value> states_, captures_;
  std::vector<Sequence> sequences_;
  int64_t length_ = 0;
};

Status run_scan(KernelContext& ctx) { return ScanRun(ctx).run(); }

}  // namespace

constexpr Rule kScanRules[] = {rule::at_least("num_states", 0),
                               rule::at_least("num_scan_inputs", 0)};
EC_OP_DEF(Scan, .signature = "(operands...) -> (results...)",
          .summary =
              "Runs the nested graph once per entry of the sequences. Operands are states, "
              "sequences and captures; results are the last states and the stacked results "
              "of all iterations.",
          .rules = kScanRules, .infer = infer_scan, .reference = run_scan);

}  // namespace ec::ops
