#include "quantize/convert.h"

#include <algorithm>
#include <map>

#include "ops/attrs.h"
#include "ops/op_def.h"
#include "support/strings.h"

namespace ec::quantize {
namespace {

constexpr int64_t kWeightLimit = 127;

// A quantised form of a tensor: which type and which parameters.
struct FormKey {
  uint32_t tensor;
  DType dtype;
  QuantParams params;
};
bool operator<(const FormKey& a, const FormKey& b) {
  return std::tie(a.tensor, a.dtype, a.params.axis, a.params.scales, a.params.zero_points) <
         std::tie(b.tensor, b.dtype, b.params.axis, b.params.scales, b.params.zero_points);
}

class Converter {
 public:
  Converter(const Graph& source, const Plan& plan,
            const std::vector<std::optional<QuantParams>>& params, IoType io, GraphForm form)
      : source_(source), plan_(plan), params_(params), io_(io), form_(form) {
    result_.graph = std::make_unique<Graph>(source.name());
    result_.graph->metadata() = source.metadata();
    result_.quantized.resize(source.tensor_id_bound(), nullptr);
    plain_.resize(source.tensor_id_bound(), nullptr);
  }

  Result<Conversion> run() {
    for (const Tensor* input : source_.inputs()) EC_CHECK_OK(add_input(input));
    for (const Operation* op : source_.topological()) {
      Status added = plan_.of(op).integer ? add_integer(*op) : add_plain(*op);
      if (!added)
        return std::move(added).error().node(std::string(op->location().name()),
                                             op->location().op_type);
    }
    for (size_t i = 0; i < source_.outputs().size(); ++i) {
      EC_TRY(Tensor * output, output_form(source_.outputs()[i]));
      graph().add_output(source_.output_names()[i], output);
    }
    return std::move(result_);
  }

 private:
  Graph& graph() { return *result_.graph; }
  DType activation() const { return plan_.target->activation; }
  bool simulated() const { return form_ == GraphForm::Simulated; }

  // --- the forms of a tensor ---------------------------------------------------------------------
  // As in the source graph: floats, or whatever it was.
  Result<Tensor*> plain_form(const Tensor* tensor) {
    if (tensor == nullptr) return static_cast<Tensor*>(nullptr);
    Tensor*& known = plain_[tensor->id()];
    if (known != nullptr) return known;
    if (tensor->is_constant())
      return known = graph().add_constant(tensor->name(), tensor->type(), tensor->raw_data());
    const auto& params = params_[tensor->id()];
    Tensor* stored = params ? form_of({tensor->id(), activation(), *params}) : nullptr;
    if (stored == nullptr)
      return Error(Code::Internal, "tensor '" + tensor->name() + "' has no form");
    EC_TRY(known, dequantized(stored, *params, tensor->name() + "_dequantized"));
    return known;
  }

  Tensor* form_of(const FormKey& key) const {
    const auto found = forms_.find(key);
    return found == forms_.end() ? nullptr : found->second;
  }

  // An activation with the wanted parameters: as produced, or quantised (again) on the way.
  Result<Tensor*> quantized_form(const Tensor* tensor, const QuantParams& wanted) {
    FormKey key{tensor->id(), activation(), wanted};
    if (Tensor* known = form_of(key)) return known;
    Tensor* made = nullptr;
    if (tensor->is_constant()) {
      made = constant_form(
          tensor, DType::I8,
          quantize_values<int8_t>(tensor->values<float>(), tensor->shape()->sizes(), wanted),
          wanted);
    } else {
      const auto& own = params_[tensor->id()];
      Tensor* stored =
          own && *own != wanted ? form_of({tensor->id(), activation(), *own}) : nullptr;
      // In the simulation a second rounding reads the first one's result.
      const bool direct = stored != nullptr && !simulated();
      EC_TRY(Tensor * from, direct ? Result<Tensor*>(stored) : plain_form(tensor));
      EC_TRY(made, quantized(from, wanted, activation(), tensor->name() + "_quantized"));
    }
    remember(tensor, key, made);
    return made;
  }

  void remember(const Tensor* tensor, const FormKey& key, Tensor* made) {
    forms_[key] = made;
    if (params_[tensor->id()] && *params_[tensor->id()] == key.params)
      result_.quantized[tensor->id()] = made;
  }

  template <class T>
  Tensor* constant_form(const Tensor* tensor, DType dtype, const std::vector<T>& values,
                        const QuantParams& params) {
    TensorType type(dtype, *tensor->shape());
    if (!simulated()) type.quant = params;
    return graph().add_constant(tensor->name(), std::move(type),
                                Blob::copy_of(std::span<const T>(values)));
  }

  // --- quantize and dequantize -------------------------------------------------------------------
  Result<Tensor*> border(OpKind kind, Tensor* x, const QuantParams& params, DType integer,
                         Attrs attrs, TensorType type, std::string name) {
    std::vector<Tensor*> operands{x};
    if (simulated()) {
      const bool axis = params.per_channel();
      const auto count = static_cast<int64_t>(params.scales.size());
      const Shape shape = axis ? Shape{count} : Shape{};
      operands.push_back(
          graph().add_constant<float>(x->name() + "_scale", shape, std::span(params.scales)));
      if (integer == DType::I8 || integer == DType::U8) {
        std::vector<uint8_t> zero;  // the byte of either type
        for (const int32_t z : params.zero_points) zero.push_back(static_cast<uint8_t>(z));
        operands.push_back(graph().add_constant(x->name() + "_zero_point",
                                                TensorType(integer, shape),
                                                Blob::copy_of(std::span<const uint8_t>(zero))));
      }
    }
    ec::OpSpec spec;
    spec.attrs = std::move(attrs);
    spec.output_names = {std::move(name)};
    EC_TRY(Operation * op,
           graph().add_typed(kind, std::move(operands), std::move(spec), {std::move(type)}));
    return op->output();
  }

  Result<Tensor*> quantized(Tensor* x, const QuantParams& params, DType dtype, std::string name) {
    QuantizeAttrs attrs;
    attrs.axis = params.per_channel() ? params.axis : 0;
    attrs.dtype = dtype;
    attrs.rounding = Rounding::HalfAway;
    TensorType type(dtype, *x->shape());
    if (!simulated()) type.quant = params;
    return border(OpKind::Quantize, x, params, dtype, Attrs(attrs), std::move(type),
                  std::move(name));
  }

  Result<Tensor*> dequantized(Tensor* x, const QuantParams& params, std::string name) {
    DequantizeAttrs attrs;
    attrs.axis = params.per_channel() ? params.axis : 0;
    return border(OpKind::Dequantize, x, params, x->dtype(), Attrs(attrs),
                  TensorType(DType::F32, *x->shape()), std::move(name));
  }

  // The operand of a simulated operation.
  Result<Tensor*> rounded(Tensor* stored, const QuantParams& params) {
    Tensor*& known = rounded_[stored];
    if (known == nullptr) {
      EC_TRY(known, dequantized(stored, params, stored->name() + "_rounded"));
    }
    return known;
  }

  // --- the interface -----------------------------------------------------------------------------
  static QuantParams as_unsigned(QuantParams params) {
    for (int32_t& zero : params.zero_points) zero += 128;
    return params;
  }

  Status add_input(const Tensor* input) {
    const auto& params = params_[input->id()];
    const bool integer = params && io_ != IoType::Float && !simulated();
    if (!integer) {
      plain_[input->id()] = graph().add_input(input->name(), input->type());
      return {};
    }
    const bool is_unsigned = io_ == IoType::Uint8;
    TensorType type(is_unsigned ? DType::U8 : DType::I8, *input->shape());
    type.quant = is_unsigned ? as_unsigned(*params) : *params;
    Tensor* made = graph().add_input(input->name(), std::move(type));
    if (is_unsigned) {
      EC_TRY(made, quantized(made, *params, DType::I8, input->name() + "_int8"));
    }
    remember(input, {input->id(), DType::I8, *params}, made);
    return {};
  }

  Result<Tensor*> output_form(const Tensor* output) {
    const auto& params = params_[output->id()];
    if (!params || output->dtype() != DType::F32) return plain_form(output);
    EC_TRY(Tensor * stored, quantized_form(output, *params));
    if (simulated()) return rounded(stored, *params);
    if (io_ == IoType::Float) return float_output(output, stored, *params);
    if (io_ == IoType::Int8) return stored;
    return quantized(stored, as_unsigned(*params), DType::U8, output->name() + "_uint8");
  }

  // A result that floating-point operations gave is an output as it is.
  Result<Tensor*> float_output(const Tensor* output, Tensor* stored, const QuantParams& params) {
    if (plain_[output->id()] != nullptr) return plain_[output->id()];
    EC_TRY(Tensor * made, dequantized(stored, params, output->name() + "_dequantized"));
    return plain_[output->id()] = made;
  }

  // --- operations --------------------------------------------------------------------------------
  ec::OpSpec spec_of(const Operation& op) const {
    ec::OpSpec spec;
    spec.attrs = op.attrs();
    spec.location = op.location();
    spec.num_outputs = op.outputs().size();
    for (const Tensor* output : op.outputs()) spec.output_names.push_back(output->name());
    for (const auto& body : op.bodies()) spec.bodies.push_back(body->clone());
    return spec;
  }

  Status add_plain(const Operation& op) {
    std::vector<Tensor*> operands;
    for (const Tensor* input : op.inputs()) {
      EC_TRY(Tensor * operand, plain_form(input));
      operands.push_back(operand);
    }
    std::vector<TensorType> types;
    for (const Tensor* output : op.outputs()) types.push_back(output->type());
    EC_TRY(const Operation* made,
           graph().add_typed(op.kind(), std::move(operands), spec_of(op), std::move(types)));
    for (size_t i = 0; i < op.outputs().size(); ++i) {
      plain_[op.output(i)->id()] = made->output(i);
      graph().set_dim_values(made->output(i), op.output(i)->dim_values());
    }
    return {};
  }

  // The parameters that an operand must have: those of the result where the operation needs them
  // equal, else its own.
  const QuantParams& wanted(const Operation& op, const Tensor* operand) const {
    const bool same = plan_.of(&op).rule.result == ResultRule::SameScale;
    return *params_[same ? op.output()->id() : operand->id()];
  }

  Result<Tensor*> operand(const Operation& op, size_t i, const QuantParams& weights) {
    const Tensor* tensor = op.input(i);
    if (tensor == nullptr) return static_cast<Tensor*>(nullptr);
    switch (plan_.of(&op).rule.role(i)) {
      case OperandRole::Plain:
        return plain_form(tensor);
      case OperandRole::Activation: {
        const QuantParams& params = wanted(op, tensor);
        EC_TRY(Tensor * stored, quantized_form(tensor, params));
        return simulated() ? rounded(stored, params) : stored;
      }
      case OperandRole::Weights:
        return constant(tensor, DType::I8, weights);
      case OperandRole::Bias: {
        const float input_scale = params_[op.input(0)->id()]->scales[0];
        return constant(tensor, DType::I32, bias_params(*tensor, weights, input_scale));
      }
    }
    return Error(Code::Internal, "unknown operand role");
  }

  // A bias of one value for all channels, or with leading ones, has its scales on the last axis.
  static QuantParams bias_params(const Tensor& bias, const QuantParams& weights,
                                 float input_scale) {
    QuantParams params = params_of_bias(weights, input_scale);
    if (params.per_channel()) params.axis = static_cast<int32_t>(bias.shape()->rank()) - 1;
    return params;
  }

  Result<Tensor*> constant(const Tensor* tensor, DType dtype, const QuantParams& params) {
    const FormKey key{tensor->id(), dtype, params};
    Tensor* stored = form_of(key);
    if (stored == nullptr) {
      const std::vector<int64_t> shape = tensor->shape()->sizes();
      const auto values = tensor->values<float>();
      stored =
          dtype == DType::I8
              ? constant_form(tensor, dtype,
                              quantize_values<int8_t>(values, shape, params, kWeightLimit), params)
              : constant_form(tensor, dtype, quantize_values<int32_t>(values, shape, params),
                              params);
      forms_[key] = stored;
    }
    if (!simulated()) return stored;
    return rounded(stored, params);
  }

  // The scales of the weights, wide enough for the bias.
  Result<QuantParams> weight_params(const Operation& op) {
    const OpRule& rule = plan_.of(&op).rule;
    const Tensor* weights = nullptr;
    const Tensor* bias = nullptr;
    for (size_t i = 0; i < op.inputs().size(); ++i) {
      if (op.input(i) == nullptr) continue;
      if (rule.role(i) == OperandRole::Weights) weights = op.input(i);
      if (rule.role(i) == OperandRole::Bias) bias = op.input(i);
    }
    if (weights == nullptr) return QuantParams{};
    QuantParams params =
        params_of_weights(weights->values<float>(), weights->shape()->sizes(), rule.weights_axis);
    if (bias == nullptr) return params;
    const auto values = bias->values<float>();
    // One bias for all channels serves them with one scale only.
    if (values.size() != params.scales.size() && params.scales.size() > 1)
      params = params_of_weights(weights->values<float>(), weights->shape()->sizes(), -1);
    if (fit_bias(params, params_[op.input(0)->id()]->scales[0], values) && !simulated())
      result_.widened.push_back(weights->name());
    return params;
  }

  Status add_integer(const Operation& op) {
    EC_TRY(const QuantParams weights, weight_params(op));
    std::vector<Tensor*> operands;
    for (size_t i = 0; i < op.inputs().size(); ++i) {
      EC_TRY(Tensor * made, operand(op, i, weights));
      operands.push_back(made);
    }
    const bool real = plan_.of(&op).rule.result != ResultRule::Plain;
    std::vector<TensorType> types;
    for (const Tensor* output : op.outputs()) {
      types.push_back(output->type());
      if (!real || simulated()) continue;
      types.back().dtype = activation();
      types.back().quant = params_[output->id()];
    }
    EC_TRY(const Operation* made,
           graph().add_typed(op.kind(), std::move(operands), spec_of(op), std::move(types)));
    for (size_t i = 0; i < op.outputs().size(); ++i) {
      const Tensor* output = op.output(i);
      if (!real) {
        plain_[output->id()] = made->output(i);
        continue;
      }
      Tensor* stored = made->output(i);
      const QuantParams& params = *params_[output->id()];
      if (simulated()) {
        EC_TRY(stored, quantized(stored, params, activation(), output->name() + "_quantized"));
      }
      remember(output, {output->id(), activation(), params}, stored);
    }
    return {};
  }

  const Graph& source_;
  const Plan& plan_;
  const std::vector<std::optional<QuantParams>>& params_;
  const IoType io_;
  const GraphForm form_;
  Conversion result_;
  std::vector<Tensor*> plain_;
  std::map<FormKey, Tensor*> forms_;
  std::map<const Tensor*, Tensor*> rounded_;  // looked up, never iterated
};

constexpr std::string_view kIoTypes[] = {"float", "int8", "uint8"};

}  // namespace

std::string_view io_type_name(IoType type) { return kIoTypes[static_cast<size_t>(type)]; }

std::optional<IoType> io_type_from_name(std::string_view name) {
  for (size_t i = 0; i < std::size(kIoTypes); ++i)
    if (kIoTypes[i] == name) return static_cast<IoType>(i);
  return std::nullopt;
}

Result<Conversion> convert(const Graph& graph, const Plan& plan,
                           const std::vector<std::optional<QuantParams>>& params, IoType io,
                           GraphForm form) {
  return Converter(graph, plan, params, io, form).run();
}

}  // namespace ec::quantize
