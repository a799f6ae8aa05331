// Floats of other widths: kernels of TFLite compute in single precision, so the graph does. Inputs
// and outputs keep their types; constants are converted.
#include <algorithm>
#include <unordered_map>

#include "backend/tflite/passes/rules.h"

namespace ec::passes {
namespace {

bool is_other_float(const Tensor* tensor) {
  if (tensor == nullptr || tensor->type().quant) return false;
  const DType dtype = tensor->dtype();
  return dtype == DType::F16 || dtype == DType::BF16 || dtype == DType::F64;
}

class SinglePrecision {
 public:
  explicit SinglePrecision(Rewriter& rewriter) : r_(rewriter), graph_(rewriter.graph()) {}

  Status run() {
    for (Operation* op : graph_.topological()) EC_CHECK_OK(visit(op));
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      Tensor* output = graph_.outputs()[i];
      const auto it = single_.find(output);
      if (it == single_.end() || output->is_input()) continue;
      EC_TRY(Tensor * back, cast(it->second, output->dtype()));
      graph_.set_output(i, back);
    }
    // A state may not be read by the old operation beside the new one.
    for (const auto& [old, copy] : reads_) {
      if (!graph_.is_unused(old->output())) {
        EC_TRY(Tensor * back, cast(copy, old->output()->dtype()));
        graph_.replace_all_uses(old->output(), back);
      }
      graph_.erase(old);
    }
    for (auto id = static_cast<uint32_t>(graph_.operation_id_bound()); id-- > 0;)
      if (Operation* op = graph_.operation(id)) r_.erase_if_unused(op);
    return {};
  }

 private:
  Result<Tensor*> cast(Tensor* x, DType to) {
    return r_.add(OpKind::Cast, {x}, CastAttrs{.to = to}, {});
  }

  Result<Tensor*> single(Tensor* tensor) {
    if (!is_other_float(tensor)) return tensor;
    if (const auto it = single_.find(tensor); it != single_.end()) return it->second;
    EC_TRY(Tensor * result, cast(tensor, DType::F32));
    single_.emplace(tensor, result);
    return result;
  }

  Status visit(Operation* op) {
    const auto any = [](const std::vector<Tensor*>& list) {
      return std::any_of(list.begin(), list.end(), is_other_float);
    };
    if (!any(op->inputs()) && !any(op->outputs())) return {};
    if (!op->bodies().empty() || op->kind() == OpKind::Custom) return keep_types(op);
    if (op->kind() == OpKind::Cast) return visit_cast(op);
    std::vector<Tensor*> inputs;
    for (Tensor* input : op->inputs()) {
      EC_TRY(Tensor * operand, single(input));
      inputs.push_back(operand);
    }
    OpSpec spec;
    spec.attrs = op->attrs();
    if (op->kind() == OpKind::Dequantize) {
      auto attrs = op->attrs_as<DequantizeAttrs>();
      attrs.dtype = DType::F32;
      spec.attrs = attrs;
    }
    spec.location = op->location();
    spec.num_outputs = op->outputs().size();
    EC_TRY(Operation * copy, r_.add_op(op->kind(), std::move(inputs), std::move(spec)));
    if (op->kind() == OpKind::WriteState) {
      // Nothing needs to read what is written: the old one would stay beside the new one.
      EC_TRY(Tensor * back, cast(copy->output(), op->output()->dtype()));
      graph_.replace_all_uses(op->output(), back);
      graph_.erase(op);
      return {};
    }
    if (op->kind() == OpKind::ReadState) reads_.emplace_back(op, copy->output());
    for (size_t i = 0; i < op->outputs().size(); ++i) give(op->output(i), copy->output(i));
    return {};
  }

  // What nested graphs are given keeps its type, without the operation that computed it before.
  Status keep_types(Operation* op) {
    for (size_t i = 0; i < op->inputs().size(); ++i) {
      const auto it = single_.find(op->input(i));
      if (op->input(i) == nullptr || it == single_.end()) continue;
      const Operation* producer = it->second->producer();
      if (producer != nullptr && producer->kind() == OpKind::Cast &&
          producer->input(0) == op->input(i))
        continue;
      EC_TRY(Tensor * back, cast(it->second, op->input(i)->dtype()));
      graph_.set_operand(op, i, back);
    }
    return {};
  }

  Status visit_cast(Operation* op) {
    EC_TRY(Tensor * x, single(op->input(0)));
    Tensor* y = x;
    const DType to = is_other_float(op->output()) ? DType::F32 : op->output()->dtype();
    if (x->dtype() != to) {
      EC_TRY(y, cast(x, to));
    }
    give(op->output(), y);
    return {};
  }

  // What reads `old` reads `result`, at once or when it is visited itself.
  void give(Tensor* old, Tensor* result) {
    if (is_other_float(old) && result->dtype() == DType::F32)
      single_.emplace(old, result);
    else
      graph_.replace_all_uses(old, result);
  }

  Rewriter& r_;
  Graph& graph_;
  std::vector<std::pair<Operation*, Tensor*>> reads_;  // of states, and the new results
  std::unordered_map<Tensor*, Tensor*> single_;        // looked up, never iterated
};

}  // namespace

Status compute_in_single_precision(Rewriter& rewriter) { return SinglePrecision(rewriter).run(); }

}  // namespace ec::passes
