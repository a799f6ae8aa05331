// The verifier: every rule that the rest of the compiler may rely on, all faults in one run.
#include <cmath>

#include <map>

#include "ir/graph.h"
#include "ops/attrs.h"
#include "ops/infer.h"
#include "ops/op_def.h"

namespace ec {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph, bool nested = false) : graph_(graph), nested_(nested) {}

  std::vector<Diagnostic> run() {
    for (const Tensor* tensor : graph_.tensors()) check_tensor(*tensor);
    const std::vector<Operation*> order = graph_.topological();
    check_order(order);
    check_uses(order);
    for (Operation* op : order) check_operation(*op);
    check_states(order);
    for (size_t i = 0; i < graph_.outputs().size(); ++i)
      if (graph_.outputs()[i] == nullptr)
        fault({}, "output '" + graph_.output_names()[i] + "' has no tensor");
    return std::move(faults_);
  }

 private:
  void fault(const Location& where, std::string message, Code code = Code::InvalidGraph) {
    Diagnostic d(code, std::move(message));
    d.node = std::string(where.name());
    d.op_type = where.op_type;
    faults_.push_back(std::move(d));
  }

  void check_tensor(const Tensor& tensor) {
    const Location nowhere;
    const Location& where = tensor.producer() != nullptr ? tensor.producer()->location() : nowhere;
    const std::string name = "tensor '" + tensor.name() + "'";
    if (tensor.is_constant()) {
      const auto bytes = tensor.type().num_bytes();
      if (!bytes)
        fault(where, name + " is a constant without a static shape");
      else if (static_cast<size_t>(*bytes) != tensor.raw_data().size())
        fault(where, name + " needs " + std::to_string(*bytes) + " bytes and has " +
                         std::to_string(tensor.raw_data().size()));
    }
    if (!tensor.is_constant() && !tensor.is_input() && tensor.producer() == nullptr)
      fault(where, name + " has no producer");
    if (tensor.type().quant) check_quant(tensor, where);
  }

  void check_quant(const Tensor& tensor, const Location& where) {
    const QuantParams& q = *tensor.type().quant;
    const std::string name = "tensor '" + tensor.name() + "'";
    if (q.scales.empty() || q.scales.size() != q.zero_points.size()) {
      fault(where,
            name + " has " + std::to_string(q.scales.size()) + " scales and " +
                std::to_string(q.zero_points.size()) + " zero points",
            Code::BadQuantParams);
      return;
    }
    for (const float scale : q.scales) {
      if (scale > 0 && std::isfinite(scale)) continue;
      fault(where, name + " has a scale that is not positive and finite", Code::BadQuantParams);
      break;
    }
    if (!q.per_channel()) {
      if (q.scales.size() != 1)
        fault(where, name + " has several scales and no axis", Code::BadQuantParams);
      return;
    }
    const auto& shape = tensor.shape();
    if (!shape) return;
    const auto axis = static_cast<size_t>(q.axis);
    if (axis >= shape->rank())
      fault(where, name + " is quantised along an axis it lacks", Code::BadQuantParams);
    else if ((*shape)[axis].is_static() &&
             (*shape)[axis].size() != static_cast<int64_t>(q.scales.size()))
      fault(where,
            name + " has " + std::to_string(q.scales.size()) + " scales for " +
                (*shape)[axis].text() + " channels",
            Code::BadQuantParams);
  }

  void check_order(const std::vector<Operation*>& order) {
    std::vector<size_t> position(graph_.operation_id_bound(), 0);
    for (size_t i = 0; i < order.size(); ++i) position[order[i]->id()] = i + 1;
    for (const Operation* op : order)
      for (const Tensor* input : op->inputs())
        if (input != nullptr && input->producer() != nullptr &&
            position[input->producer()->id()] >= position[op->id()])
          fault(op->location(), "operation is part of a cycle through '" + input->name() + "'",
                Code::CyclicGraph);
  }

  // Use lists and operands agree; in one walk over each, as tensors may have many uses.
  void check_uses(const std::vector<Operation*>& order) {
    std::vector<std::vector<bool>> listed(graph_.operation_id_bound());
    for (const Operation* op : order) listed[op->id()].resize(op->inputs().size(), false);
    for (const Tensor* tensor : graph_.tensors())
      for (const Use& use : tensor->uses()) {
        const bool right = use.op->input(use.index) == tensor;
        if (right && use.index < listed[use.op->id()].size())
          listed[use.op->id()][use.index] = true;
        else if (!right)
          fault(use.op->location(), "'" + tensor->name() + "' lists a use that is none");
      }
    for (const Operation* op : order)
      for (size_t i = 0; i < op->inputs().size(); ++i)
        if (op->input(i) != nullptr && !listed[op->id()][i])
          fault(op->location(), "use of '" + op->input(i)->name() + "' is not in its use list");
  }

  void check_operation(const Operation& op) {
    const OpDef& def = op.def();
    const size_t faults = faults_.size();
    if (!def.inputs().accepts(op.inputs().size()) || !def.outputs().accepts(op.outputs().size()))
      fault(op.location(), std::string(def.name) + " has the wrong number of operands or results");
    for (int i = 0; i < def.inputs().min; ++i)
      if (op.input(static_cast<size_t>(i)) == nullptr)
        fault(op.location(), std::string(def.name) + " lacks operand " + std::to_string(i));
    if (&op.attrs().schema() != &def.attrs())
      fault(op.location(), std::string(def.name) + " has attributes of another op");
    // Inference relies on these.
    if (faults_.size() == faults) check_types(op);
    if (faults_.size() == faults) check_parameters_of_bodies(op);
    for (const auto& body : op.bodies())
      for (Diagnostic& d : Verifier(*body, true).run()) faults_.push_back(std::move(d));
  }

  // The stored result types must not contradict what inference says.
  void check_types(const Operation& op) {
    InferContext ctx(op, operands_of(op));
    if (Status status = infer_types(ctx); !status.ok()) {
      faults_.push_back(std::move(status.error().diagnostic()));
      return;
    }
    for (size_t i = 0; i < op.outputs().size(); ++i) {
      const TensorType& stored = op.output(i)->type();
      const TensorType& inferred = ctx.results()[i];
      if (stored.dtype != inferred.dtype || !compatible(stored.shape, inferred.shape))
        fault(op.location(), "result '" + op.output(i)->name() + "' is " + stored.text() +
                                 ", inference says " + inferred.text());
    }
  }

  // Values go into and out of nested graphs as they are stored, so both sides mean the same
  // numbers.
  void check_parameters_of_bodies(const Operation& op) {
    const bool is_if = op.kind() == OpKind::If;
    const size_t first_output = op.kind() == OpKind::Loop ? 1 : 0;  // after the condition
    const auto compare = [&](const Tensor* outside, const Tensor* inside) {
      if (outside == nullptr || inside == nullptr || outside->type().quant == inside->type().quant)
        return;
      fault(op.location(), "'" + outside->name() + "' is " + outside->type().text() +
                               " and, in the nested graph, " + inside->type().text());
    };
    for (const auto& body : op.bodies()) {
      for (size_t i = 0; i < body->inputs().size(); ++i)
        compare(op.input(is_if ? i + 1 : i), body->inputs()[i]);
      for (size_t i = 0; i < op.outputs().size() && i + first_output < body->outputs().size(); ++i)
        compare(op.output(i), body->outputs()[i + first_output]);
    }
  }

  // A state is read once and written at most once, in the outermost graph, with one type.
  void check_states(const std::vector<Operation*>& order) {
    std::map<std::string, const Operation*> reads, writes;
    for (const Operation* op : order) {
      const bool is_read = op->kind() == OpKind::ReadState;
      if (!is_read && op->kind() != OpKind::WriteState) continue;
      const std::string& name = op->attrs_as<StateAttrs>().name;
      if (nested_) fault(op->location(), "the state '" + name + "' is used in a nested graph");
      if (!(is_read ? reads : writes).emplace(name, op).second)
        fault(op->location(), "the state '" + name + "' is " + (is_read ? "read" : "written") +
                                  " by several operations");
    }
    for (const auto& [name, write] : writes) {
      const auto read = reads.find(name);
      if (read == reads.end()) {
        fault(write->location(), "the state '" + name + "' is written and never read");
        continue;
      }
      const TensorType &from = write->output()->type(), &to = read->second->output()->type();
      if (from.dtype != to.dtype || !compatible(from.shape, to.shape) || from.quant != to.quant)
        fault(write->location(), "the state '" + name + "' is written as " + from.text() +
                                     " and read as " + to.text());
    }
  }

  static bool compatible(const std::optional<Shape>& a, const std::optional<Shape>& b) {
    if (!a || !b) return true;
    if (a->rank() != b->rank()) return false;
    for (size_t i = 0; i < a->rank(); ++i)
      if ((*a)[i].is_static() && (*b)[i].is_static() && (*a)[i].size() != (*b)[i].size())
        return false;
    return true;
  }

  const Graph& graph_;
  const bool nested_;
  std::vector<Diagnostic> faults_;
};

}  // namespace

std::vector<Diagnostic> verify(const Graph& graph) { return Verifier(graph).run(); }

std::optional<Error> fault_of_values(const Graph& graph) {
  for (Diagnostic& fault : verify(graph))
    if (fault.code == Code::BadValue || fault.code == Code::ShapeMismatch)
      return Error(std::move(fault));
  return std::nullopt;
}

}  // namespace ec
