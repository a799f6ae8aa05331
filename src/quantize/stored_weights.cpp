#include "quantize/stored_weights.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "ops/attrs.h"
#include "ops/op_def.h"
#include "quantize/rescale.h"
#include "quantize/steps.h"
#include "quantize/verify.h"
#include "quantize/weights.h"
#include "support/small_float.h"

namespace ec::quantize {
namespace {

constexpr StepInfo kSteps[] = {
    {"weights", "constants stored with fewer bits, where that saves something"},
    {"verify", "the rules that quantised graphs keep"},
    {"report", "error of every weight; of the outputs too where samples are given"},
};

// Smaller weights stay as they are: rounding what they are multiplied with costs more than it
// saves (TensorFlow's bound).
constexpr int64_t kFewestWeights = 1024;
// Below this the conversion in front of a constant takes more room than 16 bits save.
constexpr int64_t kFewestHalves = 64;
constexpr float kLargestHalf = 65504.0f;
// Samples that measure the outputs, unless told how many.
constexpr size_t kReportSamples = 100;

int64_t elements_of(const Tensor* tensor) {
  return tensor != nullptr ? tensor->type().num_elements().value_or(0) : 0;
}

bool is_float_constant(const Tensor* tensor) {
  return tensor != nullptr && tensor->is_constant() && tensor->dtype() == DType::F32;
}

// The steps that both strategies have; `Store` changes the graph.
class StoredWeightsRun {
 public:
  StoredWeightsRun(const Graph& graph, const QuantizeRequest& request, DiagnosticSink& sink,
                   std::string_view strategy)
      : exact_(graph), request_(request), sink_(sink) {
    result_.graph = graph.clone();
    report().strategy = strategy;
    report().target = request.target->name;
    report().method = "none needed";
    report().io_type = io_type_name(request.io);
    report().preprocessing = request.preprocessing.text();
  }
  virtual ~StoredWeightsRun() = default;

  Result<QuantizeResult> run() {
    EC_CHECK_OK(steps_.run([&] { return store(); }));
    for (Tensor* exact : replaced_) graph().erase(exact);
    for (const auto& [stored, name] : names_)
      if (graph().find_tensor(name) == nullptr) graph().rename(stored, name);
    EC_CHECK_OK(steps_.run([&] { return verify_quantized(graph(), sink_); }));
    EC_CHECK_OK(steps_.run([&] { return measure(); }));
    graph().metadata()["quantization"] =
        fmt::format("{}, {} of {} float constants stored smaller", report().strategy,
                    report().stored_weights.size(), count_constants());
    return std::move(result_);
  }

 protected:
  virtual Status store() = 0;

  Graph& graph() { return *result_.graph; }
  QuantizeReport& report() { return result_.report; }
  const QuantizeRequest& request() const { return request_; }

  // Why the user wants this operation's weights as they are; empty: nothing was said.
  std::string kept_by_name(const Operation& op) const {
    for (const std::string& pattern : request_.keep_float)
      for (const std::string& name : op.location().nodes)
        if (matches_glob(pattern, name)) return "--keep-float " + pattern;
    return {};
  }
  void keep(const Operation& op, std::string reason) {
    ++report().float_ops;
    report().kept_in_float.push_back(
        {std::string(op.location().name()), std::string(op.def().name), std::move(reason)});
  }

  void replace_operand(Operation* op, size_t i, Tensor* stored) {
    Tensor* exact = op->input(i);
    graph().set_operand(op, i, stored);
    if (graph().is_unused(exact)) replaced_.push_back(exact);
  }

  // Remembers what storing a constant cost and saved.
  void record(const Tensor& exact, Tensor& stored, std::span<const float> rounded) {
    names_.emplace_back(&stored, exact.name());
    StoredWeight entry{exact.name(),
                       std::string(dtype_name(stored.dtype())),
                       static_cast<int64_t>(exact.raw_data().size()),
                       static_cast<int64_t>(stored.raw_data().size()),
                       {}};
    if (stored.type().quant)
      entry.bytes_after += static_cast<int64_t>(4 * stored.type().quant->scales.size());
    const auto values = exact.values<float>();
    for (size_t i = 0; i < values.size(); ++i) {
      const auto value = static_cast<double>(values[i]);
      const double difference = value - static_cast<double>(rounded[i]);
      entry.error.signal += value * value;
      entry.error.noise += difference * difference;
    }
    report().stored_weights.push_back(std::move(entry));
  }

 private:
  size_t count_constants() const {
    size_t count = 0;
    for (const Tensor* tensor : exact_.tensors()) count += is_float_constant(tensor);
    return count;
  }

  Status measure() {
    if (request_.samples == nullptr) return {};
    std::vector<size_t> all(request_.samples->size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    const size_t wanted = request_.wanted_samples != 0 ? request_.wanted_samples : kReportSamples;
    EC_TRY(report().accuracy, measure_outputs(exact_, graph(), *request_.samples,
                                              spread(all, wanted), request_.threads));
    report().accuracy.held_out = true;
    return check_budget();
  }

  // Nothing is raised here: what does not hold is said.
  Status check_budget() const {
    const AccuracyBudget& budget = request_.budget;
    for (const OutputAccuracy& output : result_.report.accuracy.outputs) {
      const double agreement = output.top1_agreement.value_or(1.0), sqnr = output.error.sqnr_db();
      const bool dropped = budget.max_drop && 1.0 - agreement > *budget.max_drop;
      const bool noisy = budget.min_sqnr && sqnr < *budget.min_sqnr;
      if (dropped || noisy)
        return Error(Code::AccuracyNotMet,
                     fmt::format("output '{}': agreement {:.4f}, SQNR {:.1f} dB, less than asked",
                                 output.name, agreement, sqnr))
            .hint("keep layers in float with --keep-float, or use --quantize float16");
    }
    return {};
  }

  const Graph& exact_;
  const QuantizeRequest& request_;
  DiagnosticSink& sink_;
  std::vector<Tensor*> replaced_;                       // constants that nothing reads any more
  std::vector<std::pair<Tensor*, std::string>> names_;  // those of the constants they stand for
  QuantizeResult result_;
  Steps steps_{kSteps, result_.report};
};

class DynamicRun final : public StoredWeightsRun {
 public:
  using StoredWeightsRun::StoredWeightsRun;

 private:
  Status store() override {
    for (Operation* op : graph().topological()) {
      WeightRule rule = request().target->describe_weights(*op);
      if (rule.use == WeightUse::None || op->output()->dtype() != DType::F32) continue;
      if (request().weights_per_tensor) rule.axis = -1;
      std::string reason = refuse(*op, rule);
      if (!reason.empty()) {
        keep(*op, std::move(reason));
        continue;
      }
      ++report().integer_ops;
      for (const size_t i : rule.operands) {
        if (op->input(i) == nullptr) continue;
        EC_TRY(Tensor * stored, stored_form(op->input(i), rule));
        replace_operand(op, i, stored);
      }
      if (rule.use == WeightUse::Read) round_rows_with_zero_points(op);
      if (rule.use == WeightUse::Moved) EC_CHECK_OK(dequantize_result(op));
    }
    return {};
  }

  std::string refuse(const Operation& op, const WeightRule& rule) const {
    std::string reason = kept_by_name(op);
    int64_t elements = 0;
    for (const size_t i : rule.operands) {
      const Tensor* operand = op.input(i);
      if (operand == nullptr) continue;
      if (!is_float_constant(operand)) return "its weights are not constant";
      elements += elements_of(operand);
      bool finite = true;
      range_of(operand->values<float>(), finite);
      if (!finite) return "a constant operand holds infinity or not-a-number";
    }
    if (reason.empty() && elements < kFewestWeights)
      return fmt::format("it has fewer than {} weights", kFewestWeights);
    return reason;
  }

  // The constant as integers, or as floats made of them.
  Result<Tensor*> stored_form(Tensor* weights, const WeightRule& rule) {
    Tensor*& integers = integers_[{weights, rule.axis}];
    if (integers == nullptr) integers = add_integers(*weights, rule.axis);
    if (rule.use != WeightUse::Dequantized) return integers;
    Tensor*& floats = floats_[integers];
    if (floats == nullptr) {
      EC_TRY(floats, graph().add_single(OpKind::Dequantize, {integers}, Attrs(DequantizeAttrs{})));
    }
    return floats;
  }

  Tensor* add_integers(const Tensor& weights, int32_t axis) {
    const std::vector<int64_t> shape = weights.shape()->sizes();
    IntegerWeights rounded;
    rounded.params = params_of_weights(weights.values<float>(), shape, axis);
    rounded.values =
        quantize_values<int8_t>(weights.values<float>(), shape, rounded.params, kLargestWeight);
    TensorType type(DType::I8, *weights.shape());
    type.quant = rounded.params;
    Tensor* made = graph().add_constant(weights.name(), std::move(type),
                                        Blob::copy_of(std::span<const int8_t>(rounded.values)));
    record(weights, *made, real_weights(rounded, weights));
    return made;
  }

  // What is behind a relu has values of one sign only: a zero point gives them all steps.
  void round_rows_with_zero_points(Operation* op) {
    const auto set = [&](auto attrs) {
      attrs.asymmetric_quantize_inputs = true;
      graph().set_attrs(op, Attrs(attrs));
    };
    switch (op->kind()) {
      case OpKind::MatMul:
        return set(op->attrs_as<MatMulAttrs>());
      case OpKind::Gemm:
        return set(op->attrs_as<GemmAttrs>());
      case OpKind::LstmSequence:
        return set(op->attrs_as<LstmSequenceAttrs>());
      case OpKind::RnnSequence:
        return set(op->attrs_as<RnnSequenceAttrs>());
      case OpKind::Svdf:
        return set(op->attrs_as<SvdfAttrs>());
      default:
        return;  // convolutions do so by themselves
    }
  }

  Status dequantize_result(Operation* op) {
    Tensor* result = op->output();
    ec::OpSpec spec;
    spec.attrs = Attrs(DequantizeAttrs{});
    spec.location = op->location();
    EC_TRY(Operation * floats,
           graph().add_typed(OpKind::Dequantize, {result}, std::move(spec), {result->type()}));
    graph().replace_all_uses(result, floats->output());
    graph().set_operand(floats, 0, result);
    TensorType type = result->type();
    type.dtype = DType::I8;
    type.quant = op->input(0)->type().quant;
    graph().set_type(result, std::move(type));
    return {};
  }

  std::map<std::pair<const Tensor*, int32_t>, Tensor*> integers_;  // looked up, never iterated
  std::map<const Tensor*, Tensor*> floats_;                        // looked up, never iterated
};

class Float16Run final : public StoredWeightsRun {
 public:
  using StoredWeightsRun::StoredWeightsRun;

 private:
  Status store() override {
    for (Operation* op : graph().topological()) {
      bool any = false;
      for (size_t i = 0; i < op->inputs().size(); ++i) {
        const Tensor* operand = op->input(i);
        if (!is_float_constant(operand) || elements_of(operand) < kFewestHalves) continue;
        std::string reason = kept_by_name(*op);
        if (reason.empty() && !fits(operand->values<float>()))
          reason = fmt::format("'{}' has values beyond what 16 bits hold", operand->name());
        if (!reason.empty()) {
          keep(*op, std::move(reason));
          break;
        }
        EC_TRY(Tensor * wide, widened(op->input(i)));
        replace_operand(op, i, wide);
        any = true;
      }
      report().integer_ops += any;
    }
    return {};
  }

  static bool fits(std::span<const float> values) {
    bool finite = true;
    const Range range = range_of(values, finite);
    return !finite || (range.min >= -kLargestHalf && range.max <= kLargestHalf);
  }

  // Stored with 16 bits, read with 32.
  Result<Tensor*> widened(Tensor* weights) {
    Tensor*& wide = widened_[weights];
    if (wide != nullptr) return wide;
    std::vector<uint16_t> halves;
    std::vector<float> rounded;
    for (const float value : weights->values<float>()) {
      halves.push_back(float_to_half(value));
      rounded.push_back(half_to_float(halves.back()));
    }
    Tensor* stored =
        graph().add_constant(weights->name(), TensorType(DType::F16, *weights->shape()),
                             Blob::copy_of(std::span<const uint16_t>(halves)));
    record(*weights, *stored, rounded);
    CastAttrs attrs;
    attrs.to = DType::F32;
    EC_TRY(wide, graph().add_single(OpKind::Cast, {stored}, Attrs(attrs)));
    return wide;
  }

  std::map<const Tensor*, Tensor*> widened_;  // looked up, never iterated
};

Error not_on_target(const QuantizeRequest& request, std::string_view what) {
  return Error(Code::Usage, fmt::format("target '{}' has no {}", request.target->name, what))
      .hint(request.target->integers_only ? "use --quantize ptq: it computes on integers only"
                                          : "use --quantize ptq, or another target");
}

}  // namespace

std::span<const StepInfo> stored_weights_steps() { return kSteps; }

Result<QuantizeResult> run_dynamic(const Graph& graph, const QuantizeRequest& request,
                                   DiagnosticSink& sink) {
  if (request.target->describe_weights == nullptr)
    return not_on_target(request, "operations on floats with 8-bit weights");
  return DynamicRun(graph, request, sink, "dynamic").run();
}

Result<QuantizeResult> run_float16(const Graph& graph, const QuantizeRequest& request,
                                   DiagnosticSink& sink) {
  if (!request.target->has_float16) return not_on_target(request, "weights of 16-bit floats");
  return Float16Run(graph, request, sink, "float16").run();
}

}  // namespace ec::quantize
