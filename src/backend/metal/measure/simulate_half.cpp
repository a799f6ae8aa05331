#include "backend/metal/measure/simulate_half.h"

#include <algorithm>
#include <unordered_map>

#include "ops/attrs.h"
#include "passes/rewriter.h"
#include "support/halves.h"

namespace ec::metal {
namespace {

bool is_half(const Tensor* tensor) { return tensor != nullptr && tensor->dtype() == DType::F16; }

class Simulation {
 public:
  explicit Simulation(Graph& graph, bool nested = false) : graph_(graph), nested_(nested) {}

  Result<std::unordered_set<const Tensor*>> run() {
    for (Operation* op : graph_.topological()) {
      for (const auto& body : op->bodies()) {
        EC_TRY([[maybe_unused]] const std::unordered_set<const Tensor*> inner,
               Simulation(*body, true).run());
      }
      const bool any =
          std::ranges::any_of(op->inputs(), is_half) || std::ranges::any_of(op->outputs(), is_half);
      if (!any) continue;
      if (keeps_types(*op))
        EC_CHECK_OK(connect(*op));
      else
        EC_CHECK_OK(op->kind() == OpKind::Cast ? replace_cast(*op) : replace(*op));
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const auto found = singles_.find(graph_.outputs()[i]);
      if (found == singles_.end()) continue;
      EC_TRY(Tensor * half, cast(found->second, DType::F16));
      graph_.set_output(i, half);
    }
    PassContext context;
    Rewriter rewriter(graph_, context);
    for (auto id = static_cast<uint32_t>(graph_.operation_id_bound()); id-- > 0;)
      if (Operation* op = graph_.operation(id)) rewriter.erase_if_unused(op);
    return std::move(rounded_);
  }

 private:
  Result<Tensor*> cast(Tensor* x, DType to) {
    return graph_.add_single(OpKind::Cast, {x}, CastAttrs{.to = to});
  }
  // Rounded by operations, for what no editor of the run sees.
  Result<Tensor*> rounded(Tensor* x) {
    EC_TRY(Tensor * half, cast(x, DType::F16));
    return cast(half, DType::F32);
  }

  // Values of nested graphs and states are halves that are kept so.
  static bool keeps_types(const Operation& op) {
    return !op.bodies().empty() || op.kind() == OpKind::ReadState ||
           op.kind() == OpKind::WriteState;
  }
  Status connect(Operation& op) {
    for (size_t i = 0; i < op.inputs().size(); ++i) {
      const auto found = singles_.find(op.input(i));
      if (op.input(i) == nullptr || found == singles_.end() || op.input(i)->is_constant()) continue;
      EC_TRY(Tensor * half, cast(found->second, DType::F16));
      graph_.set_operand(&op, i, half);
    }
    return {};
  }

  Result<Tensor*> single(Tensor* tensor) {
    if (!is_half(tensor)) return tensor;
    if (const auto found = singles_.find(tensor); found != singles_.end()) return found->second;
    if (tensor->is_input() || (tensor->producer() != nullptr && keeps_types(*tensor->producer()))) {
      EC_TRY(Tensor * result, cast(tensor, DType::F32));
      singles_.emplace(tensor, result);
      return result;
    }
    if (!tensor->is_constant()) return Error(Code::Internal, "a half without its producer");
    const auto halves = tensor->values<uint16_t>();
    Buffer values = Buffer::allocate(halves.size() * sizeof(float));
    if (!values.ok()) return Error(Code::OutOfMemory, "not enough memory for the weights");
    halves_to_floats(halves, reinterpret_cast<float*>(values.data()));
    Tensor* result = graph_.add_constant("", TensorType(DType::F32, *tensor->shape()),
                                         std::move(values).to_blob());
    singles_.emplace(tensor, result);
    return result;
  }

  Status replace_cast(Operation& op) {
    EC_TRY(Tensor * x, single(op.input(0)));
    Tensor* old = op.output();
    if (is_half(old)) {
      if (!is_half(op.input(0))) {
        EC_TRY(x, cast(x, DType::F32));
        EC_TRY(x, rounded(x));
      }
      singles_.emplace(old, x);
      return {};
    }
    if (old->dtype() != DType::F32) {
      EC_TRY(x, cast(x, old->dtype()));
    }
    graph_.replace_all_uses(old, x);
    return {};
  }

  Status replace(Operation& op) {
    std::vector<Tensor*> inputs;
    for (Tensor* input : op.inputs()) {
      EC_TRY(Tensor * operand, single(input));
      inputs.push_back(operand);
    }
    OpSpec spec;
    spec.attrs = op.attrs();
    if (op.kind() == OpKind::Dequantize) spec.attrs.edit<DequantizeAttrs>().dtype = DType::F32;
    if (op.kind() == OpKind::EyeLike) spec.attrs.edit<EyeLikeAttrs>().dtype = DType::F32;
    spec.location = op.location();
    spec.num_outputs = op.outputs().size();
    EC_TRY(Operation * fresh, graph_.add(op.kind(), std::move(inputs), std::move(spec)));
    for (size_t i = 0; i < op.outputs().size(); ++i) {
      Tensor* old = op.output(i);
      if (!is_half(old)) {
        graph_.replace_all_uses(old, fresh->output(i));
        continue;
      }
      Tensor* result = fresh->output(i);
      if (!nested_) rounded_.insert(result);
      // Stored weights are unpacked before the run, and no editor sees nested graphs.
      if (op.kind() == OpKind::Dequantize || nested_) {
        EC_TRY(result, rounded(result));
      }
      singles_.emplace(old, result);
    }
    return {};
  }

  Graph& graph_;
  std::unordered_map<const Tensor*, Tensor*> singles_;  // looked up, never iterated
  const bool nested_;
  std::unordered_set<const Tensor*> rounded_;
};

}  // namespace

Result<std::unordered_set<const Tensor*>> simulate_half(Graph& graph) {
  return Simulation(graph).run();
}

}  // namespace ec::metal
