// Loops whose results grow by a row in each iteration. TFLite's loops carry tensors of fixed shape:
// the whole result is carried from the begin, and each iteration writes its row into it.
#include <algorithm>

#include "backend/tflite/passes/rules.h"
#include "ops/value.h"
#include "passes/inline_body.h"
#include "passes/replacement.h"
#include "passes/tables.h"

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
  if (old.outputs().size() == 1 + carried || has_quant(op)) return false;
  for (size_t i = carried; i < op->outputs().size(); ++i)
    if (!op->output(i)->type().is_static() || !fits_table(op->output(i)->shape()->sizes()))
      return false;
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
class ScanLoop {
 public:
  ScanLoop(Rewriter& r, Operation* op)
      : r_(r),
        op_(op),
        attrs_(op->attrs_as<ScanAttrs>()),
        states_(static_cast<size_t>(attrs_.num_states)),
        scanned_(static_cast<size_t>(attrs_.num_scan_inputs)),
        count_(num_iterations()),
        body_(op, op->bodies()[0]->name()),
        inputs_{r.scalar(DType::I64, static_cast<double>(count_)), nullptr} {}

  static bool can_be_made_of(const Operation* op) {
    const auto is_static = [](const Tensor* t) { return t != nullptr && t->type().is_static(); };
    return op->attrs_as<ScanAttrs>().num_scan_inputs > 0 && !has_quant(op) &&
           std::ranges::all_of(op->inputs(), is_static) &&
           std::ranges::all_of(op->outputs(), [&](const Tensor* t) {
             return is_static(t) && fits_table(t->shape()->sizes());
           });
  }

  Result<bool> replace() {
    std::vector<Tensor*> arguments;
    for (size_t i = 0; i < states_; ++i)
      arguments.push_back(add_carried(op_->bodies()[0]->inputs()[i]->type(), op_->input(i)));
    for (size_t i = states_; i < op_->outputs().size(); ++i) add_whole(i);
    add_captures(arguments);
    EC_TRY(std::vector<Tensor*> results, inline_body(body_.graph(), *op_->bodies()[0], arguments));
    for (size_t i = 0; i < wholes_.size(); ++i) {
      Tensor* row = body_.row_index(at(attrs_.output_directions, i) != 0, count_);
      results[states_ + i] = body_.put(wholes_[i], results[states_ + i], row);
    }
    EC_TRY(std::unique_ptr<Graph> graph, body_.finish());
    graph->add_output("condition", graph->inputs()[1]);
    for (size_t i = 0; i < results.size(); ++i)
      graph->add_output("result" + std::to_string(i), results[i]);
    EC_TRY(Operation * loop,
           add_loop(r_, op_, std::move(inputs_), std::move(graph), op_->outputs().size()));
    return replace_by(loop);
  }

 private:
  static int64_t at(const std::vector<int64_t>& list, size_t i) {
    return i < list.size() ? list[i] : 0;
  }
  int64_t num_iterations() const {
    const Shape& first = *op_->input(states_)->shape();
    const int64_t axis = positive_axis(at(attrs_.input_axes, 0), first.rank());
    return first.sizes()[static_cast<size_t>(axis)];
  }

  // An input of the body that gets `value` in front of the loop.
  Tensor* add_carried(const TensorType& type, Tensor* value) {
    inputs_.push_back(value);
    return body_.graph().add_input("", type);
  }

  // Rows of result i are collected along the first dimension and transposed behind the loop.
  void add_whole(size_t i) {
    const Tensor* result = op_->output(i);
    const size_t rank = result->shape()->rank();
    const int64_t axis = positive_axis(at(attrs_.output_axes, i - states_), rank);
    Perm perm = identity_perm(rank);
    perm.erase(perm.begin());
    perm.insert(perm.begin() + axis, 0);
    perms_.push_back(std::move(perm));
    std::vector<int64_t> sizes = result->shape()->sizes();
    sizes.erase(sizes.begin() + axis);
    sizes.insert(sizes.begin(), count_);
    const TensorType type(result->dtype(), Shape::of(sizes));
    wholes_.push_back(add_carried(type, zeros(r_, type)));
  }

  // What is scanned enters whole; the old body gets its slices, and other captures as they are.
  void add_captures(std::vector<Tensor*>& arguments) {
    std::vector<Tensor*> captures;
    for (size_t i = states_; i < op_->inputs().size(); ++i)
      captures.push_back(add_carried(op_->input(i)->type(), op_->input(i)));
    for (size_t i = 0; i < scanned_; ++i) {
      const int64_t axis = positive_axis(at(attrs_.input_axes, i), captures[i]->shape()->rank());
      Tensor* row = body_.row_index(at(attrs_.input_directions, i) != 0, count_);
      captures[i] = body_.op(OpKind::Gather, {captures[i], row}, GatherAttrs{.axis = axis});
    }
    arguments.insert(arguments.end(), captures.begin(), captures.end());
  }

  Result<bool> replace_by(const Operation* loop) {
    Replacement p(r_, op_);
    std::vector<Tensor*> outputs = loop->outputs();
    for (size_t i = 0; i < perms_.size(); ++i)
      outputs[states_ + i] = p.transpose(outputs[states_ + i], perms_[i]);
    return p.replace_all(outputs);
  }

  Rewriter& r_;
  Operation* op_;
  const ScanAttrs& attrs_;
  size_t states_, scanned_;
  int64_t count_;
  Body body_;
  std::vector<Tensor*> inputs_;  // of the loop
  std::vector<Tensor*> wholes_;  // results that grow, inside the body
  std::vector<Perm> perms_;      // of these, behind the loop
};

Result<bool> scan_as_loop(Rewriter& r, Operation* op) {
  if (!ScanLoop::can_be_made_of(op)) return false;
  return ScanLoop(r, op).replace();
}

constexpr RewriteRule kRules[] = {
    {OpKind::Loop, carry_grown_results, "loops"},
    {OpKind::Scan, scan_as_loop, "loops"},
};

}  // namespace

const std::span<const RewriteRule> kTfliteLoops = kRules;

}  // namespace ec::passes
