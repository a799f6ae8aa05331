#include "passes/widen_halves.h"

#include <algorithm>
#include <unordered_map>

#include "ops/convert.h"
#include "ops/infer.h"
#include "passes/folding.h"
#include "passes/registry.h"

namespace ec {
namespace {

bool is_half(const Tensor* tensor) {
  return tensor != nullptr && tensor->dtype() == DType::F16 && !tensor->type().quant;
}

class Widening {
 public:
  explicit Widening(Graph& graph) : graph_(graph) {}

  Status run() {
    for (Operation* op : graph_.topological()) EC_CHECK_OK(visit(op));
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      Tensor* output = graph_.outputs()[i];
      if (!was_half_.contains(output)) continue;
      EC_TRY(Tensor * back, narrow(output));
      graph_.set_output(i, back);
    }
    for (Tensor* half : constants_)
      if (graph_.is_unused(half)) graph_.erase(half);
    return {};
  }

 private:
  // What gives and takes types that others rely on, or the bits themselves.
  static bool keeps_types(const Operation& op) {
    return !op.bodies().empty() || op.kind() == OpKind::Custom || op.kind() == OpKind::ReadState ||
           op.kind() == OpKind::WriteState || op.kind() == OpKind::BitCast;
  }

  Result<Tensor*> cast(Tensor* x, DType to) {
    CastAttrs attrs;
    attrs.to = to;
    return graph_.add_single(
        OpKind::Cast, {x}, attrs,
        x->producer() != nullptr ? x->producer()->location() : Location(x->name()));
  }

  Result<Tensor*> constant(Tensor* half) {
    const std::vector<int64_t> sizes = half->shape()->sizes();
    const auto count = static_cast<size_t>(count_elements(sizes));
    Buffer buffer = Buffer::allocate(count * sizeof(float));
    if (!buffer.ok()) return Error(Code::OutOfMemory, "not enough memory for the weights");
    load<float>(ConstView{DType::F16, sizes, half->data().bytes().data(), nullptr},
                std::span(reinterpret_cast<float*>(buffer.data()), count));
    return graph_.add_constant(half->name(), TensorType(DType::F32, *half->shape()),
                               std::move(buffer).to_blob());
  }

  // The tensor in single precision.
  Result<Tensor*> wide(Tensor* tensor) {
    if (!is_half(tensor)) return tensor;
    if (const auto known = wide_.find(tensor); known != wide_.end()) return known->second;
    EC_TRY(Tensor * made, tensor->is_constant() ? constant(tensor) : cast(tensor, DType::F32));
    if (tensor->is_constant()) constants_.push_back(tensor);
    wide_.emplace(tensor, made);
    return made;
  }

  Result<Tensor*> narrow(Tensor* tensor) {
    if (const auto known = narrow_.find(tensor); known != narrow_.end()) return known->second;
    EC_TRY(Tensor * made, cast(tensor, DType::F16));
    narrow_.emplace(tensor, made);
    return made;
  }

  // A cast at the border of half precision stays, and what it joins is known by both names.
  Result<bool> is_border(Operation* op) {
    if (op->kind() != OpKind::Cast) return false;
    if (is_half(op->input(0)) && op->output()->dtype() == DType::F32) {
      wide_.emplace(op->input(0), op->output());
      return true;
    }
    if (!is_half(op->output())) return false;
    EC_TRY(Tensor * source, wide(op->input(0)));
    if (source->dtype() != DType::F32) return false;
    if (source != op->input(0)) graph_.set_operand(op, 0, source);
    wide_.emplace(op->output(), source);
    narrow_.emplace(source, op->output());
    return true;
  }

  Status visit(Operation* op) {
    for (const auto& body : op->bodies()) EC_CHECK_OK(widen_halves(*body));
    EC_TRY(const bool border, is_border(op));
    if (border) return {};
    const bool keeps = keeps_types(*op);
    for (size_t i = 0; i < op->inputs().size(); ++i) {
      Tensor* input = op->input(i);
      if (input == nullptr) continue;
      if (keeps && was_half_.contains(input)) {
        EC_TRY(input, narrow(input));
      } else if (!keeps) {
        EC_TRY(input, wide(input));
      }
      if (input != op->input(i)) graph_.set_operand(op, i, input);
    }
    if (keeps || !std::any_of(op->outputs().begin(), op->outputs().end(), is_half)) return {};
    return infer_again(op);
  }

  // The types of the results follow from the operands'.
  Status infer_again(Operation* op) {
    if (op->kind() == OpKind::Cast) {
      auto attrs = op->attrs_as<CastAttrs>();
      attrs.to = DType::F32;
      graph_.set_attrs(op, attrs);
    } else if (op->kind() == OpKind::Dequantize) {
      auto attrs = op->attrs_as<DequantizeAttrs>();
      attrs.dtype = DType::F32;
      graph_.set_attrs(op, attrs);
    }
    InferContext inference(*op, operands_of(*op));
    EC_CHECK_OK(infer_types(inference));
    for (size_t i = 0; i < op->outputs().size(); ++i) {
      Tensor* output = op->output(i);
      // An operation may state the type of its result; it stays half then.
      if (!is_half(output) || inference.results()[i].dtype != DType::F32) continue;
      TensorType type = output->type();
      type.dtype = DType::F32;
      graph_.set_type(output, std::move(type));
      was_half_.emplace(output, true);
    }
    return {};
  }

  Graph& graph_;
  std::unordered_map<Tensor*, Tensor*> wide_, narrow_;  // looked up only
  std::unordered_map<const Tensor*, bool> was_half_;    // looked up only
  std::vector<Tensor*> constants_;                      // that were converted, in order
};

}  // namespace

Status widen_halves(Graph& graph) {
  const std::vector<Tensor*> all = graph.tensors();
  const bool any = std::any_of(all.begin(), all.end(), is_half) ||
                   std::ranges::any_of(graph.topological(),
                                       [](const Operation* op) { return !op->bodies().empty(); });
  return any ? Widening(graph).run() : Status();
}

namespace passes {
namespace {

class WidenHalvesPass : public Pass {
 public:
  std::string_view name() const override { return kWidenHalvesPass.name; }
  Result<PassStats> run(Graph& graph, PassContext&) const override {
    EC_CHECK_OK(widen_halves(graph));
    return PassStats{};
  }
};

}  // namespace

const PassInfo kWidenHalvesPass{
    .name = "widen-halves",
    .summary = "Computes in single precision what the model computes in half precision.",
    .details =
        "Constants are converted; inputs, outputs, states and the borders of nested graphs keep "
        "their types behind casts. Results differ by the rounding that is left out between "
        "operations.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<WidenHalvesPass>();
    }};

}  // namespace passes
}  // namespace ec
