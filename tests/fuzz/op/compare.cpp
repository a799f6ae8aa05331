#include "fuzz/op/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "fuzz/op/random_source.h"
#include "ops/attrs.h"
#include "ops/convert.h"
#include "ops/op_def.h"
#include "runtime/session.h"
#include "support/budget.h"

namespace ec::fuzz {
namespace {

// Loops may be endless and tensors large: both end in a coded error.
constexpr BudgetLimits kRunLimits{.work = 20'000'000, .memory = size_t{64} << 20};

// Functions in other forms (log(1 + exp x) far below zero) err by a step of 1, however small they
// are.
constexpr double kSmall = 4e-3;

// Of the largest element: sums in another order, in the precision of the type.
double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::F32:
    case DType::F64:
      return 3e-4;
    case DType::F16:
      return 1e-2;
    case DType::BF16:
      return 6e-2;
    default:
      return 0.5;  // 8-bit floats and less: one step
  }
}

// Squares and products of such numbers leave the range of floats in one order and stay in another.
constexpr double kHuge = 1e15;
// Half floats end at 65504: sums and products of such numbers leave their range.
constexpr double kHugeHalf = 1e4;
// Kernels may take smaller numbers for zero.
constexpr double kLeastKept = 1e-36;

std::vector<double> doubles(const Value& value) {
  std::vector<double> list(static_cast<size_t>(count_elements(value.shape)));
  load<double>(value.view(), list);
  return list;
}

// The maximum of a window that holds padding alone: minus infinity by the definition, the least
// finite number in files that pad with it, as in ONNX Runtime and LiteRT.
bool is_maximum_of_nothing(double wanted, double got) {
  return wanted == -std::numeric_limits<double>::infinity() &&
         got == double{std::numeric_limits<float>::lowest()};
}

std::optional<std::string> float_difference(const Value& wanted, const Value& got) {
  // Without NaN and infinity there is no number for what is out of range.
  if (bit_width(wanted.dtype) < 16) return std::nullopt;
  // As numbers of 64 bits both take more memory than a model may.
  constexpr int64_t kMost = int64_t{1} << 22;
  if (wanted.data == got.data || count_elements(wanted.shape) > kMost) return std::nullopt;
  const std::vector<double> a = doubles(wanted), b = doubles(got);
  double largest = 0;
  for (const double x : a)
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  const double allowed = tolerance_of(wanted.dtype) * std::max(largest, kSmall);
  for (size_t i = 0; i < a.size(); ++i) {
    // Beyond the finite numbers the order of operations decides between infinity and NaN.
    if (a[i] == b[i] || (!std::isfinite(a[i]) && !std::isfinite(b[i]))) continue;
    if (std::abs(a[i]) > kHuge && !std::isfinite(b[i])) continue;
    if (is_maximum_of_nothing(a[i], b[i])) continue;
    if (!(std::abs(a[i] - b[i]) <= allowed))
      return fmt::format("element {} is {} instead of {}", i, b[i], a[i]);
  }
  return std::nullopt;
}

constexpr double kShift = 2e-6;

void shift(const MutableView& view, RandomSource& random) {
  if (!is_float(view.dtype) || view.count() == 0) return;
  std::vector<double> list(static_cast<size_t>(view.count()));
  load<double>(view, list);
  // A step of the type at least, or small floats would round the change away.
  const double step = std::max(kShift, tolerance_of(view.dtype) / 10);
  double largest = 0;
  for (const double x : list)
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  for (double& x : list)
    if (std::isfinite(x))
      x += (random.unit() - 0.5) * 2 * step * (std::abs(x) + (x != 0 ? 0.1 * largest : 0.0));
  store<double>(view, list);
}

Value shifted(const Value& value, RandomSource& random) {
  Buffer buffer = Buffer::allocate(value.data.size());
  if (!value.data.empty())
    std::copy(value.data.bytes().begin(), value.data.bytes().end(), buffer.data());
  shift(MutableView{value.dtype, value.shape, buffer.data(), nullptr}, random);
  return Value(value.dtype, value.shape, std::move(buffer).to_blob());
}

// Far below zero GELU is a difference of nearly equal numbers, and so is the logarithm of a softmax
// for what outweighs all else. Hard swish is a zero of either sign there.
bool may_cancel(const Tensor& tensor) {
  const Operation* op = tensor.producer();
  if (op == nullptr) return false;
  if (op->kind() == OpKind::Gelu || op->kind() == OpKind::LogSoftmax ||
      op->kind() == OpKind::HardSwish)
    return true;
  for (const Field& field : op->attrs().schema().fields)
    if (field.name == "activation" && field.kind == FieldKind::Enum) {
      const auto name = std::get<std::string>(op->attrs().get(field));
      if (name.starts_with("gelu") || name == "hard_swish") return true;
    }
  return false;
}

// Functions that vanish far from zero: one kernel gives the least number there, another one zero.
bool may_vanish(const Tensor& tensor) {
  if (tensor.producer() == nullptr) return false;
  switch (tensor.producer()->kind()) {
    case OpKind::Sigmoid:
    case OpKind::Silu:
    case OpKind::Softmax:
    case OpKind::Softplus:
    case OpKind::Exp:
      return true;
    default:
      return false;
  }
}

// What rounds to zero in 16 bits does not in 32, in which devices compute; what is zero by
// cancellation in one kernel is next to zero in another.
void lift_zeros(const Tensor& tensor, const MutableView& view, RandomSource& random) {
  if (!is_float(view.dtype) || view.count() == 0) return;
  if (bit_width(view.dtype) != 16 && !may_cancel(tensor) && !may_vanish(tensor)) return;
  std::vector<double> list(static_cast<size_t>(view.count()));
  load<double>(view, list);
  const double least = view.dtype == DType::F16 ? 0x1p-24 : 0x1p-126;
  double largest = 1;
  for (const double x : list)
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  for (double& x : list) {
    if (x == 0)
      x = random.chance(50) ? least : -least;
    else if (may_cancel(tensor) && std::abs(x) < kShift * largest && random.chance(50))
      x = 0;
    else if (may_vanish(tensor) && std::abs(x) < kLeastKept && random.chance(50))
      x = 0;
  }
  store<double>(view, list);
}

// An operation reads numbers beyond those that all kernels square alike, or so small that a kernel
// may take them for zero: a comparison with zero and a quotient tell these from it.
bool is_extreme_operand(const Tensor& tensor, const MutableView& view) {
  if (!is_float(view.dtype) || tensor.uses().empty()) return false;
  std::vector<double> list(static_cast<size_t>(view.count()));
  load<double>(view, list);
  return std::any_of(list.begin(), list.end(), [](double x) {
    return std::abs(x) > kHuge || (x != 0 && std::abs(x) < kLeastKept);
  });
}

bool has_nan(const MutableView& view) {
  if (!is_float(view.dtype)) return false;
  std::vector<double> list(static_cast<size_t>(view.count()));
  load<double>(view, list);
  return std::any_of(list.begin(), list.end(), [](double x) { return std::isnan(x); });
}

// An operation weighs it: times zero it is NaN in one kernel and left out in another.
bool is_weighed(const Tensor& tensor) {
  return std::any_of(tensor.uses().begin(), tensor.uses().end(), [](const Use& use) {
    const OpDef& def = use.op->def();
    return use.op->kind() == OpKind::Resize ||
           (!def.traits.elementwise && def.quant != QuantRule::SameAsInput);
  });
}

// An operation makes integers of it: positions of maxima, comparisons.
bool becomes_integers(const Tensor& tensor) {
  return std::any_of(tensor.uses().begin(), tensor.uses().end(), [](const Use& use) {
    return std::any_of(use.op->outputs().begin(), use.op->outputs().end(),
                       [](const Tensor* output) { return !is_float(output->dtype()); });
  });
}

// `undecided` is set where an integer or a weighted sum depends on NaN, which has no place in any
// order, and where operations read numbers at the ends of the range.
Result<std::vector<Value>> run_shifted(const Graph& graph, std::span<const Value> inputs,
                                       uint64_t seed, bool& undecided) {
  Budget budget(kRunLimits);
  const BudgetScope scope(budget);
  RandomSource random(seed);
  std::unique_ptr<Graph> changed = graph.clone();
  for (Tensor* tensor : changed->tensors()) {
    if (!tensor->is_constant() || !is_float(tensor->dtype())) continue;
    const Value value(tensor->dtype(), tensor->shape()->sizes(), tensor->data());
    changed->set_constant_data(tensor, tensor->type(), shifted(value, random).data);
  }
  std::vector<Value> values;
  std::vector<ConstView> views;
  std::vector<TensorType> types;
  for (const Value& value : inputs) values.push_back(shifted(value, random));
  for (size_t i = 0; i < values.size(); ++i) {
    views.push_back(values[i].view());
    TensorType type = values[i].type();
    type.quant = graph.inputs()[i]->type().quant;
    types.push_back(std::move(type));
  }
  ExecutorOptions options;
  options.reference = true;
  options.editor = [&](const Tensor& tensor, const MutableView& view) {
    undecided = undecided || ((becomes_integers(tensor) || is_weighed(tensor)) && has_nan(view)) ||
                is_extreme_operand(tensor, view);
    shift(view, random);
    lift_zeros(tensor, view, random);
  };
  EC_TRY(const std::unique_ptr<Executor> executor,
         Executor::create(*changed, types, options, std::make_shared<kernels::ThreadPool>(1)));
  return executor->run(views);
}

}  // namespace

Result<std::vector<Value>> run_graph(const Graph& graph, std::span<const Value> inputs,
                                     bool reference) {
  Budget budget(kRunLimits);
  const BudgetScope scope(budget);
  SessionOptions options;
  options.reference = reference;
  EC_TRY(const std::unique_ptr<Session> session, Session::create(graph.clone(), options));
  std::vector<NamedValue> named;
  for (size_t i = 0; i < inputs.size() && i < session->inputs().size(); ++i)
    named.push_back({session->inputs()[i].name, inputs[i]});
  return session->run(named);
}

namespace {

// Files may hold any byte for true.
bool same_integers(const Value& a, const Value& b) {
  if (a.dtype != DType::Bool) return a.data == b.data;
  return std::ranges::equal(a.data.bytes(), b.data.bytes(), [](std::byte x, std::byte y) {
    return (x == std::byte{0}) == (y == std::byte{0});
  });
}

}  // namespace

std::optional<std::string> difference(std::span<const Value> wanted, std::span<const Value> got) {
  if (wanted.size() != got.size())
    return fmt::format("{} outputs instead of {}", got.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    // Sizes of a result that holds nothing may be known to one form of a model only.
    if (wanted[i].dtype == got[i].dtype && wanted[i].shape.size() == got[i].shape.size() &&
        count_elements(wanted[i].shape) == 0 && count_elements(got[i].shape) == 0)
      continue;
    if (wanted[i].dtype != got[i].dtype || wanted[i].shape != got[i].shape)
      return fmt::format("output {} is {} instead of {}", i, got[i].type().text(),
                         wanted[i].type().text());
    if (!is_float(wanted[i].dtype)) {
      if (!same_integers(wanted[i], got[i]))
        return fmt::format("output {} has other {} numbers", i, dtype_name(wanted[i].dtype));
    } else if (auto text = float_difference(wanted[i], got[i])) {
      return fmt::format("output {}: {}", i, *text);
    }
  }
  return std::nullopt;
}

namespace {

bool is_plain(const Value& value) {
  if (!is_float(value.dtype)) return true;
  // Targets compute doubles in single precision, which hardly has such small numbers.
  const double least = value.dtype == DType::F64 ? kLeastKept : 0;
  const std::vector<double> list = doubles(value);
  return std::ranges::all_of(
      list, [&](double x) { return std::abs(x) <= kHuge && (x == 0 || std::abs(x) >= least); });
}

bool is_divisor(const Tensor& constant) {
  if (!is_float(constant.dtype())) return true;
  const std::vector<double> list =
      doubles(Value(constant.dtype(), constant.shape()->sizes(), constant.data()));
  return std::ranges::none_of(list, [](double x) { return std::abs(x) < kLeastKept; });
}

// Rounding to few bits on the way, which moves results by far more than the numbers that are
// rounded: other forms leave it out, or round ties another way.
bool rounds_within(const Operation& op) {
  const Attrs& attrs = op.attrs();
  if (const Field* field = attrs.schema().find("dynamic_quantize_inputs"))
    return std::get<bool>(attrs.get(*field));
  if (op.kind() == OpKind::Attention) {
    const DType precision = op.attrs_as<AttentionAttrs>().softmax_precision;
    return precision == DType::F16 || precision == DType::BF16;
  }
  // ONNX has no quantisation of integers that rounds ties away from zero.
  return op.kind() == OpKind::Quantize && !is_float(op.input(0)->dtype()) &&
         op.attrs_as<QuantizeAttrs>().rounding == Rounding::HalfAway;
}

// Numbers whose squares leave the range of floats, NaN, divisions by next to nothing, and results
// of 8 bits and less: kernels may differ in what becomes of them.
bool has_extremes(const Graph& graph) {
  for (const Tensor* tensor : graph.tensors())
    if (tensor->is_constant() && is_float(tensor->dtype()) &&
        !is_plain(Value(tensor->dtype(), tensor->shape()->sizes(), tensor->data())))
      return true;
  for (const Operation* op : graph.topological()) {
    // The quotient, which other forms of a remainder go by, is out of range.
    if (op->kind() == OpKind::Mod && op->input(1)->is_constant() && !is_divisor(*op->input(1)))
      return true;
    if (rounds_within(*op)) return true;
    // Other forms keep more bits between two operations.
    for (const Tensor* output : op->outputs())
      if (is_float(output->dtype()) && bit_width(output->dtype()) < 16) return true;
    for (const Field& field : op->attrs().schema().fields) {
      if (field.kind != FieldKind::Float) continue;
      const double number = std::abs(std::get<double>(op->attrs().get(field)));
      const bool half = !op->outputs().empty() && op->output()->dtype() == DType::F16;
      if (!(number <= (half ? kHugeHalf : kHuge)) || (field.name == "epsilon" && number < 1e-12))
        return true;
    }
    for (const auto& body : op->bodies())
      if (has_extremes(*body)) return true;
  }
  return false;
}

}  // namespace

// The same divisions where the divisor comes with the inputs.
bool divides_by_little(const Graph& graph, std::span<const Value> inputs) {
  for (size_t i = 0; i < inputs.size() && i < graph.inputs().size(); ++i) {
    const Tensor* input = graph.inputs()[i];
    const auto divisor = [](const Use& use) {
      return use.op->kind() == OpKind::Mod && use.index == 1;
    };
    if (!is_float(input->dtype()) || std::ranges::none_of(input->uses(), divisor)) continue;
    const std::vector<double> list = doubles(inputs[i]);
    if (std::ranges::any_of(list, [](double x) { return std::abs(x) < kLeastKept; })) return true;
  }
  return false;
}

// A sign that a run changes every other time goes unseen once in sixteen million models.
constexpr uint64_t kShiftedRuns = 24;

bool is_fragile(const Graph& graph, std::span<const Value> inputs, std::span<const Value> wanted) {
  if (!std::all_of(inputs.begin(), inputs.end(), is_plain) || has_extremes(graph) ||
      divides_by_little(graph, inputs))
    return true;
  bool undecided = false;
  for (uint64_t seed = 0; seed < kShiftedRuns; ++seed) {
    const Result<std::vector<Value>> other = run_shifted(graph, inputs, seed, undecided);
    if (!other.ok() || undecided || difference(wanted, *other)) return true;
  }
  return false;
}

}  // namespace ec::fuzz
