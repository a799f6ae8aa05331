#include "quantize/trial.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/macs.h"
#include "ops/op_def.h"
#include "quantize/measurements.h"
#include "support/rounding.h"

namespace ec::quantize {

// One operation with constant weights as a graph of its own.
struct Trial::Layer {
  IntegerWeights weights;  // what it was made for: other weights may come to lie at their address
  Graph graph;
  std::unique_ptr<Executor> executor;
};

// The graph with the real values of integer weights in it. Runs of it need no layers by themselves.
struct Trial::Rounded {
  std::vector<std::optional<IntegerWeights>> weights;  // what it was made for, by operation id
  std::unique_ptr<Graph> graph;
  std::vector<const Tensor*> original;  // by tensor id of this graph
  std::unique_ptr<Executor> executor;

  bool serves(const Rounding& rounding) const {
    for (size_t id = 0; id < weights.size(); ++id)
      if (rounding.weights[id] == nullptr ? weights[id].has_value()
                                          : !weights[id] || *weights[id] != *rounding.weights[id])
        return false;
    return true;
  }
};

namespace {

std::vector<TensorType> input_types(const Graph& graph) {
  std::vector<TensorType> types;
  for (const Tensor* input : graph.inputs()) types.emplace_back(input->dtype(), *input->shape());
  return types;
}

Value copy_of(const MutableView& value) {
  return Value(value.dtype, {value.shape.begin(), value.shape.end()},
               Blob::copy_of(std::span<const std::byte>(value.data, value.bytes())));
}

}  // namespace

std::vector<const Tensor*> judged_tensors(const Graph& graph) {
  std::vector<const Tensor*> judged;
  for (const Tensor* output : graph.outputs()) {
    const Operation* op = output->producer();
    while (op != nullptr && op->kind() == OpKind::Reshape) op = op->input(0)->producer();
    const bool softmax = op != nullptr && op->kind() == OpKind::Softmax;
    judged.push_back(softmax ? op->input(0) : output);
  }
  return judged;
}

void round_to_steps(std::span<float> values, const QuantParams& params, DType dtype) {
  const float scale = params.scales[0], inverse = 1.0f / scale;
  const auto zero = static_cast<float>(params.zero_points[0]);
  const float low = static_cast<float>(lowest_integer(dtype)) - zero;
  const float high = static_cast<float>(highest_integer(dtype)) - zero;
  // Within 2^22 adding and subtracting this rounds to the nearest, ties to even.
  constexpr float kRounder = 0x1.8p23f;
  const auto rounded = [&](float value) {
    return scale * ((std::clamp(value * inverse, low, high) + kRounder) - kRounder);
  };
  // In blocks of a fixed size, which compilers turn into vector instructions.
  constexpr size_t kBlock = 8;
  size_t i = 0;
  for (; i + kBlock <= values.size(); i += kBlock)
    for (size_t k = 0; k < kBlock; ++k) values[i + k] = rounded(values[i + k]);
  for (; i < values.size(); ++i) values[i] = rounded(values[i]);
}

double work_of(const Operation& op) {
  // An element that is only moved or rounded costs about as much as this many products.
  constexpr double kElement = 8;
  double elements = 0;
  for (const Tensor* output : op.outputs())
    elements += static_cast<double>(output->type().num_elements().value_or(0));
  return kElement * elements + static_cast<double>(count_macs(op).value_or(0));
}

double work_of_run(const Graph& graph) {
  double work = 0;
  for (const Operation* op : graph.topological()) work += work_of(*op);
  return work;
}

Rounding round_all(const Graph& graph, const Plan& plan, const FormParams& params,
                   const LayerWeights& weights) {
  Rounding rounding;
  rounding.forms.resize(params.size());
  rounding.weights.resize(graph.operation_id_bound(), nullptr);
  for (const Tensor* tensor : graph.tensors()) {
    const FormId form = plan.stored_form(tensor);
    // In front of a fused activation nothing is rounded.
    if (plan.observed[tensor->id()]) rounding.forms[form] = params[form];
  }
  for (const Operation* op : graph.topological())
    if (weights[op->id()]) rounding.weights[op->id()] = &*weights[op->id()];
  return rounding;
}

double OutputError::sqnr_db() const {
  constexpr double kBest = 120;
  if (noise <= 0) return kBest;
  return signal <= 0 ? 0 : std::min(kBest, 10 * std::log10(signal / noise));
}

Trial::Trial(const Graph& graph, const Plan& plan, int threads)
    : graph_(graph),
      plan_(plan),
      pool_(std::make_shared<kernels::ThreadPool>(threads)),
      judged_(judged_tensors(graph)),
      seen_(judged_.size()) {}
Trial::~Trial() = default;

Result<std::unique_ptr<Trial>> Trial::create(const Graph& graph, const Plan& plan, int threads) {
  std::unique_ptr<Trial> trial(new Trial(graph, plan, threads));
  ExecutorOptions options;
  options.editor = [owner = trial.get()](const Tensor& tensor, const MutableView& value) {
    if (owner->rounding_ != nullptr && owner->failure_.ok())
      owner->failure_ = owner->edit(tensor, value);
    owner->look_at(tensor, value);
  };
  EC_TRY(trial->executor_,
         Executor::create(graph, input_types(graph), std::move(options), trial->pool_));
  trial->layer_inputs_.resize(graph.tensor_id_bound());
  return trial;
}

Status Trial::add_sample(SampleSource& source, size_t index, double weight) {
  measurements_ = source.measurements();
  if (measurements_ != nullptr && measurements_->playing()) return ++num_samples_, Status();
  EC_TRY(std::vector<Value> sample, source.read(index));
  return add_sample(std::move(sample), weight);
}

Status Trial::add_sample(std::vector<Value> sample, double weight) {
  rounding_ = nullptr;
  EC_TRY(std::vector<Value> outputs, run(*executor_, sample));
  samples_.push_back(std::move(sample));
  weights_.push_back(weight);
  expected_.push_back(std::move(outputs));
  num_samples_ = samples_.size();
  return {};
}

void Trial::keep_samples(size_t count) {
  num_samples_ = std::min(num_samples_, count);
  if (count >= samples_.size()) return;
  samples_.resize(count);
  weights_.resize(count);
  expected_.resize(count);
}

void Trial::round(const Tensor& tensor, const MutableView& value) const {
  if (value.dtype != DType::F32) return;
  const FormId form = plan_.stored_form(&tensor);
  if (rounding_->forms[form])
    round_to_steps(value.as<float>(), *rounding_->forms[form], activation_type(width_of(form)));
}

Status Trial::edit(const Tensor& tensor, const MutableView& value) {
  if (value.dtype != DType::F32) return {};
  const Operation* op = tensor.producer();
  if (op != nullptr && rounding_->weights[op->id()] != nullptr)
    EC_CHECK_OK(apply_weights(*op, *rounding_->weights[op->id()], value));
  round(tensor, value);
  // Kept for the layers that read it: their own weights are applied to it.
  for (const Use& use : tensor.uses())
    if (use.index == 0 && rounding_->weights[use.op->id()] != nullptr) {
      layer_inputs_[tensor.id()] = copy_of(value);
      break;
    }
  return {};
}

Status Trial::apply_weights(const Operation& op, const IntegerWeights& weights,
                            const MutableView& value) {
  std::unique_ptr<Layer>& layer = layers_[&weights];
  const Tensor* input = op.input(0);
  if (layer == nullptr || layer->weights != weights) {
    layer = std::make_unique<Layer>();
    layer->weights = weights;
    std::vector<Tensor*> operands;
    for (size_t i = 0; i < op.inputs().size(); ++i) {
      const Tensor* operand = op.input(i);
      if (operand == nullptr) {
        operands.push_back(nullptr);
      } else if (i == weights.operand) {
        const std::vector<float> reals = real_weights(weights, *operand);
        operands.push_back(layer->graph.add_constant<float>(operand->name(), *operand->shape(),
                                                            std::span<const float>(reals)));
      } else if (plan_.of(&op).rule.role(i) == OperandRole::Bias) {
        operands.push_back(layer->graph.add_constant<float>(operand->name(), *operand->shape(),
                                                            std::span<const float>(weights.bias)));
      } else if (operand->is_constant()) {
        operands.push_back(
            layer->graph.add_constant(operand->name(), operand->type(), operand->raw_data()));
      } else {
        operands.push_back(layer->graph.add_input(operand->name(), operand->type()));
      }
    }
    OpSpec spec;
    spec.attrs = op.attrs();
    spec.location = op.location();
    EC_TRY(const Operation* made, layer->graph.add_typed(op.kind(), std::move(operands),
                                                         std::move(spec), {op.output()->type()}));
    layer->graph.add_output("out", made->output());
    EC_TRY(layer->executor, Executor::create(layer->graph, input_types(layer->graph), {}, pool_));
  }
  const ConstView view = layer_inputs_[input->id()].view();
  EC_TRY(const std::vector<Value> outputs, layer->executor->run(std::span(&view, 1)));
  std::memcpy(value.data, outputs[0].data.bytes().data(), value.bytes());
  return {};
}

Result<Executor*> Trial::executor_for(const Rounding& rounding) {
  const auto layers = std::count_if(rounding.weights.begin(), rounding.weights.end(),
                                    [](const IntegerWeights* weights) { return weights; });
  if (layers < 2) return executor_.get();
  if (rounded_ != nullptr && rounded_->serves(rounding)) return rounded_->executor.get();
  auto made = std::make_unique<Rounded>();
  made->graph = graph_.clone();
  made->original.resize(made->graph->tensor_id_bound(), nullptr);
  made->weights.resize(rounding.weights.size());
  const std::vector<Operation*> copies = made->graph->topological();
  const auto originals = graph_.topological();
  for (size_t i = 0; i < copies.size(); ++i) {
    const Operation* op = originals[i];
    for (size_t k = 0; k < op->outputs().size(); ++k)
      made->original[copies[i]->outputs()[k]->id()] = op->outputs()[k];
    const IntegerWeights* weights = rounding.weights[op->id()];
    if (weights == nullptr) continue;
    made->weights[op->id()] = *weights;
    for (size_t k = 0; k < op->inputs().size(); ++k) {
      const Tensor* operand = op->input(k);
      const bool bias = plan_.of(op).rule.role(k) == OperandRole::Bias;
      if (operand == nullptr || (k != weights->operand && !bias)) continue;
      const std::vector<float> reals = bias ? weights->bias : real_weights(*weights, *operand);
      made->graph->set_operand(copies[i], k,
                               made->graph->add_constant<float>(operand->name(), *operand->shape(),
                                                                std::span<const float>(reals)));
    }
  }
  ExecutorOptions options;
  options.editor = [this, original = made->original](const Tensor& tensor,
                                                     const MutableView& value) {
    const Tensor* of = tensor.id() < original.size() ? original[tensor.id()] : nullptr;
    if (of == nullptr) return;
    round(*of, value);
    look_at(*of, value);
  };
  EC_TRY(made->executor,
         Executor::create(*made->graph, input_types(*made->graph), std::move(options), pool_));
  rounded_ = std::move(made);
  return rounded_->executor.get();
}

void Trial::look_at(const Tensor& tensor, const MutableView& value) {
  for (size_t i = 0; i < judged_.size(); ++i)
    if (judged_[i] == &tensor && judged_[i] != graph_.outputs()[i]) seen_[i] = copy_of(value);
}

Result<std::vector<Value>> Trial::run(Executor& executor, const std::vector<Value>& sample) {
  std::vector<ConstView> views;
  for (const Value& value : sample) views.push_back(value.view());
  EC_TRY(std::vector<Value> outputs, executor.run(views));
  for (size_t i = 0; i < outputs.size(); ++i)
    if (judged_[i] != graph_.outputs()[i] && !seen_[i].data.empty())
      outputs[i] = std::move(seen_[i]);
  return outputs;
}

Result<std::vector<Value>> Trial::run_rounded(size_t sample, const Rounding& rounding) {
  rounding_ = &rounding;
  failure_ = Status{};
  std::vector<Value> rounded;
  for (size_t i = 0; i < graph_.inputs().size(); ++i) {
    const Tensor* input = graph_.inputs()[i];
    const Value& given = samples_[sample][i];
    const ConstView view = given.view();
    if (view.dtype != DType::F32) {
      rounded.push_back(given);
      continue;
    }
    std::vector<float> values(view.as<float>().begin(), view.as<float>().end());
    EC_CHECK_OK(edit(
        *input, {DType::F32, view.shape, reinterpret_cast<std::byte*>(values.data()), nullptr}));
    rounded.push_back(Value::of<float>(given.shape, std::span<const float>(values)));
  }
  EC_TRY(Executor * executor, executor_for(rounding));
  Result<std::vector<Value>> outputs = run(*executor, rounded);
  rounding_ = nullptr;
  if (!failure_.ok()) return std::move(failure_).error();
  return outputs;
}

bool is_better(std::span<const OutputError> now, std::span<const OutputError> before,
               const Worthwhile& worthwhile) {
  double noise = 0, noise_before = 0;
  for (size_t part = 0; part < now.size(); ++part) {
    if (now[part].noise > worthwhile.part * before[part].noise) return false;
    noise += now[part].noise;
    noise_before += before[part].noise;
  }
  return noise < worthwhile.total * noise_before;
}

size_t Trial::parts() const {
  constexpr size_t kMostParts = 4, kSamplesOfPart = 4;
  return std::clamp<size_t>(num_samples_ / kSamplesOfPart, 1, kMostParts);
}
size_t Trial::samples_of_part(size_t part) const {
  return (num_samples_ + parts() - 1 - part) / parts();
}

Result<OutputError> Trial::measure(const Rounding& rounding) {
  return measure_every(rounding, 0, 1);
}
Result<OutputError> Trial::measure_part(const Rounding& rounding, size_t part) {
  return measure_every(rounding, part, parts());
}

Result<OutputError> Trial::measure_every(const Rounding& rounding, size_t part, size_t parts) {
  if (measurements_ == nullptr) return run_every(rounding, part, parts);
  return measurements_->output_error([&] { return run_every(rounding, part, parts); });
}

Result<OutputError> Trial::run_every(const Rounding& rounding, size_t part, size_t parts) {
  std::vector<OutputError> errors(graph_.outputs().size());
  for (size_t s = part; s < samples_.size(); s += parts) {
    EC_TRY(const std::vector<Value> got, run_rounded(s, rounding));
    for (size_t i = 0; i < got.size(); ++i) {
      if (got[i].dtype != DType::F32 || got[i].shape != expected_[s][i].shape) continue;
      const auto a = expected_[s][i].as<float>(), b = got[i].as<float>();
      for (size_t k = 0; k < a.size(); ++k) {
        const double difference = static_cast<double>(a[k]) - static_cast<double>(b[k]);
        errors[i].noise += weights_[s] * difference * difference;
        errors[i].signal += weights_[s] * static_cast<double>(a[k]) * static_cast<double>(a[k]);
      }
    }
  }
  OutputError total;
  for (const OutputError& error : errors) {
    if (error.signal <= 0) continue;
    total.noise += error.noise / error.signal;
    total.signal += 1;
  }
  return total;
}

}  // namespace ec::quantize
