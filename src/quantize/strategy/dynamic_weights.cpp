// Strategy `dynamic`: weights of 8 bits, activations rounded at run time.
#include <fmt/format.h>

#include <map>

#include "ops/attrs.h"
#include "quantize/strategy/weight_only.h"
#include "quantize/strategy/weight_store.h"
#include "quantize/tuning.h"
#include "quantize/weights/weights.h"

namespace ec::quantize::weight_only {
namespace {

class DynamicWeights {
 public:
  explicit DynamicWeights(QuantizeContext& context) : request_(context.request), store_(context) {}

  Status run() {
    for (Operation* op : store_.graph().topological()) {
      WeightRule rule = request_.target->describe_weights(*op);
      if (rule.use == WeightUse::None || op->output()->dtype() != DType::F32) continue;
      if (request_.weights_per_tensor) rule.axis = -1;
      std::string reason = refuse(*op, rule);
      if (!reason.empty()) {
        store_.keep(*op, std::move(reason));
        continue;
      }
      ++store_.report().integer_ops;
      for (const size_t i : rule.operands) {
        if (op->input(i) == nullptr) continue;
        EC_TRY(Tensor * stored, stored_form(*op, i, rule));
        store_.replace_operand(op, i, stored);
      }
      if (rule.use == WeightUse::Read) round_rows_with_zero_points(op);
      if (rule.use == WeightUse::Moved) EC_CHECK_OK(dequantize_result(op));
    }
    store_.finish();
    return {};
  }

 private:
  std::string refuse(const Operation& op, const WeightRule& rule) const {
    std::string reason = store_.kept_by_name(op);
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
    if (reason.empty() && elements < tuning::kFewestDynamicWeights)
      return fmt::format("it has fewer than {} weights", tuning::kFewestDynamicWeights);
    return reason;
  }

  // The constant as integers, or as floats made of them.
  Result<Tensor*> stored_form(const Operation& op, size_t operand, const WeightRule& rule) {
    Tensor*& integers = integers_[{op.input(operand), rule.axis}];
    if (integers == nullptr) integers = add_integers(op, operand, rule.axis);
    if (rule.use != WeightUse::Dequantized) return integers;
    Tensor*& floats = floats_[integers];
    if (floats == nullptr) {
      EC_TRY(floats,
             store_.graph().add_single(OpKind::Dequantize, {integers}, Attrs(DequantizeAttrs{})));
    }
    return floats;
  }

  // The model's own integers where it has some.
  Tensor* add_integers(const Operation& op, size_t operand, int32_t axis) {
    const Tensor& weights = *op.input(operand);
    const std::vector<int64_t> shape = weights.shape()->sizes();
    IntegerWeights rounded;
    rounded.operand = operand;
    if (!take_recorded(request_.recorded, op, axis, rounded)) {
      rounded.params = params_of_weights(weights.values<float>(), shape, axis);
      rounded.values =
          quantize_values<int8_t>(weights.values<float>(), shape, rounded.params, kLargestWeight);
    }
    TensorType type(DType::I8, *weights.shape());
    type.quant = rounded.params;
    Tensor* made = store_.graph().add_constant(
        weights.name(), std::move(type), Blob::copy_of(std::span<const int8_t>(rounded.values)));
    store_.record(weights, *made, real_weights(rounded, weights));
    return made;
  }

  // What is behind a relu has values of one sign only: a zero point gives them all steps.
  void round_rows_with_zero_points(Operation* op) {
    const auto set = [&](auto attrs) {
      attrs.asymmetric_quantize_inputs = true;
      store_.graph().set_attrs(op, Attrs(attrs));
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
    EC_TRY(Operation * floats, store_.graph().add_typed(OpKind::Dequantize, {result},
                                                        std::move(spec), {result->type()}));
    store_.graph().replace_all_uses(result, floats->output());
    store_.graph().set_operand(floats, 0, result);
    TensorType type = result->type();
    type.dtype = DType::I8;
    type.quant = op->input(0)->type().quant;
    store_.graph().set_type(result, std::move(type));
    return {};
  }

  std::map<std::pair<const Tensor*, int32_t>, Tensor*> integers_;  // looked up, never iterated
  std::map<const Tensor*, Tensor*> floats_;                        // looked up, never iterated

  const QuantizeRequest& request_;
  WeightStore store_;
};

}  // namespace

Status store_dynamic(QuantizeContext& context) { return DynamicWeights(context).run(); }

}  // namespace ec::quantize::weight_only
