// Step `functions`: operations that together compute a function of one rounded tensor, element by
// element. Such a function has 256 arguments, so that it is known completely: which operation of
// the target it is, and which ranges its inner values have, is decided by trying every argument
// (docs/adr/0026-functions-of-rounded-tensors.md).
#include <algorithm>
#include <cmath>
#include <numbers>
#include <ranges>

#include "ops/attrs.h"
#include "ops/kernel.h"
#include "ops/op_def.h"
#include "passes/match.h"
#include "quantize/strategy/context.h"
#include "quantize/strategy/qat.h"
#include "support/rounding.h"

namespace ec::quantize::qat {
namespace {

constexpr int32_t kLowest = -128;
constexpr size_t kLevels = 256;
constexpr size_t kMostRoots = 6, kMostOps = 64;

using Recorded = std::vector<std::optional<PairParams>>;  // by tensor id

// The operations between a rounded tensor and a rounded result, in order of execution.
struct Region {
  Tensor* root = nullptr;
  Tensor* end = nullptr;
  std::vector<Operation*> ops;
};

// A function as a graph of its own, of one value for each level.
struct Function {
  std::unique_ptr<Graph> graph;
  Recorded recorded;
  std::vector<Tensor*> inner;  // by index of the region's operation: its result in `graph`
};

struct Levels {
  std::vector<double> results;               // real numbers, by level of the argument
  std::vector<std::optional<Range>> ranges;  // by tensor id; empty: not finite
};

double step_of(const PairParams& params) { return static_cast<double>(params.params.scales[0]); }

// The nearest step, ties to even, as quantising in ONNX rounds.
float rounded(float value, const PairParams& pair) {
  const float scale = pair.params.scales[0];
  const auto zero = static_cast<float>(pair.params.zero_points[0]);
  const auto low = static_cast<float>(lowest_integer(pair.dtype));
  const auto high = static_cast<float>(highest_integer(pair.dtype));
  const float steps = round_half_even(value / scale) + zero;
  return (std::isnan(steps) ? low - zero : std::clamp(steps, low, high) - zero) * scale;
}

// Functions that targets have as one operation.
struct Known {
  OpKind kind;
  GeluForm form;
  double (*f)(double x);
};
double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }
double gelu_by_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}
double hard_swish(double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }
constexpr Known kKnown[] = {{OpKind::HardSwish, {}, hard_swish},
                            {OpKind::Gelu, GeluForm::Exact, gelu},
                            {OpKind::Gelu, GeluForm::Tanh, gelu_by_tanh}};

class Functions {
 public:
  explicit Functions(QuantizeContext& context)
      : context_(context),
        graph_(*context.changed_graph),
        target_(*context.request.target),
        recorded_(context.recorded_params) {}

  Status run() {
    EC_CHECK_OK(multiply_by_inverse());
    find_roots();
    // Longer functions first: shorter ones are part of them.
    for (const uint32_t id : ends() | std::views::reverse) EC_CHECK_OK(recover(id));
    find_roots();
    for (const uint32_t id : ends()) EC_CHECK_OK(add_ranges(id));
    return {};
  }

 private:
  std::optional<PairParams>& known(const Tensor* tensor) {
    if (recorded_.size() < graph_.tensor_id_bound()) recorded_.resize(graph_.tensor_id_bound());
    return recorded_[tensor->id()];
  }
  bool is_rounded(const Tensor* tensor) {
    return known(tensor) && known(tensor)->dtype == DType::I8;
  }

  // --- which tensors are functions of which ------------------------------------------------------

  // Rounded tensors that a tensor is a function of, the nearest first.
  using Roots = std::vector<Tensor*>;

  void find_roots() {
    order_ = graph_.topological();
    position_.assign(graph_.operation_id_bound(), 0);
    roots_.assign(graph_.tensor_id_bound(), {});
    for (size_t i = 0; i < order_.size(); ++i) {
      position_[order_[i]->id()] = i;
      find_roots_of(*order_[i]);
    }
  }

  void find_roots_of(const Operation& op) {
    if (!op.def().traits.elementwise || op.def().traits.random || op.outputs().size() != 1 ||
        !op.bodies().empty() || has_quant(&op))
      return;
    std::optional<Roots> common;
    for (Tensor* operand : op.inputs()) {
      if (operand == nullptr) continue;
      if (operand->is_constant()) {
        if (!splat_value(operand)) return;
        continue;
      }
      if (!same_shape(operand, op.output())) return;
      Roots roots;
      if (is_rounded(operand)) roots.push_back(operand);
      for (Tensor* root : roots_[operand->id()]) roots.push_back(root);
      if (common)
        std::erase_if(*common,
                      [&](Tensor* root) { return std::ranges::find(roots, root) == roots.end(); });
      else
        common = std::move(roots);
    }
    if (!common) return;
    if (common->size() > kMostRoots) common->resize(kMostRoots);
    roots_[op.output()->id()] = std::move(*common);
  }

  // Operations with a rounded result that is a function of another rounded tensor.
  std::vector<uint32_t> ends() {
    std::vector<uint32_t> found;
    for (const Operation* op : order_)
      if (op->outputs().size() == 1 && is_rounded(op->output()) &&
          !roots_[op->output()->id()].empty())
        found.push_back(op->id());
    return found;
  }

  // Empty: too many operations.
  std::optional<Region> region(Tensor* root, Operation* last) const {
    Region found{root, last->output(), {last}};
    for (size_t i = 0; i < found.ops.size(); ++i)
      for (const Tensor* operand : found.ops[i]->inputs()) {
        if (operand == nullptr || operand->is_constant() || operand == root) continue;
        Operation* before = operand->producer();
        if (std::ranges::find(found.ops, before) != found.ops.end()) continue;
        if (found.ops.size() == kMostOps) return std::nullopt;
        found.ops.push_back(before);
      }
    std::ranges::sort(found.ops, {}, [&](const Operation* op) { return position_[op->id()]; });
    return found;
  }

  // Nothing outside reads what is inside.
  bool is_closed(const Region& region) const {
    for (const Operation* op : region.ops) {
      if (op->output() == region.end) continue;
      if (graph_.is_output(op->output())) return false;
      for (const Use& use : op->output()->uses())
        if (std::ranges::find(region.ops, use.op) == region.ops.end()) return false;
    }
    return true;
  }

  bool stays_float(const Region& region) {
    return std::ranges::any_of(region.ops, [&](const Operation* op) {
      if (!target_.describe(*op, Width::Narrow).integer) return true;
      const bool fused = is_clamped(op->output());
      return op->output()->dtype() == DType::F32 && !fused && !known(op->output());
    });
  }
  // It has the parameters of the activation behind it.
  static bool is_clamped(const Tensor* tensor) {
    const Operation* next = only_user(tensor);
    return next != nullptr && (next->kind() == OpKind::Relu || next->kind() == OpKind::Clip);
  }

  // --- every argument ----------------------------------------------------------------------------

  Result<Function> function_of(const Region& region) {
    Function made;
    made.graph = std::make_unique<Graph>("function");
    std::vector<Tensor*> copies(graph_.tensor_id_bound(), nullptr);
    const auto remember = [&](const Tensor* tensor, Tensor* copy) {
      copies[tensor->id()] = copy;
      made.recorded.resize(made.graph->tensor_id_bound());
      made.recorded[copy->id()] = known(tensor);
    };
    remember(region.root, made.graph->add_input("x", TensorType(DType::F32, Shape{kLevels})));
    for (const Operation* op : region.ops) {
      std::vector<Tensor*> operands;
      for (const Tensor* operand : op->inputs()) {
        if (operand != nullptr && operand->is_constant()) {
          const auto bytes = operand->raw_data().bytes().first(element_size(operand->dtype()));
          operands.push_back(made.graph->add_constant("", TensorType(operand->dtype(), Shape{}),
                                                      Blob::copy_of(bytes)));
        } else {
          operands.push_back(operand == nullptr ? nullptr : copies[operand->id()]);
        }
      }
      OpSpec spec;
      spec.attrs = op->attrs();
      spec.location = op->location();
      EC_TRY(const Operation* copy,
             made.graph->add(op->kind(), std::move(operands), std::move(spec)));
      remember(op->output(), copy->output());
      made.inner.push_back(copy->output());
    }
    made.graph->add_output("y", made.inner.back());
    made.recorded.resize(made.graph->tensor_id_bound());
    return made;
  }

  static std::vector<float> arguments(const PairParams& params) {
    std::vector<float> values;
    for (size_t i = 0; i < kLevels; ++i)
      values.push_back(
          params.params.scales[0] *
          static_cast<float>(kLowest + static_cast<int32_t>(i) - params.params.zero_points[0]));
    return values;
  }

  // What the model itself gives, with all its roundings or as real numbers.
  static Result<Levels> levels_of(const Function& function, bool rounds = true) {
    const Graph& graph = *function.graph;
    std::vector<Value> values(graph.tensor_id_bound());
    for (const Tensor* tensor : graph.tensors())
      if (tensor->is_constant())
        values[tensor->id()] = Value(tensor->dtype(), tensor->shape()->sizes(), tensor->data());
    const Tensor* x = graph.inputs()[0];
    values[x->id()] = Value::of<float>({kLevels}, arguments(*function.recorded[x->id()]));
    Levels levels;
    levels.ranges.resize(graph.tensor_id_bound());
    for (const Operation* op : graph.topological()) {
      std::vector<const Value*> operands;
      for (const Tensor* operand : op->inputs())
        operands.push_back(operand == nullptr ? nullptr : &values[operand->id()]);
      EC_TRY(std::vector<Value> results, evaluate(*op, operands));
      const Tensor* result = op->output();
      if (result->dtype() == DType::F32) {
        const auto given = results[0].as<float>();
        std::vector<float> reals(given.begin(), given.end());
        if (const auto& pair = function.recorded[result->id()]; pair && rounds)
          for (float& real : reals) real = rounded(real, *pair);
        bool finite = true;
        const Range range = range_of(reals, finite);
        if (finite) levels.ranges[result->id()] = range;
        results[0] = Value::of<float>(results[0].shape, reals);
      }
      values[result->id()] = std::move(results[0]);
    }
    const auto y = values[graph.outputs()[0]->id()].as<float>();
    levels.results.assign(y.begin(), y.end());
    return levels;
  }

  // What the target's integer operations give; empty where one of them has no such form.
  std::optional<std::vector<double>> integer_levels(const Function& function) {
    QuantizeRequest request = context_.request;
    request.io = IoType::Int8;
    request.form = GraphForm::Integer;
    DiagnosticSink unheard;
    QuantizeContext trial(context_.strategy, *function.graph, request, unheard);
    trial.recorded_params = function.recorded;
    if (!analyse(trial).ok() || trial.report().float_ops > 0 || !take_weights(trial).ok() ||
        !convert_graph(trial).ok())
      return std::nullopt;
    std::vector<int8_t> arguments;
    for (size_t i = 0; i < kLevels; ++i)
      arguments.push_back(static_cast<int8_t>(kLowest + static_cast<int32_t>(i)));
    const Graph& integers = *trial.result.graph;
    const auto& params = integers.outputs()[0]->type().quant;
    const Value x = Value::of<int8_t>({kLevels}, std::span<const int8_t>(arguments));
    const auto results = interpret(integers, std::span(&x, 1));
    if (!results.ok() || !params || results->at(0).dtype != DType::I8) return std::nullopt;
    std::vector<double> reals;
    for (const int8_t level : results->at(0).as<int8_t>())
      reals.push_back(static_cast<double>(params->scales[0]) * (level - params->zero_points[0]));
    return reals;
  }

  // Within `steps` of the result's steps, for every argument.
  static bool agree(const std::vector<double>& a, const std::vector<double>& b, double steps) {
    return std::ranges::equal(
        a, b, [&](double left, double right) { return std::abs(left - right) <= steps; });
  }
  static constexpr double kOneStep = 1.001;  // products of steps are not exact

  // Division by a constant has no integer form, the product with its inverse has.
  Status multiply_by_inverse() {
    for (Operation* op : graph_.topological()) {
      if (op->kind() != OpKind::Div || op->output()->dtype() != DType::F32 || has_quant(op))
        continue;
      const Tensor* divisor = op->input(1);
      if (!divisor->is_constant() || op->input(0)->is_constant()) continue;
      std::vector<float> inverse = float_values(divisor);
      for (float& value : inverse) value = 1 / value;
      if (!std::ranges::all_of(inverse, [](float value) { return std::isnormal(value); })) continue;
      OpSpec spec;
      spec.location = op->location();
      Tensor* factor =
          graph_.add_constant<float>("", *divisor->shape(), std::span<const float>(inverse));
      EC_TRY(const Operation* product,
             graph_.add(OpKind::Mul, {op->input(0), factor}, std::move(spec)));
      give_place(op->output(), product->output());
      graph_.erase(op);
    }
    return {};
  }

  // `to` takes the place of `from`, with its parameters.
  void give_place(Tensor* from, Tensor* to) {
    const std::optional<PairParams> params = known(from);  // known() may move its elements
    known(to) = params;
    graph_.replace_all_uses(from, to);
  }

  // --- functions that are one operation ----------------------------------------------------------

  Status recover(uint32_t id) {
    Operation* last = graph_.operation(id);
    if (last == nullptr) return {};
    const Roots roots = roots_[last->output()->id()];
    for (Tensor* root : roots | std::views::reverse) {
      const std::optional<Region> found = region(root, last);
      if (!found || found->ops.size() < 2 || !is_closed(*found)) continue;
      // Devices that only know integers may have the parts and not the whole.
      if (target_.integers_only && !stays_float(*found)) continue;
      EC_TRY(const bool done, replace(*found));
      if (done) return {};
    }
    return {};
  }

  Result<bool> replace(const Region& region) {
    EC_TRY(const Function function, function_of(region));
    EC_TRY(const Levels expected, levels_of(function));
    EC_TRY(const Levels real, levels_of(function, false));
    const bool parts_serve = !stays_float(region);
    const double step = step_of(*known(region.end));
    const std::vector<float> x = arguments(*known(region.root));
    for (const Known& candidate : kKnown) {
      std::vector<double> exact;
      for (const float v : x) exact.push_back(candidate.f(static_cast<double>(v)));
      // Another function that is near by chance, as hard swish is to SiLU over a wide range, would
      // add an error of its own to parts that are integers anyway.
      if (parts_serve && !is_same_function(exact, real.results)) continue;
      // Before the kernel is asked; half a step is rounding.
      if (!agree(clamped(exact, *known(region.end)), expected.results, 1.5 * kOneStep * step))
        continue;
      EC_TRY(const bool done, replace_by(region, candidate, expected.results));
      if (done) return true;
    }
    return false;
  }
  static bool is_same_function(const std::vector<double>& a, const std::vector<double>& b) {
    // Both forms of GELU differ by less.
    constexpr double kSame = 1e-3;
    return std::ranges::equal(a, b, [](double left, double right) {
      return std::abs(left - right) <= kSame * std::max(1.0, std::abs(left));
    });
  }
  static std::vector<double> clamped(std::vector<double> values, const PairParams& params) {
    const double step = step_of(params), zero = params.params.zero_points[0];
    for (double& value : values)
      value = std::clamp(value, step * (kLowest - zero), step * (kLowest + 255 - zero));
    return values;
  }

  Result<bool> replace_by(const Region& region, const Known& candidate,
                          const std::vector<double>& expected) {
    OpSpec spec;
    spec.attrs = candidate.kind == OpKind::Gelu ? Attrs(GeluAttrs{.form = candidate.form})
                                                : Attrs(NoAttrs{});
    for (const Operation* op : region.ops) spec.location.merge(op->location());
    EC_TRY(Operation * op, graph_.add(candidate.kind, {region.root}, std::move(spec)));
    const std::optional<PairParams> params = known(region.end);  // known() may move its elements
    known(op->output()) = params;
    EC_TRY(const Function whole, function_of({region.root, op->output(), {op}}));
    const auto got = integer_levels(whole);
    if (!got || !agree(*got, expected, kOneStep * step_of(*params))) {
      graph_.erase(op);
      return false;
    }
    give_place(region.end, op->output());
    for (Operation* inner : region.ops | std::views::reverse) graph_.erase(inner);
    return true;
  }

  // --- inner values without a range --------------------------------------------------------------

  Status add_ranges(uint32_t id) {
    Operation* last = graph_.operation(id);
    if (last == nullptr) return {};
    const std::optional<Region> found = region(roots_[last->output()->id()].front(), last);
    if (!found || !is_closed(*found) || !stays_float(*found)) return {};
    EC_TRY(Function function, function_of(*found));
    EC_TRY(const Levels expected, levels_of(function));
    for (size_t i = 0; i + 1 < found->ops.size(); ++i) {
      const Tensor* inner = function.inner[i];
      auto& params = function.recorded[inner->id()];
      if (inner->dtype() != DType::F32 || params || is_clamped(found->ops[i]->output())) continue;
      if (!expected.ranges[inner->id()]) return {};
      params = PairParams{DType::I8, params_of_range(*expected.ranges[inner->id()], DType::I8,
                                                     target_.is_symmetric(Width::Narrow))};
    }
    const auto got = integer_levels(function);
    if (!got || !agree(*got, expected.results, kOneStep * step_of(*known(found->end)))) return {};
    for (size_t i = 0; i + 1 < found->ops.size(); ++i)
      known(found->ops[i]->output()) = function.recorded[function.inner[i]->id()];
    return {};
  }

  QuantizeContext& context_;
  Graph& graph_;
  const TargetSpec& target_;
  Recorded& recorded_;
  std::vector<Operation*> order_;
  std::vector<size_t> position_;  // by operation id
  std::vector<Roots> roots_;      // by tensor id
};

}  // namespace

Status find_functions(QuantizeContext& context) { return Functions(context).run(); }

}  // namespace ec::quantize::qat
