#include "quantize/convert/convert.h"

#include <algorithm>
#include <map>

#include "ir/copier.h"
#include "ops/attrs.h"
#include "ops/op_def.h"
#include "support/strings.h"

namespace ec::quantize {
namespace {

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
  Converter(const Graph& source, const Plan& plan, const FormParams& params,
            const LayerWeights& weights, IoType io, GraphForm form)
      : source_(source), plan_(plan), params_(params), weights_(weights), io_(io), form_(form) {
    result_.graph = std::make_unique<Graph>(source.name());
    result_.graph->metadata() = source.metadata();
    result_.quantized.resize(source.tensor_id_bound(), nullptr);
    plain_.emplace(*result_.graph);
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
  bool simulated() const { return form_ == GraphForm::Simulated; }

  // --- the forms of a tensor ---------------------------------------------------------------------
  // The tensor with its type in the source graph: floats, or whatever it was.
  Result<Tensor*> plain_form(const Tensor* tensor) {
    if (tensor == nullptr) return static_cast<Tensor*>(nullptr);
    if (Tensor* known = plain_->operand(tensor)) return known;
    Tensor* stored = stored_form(tensor);
    if (stored == nullptr)
      return Error(Code::Internal, "tensor '" + tensor->name() + "' has no form");
    EC_TRY(Tensor * made, dequantized(stored, *params_[plan_.stored_form(tensor)],
                                      tensor->name() + "_dequantized"));
    plain_->map(tensor, made);
    return made;
  }

  // The tensor as its producer stores it; null where that is not quantised.
  Tensor* stored_form(const Tensor* tensor) const {
    const FormId form = plan_.stored_form(tensor);
    if (!params_[form]) return nullptr;
    return form_of({tensor->id(), activation_type(width_of(form)), *params_[form]});
  }

  Tensor* form_of(const FormKey& key) const {
    const auto found = forms_.find(key);
    return found == forms_.end() ? nullptr : found->second;
  }

  // An activation with the wanted parameters: as produced, or quantised (again) on the way.
  Result<Tensor*> quantized_form(const Tensor* tensor, DType dtype, const QuantParams& wanted) {
    FormKey key{tensor->id(), dtype, wanted};
    if (Tensor* known = form_of(key)) return known;
    Tensor* made = nullptr;
    if (tensor->is_constant()) {
      const auto values = tensor->values<float>();
      const std::vector<int64_t> shape = tensor->shape()->sizes();
      made = dtype == DType::I16
                 ? constant_form(tensor, dtype, quantize_values<int16_t>(values, shape, wanted),
                                 wanted)
                 : constant_form(tensor, dtype, quantize_values<int8_t>(values, shape, wanted),
                                 wanted);
    } else {
      // In the simulation a second rounding reads the first one's result.
      Tensor* stored = simulated() ? nullptr : stored_form(tensor);
      EC_TRY(Tensor * from, stored != nullptr ? Result<Tensor*>(stored) : plain_form(tensor));
      EC_TRY(made, quantized(from, wanted, dtype, tensor->name() + "_quantized"));
    }
    remember(tensor, key, made);
    return made;
  }

  void remember(const Tensor* tensor, const FormKey& key, Tensor* made) {
    forms_[key] = made;
    const FormId stored = plan_.stored_form(tensor);
    if (params_[stored] && *params_[stored] == key.params &&
        activation_type(width_of(stored)) == key.dtype)
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
      const bool symmetric = integer != DType::I8 && integer != DType::U8;
      if (!symmetric) {
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

  // The parameters that a tensor of the interface has: in the asked type, from the form with the
  // same number of bits.
  struct Interface {
    DType dtype;
    QuantParams params;
  };
  Interface interface_of(const QuantParams& stored, Width width) const {
    if (io_ == IoType::Uint8 && width == Width::Narrow) return {DType::U8, as_unsigned(stored)};
    return {activation_type(width), stored};
  }

  Status add_input(const Tensor* input) {
    const FormId form = plan_.stored_form(input);
    const auto& params = params_[form];
    const bool integer = params && io_ != IoType::Float && !simulated();
    if (!integer) {
      plain_->add_input(input);
      return {};
    }
    const DType dtype = activation_type(width_of(form));
    const Interface given = interface_of(*params, width_of(form));
    TensorType type(given.dtype, *input->shape());
    type.quant = given.params;
    Tensor* made = graph().add_input(input->name(), std::move(type));
    if (given.dtype != dtype) {
      EC_TRY(made, quantized(made, *params, dtype, input->name() + "_int8"));
    }
    remember(input, {input->id(), dtype, *params}, made);
    return {};
  }

  Result<Tensor*> output_form(const Tensor* output) {
    const FormId form = plan_.stored_form(output);
    const auto& params = params_[form];
    if (!params || output->dtype() != DType::F32) return plain_form(output);
    EC_TRY(Tensor * stored, quantized_form(output, activation_type(width_of(form)), *params));
    if (simulated()) return rounded(stored, *params);
    if (io_ == IoType::Float) return float_output(output, stored, *params);
    const Interface given = interface_of(*params, width_of(form));
    if (given.dtype == stored->dtype()) return stored;
    return quantized(stored, given.params, given.dtype, output->name() + "_uint8");
  }

  // A result that floating-point operations gave is an output as it is.
  Result<Tensor*> float_output(const Tensor* output, Tensor* stored, const QuantParams& params) {
    if (Tensor* known = plain_->find(output)) return known;
    EC_TRY(Tensor * made, dequantized(stored, params, output->name() + "_dequantized"));
    plain_->map(output, made);
    return made;
  }

  // --- operations --------------------------------------------------------------------------------
  Status add_plain(const Operation& op) {
    // Makes the forms that are not there yet; copy() finds them.
    for (const Tensor* input : op.inputs()) EC_CHECK_OK(plain_form(input));
    EC_CHECK_OK(plain_->copy(op));
    return {};
  }

  // The parameters that an operand must have: those of the result where the operation needs them
  // equal, else its own.
  const QuantParams& wanted(const Operation& op, const Tensor* operand) const {
    const OpPlan& entry = plan_.of(&op);
    const bool same = entry.rule.result == ResultRule::SameScale;
    return *params_[form_id((same ? op.output() : operand)->id(), entry.width)];
  }
  std::span<const float> input_scales(const Operation& op) const {
    return params_[form_id(op.input(0)->id(), plan_.of(&op).width)]->scales;
  }

  Result<Tensor*> operand(const Operation& op, size_t i) {
    const Tensor* tensor = op.input(i);
    if (tensor == nullptr) return static_cast<Tensor*>(nullptr);
    const Width width = plan_.of(&op).width;
    switch (plan_.of(&op).rule.role(i)) {
      case OperandRole::Plain:
        return plain_form(tensor);
      case OperandRole::Activation: {
        const QuantParams& params = wanted(op, tensor);
        EC_TRY(Tensor * stored, quantized_form(tensor, activation_type(width), params));
        return simulated() ? rounded(stored, params) : stored;
      }
      case OperandRole::Weights:
        return weights_form(tensor, *weights_[op.id()]);
      case OperandRole::Bias:
        return bias_form(tensor, *weights_[op.id()], width, input_scales(op));
    }
    return Error(Code::Internal, "unknown operand role");
  }

  // Constants that several operations read are written once, unless they were adjusted for one.
  template <class Make>
  Result<Tensor*> constant(const FormKey& key, bool adjusted, Make&& make) {
    Tensor* stored = adjusted ? nullptr : form_of(key);
    if (stored == nullptr) {
      stored = make();
      if (!adjusted) forms_[key] = stored;
    }
    if (!simulated()) return stored;
    return rounded(stored, key.params);
  }

  Result<Tensor*> weights_form(const Tensor* tensor, const IntegerWeights& weights) {
    return constant({tensor->id(), DType::I8, weights.params}, weights.adjusted, [&] {
      return constant_form(tensor, DType::I8, weights.values, weights.params);
    });
  }

  Result<Tensor*> bias_form(const Tensor* tensor, const IntegerWeights& weights, Width width,
                            std::span<const float> input_scales) {
    QuantParams params = params_of_bias(weights.params, input_scales);
    // A bias with leading ones has its scales on the last axis.
    const std::vector<int64_t> shape = tensor->shape()->sizes();
    if (params.per_channel()) params.axis = static_cast<int32_t>(shape.size()) - 1;
    const DType dtype = bias_type(width);
    // 64 bits round finer than floats can tell.
    if (simulated() && dtype == DType::I64)
      return graph().add_constant<float>(tensor->name(), *tensor->shape(),
                                         std::span<const float>(weights.bias));
    return constant({tensor->id(), dtype, params}, weights.adjusted, [&] {
      return dtype == DType::I64
                 ? constant_form(tensor, dtype,
                                 quantize_values<int64_t>(weights.bias, shape, params), params)
                 : constant_form(tensor, dtype,
                                 quantize_values<int32_t>(weights.bias, shape, params), params);
    });
  }

  Status add_integer(const Operation& op) {
    std::vector<Tensor*> operands;
    for (size_t i = 0; i < op.inputs().size(); ++i) {
      EC_TRY(Tensor * made, operand(op, i));
      operands.push_back(made);
    }
    const OpPlan& entry = plan_.of(&op);
    const DType dtype = activation_type(entry.width);
    // Its operand has the parameters of the result already.
    if (op.kind() == OpKind::Identity && !simulated()) {
      const FormId form = form_id(op.output()->id(), entry.width);
      remember(op.output(), {op.output()->id(), dtype, *params_[form]}, operands[0]);
      return {};
    }
    const bool real = entry.rule.result != ResultRule::Plain;
    std::vector<TensorType> types;
    for (const Tensor* output : op.outputs()) {
      types.push_back(output->type());
      if (!real || simulated()) continue;
      types.back().dtype = dtype;
      types.back().quant = params_[form_id(output->id(), entry.width)];
    }
    EC_TRY(const Operation* made,
           copy_operation(graph(), op, std::move(operands), std::move(types)));
    for (size_t i = 0; i < op.outputs().size(); ++i) {
      const Tensor* output = op.output(i);
      if (!real) {
        plain_->map(output, made->output(i));
        continue;
      }
      Tensor* stored = made->output(i);
      const QuantParams& params = *params_[form_id(output->id(), entry.width)];
      if (simulated()) {
        EC_TRY(stored, quantized(stored, params, dtype, output->name() + "_quantized"));
      }
      remember(output, {output->id(), dtype, params}, stored);
    }
    return {};
  }

  const Graph& source_;
  const Plan& plan_;
  const FormParams& params_;
  const LayerWeights& weights_;
  const IoType io_;
  const GraphForm form_;
  Conversion result_;
  std::optional<GraphCopier> plain_;  // tensors with their types of the source graph
  std::map<FormKey, Tensor*> forms_;
  std::map<const Tensor*, Tensor*> rounded_;  // looked up, never iterated
};

constexpr std::string_view kIoTypes[] = {"float", "int8", "uint8", "int16"};

}  // namespace

std::string_view io_type_name(IoType type) { return kIoTypes[static_cast<size_t>(type)]; }

std::optional<IoType> io_type_from_name(std::string_view name) {
  for (size_t i = 0; i < std::size(kIoTypes); ++i)
    if (kIoTypes[i] == name) return static_cast<IoType>(i);
  return std::nullopt;
}

Result<Conversion> convert(const Graph& graph, const Plan& plan, const FormParams& params,
                           const LayerWeights& weights, IoType io, GraphForm form) {
  if (form == GraphForm::Integer)
    for (const auto& known : params)
      if (known && known->per_channel())
        return Error(Code::UnsupportedOpForm,
                     "activations with a scale for each channel have no integer kernels here")
            .hint("ask for the simulated form");
  return Converter(graph, plan, params, weights, io, form).run();
}

}  // namespace ec::quantize
