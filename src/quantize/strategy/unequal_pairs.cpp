#include "quantize/strategy/unequal_pairs.h"

#include <cmath>
#include <ranges>
#include <unordered_set>

#include "ops/attrs.h"
#include "quantize/strategy/qdq_parameters.h"

namespace ec::quantize {
namespace {

// Scales in half precision have eleven bits.
constexpr double kHalfRounding = 1e-3;

// The factor of x * constant with one number, and x.
struct Scaled {
  Tensor* x = nullptr;
  double factor = 1;
};
std::optional<Scaled> scaled(const Tensor* tensor) {
  const Operation* op = tensor->producer();
  if (op == nullptr || op->kind() != OpKind::Mul) return std::nullopt;
  const Tensor* factor = op->input(1);
  if (!factor->is_constant() || factor->dtype() != DType::F32 ||
      factor->type().num_elements() != 1 || !factor->shape() || factor->shape()->rank() != 0)
    return std::nullopt;
  const auto value = static_cast<double>(factor->values<float>()[0]);
  return Scaled{op->input(0), value};
}

class EqualPairs {
 public:
  explicit EqualPairs(Graph& graph)
      : graph_(graph), first_(static_cast<uint32_t>(graph.operation_id_bound())) {}

  Status run() {
    for (Operation* op : graph_.topological()) {
      if (op->kind() == OpKind::Dequantize) EC_CHECK_OK(split_factor(op));
      if (op->kind() == OpKind::Add || op->kind() == OpKind::Sub) EC_CHECK_OK(sum(op));
      if (op->kind() == OpKind::Relu) EC_CHECK_OK(behind(op));
      if (op->kind() == OpKind::Quantize) EC_CHECK_OK(into_scale(op));
    }
    erase_unread();
    return {};
  }

 private:
  void give(Operation* op, Tensor* result) {
    graph_.replace_all_uses(op->output(), result);
    replaced_.insert(op);
  }

  // What was replaced, and factors that went on.
  void erase_unread() {
    const std::vector<Operation*> order = graph_.topological();
    for (Operation* op : order | std::views::reverse)
      if ((op->id() >= first_ || replaced_.contains(op)) && graph_.is_unused(op->output()))
        graph_.erase(op);
  }

  Result<Tensor*> times(Tensor* x, double factor, const Location& location) {
    Tensor* by = graph_.add_scalar("", DType::F32, factor);
    return graph_.add_single(OpKind::Mul, {x, by}, {}, location);
  }

  // dequantize(quantize(x, s), t) becomes dequantize(quantize(x, s), s) * (t / s).
  Status split_factor(Operation* op) {
    const Operation* quantize = op->input(0)->producer();
    if (quantize == nullptr || quantize->kind() != OpKind::Quantize ||
        op->output()->dtype() != DType::F32)
      return {};
    const auto there = constant_params(*quantize), back = constant_params(*op);
    if (!there || !back || there->dtype != back->dtype || there->params.scales.size() != 1 ||
        back->params.scales.size() != 1 || there->params.zero_points != back->params.zero_points ||
        there->params.scales == back->params.scales)
      return {};
    const auto from = static_cast<double>(there->params.scales[0]);
    const auto to = static_cast<double>(back->params.scales[0]);
    std::vector<Tensor*> inputs = op->inputs();
    inputs[1] = quantize->input(1);
    EC_TRY(Tensor * pair,
           graph_.add_single(OpKind::Dequantize, std::move(inputs), op->attrs(), op->location()));
    EC_TRY(Tensor * result, times(pair, to / from, op->location()));
    give(op, result);
    return {};
  }

  // a * f + b * f becomes (a + b) * f.
  Status sum(Operation* op) {
    const auto a = scaled(op->input(0)), b = scaled(op->input(1));
    if (!a || !b || !(a->factor > 0) || !(b->factor > 0) ||
        std::abs(a->factor / b->factor - 1) > kHalfRounding)
      return {};
    EC_TRY(Tensor * sum, graph_.add_single(op->kind(), {a->x, b->x}, {}, op->location()));
    EC_TRY(Tensor * result, times(sum, b->factor, op->location()));
    give(op, result);
    return {};
  }

  Status behind(Operation* op) {
    const auto x = scaled(op->input(0));
    if (!x || !(x->factor > 0)) return {};
    EC_TRY(Tensor * y, graph_.add_single(op->kind(), {x->x}, {}, op->location()));
    EC_TRY(Tensor * result, times(y, x->factor, op->location()));
    give(op, result);
    return {};
  }

  // quantize(x * f, s) is quantize(x, s / f).
  Status into_scale(Operation* op) {
    const auto x = scaled(op->input(0));
    const auto params = constant_params(*op);
    if (!x || !(x->factor > 0) || !params || params->params.scales.size() != 1) return {};
    // Factors of a sum alone: others belong to the model.
    const Operation* inner = x->x->producer();
    while (inner != nullptr && inner->kind() == OpKind::Relu) inner = inner->input(0)->producer();
    if (inner == nullptr || (inner->kind() != OpKind::Add && inner->kind() != OpKind::Sub))
      return {};
    Tensor* scale =
        scale_like(op->input(1), static_cast<double>(params->params.scales[0]) / x->factor);
    std::vector<Tensor*> inputs = op->inputs();
    inputs[0] = x->x;
    inputs[1] = scale;
    EC_TRY(Tensor * result,
           graph_.add_single(OpKind::Quantize, std::move(inputs), op->attrs(), op->location()));
    // What is dequantised behind it has the scale that was meant; rounding apart they are equal.
    for (const Use& use :
         std::vector<Use>(op->output()->uses().begin(), op->output()->uses().end()))
      meet(use.op, static_cast<double>(params->params.scales[0]) / x->factor, scale);
    give(op, result);
    return {};
  }

  Tensor* scale_like(const Tensor* like, double value) {
    const auto single = static_cast<float>(value);
    return graph_.add_constant<float>("", *like->shape(), std::span(&single, 1));
  }

  void meet(Operation* dequantize, double value, Tensor* scale) {
    if (dequantize->kind() != OpKind::Dequantize) return;
    const auto back = constant_params(*dequantize);
    if (!back || back->params.scales.size() != 1) return;
    const auto have = static_cast<double>(back->params.scales[0]);
    if (std::abs(have / value - 1) <= kHalfRounding) graph_.set_operand(dequantize, 1, scale);
  }

  Graph& graph_;
  const uint32_t first_;                           // of the operations that were added
  std::unordered_set<const Operation*> replaced_;  // looked up only
};

}  // namespace

Status equal_pairs(Graph& graph) { return EqualPairs(graph).run(); }

}  // namespace ec::quantize
