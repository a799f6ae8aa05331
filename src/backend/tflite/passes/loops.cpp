// Loops whose results grow by a row in each iteration. TFLite's loops carry tensors of fixed shape:
// the whole result is carried from the begin, and each iteration writes its row into it.
#include "backend/tflite/passes/rules.h"
#include "ops/value.h"
#include "passes/inline_body.h"
#include "passes/replacement.h"

namespace ec::passes {
namespace {

// Building the new body: the first error is kept, as in Replacement.
class Body {
 public:
  Body(const Operation* op, std::string name)
      : location_(op->location()), graph_(std::make_unique<Graph>(std::move(name))) {
    iteration = graph_->add_input("iteration", TensorType(DType::I64, Shape{}));
    condition = graph_->add_input("condition", TensorType(DType::Bool, Shape{}));
  }

  Graph& graph() { return *graph_; }
  Tensor* op(OpKind kind, std::vector<Tensor*> inputs, Attrs attrs = NoAttrs{}) {
    if (!status_.ok()) return nullptr;
    Result<Tensor*> result =
        graph_->add_single(kind, std::move(inputs), std::move(attrs), location_);
    if (result.ok()) return *result;
    status_ = std::move(result).error();
    return nullptr;
  }
  // The iteration, or its counterpart from the end.
  Tensor* row_index(bool backwards, int64_t count) {
    if (!backwards) return iteration;
    return op(OpKind::Sub,
              {graph_->add_scalar("", DType::I64, static_cast<double>(count - 1)), iteration});
  }
  // The whole with `part` at index `at` of the first dimension.
  Tensor* put(Tensor* whole, Tensor* part, Tensor* at) {
    std::vector<int64_t> sizes = whole->shape()->sizes();
    sizes[0] = 1;
    Tensor* row = op(OpKind::Reshape, {part, graph_->add_ints("", sizes)}, ReshapeAttrs{});
    const int64_t one[] = {1};
    Tensor* first = op(OpKind::Reshape, {at, graph_->add_ints("", one)}, ReshapeAttrs{});
    if (sizes.size() > 1) {
      const std::vector<int64_t> zeros(sizes.size() - 1, 0);
      first = op(OpKind::Concat, {first, graph_->add_ints("", zeros)}, AxisAttrs{.axis = 0});
    }
    return op(OpKind::DynamicUpdateSlice, {whole, row, first});
  }
  Result<std::unique_ptr<Graph>> finish() {
    if (!status_.ok()) return std::move(status_).error();
    return std::move(graph_);
  }

  Tensor *iteration = nullptr, *condition = nullptr;

 private:
  Location location_;
  std::unique_ptr<Graph> graph_;
  Status status_;
};

Tensor* zeros(Rewriter& r, const TensorType& type) {
  const std::vector<std::byte> bytes(static_cast<size_t>(*type.num_bytes()));
  return r.graph().add_constant("", TensorType(type.dtype, *type.shape),
                                Blob::copy_of(std::span<const std::byte>(bytes)));
}

Result<Operation*> add_loop(Rewriter& r, const Operation* op, std::vector<Tensor*> inputs,
                            std::unique_ptr<Graph> body, size_t num_carried) {
  OpSpec spec;
  spec.attrs = LoopAttrs{.num_carried = static_cast<int64_t>(num_carried)};
  spec.location = op->location();
  spec.num_outputs = num_carried;
  spec.bodies.push_back(std::move(body));
  return r.add_op(OpKind::Loop, std::move(inputs), std::move(spec));
}

// loop(trip count, condition, carried..., captures...) -> (carried..., grown...)
Result<bool> carry_grown_results(Rewriter& r, Operation* op) {
  const auto carried = static_cast<size_t>(op->attrs_as<LoopAttrs>().num_carried);
  const Graph& old = *op->bodies()[0];
  if (old.outputs().size() == 1 + carried) return false;
  for (size_t i = carried; i < op->outputs().size(); ++i)
    if (!op->output(i)->type().is_static()) return false;
  Body body(op, old.name());
  std::vector<Tensor*> arguments{body.iteration, body.condition}, wholes, inputs{op->input(0)};
  inputs.push_back(op->input(1));
  for (size_t i = 0; i < carried; ++i) {
    arguments.push_back(body.graph().add_input("", old.inputs()[2 + i]->type()));
    inputs.push_back(op->input(2 + i));
  }
  for (size_t i = carried; i < op->outputs().size(); ++i) {
    wholes.push_back(body.graph().add_input("", op->output(i)->type()));
    inputs.push_back(zeros(r, op->output(i)->type()));
  }
  for (size_t i = 2 + carried; i < old.inputs().size(); ++i) {
    arguments.push_back(body.graph().add_input("", old.inputs()[i]->type()));
    inputs.push_back(op->input(i));
  }
  EC_TRY(std::vector<Tensor*> results, inline_body(body.graph(), old, arguments));
  for (size_t i = 0; i < wholes.size(); ++i)
    results[1 + carried + i] = body.put(wholes[i], results[1 + carried + i], body.iteration);
  EC_TRY(std::unique_ptr<Graph> graph, body.finish());
  for (size_t i = 0; i < results.size(); ++i)
    graph->add_output("result" + std::to_string(i), results[i]);
  EC_TRY(Operation * loop,
         add_loop(r, op, std::move(inputs), std::move(graph), op->outputs().size()));
  r.replace_results(op, loop->outputs());
  return true;
}

// scan(states..., scanned..., captures...) -> (states..., grown...): a loop that takes slices of
// what is scanned.
Result<bool> scan_as_loop(Rewriter& r, Operation* op) {
  const auto& attrs = op->attrs_as<ScanAttrs>();
  const auto states = static_cast<size_t>(attrs.num_states),
             scanned = static_cast<size_t>(attrs.num_scan_inputs);
  const Graph& old = *op->bodies()[0];
  if (scanned == 0) return false;
  for (const Tensor* tensor : op->inputs())
    if (tensor == nullptr || !tensor->type().is_static()) return false;
  for (const Tensor* tensor : op->outputs())
    if (!tensor->type().is_static()) return false;
  const auto at = [](const std::vector<int64_t>& list, size_t i) {
    return i < list.size() ? list[i] : 0;
  };
  const Shape& first = *op->input(states)->shape();
  const int64_t count =
      first.sizes()[static_cast<size_t>(positive_axis(at(attrs.input_axes, 0), first.rank()))];
  Body body(op, old.name());
  std::vector<Tensor*> arguments, wholes, captures, results;
  std::vector<Tensor*> inputs{r.scalar(DType::I64, static_cast<double>(count)), nullptr};
  for (size_t i = 0; i < states; ++i) {
    arguments.push_back(body.graph().add_input("", old.inputs()[i]->type()));
    inputs.push_back(op->input(i));
  }
  // Rows are collected along the first dimension and the results transposed behind the loop.
  std::vector<Perm> perms;
  for (size_t i = states; i < op->outputs().size(); ++i) {
    const size_t rank = op->output(i)->shape()->rank();
    const int64_t axis = positive_axis(at(attrs.output_axes, i - states), rank);
    Perm perm = identity_perm(rank);
    perm.erase(perm.begin());
    perm.insert(perm.begin() + axis, 0);
    std::vector<int64_t> sizes = op->output(i)->shape()->sizes();
    sizes.erase(sizes.begin() + axis);
    sizes.insert(sizes.begin(), count);
    const TensorType type(op->output(i)->dtype(), Shape::of(sizes));
    wholes.push_back(body.graph().add_input("", type));
    inputs.push_back(zeros(r, type));
    perms.push_back(std::move(perm));
  }
  for (size_t i = states; i < op->inputs().size(); ++i) {
    captures.push_back(body.graph().add_input("", op->input(i)->type()));
    inputs.push_back(op->input(i));
  }
  for (size_t i = 0; i < scanned; ++i) {
    const int64_t axis = positive_axis(at(attrs.input_axes, i), captures[i]->shape()->rank());
    Tensor* row = body.row_index(at(attrs.input_directions, i) != 0, count);
    arguments.push_back(body.op(OpKind::Gather, {captures[i], row}, GatherAttrs{.axis = axis}));
  }
  arguments.insert(arguments.end(), captures.begin() + static_cast<std::ptrdiff_t>(scanned),
                   captures.end());
  EC_TRY(results, inline_body(body.graph(), old, arguments));
  for (size_t i = 0; i < wholes.size(); ++i) {
    Tensor* row = body.row_index(at(attrs.output_directions, i) != 0, count);
    results[states + i] = body.put(wholes[i], results[states + i], row);
  }
  EC_TRY(std::unique_ptr<Graph> graph, body.finish());
  graph->add_output("condition", graph->inputs()[1]);
  for (size_t i = 0; i < results.size(); ++i)
    graph->add_output("result" + std::to_string(i), results[i]);
  EC_TRY(Operation * loop,
         add_loop(r, op, std::move(inputs), std::move(graph), op->outputs().size()));
  Replacement p(r, op);
  std::vector<Tensor*> outputs = loop->outputs();
  for (size_t i = 0; i < perms.size(); ++i)
    outputs[states + i] = p.transpose(outputs[states + i], perms[i]);
  return p.replace_all(outputs);
}

constexpr RewriteRule kRules[] = {
    {OpKind::Loop, carry_grown_results, "loops"},
    {OpKind::Scan, scan_as_loop, "loops"},
};

}  // namespace

const std::span<const RewriteRule> kTfliteLoops = kRules;

}  // namespace ec::passes
