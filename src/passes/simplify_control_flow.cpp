// simplify-control-flow: branches that are decided, loops that do not run, and what bodies need
// not be given.
//
//   if(true) {A} {B}(captures) -> the operations of A
//   if(%c, 3.0) {..%p..} ..    -> if(%c) {..3.0..} ..        constants live inside
#include <algorithm>

#include "passes/inline_body.h"
#include "passes/match.h"
#include "passes/registry.h"
#include "passes/rewriter.h"

namespace ec::passes {
namespace {

std::optional<bool> known_bool(const Tensor* tensor) {
  const auto values = int_values(tensor);
  if (!values || values->size() != 1) return std::nullopt;
  return values->front() != 0;
}

Result<bool> take_branch(Rewriter& rewriter, Operation* op) {
  const auto condition = known_bool(op->input(0));
  if (!condition || op->bodies().size() != 2) return false;
  const Graph& body = *op->bodies()[*condition ? 0 : 1];
  const std::vector<Tensor*> captures(op->inputs().begin() + 1, op->inputs().end());
  if (body.inputs().size() != captures.size() || body.outputs().size() != op->outputs().size())
    return false;
  std::vector<Operation*> added;
  EC_TRY(const std::vector<Tensor*> results, inline_body(rewriter.graph(), body, captures, &added));
  for (Operation* copy : added) rewriter.push(copy);
  rewriter.replace_results(op, results);
  return true;
}

// A loop that runs no iteration gives what was carried into it.
Result<bool> skip_loop(Rewriter& rewriter, Operation* op) {
  const auto carried = static_cast<size_t>(op->attrs_as<LoopAttrs>().num_carried);
  if (op->outputs().size() != carried || op->inputs().size() < 2 + carried) return false;
  const auto trips = int_values(op->input(0));
  const bool none = trips && trips->size() == 1 && trips->front() <= 0;
  if (!none && known_bool(op->input(1)) != false) return false;
  const std::vector<Tensor*> initial(
      op->inputs().begin() + 2, op->inputs().begin() + 2 + static_cast<std::ptrdiff_t>(carried));
  for (size_t i = 0; i < carried; ++i)
    if (initial[i] == nullptr || !Rewriter::interchangeable(op->output(i), initial[i]))
      return false;
  rewriter.replace_results(op, initial);
  return true;
}

// Indices of the operand and the body input at which captures begin.
struct CaptureStart {
  size_t operand = 0, body_input = 0;
};
std::optional<CaptureStart> capture_start(const Operation* op) {
  switch (op->kind()) {
    case OpKind::If:
      return CaptureStart{1, 0};
    case OpKind::Loop: {
      const auto carried = static_cast<size_t>(op->attrs_as<LoopAttrs>().num_carried);
      return CaptureStart{2 + carried, 2 + carried};
    }
    case OpKind::Scan: {
      const auto& attrs = op->attrs_as<ScanAttrs>();
      const auto n = static_cast<size_t>(attrs.num_states + attrs.num_scan_inputs);
      return CaptureStart{n, n};
    }
    default:
      return std::nullopt;
  }
}

// Larger constants that several readers share stay outside: each body would save its own copy.
constexpr size_t kMaxCopiedBytes = 4096;

bool may_sink(const Operation* op, const Tensor* constant, size_t body_input) {
  // A branch that cannot be run with its operands keeps general types: with the constant it would
  // be no valid graph.
  for (const auto& body : op->bodies())
    if (const Tensor* input = body->inputs()[body_input];
        !body->is_unused(input) && input->shape() != constant->shape())
      return false;
  if (constant->raw_data().size() <= kMaxCopiedBytes) return true;
  size_t readers = constant->uses().size() - 1;
  for (const auto& body : op->bodies())
    readers += body->is_unused(body->inputs()[body_input]) ? 0 : 1;
  return readers == 1;
}

// Captured constants move into the bodies; captures that no body reads go.
Result<bool> trim_captures(Rewriter& rewriter, Operation* op) {
  const auto start = capture_start(op);
  if (!start) return false;
  std::vector<Tensor*> operands = op->inputs();
  bool changed = false;
  for (size_t i = operands.size(); i-- > start->operand;) {
    const size_t at = i - start->operand + start->body_input;
    Tensor* operand = operands[i];
    bool unread = true, fits = true;
    for (const auto& body : op->bodies()) {
      fits = fits && at < body->inputs().size();
      unread = unread && fits && body->is_unused(body->inputs()[at]);
    }
    if (!fits || operand == nullptr) continue;
    if (!unread && !(operand->is_constant() && may_sink(op, operand, at))) continue;
    for (const auto& body : op->bodies()) {
      Tensor* input = body->inputs()[at];
      if (!body->is_unused(input)) {
        Tensor* constant = body->add_constant("", operand->type(), operand->raw_data());
        body->replace_all_uses(input, constant);
      }
      body->erase_input(at);
    }
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(i));
    changed = true;
  }
  if (!changed) return false;
  // By name: an operand may stand in the list several times, and one that goes may take another
  // along that it was computed from.
  std::vector<std::string> before;
  for (const Tensor* tensor : op->inputs())
    if (tensor != nullptr) before.push_back(tensor->name());
  Graph& graph = rewriter.graph();
  graph.set_operands(op, std::move(operands));
  for (const std::string& name : before)
    if (Tensor* tensor = graph.find_tensor(name); tensor != nullptr && graph.is_unused(tensor))
      rewriter.erase_if_unused(tensor);
  return true;
}

// Results of an `if` that nothing reads, and what computed them in the branches.
Result<bool> trim_results(Rewriter& rewriter, Operation* op) {
  Graph& graph = rewriter.graph();
  std::vector<size_t> kept;
  for (size_t i = 0; i < op->outputs().size(); ++i)
    if (!graph.is_unused(op->output(i))) kept.push_back(i);
  if (kept.size() == op->outputs().size() || kept.empty()) return false;
  OpSpec spec;
  spec.attrs = op->attrs();
  spec.location = op->location();
  std::vector<TensorType> types;
  for (const size_t i : kept) types.push_back(op->output(i)->type());
  for (const auto& body : op->bodies()) {
    auto copy = body->clone();
    for (size_t i = op->outputs().size(); i-- > 0;)
      if (std::find(kept.begin(), kept.end(), i) == kept.end()) copy->erase_output(i);
    spec.bodies.push_back(std::move(copy));
  }
  EC_TRY(Operation * trimmed,
         graph.add_typed(op->kind(), op->inputs(), std::move(spec), std::move(types)));
  rewriter.push(trimmed);
  std::vector<Tensor*> results(op->outputs().size(), nullptr);
  for (size_t k = 0; k < kept.size(); ++k) {
    results[kept[k]] = trimmed->output(k);
    graph.set_dim_values(trimmed->output(k), op->output(kept[k])->dim_values());
  }
  rewriter.replace_results(op, results);
  return true;
}

constexpr RewriteRule kRules[] = {
    {OpKind::If, take_branch, "branches taken"},
    {OpKind::Loop, skip_loop, "loops skipped"},
    {OpKind::If, trim_captures, "captures trimmed"},
    {OpKind::Loop, trim_captures, "captures trimmed"},
    {OpKind::Scan, trim_captures, "captures trimmed"},
    {OpKind::If, trim_results, "results trimmed"},
};

}  // namespace

const PassInfo kSimplifyControlFlowPass{
    .name = "simplify-control-flow",
    .summary = "Takes decided branches, skips loops that do not run, trims what bodies are given.",
    .details =
        "An `if` with a known condition is replaced by its branch; a loop without iterations by "
        "its initial values. Constants move into bodies, where they can be folded; captures and "
        "results of an `if` that nothing reads go.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<RulePass>(kSimplifyControlFlowPass.name, kRules);
    }};

}  // namespace ec::passes
